/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - the stored inputs of a fuzz target as an ordinary test: replay FOLDER
 *
 * Each file as it is, and each prefix of the small ones.
 */
#include "target.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 4 << 20, PREFIXES_BELOW = 4096 };

/* In a block of exactly n bytes, so that a sanitizer sees a read behind the end. */
static void try(const char *text, size_t n)
{
    cleanup_free uint8_t *copy = malloc(n ? n : 1);

    if (!copy)
        abort();
    memcpy(copy, text, n);
    (void)LLVMFuzzerTestOneInput(copy, n);
}

/* Return whether libFuzzer has named the input, by 40 digits: it need not be taken. */
static bool is_found(const char *name)
{
    return strspn(name, "0123456789abcdef") == 40 && !name[40];
}

static int replay(const char *folder, const char *name)
{
    cleanup_free char *path = file_join(folder, "%s", name), *text = NULL;
    struct eddis_error err;
    size_t n;

    if (!path || file_read(path, MAX_BYTES, &text, &n, &err) < 0) {
        fprintf(stderr, "replay: %s\n", path ? err.text : "no memory");
        return -1;
    }
    if (n < PREFIXES_BELOW)
        for (size_t k = 0; k < n; k++)
            try(text, k);
    try(text, n);
    if (fuzz_taken && !fuzz_taken() && strncmp(name, "crash-", 6) != 0 && !is_found(name)) {
        fprintf(stderr, "replay: %s is refused; bring it up to date\n", path);
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
    const struct dirent *e;
    int n = 0;

    if (!d) {
        fprintf(stderr, "usage: replay FOLDER\n");
        return EXIT_FAILURE;
    }
    while ((e = readdir(d)) != NULL) {
        if (*e->d_name == '.')
            continue;
        if (replay(argv[1], e->d_name) < 0)
            break;
        n++;
    }
    closedir(d);
    printf("%d inputs\n", n);
    return e || n == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
