/* SPDX-License-Identifier: Apache-2.0 */
/* Carrying out what the state machine wants: orders, starts, words. */
#include "driver_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t clean_ns = 5 * CLOCK_S;

static void add_order(struct driver *d, int agent, const struct order *order)
{
    struct eddis_error err = { 0 };
    struct order o = *order;

    if (orders_add(&d->agent[agent].orders, &o, &err) < 0)
        driver_say(d, "note", agent, -1, err.text);
}

void driver_order_parts(struct driver *d, const struct order *order)
{
    for (int i = 0; i < d->n_agents; i++)
        if (d->state.agent[i].part && state_is_known(&d->state, i))
            add_order(d, i, order);
}

/* Also those that have not registered yet: they will come for it. */
static void order_all(struct driver *d, const struct order *order)
{
    for (int i = 0; i < d->n_agents; i++)
        if (!d->state.agent[i].ended && !d->state.agent[i].lost)
            add_order(d, i, order);
}

void driver_order_bye(struct driver *d)
{
    order_all(d, &(struct order){ .type = ORDER_BYE });
    if (d->starter)
        starter_abandon(d->starter);
}

static void order_generation(struct driver *d, enum order_type type)
{
    driver_order_parts(d, &(struct order){ .type = type, .generation = d->state.generation });
}

static void profile(struct driver *d, int agent)
{
    const struct order o = { .type = ORDER_PROFILE };

    if (agent >= 0)
        add_order(d, agent, &o);
    else
        order_all(d, &o);
}

static void ask_for_checkpoint(struct driver *d)
{
    const struct plan *p = d->equal && d->newest_version == 1 ? d->equal : d->plan;
    struct eddis_error err = { 0 };

    if (p == d->equal)
        figures_only_equal(&d->figures);
    if (driver_publish(d, p, BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP, &err) < 0)
        state_fail(&d->state, "internal", 1, err.text, clock_now_ns());
}

static void kill_left_over(struct driver *d)
{
    struct eddis_error err = { 0 };

    if (starter_clean(d->starter, 0, clock_now_ns() + clean_ns, &err) < 0)
        driver_say(d, "say", -1, -1, err.text);
}

/* A node that was given up or has ended is started again; what it may have left here is removed
 * first.
 */
static void revive(struct driver *d, int agent)
{
    int64_t deadline_ns = clock_after_ns(clock_now_ns(), d->o->job->timeouts.launch_ns);
    struct eddis_error err = { 0 };

    if (starter_is_local(d->starter, agent))
        (void)starter_sweep(d->starter, agent, d->agent[agent].folder, NULL);
    driver_say(d, "start_again", agent, -1, "");
    if (driver_start_agent(d, agent, deadline_ns, &err) < 0)
        state_not_started(&d->state, agent, err.text, clock_now_ns());
}

static void show_last_lines(struct driver *d, const struct action *a)
{
    const struct driver_view *v = &d->o->view;

    if (d->event && d->event->last_lines && *d->event->last_lines)
        v->last_lines(v->ctx, a->rank, d->event->last_lines);
}

static void recovered(struct driver *d, const char *text)
{
    d->status.recovery_s = (double)d->state.recovery_ns / CLOCK_S;
    driver_say(d, "recovered", -1, -1, text);
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
        add_order(d, d->state.first,
                  &(struct order){ .type = ORDER_START, .generation = d->state.generation });
        break;
    case ACTION_CHECKPOINT:
        ask_for_checkpoint(d);
        break;
    case ACTION_SIGNAL:
        order_generation(d, ORDER_SIGNAL);
        break;
    case ACTION_STOP:
        driver_order_parts(d, &(struct order){ .type = ORDER_STOP,
                                               .generation = d->state.generation,
                                               .ladder = a->ladder,
                                               .grace_ns = d->o->job->timeouts.grace_ns });
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
        driver_say(d, "say", -1, -1, a->text);
        break;
    case ACTION_LAST_LINES:
        show_last_lines(d, a);
        break;
    }
}

void driver_act(struct driver *d)
{
    struct action a;

    while (state_action(&d->state, &a))
        act(d, &a);
}
