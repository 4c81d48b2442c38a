/* SPDX-License-Identifier: Apache-2.0 */
/* samples_plan.c - samples by plan: the step's part of the epoch's permutation */
#include "samples_feed.h"

static int plan_look(struct samples *s, int64_t step, struct sampler_step *ret,
                     struct eddis_error *err)
{
    return sampler_ask(s->sampler, step, ret, err);
}

const struct samples_feed samples_by_plan = {
    .who = "the workers have",
    .look = plan_look,
};
