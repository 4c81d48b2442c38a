/* SPDX-License-Identifier: Apache-2.0 */
/* pausing.c - stops the workers and this process, and lets both go on */
#include "pausing.h"

#include "lib/base/clock.h"

#include <signal.h>
#include <stdio.h>

/* Somebody sits at the terminal. */
static const int64_t most_ns = 2 * CLOCK_S;

static bool is_there(const struct job_run *r, int agent)
{
    const struct state_agent *a = &r->state.agent[agent];

    return a->registered && !a->lost && !a->ended;
}

static void order_all(struct job_run *r, enum order_type type)
{
    for (int i = 0; i < r->n_agents; i++)
        if (is_there(r, i))
            job_run_order(r, i, &(struct order){ .type = type, .generation = r->state.generation });
}

void pausing_begin(struct pausing *p, struct job_run *r, int64_t now_ns)
{
    if (p->wanted)
        return;
    p->wanted = true;
    p->until_ns = now_ns + most_ns;
    order_all(r, ORDER_PAUSE);
}

void pausing_cancel(struct pausing *p, struct job_run *r)
{
    if (!p->wanted)
        return;
    p->wanted = false;
    order_all(r, ORDER_CONTINUE);
}

/* An agent that asks for what is behind an order has carried it out. */
static bool all_took(const struct job_run *r)
{
    for (int i = 0; i < r->n_agents; i++)
        if (is_there(r, i) && r->agent[i].orders.n > 0)
            return false;
    return true;
}

bool pausing_due(const struct pausing *p, const struct job_run *r, int64_t now_ns)
{
    return p->wanted && (now_ns >= p->until_ns || all_took(r));
}

int64_t pausing_next_ns(const struct pausing *p)
{
    return p->wanted ? p->until_ns : CLOCK_NEVER;
}

/* Take the default action of SIGTSTP; nothing happens in a process group that no shell controls,
 * nor where a SIGCONT waits to be read, which raise would discard.
 */
static void stop_here(void)
{
    sigset_t set, before;

    if (sigpending(&set) == 0 && sigismember(&set, SIGCONT) == 1)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    (void)raise(SIGTSTP); /* blocked until now */
    (void)sigprocmask(SIG_UNBLOCK, &set, &before);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void pausing_stop(struct pausing *p, struct job_run *r)
{
    int64_t began_ns = clock_now_ns(), now_ns;
    const struct driver_view *v = &r->o->view;
    bool all = all_took(r);
    char text[160];

    if (v->pausing)
        v->pausing(v->ctx);
    stop_here();
    now_ns = clock_now_ns();
    p->wanted = false;
    state_put_off(&r->state, now_ns - began_ns);
    /* Who had taken the order has not ended because of us. */
    state_paused(&r->state, all ? 0 : now_ns - began_ns, now_ns);
    order_all(r, ORDER_CONTINUE);
    (void)snprintf(text, sizeof text,
                   "the job was stopped for %.1f s, its workers too, and goes on",
                   (double)(now_ns - began_ns) / CLOCK_S);
    job_run_say(r, JOB_EVENT_SAY, -1, -1, text);
}
