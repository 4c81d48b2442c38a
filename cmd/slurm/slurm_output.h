/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_output.h - copies the output of a job from its file as it grows
 *
 * The file is opened at each look: it lies on a file system that several machines share, where only
 * an open sees for certain what another has written and closed, and a job that is put back may
 * write another file of the same name.  One that was begun anew is known by its inode, its length,
 * or the first and last bytes that were copied of it.
 */
#ifndef EDDIS_CMD_SLURM_SLURM_OUTPUT_H
#define EDDIS_CMD_SLURM_SLURM_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SLURM_OUTPUT_HEAD = 512, SLURM_OUTPUT_TAIL = 64 };

struct slurm_output {
    off_t at; /* bytes that were copied */
    dev_t dev;
    ino_t ino;
    char head[SLURM_OUTPUT_HEAD]; /* head_n of them, the first ones */
    size_t head_n;
    char tail[SLURM_OUTPUT_TAIL]; /* tail_n of them, the last ones */
    size_t tail_n;
    bool seen;      /* there is such a file ... */
    bool is_others; /* ... or a pipe or a device, whose data are another's */
    bool failed;    /* it could not be read this time, and may be the next */
    bool gone;      /* nobody reads `to` any more */
};

/* Copy what is new in the file to `to`, as much as that takes without waiting and at most some 64
 * KB.  Returns whether there is more.
 */
bool slurm_output_copy(struct slurm_output *o, const char *path, int to);

/* Whether the file has not been seen, and may yet be: its folder is here. */
bool slurm_output_may_come(const struct slurm_output *o, const char *path);

#endif
