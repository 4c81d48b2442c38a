/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_csv.c - any bytes as a CSV file of eddis-train, gzipped or not */
#include "data_file.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    data_file_check(data, n, NULL, 0);
    return 0;
}
