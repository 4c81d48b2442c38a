/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - what must not be forgotten: forks, and exits without eddis_close
 *
 * The only state of the process as a whole: MPI's is too, and exit handlers know no handle.
 */
#ifndef EDDIS_WORKER_PROCESS_H
#define EDDIS_WORKER_PROCESS_H

#include "lib/base/error.h"

struct eddis;

/* How many forks lie between this process and the one that loaded the library. */
int process_forks(void);

/* From now on an exit of the process without process_remove ends all ranks, with the exit code of
 * the process, or 1 when that is 0.
 */
int process_add(struct eddis *e, struct eddis_error *err);
void process_remove(struct eddis *e);

#endif
