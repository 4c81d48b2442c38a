/* SPDX-License-Identifier: Apache-2.0 */
/* data_file.c - puts bytes into a file in memory and reads them as a data set, in two ways */
#include "data_file.h"

#include "cmd/train/data/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_READ = 1 << 20 }; /* numbers compared of one file */

static void must(int ok, const char *what, const char *sentence)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz_data: %s: %s\n", what, sentence);
    abort();
}

/* A file in memory, with a path. */
static int make_file(const uint8_t *data, size_t n, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    must(fd >= 0 && write(fd, data, n) == (ssize_t)n, "memfd", "cannot be written");
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void compare(struct dataset *a, struct dataset *b, int64_t i)
{
    size_t width = (size_t)dataset_info(a)->n_features;
    float *x = malloc(width * sizeof *x), *y = malloc(width * sizeof *y);
    int32_t p = 0, q = 1;
    struct eddis_error err = { 0 };

    must(x && y, "memory", "is out");
    must(dataset_read(a, &i, 1, 1, x, &p, &err) == 0, "a row is not read again", err.text);
    must(dataset_read(b, &i, 1, 1, y, &q, &err) == 0, "a row is not read in blocks", err.text);
    must(p == q && memcmp(x, y, width * sizeof *x) == 0, "a row", "differs in blocks");
    must(p >= 0 && p < dataset_info(a)->n_classes, "a label", "is out of range");
    free(x);
    free(y);
}

void data_file_check(const uint8_t *data, size_t n, const uint8_t *labels, size_t n_labels)
{
    char path[64], label_path[64];
    int fd = make_file(data, n, path), label_fd = make_file(labels, n_labels, label_path);
    struct dataset_options o = { .path = path,
                                 .labels = labels ? label_path : NULL,
                                 .memory_bytes = 16 << 20 };
    struct dataset *memory = NULL, *blocks = NULL;
    struct eddis_error err = { 0 };

    if (dataset_open(&o, &memory, &err) < 0) {
        must(err.text[0] && !strchr(err.text, '\n'), "no sentence", err.text);
    } else {
        int64_t rows = dataset_info(memory)->n_samples, width = dataset_info(memory)->n_features;
        int64_t step = 1 + rows * width / MAX_READ;

        o.memory_bytes = 1;
        must(dataset_open(&o, &blocks, &err) == 0, "refused in blocks", err.text);
        must(dataset_info(blocks)->n_samples == rows, "rows", "differ in blocks");
        for (int64_t i = 0; i < rows; i += step)
            compare(memory, blocks, i);
    }
    dataset_close(memory);
    dataset_close(blocks);
    (void)close(fd);
    (void)close(label_fd);
}
