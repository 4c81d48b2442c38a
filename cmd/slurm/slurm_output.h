/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_output.h - copies the output of a job from its file as it grows
 *
 * The file is opened at each poll, because it is on a shared file system, where only opening a file
 * reliably shows what another machine has written and closed, and because a job that is requeued
 * may write another file of the same name. A new file is recognized by its inode, its length, or
 * the first and last bytes that were copied.
 */
#ifndef EDDIS_CMD_SLURM_SLURM_OUTPUT_H
#define EDDIS_CMD_SLURM_SLURM_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SLURM_OUTPUT_HEAD = 512, SLURM_OUTPUT_TAIL = 64 };

/* State of copying; zero-initialize it. */
struct slurm_output {
    off_t at; /* number of bytes copied so far: the offset at which to continue */
    dev_t dev;
    ino_t ino;
    char head[SLURM_OUTPUT_HEAD]; /* the first head_n bytes that were copied */
    size_t head_n;
    char tail[SLURM_OUTPUT_TAIL]; /* the last tail_n bytes that were copied */
    size_t tail_n;
    bool seen;      /* the file exists ... */
    bool is_others; /* ... or it is a pipe or a device, whose data belong to another reader */
    bool failed;    /* the file could not be read at this poll; a later poll may succeed */
    bool gone;      /* the reader of `to` has closed it */
};

/* Copy new bytes of the file to the descriptor `to`: as many as it takes without blocking, at most
 * about 64 KB. Return whether the file may have further bytes. On errors set o->failed or o->gone.
 */
bool slurm_output_copy(struct slurm_output *o, const char *path, int to);

/* Check whether the file has not been seen yet, but may still appear, because its folder exists on
 * this machine.
 */
bool slurm_output_may_come(const struct slurm_output *o, const char *path);

#endif
