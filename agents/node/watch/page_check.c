/* SPDX-License-Identifier: Apache-2.0 */
/* page_check.c - replaces invalid numbers of a progress page */
#include "page_check.h"

#include "lib/base/text.h"

/* Highest phase that is accepted: above the present values of enum eddis_phase, so that new ones
 * can be added.
 */
enum { EDDIS_PHASES = 63 };

/* Return rank if it is a valid rank; else -1. */
static int64_t rank_or_none(int64_t rank)
{
    return rank >= 0 && rank < BOARD_MAX_RANKS ? rank : -1;
}

/* Replace invalid values of a comparison of models: ranks by -1, the result by "alike", the
 * difference by 0.
 */
static void repair_models(struct model_check *m)
{
    m->rank = rank_or_none(m->rank);
    m->other = rank_or_none(m->other);
    if (m->found < MODEL_CHECK_ALIKE || m->found > MODEL_CHECK_NOT_FINITE)
        m->found = MODEL_CHECK_ALIKE;
    if (!(m->largest >= 0 && m->largest <= 1e300))
        m->largest = 0;
}

void page_check_repair(struct board_page *page)
{
    int64_t *number[] = {
        &page->steps_done,
        &page->steps_total,
        &page->steps_in_epoch,
        &page->epochs,
        &page->samples_done,
        &page->plan_version,
        &page->bytes_sent,
        &page->overrun_ns,
        &page->steps_here,
        &page->step_plan,
        &page->steps_before,
        &page->samples_before,
        &page->sum.input_ns,
        &page->sum.compute_ns,
        &page->sum.exposed_ns,
        &page->sum.wait_ns,
        &page->sum.total_ns,
        &page->model_bytes,
        &page->samples_in_epoch,
        &page->restored_samples,
        &page->restored_at,
        &page->exchanges,
        &page->exchange_ns,
        &page->program.gradient_bytes,
        &page->program.float32_bytes,
        &page->program.largest_bytes,
        &page->program.largest_behind,
        &page->program.centre_bytes,
        &page->program.min_count,
        &page->models.compared,
        &page->models.unlike,
        &page->models.step,
        &page->models.alike,
        &page->loss_step,
    };

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (*number[i] < 0)
            *number[i] = 0;
    if (page->plan_since < -1)
        page->plan_since = -1;
    if (page->pid < 0)
        page->pid = 0;
    if (page->staleness < 0)
        page->staleness = 0;
    if (page->phase < 0 || page->phase > EDDIS_PHASES)
        page->phase = 0;
    repair_models(&page->models);
    if (!text_is_name(page->program.gradients, PROGRAM_GRADIENTS - 1))
        page->program.gradients[0] = '\0';
    if ((unsigned)page->program.precision >= PRECISIONS)
        page->program.precision = PRECISION_AUTO;
    for (int i = 0; i < BOARD_METRICS; i++)
        page->metric[i].name[BOARD_METRIC_NAME - 1] = '\0';
}
