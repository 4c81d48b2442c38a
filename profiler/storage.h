/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - measure how fast a data path can be read */
#ifndef EDDIS_PROFILER_STORAGE_H
#define EDDIS_PROFILER_STORAGE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What to read */
struct storage_task {
    char path[1024];
    int64_t most_bytes; /* stop after these bytes ... */
    int64_t most_ns;    /* ... or this time */
};

/* Result of a read */
struct storage_result {
    double bytes_per_s;
    int64_t bytes;  /* bytes read */
    bool in_memory; /* most came from the page cache or a file system in memory */
};

/* Read a file, or the files of a folder and its subfolders, after asking the kernel to drop their
 * cached pages.  Links below the path are not followed.  An isolate_fn: struct storage_task ->
 * struct storage_result.  -ENODATA: there is nothing to read.
 */
int storage_read(const void *task, void *result, struct eddis_error *err);

#endif
