/* SPDX-License-Identifier: Apache-2.0 */
/* pausing.c - stops the workers and this process, and lets both go on */
#include "pausing.h"

#include "lib/base/clock.h"

#include <signal.h>
#include <stdio.h>

/* Somebody sits at the terminal. */
static const int64_t most_ns = 2 * CLOCK_S;

/* What is shorter nobody has asked for. */
static const int64_t least_ns = CLOCK_S / 10;

static bool is_there(const struct job_run *r, int agent)
{
    const struct state_agent *a = &r->state.agent[agent];

    return a->registered && !a->lost && !a->ended;
}

static void order(struct job_run *r, int agent, bool pause)
{
    r->agent[agent].paused = pause;
    job_run_order(r, agent,
                  &(struct order){ .type = pause ? ORDER_PAUSE : ORDER_CONTINUE,
                                   .generation = r->state.generation });
}

/* Those who have registered since then, too. */
static void pause_all(struct job_run *r)
{
    for (int i = 0; i < r->n_agents; i++)
        if (is_there(r, i) && !r->agent[i].paused)
            order(r, i, true);
}

static void continue_all(struct job_run *r)
{
    for (int i = 0; i < r->n_agents; i++)
        if (is_there(r, i) && r->agent[i].paused)
            order(r, i, false);
}

void pausing_begin(struct pausing *p, struct job_run *r, int64_t now_ns)
{
    if (p->wanted)
        return;
    p->wanted = true;
    p->until_ns = now_ns + most_ns;
    pause_all(r);
}

void pausing_look(const struct pausing *p, struct job_run *r)
{
    if (p->wanted)
        pause_all(r);
}

void pausing_cancel(struct pausing *p, struct job_run *r)
{
    if (!p->wanted)
        return;
    p->wanted = false;
    continue_all(r);
}

/* An agent that asks for what is behind an order has carried it out. */
static bool took(const struct job_run *r, int agent)
{
    return is_there(r, agent) && r->agent[agent].paused && r->agent[agent].orders.n == 0;
}

/* One that comes up will hear of it when it registers. */
static bool all_took(const struct job_run *r)
{
    for (int i = 0; i < r->n_agents; i++)
        if (!r->state.agent[i].lost && !r->state.agent[i].ended && !took(r, i))
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

/* Who had taken the order, or was silent before, has not ended because of us. */
static void put_down(struct job_run *r, int64_t began_ns, int64_t now_ns)
{
    state_put_off(&r->state, now_ns - began_ns);
    state_paused(&r->state, now_ns - began_ns, now_ns);
    for (int i = 0; i < r->n_agents; i++)
        if (took(r, i))
            state_waits(&r->state, i);
}

void pausing_stop(struct pausing *p, struct job_run *r)
{
    const struct driver_view *v = &r->o->view;
    int64_t began_ns = clock_now_ns(), now_ns;
    char text[160];

    if (v->pausing)
        v->pausing(v->ctx);
    stop_here();
    now_ns = clock_now_ns();
    p->wanted = false;
    put_down(r, began_ns, now_ns);
    continue_all(r);
    if (now_ns - began_ns < least_ns) /* no shell has the process group: nothing has stopped */
        return;
    (void)snprintf(text, sizeof text,
                   "the job was stopped for %.1f s, its workers too, and goes on",
                   (double)(now_ns - began_ns) / CLOCK_S);
    job_run_say(r, JOB_EVENT_SAY, -1, -1, text);
}
