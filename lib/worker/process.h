/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - what belongs to the process as a whole: forks, and exits without eddis_close
 *
 * MPI's state is the process's too, and exit handlers know no handle.  One lock, which is never
 * held while another is taken.
 */
#ifndef EDDIS_WORKER_PROCESS_H
#define EDDIS_WORKER_PROCESS_H

#include "lib/base/error.h"

struct comm_thread;

/* An open worker, as the process sees it; a member of its struct eddis. */
struct process_worker {
    struct process_worker *next;
    int fork_count;             /* process_forks() when it was opened */
    struct comm_thread *thread; /* to end all ranks with; NULL: one rank */
};

/* Count the forks between this process and the one that loaded the library. */
int process_forks(void);

/* Return 0, -EINVAL when w is NULL, or -EPERM in a child made by fork after w was opened. */
int process_check(const struct process_worker *w, struct eddis_error *err);

/* Make an exit of the process before process_remove end all ranks, with the exit code of the
 * process, or 1 when that is 0, after process_last_words.
 */
int process_add(struct process_worker *w, struct eddis_error *err);
void process_remove(struct process_worker *w);

/* Write out what stdio still holds, before an end that would lose it.  Where that takes longer than
 * three seconds the process ends with this code instead.
 */
void process_last_words(int code);

#endif
