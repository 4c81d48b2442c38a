/* SPDX-License-Identifier: Apache-2.0 */
/* data_file.h - any bytes as a data file: what is taken reads the same from memory and in blocks */
#ifndef EDDIS_TESTS_FUZZ_DATA_FILE_H
#define EDDIS_TESTS_FUZZ_DATA_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Open the bytes, with these labels (NULL: CSV); aborts when a promise of dataset.h is broken. */
void data_file_check(const uint8_t *data, size_t n, const uint8_t *labels, size_t n_labels);

#endif
