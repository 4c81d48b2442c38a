/* SPDX-License-Identifier: Apache-2.0 */
/* pausing.c - stop the workers and this process, and continue both */
#include "pausing.h"

#include "lib/base/clock.h"

#include <signal.h>
#include <stdio.h>

/* Longest wait for agents to pause their workers: the user waits at the terminal. */
static const int64_t most_ns = 2 * CLOCK_S;

/* Shortest pause that is reported: in a shorter one this process did not stop. */
static const int64_t least_ns = CLOCK_S / 10;

/* Check whether an agent has registered and is neither lost nor ended. */
static bool is_there(const struct job_run *r, int agent)
{
    const struct state_agent *a = &r->state.agent[agent];

    return a->registered && !a->lost && !a->ended;
}

/* Order an agent to pause its workers or to let them continue, and record which. */
static void order(struct job_run *r, int agent, bool pause)
{
    r->agent[agent].paused = pause;
    job_run_order(r, agent,
                  &(struct order){ .type = pause ? ORDER_PAUSE : ORDER_CONTINUE,
                                   .generation = r->state.generation });
}

/* Order all agents that are there and not paused to pause their workers. */
static void pause_all(struct job_run *r)
{
    for (int i = 0; i < r->n_agents; i++)
        if (is_there(r, i) && !r->agent[i].paused)
            order(r, i, true);
}

/* Order all paused agents to continue their workers. */
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

/* Check whether an agent has paused its workers as ordered: its list of orders is empty only then,
 * because it asks for the next order after it has carried out one.
 */
static bool took(const struct job_run *r, int agent)
{
    return is_there(r, agent) && r->agent[agent].paused && r->agent[agent].orders.n == 0;
}

/* Check whether all agents have paused their workers.  An agent that is still starting delays this:
 * it gets the order when it registers.
 */
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

/* Stop this process by the default action of SIGTSTP, and restore the signal mask after SIGCONT.
 * Nothing stops in a process group without a controlling shell, or if a SIGCONT is pending, which
 * raise() would discard.
 */
static void stop_here(void)
{
    sigset_t set, before;

    if (sigpending(&set) == 0 && sigismember(&set, SIGCONT) == 1)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    (void)raise(SIGTSTP); /* SIGTSTP is still blocked */
    (void)sigprocmask(SIG_UNBLOCK, &set, &before);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Account for a pause that is over: extend the deadlines by its length, and have the end of an
 * agent that paused its workers not blamed on it.
 */
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
    if (now_ns - began_ns < least_ns) /* no controlling shell: nothing has stopped */
        return;
    (void)snprintf(text, sizeof text,
                   "the job and its workers were suspended for %.1f s and now continue",
                   (double)(now_ns - began_ns) / CLOCK_S);
    job_run_say(r, JOB_EVENT_SAY, -1, -1, text);
}
