/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - data files for the tests of readers, gone when they are closed */
#ifndef EDDIS_TESTS_DATA_FILES_H
#define EDDIS_TESTS_DATA_FILES_H

#include "cmd/train/data/dataset.h"

#include <stddef.h>

/* Returns the path of a new file with these bytes; remove_file removes it and frees the path. */
char *write_file(const void *bytes, size_t n);
void remove_file(char *path);

/* Returns the bytes gzipped; the caller frees them. */
char *gzipped(const void *bytes, size_t n, size_t *ret_n);

/* Open bytes as a data set that must be right; o (may be NULL) says how, its path is ignored. */
struct dataset *open_bytes(const void *bytes, size_t n, bool gzip, const struct dataset_options *o);

/* As open_bytes, of a text, with a limit of memory; 0: the default. */
struct dataset *open_text(const char *text, bool gzip, int64_t memory_bytes);

/* Open bytes as a data set that must be refused, with one sentence in err. */
void refuse_bytes(const void *bytes, size_t n, const struct dataset_options *o,
                  struct eddis_error *err);

#endif
