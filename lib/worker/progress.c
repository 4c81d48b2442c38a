/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - eddis_progress: steps of a program without a handle, written to the process's page
 * of the board
 */
#include "environment.h"
#include "lib/eddis.h"
#include "process.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

_Static_assert((int)BOARD_COMPUTING == (int)EDDIS_PHASE_COMPUTE, "one number for that phase");

int eddis_progress(int64_t step, int64_t samples, struct eddis_error *err)
{
    struct environment env;
    struct board *board;
    int rc;

    if (step < -1 || step >= BOARD_MOST_STEPS || samples < 0 ||
        samples > INT64_MAX / BOARD_MAX_RANKS || (step < 0 && samples > 0))
        return eddis_fail(err, -EINVAL,
                          "there is no step %" PRId64 " of %" PRId64 " samples; step -1 of 0 says "
                          "that none has ended yet",
                          step, samples);
    rc = environment_read(&env, err);
    if (rc < 0 || !env.board_path)
        return rc;
    rc = process_board_lock(env.board_path, env.local_rank, &board, err);
    if (rc < 0)
        return rc;
    board_show_steps(board, &(struct board_reported){ .step = step,
                                                      .samples = samples,
                                                      .thread = gettid(),
                                                      .now_ns = clock_now_ns() });
    process_board_unlock();
    return 0;
}
