/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - how fast a data path can be read */
#ifndef EDDIS_PROFILER_STORAGE_H
#define EDDIS_PROFILER_STORAGE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct storage_task {
    char path[1024];
    int64_t most_bytes; /* stop after these bytes ... */
    int64_t most_ns;    /* ... or this time */
};

struct storage_result {
    double bytes_per_s;
    int64_t bytes;  /* that were read */
    bool in_memory; /* most of it came from the page cache or a file system in memory */
};

/* An isolate_fn: struct storage_task -> struct storage_result.  Reads a file, or the files of a
 * folder and the folders in it, after asking the kernel to forget them; never follows a link
 * below the path.  -ENODATA: there is nothing to read.
 */
int storage_read(const void *task, void *result, struct eddis_error *err);

#endif
