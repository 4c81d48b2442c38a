/* SPDX-License-Identifier: Apache-2.0 */
/* job_run.c - record events of the running job, and queue orders for its agents */
#include "job_run.h"

#include "lib/base/cleanup.h"

#include <stdarg.h>
#include <stdio.h>

void job_run_say(struct job_run *r, enum job_event type, int agent, int rank, const char *text)
{
    const char *node = agent >= 0 ? r->state.agent[agent].host : NULL;

    journal_event(&r->journal, type, node, rank, text);
    if (type == JOB_EVENT_SAY || type == JOB_EVENT_STRAGGLER || type == JOB_EVENT_STRAGGLER_OVER)
        r->o->view.say(r->o->view.ctx, text);
}

void job_run_sayf(struct job_run *r, enum job_event type, int agent, int rank, const char *fmt, ...)
{
    cleanup_free char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    if (text)
        job_run_say(r, type, agent, rank, text);
}

void job_run_order(struct job_run *r, int agent, const struct order *order)
{
    struct eddis_error err = { 0 };
    struct order o = *order;

    if (orders_add(&r->agent[agent].orders, &o, &err) < 0)
        job_run_say(r, JOB_EVENT_NOTE, agent, -1, err.text);
}

void job_run_order_parts(struct job_run *r, const struct order *order)
{
    for (int i = 0; i < r->n_agents; i++)
        if (r->state.agent[i].part && state_is_known(&r->state, i))
            job_run_order(r, i, order);
}

void job_run_order_all(struct job_run *r, const struct order *order)
{
    for (int i = 0; i < r->n_agents; i++)
        if (!r->state.agent[i].ended && !r->state.agent[i].lost)
            job_run_order(r, i, order);
}
