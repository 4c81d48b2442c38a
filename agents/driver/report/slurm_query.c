/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_query.c - run scontrol and sinfo on a thread of their own */
#include "slurm_query.h"

#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/file_thread.h"
#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"
#include "lib/base/strlist.h"
#include "lib/base/user_env.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    SAID_MAX = 1 << 20,         /* most bytes of a program's output */
    PATIENCE_S = 10,            /* time limit of a program, for a busy controller */
    SETTLE_S = 2,               /* at the job's end: Slurm kills the job soon after SIGTERM ... */
    SETTLE_WARNED_S = 10,       /* ... and later after a warning */
    AGAIN_S = 2,                /* interval between two questions about nodes, at first ... */
    AGAIN_MAX_S = 30,           /* ... and at most, while no node is down */
    TRIES = 3,                  /* most questions about the time limit for one signal */
    MISSED = 3,                 /* reports that a silent node has missed */
    EARLY_S = 90,               /* Slurm may send a warning a minute earlier than it was asked to */
    LOOK_NS = 20 * 1000 * 1000, /* interval of checks whether it is wanted */
};

/* ---- parsing the programs' output ---- */

/* Copy the value of a field of scontrol's record, whose name is given as " Name=", to ret [size];
 * "": the record has no such field.
 */
static void field(const char *record, const char *name, char *ret, size_t size)
{
    const char *at = strstr(record, name);

    (void)snprintf(ret, size, "%.*s", at ? (int)strcspn(at + strlen(name), " \n") : 0,
                   at ? at + strlen(name) : "");
}

/* Convert "2026-11-29T02:19:21", local time, to Unix time in seconds; -1: not a time. */
static int64_t time_of(const char *text)
{
    struct tm tm = { .tm_isdst = -1 };
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    return end && !*end ? (int64_t)mktime(&tm) : -1;
}

bool slurm_query_is_limit(const char *record, int64_t now_s, int64_t warned_s)
{
    /* the job name before it may contain anything */
    const char *own = strstr(record, " JobState=");
    char state[32], reason[40], preempted[40], end[40];
    int64_t end_s;

    if (!own)
        return false;
    field(own, " JobState=", state, sizeof state);
    field(own, " Reason=", reason, sizeof reason);
    field(own, " PreemptTime=", preempted, sizeof preempted);
    field(own, " EndTime=", end, sizeof end);
    if (strcmp(state, "TIMEOUT") == 0 || strcmp(reason, "TimeLimit") == 0)
        return true;
    end_s = time_of(end);
    return (strcmp(state, "RUNNING") == 0 || strcmp(state, "SIGNALING") == 0) &&
           (!*preempted || strcmp(preempted, "None") == 0) && end_s >= 0 &&
           end_s - now_s <= warned_s;
}

/* Check whether "down" is one of the words of a state like "down*+drain", which ends at a blank. */
static bool has_down(const char *state)
{
    for (size_t n; *state && !strchr(" \n", *state); state += n + (state[n] == '+')) {
        n = strcspn(state, "+ \n");
        if (strncmp(state, "down", 4) == 0 && (n == 4 || (n == 5 && state[4] == '*')))
            return true;
    }
    return false;
}

bool slurm_query_is_down(const char *table, const char *node)
{
    size_t n = strlen(node);

    for (const char *at = table; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, node, n) == 0 && at[n] == ' ' && has_down(at + n + strspn(at + n, " ")))
            return true;
    return false;
}

/* ---- one question ---- */

/* Called with the program's output; NULL: no answer. */
typedef void (*answer_fn)(struct slurm_query *a, const char *said);

/* A task that runs one program. */
struct question {
    struct file_task task;
    struct slurm_query *ask;
    struct strlist argv, environment;
    answer_fn answer;
    _Atomic bool unwanted; /* set by the driver's thread: kill the program */
    char *said;            /* output; NULL: it failed */
};

/* Wait for the end of scontrol or sinfo; kill it after PATIENCE_S or when its answer is no longer
 * wanted.  Return 0 if it has ended, with its wait status in *status, else a negative error.
 * Blocks.
 */
