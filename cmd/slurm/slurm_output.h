/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_output.h - copies the output of a job from its file as it grows
 *
 * The file is opened at each poll. It lies on a shared file system, where only an open reliably
 * shows what another machine has written and closed; and a job that is requeued may write another
 * file of the same name. A file that was started anew is recognized by its inode, its length, or
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
    off_t at; /* bytes copied so far, the offset to continue at */
    dev_t dev;
    ino_t ino;
    char head[SLURM_OUTPUT_HEAD]; /* the first head_n bytes that were copied */
    size_t head_n;
    char tail[SLURM_OUTPUT_TAIL]; /* the last tail_n bytes that were copied */
    size_t tail_n;
    bool seen;      /* the file exists ... */
    bool is_others; /* ... or is a pipe or a device, whose data belong to another reader */
    bool failed;    /* it could not be read this time; a retry may succeed */
    bool gone;      /* nobody reads `to` any more */
};

/* Copy new bytes of the file to `to`, as many as it takes without blocking and at most some 64 KB.
 * Return whether more may be left. Set o->failed or o->gone on errors.
 */
bool slurm_output_copy(struct slurm_output *o, const char *path, int to);

/* Check whether the file has not been seen yet, but may still appear: its folder exists here. */
bool slurm_output_may_come(const struct slurm_output *o, const char *path);

#endif
