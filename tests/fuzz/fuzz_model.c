/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_model.c - any bytes as the file of a trained model; also behind the length of a header that
 * random bytes seldom have right
 */
#include "target.h"

#include "cmd/train/model/model_file.h"

#include <stdlib.h>
#include <string.h>

static void try(const char *data, size_t n)
{
    struct model_file f;

    if (model_file_parse(data, n, "model", &f, NULL) == 0)
        model_file_fini(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *end = memchr(data, '\n', n);
    size_t header = end ? (size_t)(end - data) : n;
    char *framed = malloc(n + 8);

    if (!framed)
        return 0;
    try((const char *)data, n);
    for (int i = 0; i < 8; i++)
        framed[i] = (char)(header >> (8 * i));
    memcpy(framed + 8, data, n);
    try(framed, n + 8);
    free(framed);
    return 0;
}
