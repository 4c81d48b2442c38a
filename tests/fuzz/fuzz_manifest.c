/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_manifest.c - any bytes as a checkpoint's manifest, and as a worker's list of its files
 *
 * There is one way to write a manifest: what is taken must be written back as the same bytes.
 * Each input is also tried with the right checksum behind it, which random bytes never have.
 */
#include "target.h"

#include "lib/base/crc32.h"
#include "lib/checkpoint/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void try(const char *text, size_t n)
{
    struct manifest m = { 0 };
    char *again;

    if (manifest_parse(text, n, &m, NULL) < 0)
        return;
    again = manifest_text(&m);
    if (!again || strlen(again) != n || memcmp(again, text, n) != 0) {
        fputs("fuzz_manifest: the manifest's own text differs\n", stderr);
        abort();
    }
    free(again);
    manifest_fini(&m);
}

static void try_list(const char *text, size_t n)
{
    struct manifest m = { 0 };
    char *again;

    if (manifest_parse_list(text, n, &m, NULL) == 0) {
        again = manifest_list_text(&m);
        if (!again || strlen(again) != n || memcmp(again, text, n) != 0) {
            fputs("fuzz_manifest: the list's own text differs\n", stderr);
            abort();
        }
        free(again);
    }
    manifest_fini(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *summed = malloc(n + 14);

    try((const char *)data, n);
    try_list((const char *)data, n);
    if (!summed)
        return 0;
    memcpy(summed, data, n);
    snprintf(summed + n, 14, "end %08x\n", crc32_update(0, data, n));
    try(summed, n + 13);
    free(summed);
    return 0;
}