static int await(pid_t pid, const _Atomic bool *unwanted, int *status)
{
    static const struct spawn_rung look[] = { { 0, LOOK_NS } }, now[] = { { SIGKILL, CLOCK_S } };
    int64_t end_ns = clock_now_ns() + PATIENCE_S * CLOCK_S;

    while (!*unwanted && clock_now_ns() < end_ns)
        if (spawn_stop(-pid, look, 1, status, NULL) == 0)
            return 0;
    return spawn_stop(-pid, now, 1, status, NULL);
}

/* Run a program and return its output, for the caller to free; NULL: it failed or was not wanted
 * any more.
 */
static char *run_program(const char *const *argv, const char *const *envp,
                         const _Atomic bool *unwanted)
{
    /* Slurm may send the signal in question to every process of the job. */
    static const int blocked[] = { SIGTERM, SIGUSR1, SIGUSR2, 0 };
    int out = memfd_create("eddis-slurm", MFD_CLOEXEC), status = 0;
    struct spawn s = { .argv = argv,
                       .envp = envp,
                       .in = -1,
                       .out = out,
                       .err = -1,
                       .own_group = true,
                       .blocked = blocked };
    char *said = NULL;
    pid_t pid;

    if (out >= 0 && !*unwanted && spawn_start(&s, &pid, NULL) == 0 &&
        await(pid, unwanted, &status) == 0 && spawn_exit_code(status) == 0 &&
        lseek(out, 0, SEEK_SET) == 0)
        (void)file_read_fd(out, argv[0], SAID_MAX, &said, NULL, NULL);
    if (out >= 0)
        (void)close(out);
    return said;
}

/* Run the question's program (file_task.run, on the thread of slurm_query). */
static void run(struct file_task *t)
{
    struct question *q = (struct question *)t;

    q->said = run_program((const char *const *)q->argv.item,
                          (const char *const *)q->environment.item, &q->unwanted);
}

/* Pass the program's output to the question's handler (file_task.done, on the driver's thread). */
static void done(struct file_task *t)
{
    struct question *q = (struct question *)t;

    q->answer(q->ask, q->said);
}

/* Free a question to Slurm (file_task.free). */
static void free_question(struct file_task *t)
{
    struct question *q = (struct question *)t;

    strlist_fini(&q->argv);
    strlist_fini(&q->environment);
    free(q->said);
    free(q);
}

/* Queue a question to Slurm: a program and the handler of its output.  Return true, or false
 * without memory: then no question is queued.
 */
static bool ask(struct slurm_query *a, const char *const *argv, answer_fn answer)
{
    /* variables that change how Slurm prints times or which cluster and nodes it shows */
    static const char *const hidden[] = { "SLURM_TIME_FORMAT=*", "SLURM_CLUSTERS=*", "SINFO_*",
                                          NULL };
    struct question *q = calloc(1, sizeof *q);

    if (!q)
        return false;
    q->task = (struct file_task){ .run = run, .done = done, .free = free_question };
    q->ask = a;
    q->answer = answer;
    for (; *argv; argv++)
        strlist_addf(&q->argv, "%s", *argv);
    user_env_add_without(&q->environment, hidden);
    if (q->argv.failed || q->environment.failed) {
        free_question(&q->task);
        return false;
    }
    file_thread_add(a->thread, &q->task);
    return true;
}

/* ---- the end of the job's time ---- */

/* If Slurm's answer shows that the job is at its time limit, report that to the state machine.
 * After a warning (SIGUSR1) the limit may still be some time away (answer_fn).
 */
static void take_limit(struct slurm_query *a, const char *said)
{
    const struct state *s = &a->run->state;
    int64_t warned_s = (s->o.checkpoint_ns + s->o.grace_ns) / CLOCK_S + EARLY_S;

    a->asking_limit = false;
    if (!said)
        return;
    a->tries = TRIES;
    if (slurm_query_is_limit(said, clock_wall_ns() / CLOCK_S,
                             a->asked_signal == SIGUSR1 ? warned_s : 0))
        state_at_limit(&a->run->state);
}

/* Ask Slurm whether a preempting signal came because of the time limit, at most TRIES times per
 * signal.  A later signal is a new question: it may come with the limit even if an earlier signal
 * did not.
 */
static void ask_limit(struct slurm_query *a)
{
    const char *const argv[] = { "scontrol", "-o", "show", "job", a->run->o->slurm->job, NULL };
    const struct state *s = &a->run->state;

    if (a->asking_limit || s->at_limit || !state_is_preempted(s))
        return;
    if (a->asked_count != s->preempt_count)
        a->tries = 0;
    if (a->tries >= TRIES)
        return;
    a->tries++;
    a->asked_count = s->preempt_count;
    a->asked_signal = s->preempt_signal;
    a->asking_limit = ask(a, argv, take_limit);
}

