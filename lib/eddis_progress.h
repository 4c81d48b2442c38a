/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_progress.h - a part of eddis.h, which includes it: steps with their times, of a program
 * that uses no other call of eddis
 */
#ifndef EDDIS_PROGRESS_H
#define EDDIS_PROGRESS_H

#ifndef EDDIS_H
#error "include eddis.h, of which this is a part"
#endif

/* What eddis_progress_report reports of a worker.  If several steps lie between two reports,
 * samples and times are sums over them.
 */
struct eddis_progress_report {
    size_t size;     /* sizeof(struct eddis_progress_report) */
    int64_t step;    /* number of the step that has ended, from 0; -1: none has ended yet */
    int64_t samples; /* samples of this worker; 0 or -1: unknown */
    int64_t step_ns; /* time from the end of the step before to its own end; 0: the time since the
                      * previous report */
    int64_t compute_ns; /* this worker's own part of it: computing, and waiting for data; 0:
                         * unknown, then wait_ns is ignored */
    int64_t wait_ns;    /* the part of it in which this worker waited for other workers */
};

/* Report that a step of this worker has ended, as eddis_progress does, with its times.  The rest of
 * step_ns counts as communication; compute_ns and wait_ns are limited to step_ns.  Workers that
 * wait for each other in each step all have the same step_ns.  If all workers report compute_ns,
 * eddis-run names each worker that needs more time than before.  Return 0 or an error of
 * eddis_progress; -EINVAL: report is NULL, its size is not set, or a member is negative.
 */
int eddis_progress_report(const struct eddis_progress_report *report, struct eddis_error *err);

#endif
