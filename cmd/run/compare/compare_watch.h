/* SPDX-License-Identifier: Apache-2.0 */
/* compare_watch.h - trains one run of a comparison as a job of its own, until its target
 *
 * The job is another eddis-run, in a process group of its own. It gets SIGINT, as by Ctrl-C, when
 * the target is reached, when it takes too long, and when this process dies in whatever way. So it
 * ends in good order and leaves no processes.
 */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_WATCH_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_WATCH_H

#include "agents/job/status_json.h"
#include "cmd/run/compare/compare_json.h"

/* What to train, and until when; all pointers are borrowed. */
struct compare_watch {
    char *const *argv; /* NULL-ended command: eddis-run with the run's own options */
    const char *dir;   /* folder of the job, which the job makes */
    const char *log;   /* path of the file that gets the job's standard error */
    struct compare_target target;
    double late_s; /* end the run after this time; NAN: no limit */
    int signals;   /* descriptor of signal_fd_open, with SIGINT, SIGTERM, SIGHUP and SIGTSTP */
    /* called about once a second while the job trains; NULL: not called */
    void (*progress)(void *ctx, const struct job_status *s, const struct curve_point *p);
    void *ctx;
};

/* Train a run and fill its results in *r. Block until the job has ended. Pass SIGINT, SIGTERM and
 * SIGHUP on to the job, and stop together with it at SIGTSTP. Return 0; the number of the first of
 * those signals, and r->state is COMPARE_OPEN unless the run had its result before; or a negative
 * errno: the job cannot be started.
 */
int compare_watch(const struct compare_watch *w, struct compare_run *r, struct eddis_error *err);

#endif