/* ---- silent nodes ---- */

/* Check whether an agent has missed several reports. */
static bool is_silent(const struct slurm_query *a, int agent, int64_t now_ns)
{
    const struct state_agent *s = &a->run->state.agent[agent];
    int64_t ns = MISSED * a->run->o->job->timeouts.heartbeat_ns + CLOCK_S;

    return s->registered && !s->lost && !s->ended && now_ns > s->heard_ns + ns &&
           now_ns > a->run->state.paused_ns + ns;
}

/* Report silent nodes that are down in Slurm's answer to the state machine, and choose the time of
 * the next question (answer_fn).
 */
static void take_nodes(struct slurm_query *a, const char *said)
{
    int64_t now_ns = clock_now_ns();
    bool any = false;

    a->asking_nodes = false;
    for (int i = 0; said && i < a->run->n_agents; i++)
        if (is_silent(a, i, now_ns) && slurm_query_is_down(said, a->run->state.agent[i].host)) {
            state_node_down(&a->run->state, i, now_ns);
            any = true;
        }
    a->again_s = any || !a->again_s             ? AGAIN_S
                 : a->again_s < AGAIN_MAX_S / 2 ? 2 * a->again_s
                                                : AGAIN_MAX_S;
    a->nodes_ns = now_ns + a->again_s * CLOCK_S;
}

/* Ask Slurm about silent nodes, if that is due.  The intervals grow: nodes can be silent for an
 * hour, and the controller serves many jobs.
 */
static void ask_nodes(struct slurm_query *a, int64_t now_ns)
{
    struct strbuf names = { 0 };
    const char *argv[] = { "sinfo", "-h", "-a", "-N", "-O", "NodeList:256,StateComplete:256",
                           "-n",    NULL, NULL };

    if (a->asking_nodes)
        return;
    for (int i = 0; i < a->run->n_agents; i++)
        if (is_silent(a, i, now_ns))
            strbuf_addf(&names, "%s%s", names.len ? "," : "", a->run->state.agent[i].host);
    argv[7] = strbuf_text(&names);
    if (!names.len)
        a->nodes_ns = a->again_s = 0;
    else if (!names.failed && now_ns >= a->nodes_ns)
        a->asking_nodes = ask(a, argv, take_nodes);
    strbuf_fini(&names);
}

/* ---- entry points ---- */

int slurm_query_open(struct slurm_query *a, struct eddis_error *err)
{
    return a->run->o->slurm ? file_thread_start(&a->thread, err) : 0;
}

int slurm_query_fd(const struct slurm_query *a)
{
    return a->thread ? file_thread_fd(a->thread) : -1;
}

void slurm_query_turn(struct slurm_query *a, int64_t now_ns)
{
    if (!a->thread)
        return;
    file_thread_turn(a->thread);
    ask_limit(a);
    ask_nodes(a, now_ns);
}

/* Mark a question to Slurm as unwanted if its handler is *ctx, or any question if ctx is NULL
 * (callback of file_thread_each).
 */
static void drop(const struct file_task *t, void *ctx)
{
    struct question *q = (struct question *)(uintptr_t)t;
    const answer_fn *only = ctx;

    if (!only || q->answer == *only)
        q->unwanted = true;
}

/* End all questions to Slurm.  A program that still ran would be a child process that the job's end
 * would have to wait for.
 */
void slurm_query_settle(struct slurm_query *a)
{
    int64_t patience_s = a->run->state.preempt_signal == SIGUSR1 ? SETTLE_WARNED_S : SETTLE_S;
    answer_fn nodes = take_nodes;

    if (!a->thread)
        return;
    ask_limit(a);
    file_thread_each(a->thread, drop, &nodes);
    if (!file_thread_settle(a->thread, clock_now_ns() + patience_s * CLOCK_S)) {
        file_thread_each(a->thread, drop, NULL);
        (void)file_thread_settle(a->thread, clock_now_ns() + 2 * CLOCK_S);
    }
    file_thread_turn(a->thread);
}

void slurm_query_close(struct slurm_query *a)
{
    file_thread_stop(a->thread);
    a->thread = NULL;
}
