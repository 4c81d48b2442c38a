/* SPDX-License-Identifier: Apache-2.0 */
/* Carrying out what the state machine wants: orders, starts, words. */
#include "driver_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t clean_ns = 5 * CLOCK_S;

void driver_order_bye(struct driver *d)
{
    job_run_order_all(&d->run, &(struct order){ .type = ORDER_BYE });
    if (d->starter)
        starter_abandon(d->starter);
}

static void order_generation(struct driver *d, enum order_type type)
{
    job_run_order_parts(&d->run,
                        &(struct order){ .type = type, .generation = d->run.state.generation });
}

static void profile(struct driver *d, int agent)
{
    const struct order o = { .type = ORDER_PROFILE };

    if (agent >= 0)
        job_run_order(&d->run, agent, &o);
    else
        job_run_order_all(&d->run, &o);
}

static void ask_for_checkpoint(struct driver *d)
{
    const struct plan *p = d->equal && d->newest_version == 1 ? d->equal : d->plan;
    struct eddis_error err = { 0 };

    if (p == d->equal)
        figures_only_equal(&d->figures);
    if (driver_publish(d, p, BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP, &err) < 0)
        state_fail(&d->run.state, "internal", 1, err.text, clock_now_ns());
}

static void kill_left_over(struct driver *d)
{
    struct eddis_error err = { 0 };

    if (starter_clean(d->starter, 0, clock_now_ns() + clean_ns, &err) < 0)
        job_run_say(&d->run, JOB_EVENT_SAY, -1, -1, err.text);
}

/* A node that was given up or has ended is started again; what it may have left here is removed
 * first.
 */
static void revive(struct driver *d, int agent)
{
    int64_t deadline_ns = clock_after_ns(clock_now_ns(), d->run.o->job->timeouts.launch_ns);
    struct eddis_error err = { 0 };

    if (starter_is_local(d->starter, agent))
        (void)starter_sweep(d->starter, agent, &d->run.agent[agent].identity, NULL);
    job_run_say(&d->run, JOB_EVENT_START_AGAIN, agent, -1, "");
    if (driver_start_agent(d, agent, deadline_ns, &err) < 0)
        state_not_started(&d->run.state, agent, err.text, clock_now_ns());
}

static void show_last_lines(struct driver *d, const struct action *a)
{
    const struct driver_view *v = &d->run.o->view;

    if (d->run.event && d->run.event->last_lines && *d->run.event->last_lines)
        v->last_lines(v->ctx, a->rank, d->run.event->last_lines);
}

static void recovered(struct driver *d, const char *text)
{
    d->run.status.recovery_s = (double)d->run.state.recovery_ns / CLOCK_S;
    job_run_say(&d->run, JOB_EVENT_RECOVERED, -1, -1, text);
}

static void act(struct driver *d, const struct action *a)
{
    switch (a->type) {
    case ACTION_PROFILE:
        profile(d, a->agent);
        break;
    case ACTION_NETWORK:
        driver_network(d);
        break;
    case ACTION_FORGET:
        driver_forget_network(d);
        break;
    case ACTION_PLAN:
        driver_plan(d);
        break;
    case ACTION_PREPARE:
        driver_prepare(d);
        break;
    case ACTION_CHECK:
        order_generation(d, ORDER_CHECK);
        break;
    case ACTION_START:
        job_run_order(
            &d->run, d->run.state.first,
            &(struct order){ .type = ORDER_START, .generation = d->run.state.generation });
        break;
    case ACTION_CHECKPOINT:
        ask_for_checkpoint(d);
        break;
    case ACTION_SIGNAL:
        order_generation(d, ORDER_SIGNAL);
        break;
    case ACTION_STOP:
        job_run_order_parts(&d->run,
                            &(struct order){ .type = ORDER_STOP,
                                             .generation = d->run.state.generation,
                                             .ladder = a->ladder,
                                             .grace_ns = d->run.o->job->timeouts.grace_ns });
        break;
    case ACTION_REVIVE:
        revive(d, a->agent);
        break;
    case ACTION_RECOVERED:
        recovered(d, a->text);
        break;
    case ACTION_BYE:
        if (!driver_logs_begin(d, clock_now_ns()))
            driver_order_bye(d);
        break;
    case ACTION_KILL:
        kill_left_over(d);
        break;
    case ACTION_SAY:
        job_run_say(&d->run, JOB_EVENT_SAY, -1, -1, a->text);
        break;
    case ACTION_LAST_LINES:
        show_last_lines(d, a);
        break;
    }
}

void driver_act(struct driver *d)
{
    struct action a;

    while (state_action(&d->run.state, &a))
        act(d, &a);
}
