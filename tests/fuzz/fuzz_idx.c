/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_idx.c - any bytes as IDX labels and images: the first byte says how long the labels are */
#include "data_file.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t n_labels = n ? data[0] : 0;

    if (n == 0 || n_labels > n - 1)
        return 0;
    data_file_check(data + 1 + n_labels, n - 1 - n_labels, data + 1, n_labels);
    return 0;
}
