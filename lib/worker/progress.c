/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - eddis_progress and eddis_progress_report: steps of a program without a handle,
 * written to the process's page of the board
 */
#include "environment.h"
#include "lib/eddis.h"
#include "process.h"
#include "sized.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

_Static_assert((int)BOARD_COMPUTING == (int)EDDIS_PHASE_COMPUTE, "one number for that phase");

/* Show these steps on the process's page, from this thread and at this time.  Do nothing if
 * eddis-run has not started the program.  Return 0 or a negative errno.
 */
static int show(struct board_reported r, struct eddis_error *err)
{
    struct environment env;
    struct board *board;
    int rc;

    if (r.step < -1 || r.step >= BOARD_MOST_STEPS || r.samples < 0 ||
        r.samples > INT64_MAX / BOARD_MAX_RANKS || (r.step < 0 && r.samples > 0))
        return eddis_fail(err, -EINVAL,
                          "there is no step %" PRId64 " of %" PRId64 " samples; step -1 of 0 says "
                          "that none has ended yet",
                          r.step, r.samples);
    rc = environment_read(&env, err);
    if (rc < 0 || !env.board_path)
        return rc;
    rc = process_board_lock(env.board_path, env.local_rank, &board, err);
    if (rc < 0)
        return rc;
    r.thread = gettid();
    r.now_ns = clock_now_ns();
    board_show_steps(board, &r);
    process_board_unlock();
    return 0;
}

int eddis_progress(int64_t step, int64_t samples, struct eddis_error *err)
{
    return show((struct board_reported){ .step = step, .samples = samples }, err);
}

int eddis_progress_report(const struct eddis_progress_report *report, struct eddis_error *err)
{
    struct eddis_progress_report r;
    int rc = sized_check(report, "report of a step", err);

    if (rc < 0)
        return rc;
    sized_copy_in(&r, sizeof r, report);
    if (r.step_ns < 0 || r.compute_ns < 0 || r.wait_ns < 0)
        return eddis_fail(err, -EINVAL,
                          "a step of %" PRId64 " ns with %" PRId64 " ns of computing and %" PRId64
                          " ns of waiting is not possible: 0 says that a time is unknown",
                          r.step_ns, r.compute_ns, r.wait_ns);
    return show((struct board_reported){ .step = r.step,
                                         .samples = r.samples == -1 ? 0 : r.samples,
                                         .step_ns = r.step_ns,
                                         .compute_ns = r.compute_ns,
                                         .wait_ns = r.wait_ns },
                err);
}
