/* SPDX-License-Identifier: Apache-2.0 */
/* start_step.c - begin steps, distribute their output among their nodes, and end them */
#include "start_step.h"

#include "step_cancel.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/wait.h>

static const int64_t idle_ns = 5 * CLOCK_S;   /* from its last node's end to a step's cancelling */
static const int64_t most_ns = 60 * CLOCK_S;  /* longest interval of requests to end a step */
static const int64_t silent_ns = CLOCK_S;     /* wait for a step with a node that never answered */
static const int64_t reap_ns = CLOCK_S;       /* time limit for killed processes */
static const int64_t again_ns = 5 * CLOCK_MS; /* interval of a wait loop */

enum { NAMED = 8 }; /* most nodes named in a report */

/* One step. */
struct start_step {
    struct starter *s;
    struct session session; /* srun */
    int number;             /* index in starter.step */
    int id;                 /* number of the step in Slurm; -1: unknown */
    int n;
    int *member;    /* [n] the step's hosts */
    int *of_task;   /* [n] host of each task; -1: unknown */
    int n_answered, /* nodes whose supervisor has answered */
        n_emptied;  /* nodes that reported that nothing is left there */
    bool asked;     /* srun's input is being written, or there is none */
    bool over;      /* srun has ended */
    bool cut;       /* srun was killed: supervisors may still run */
    int64_t end_ns, /* when Slurm is asked to end the step; CLOCK_NEVER: not yet needed */
        pause_ns;   /* interval from that request to the next */
    struct step_cancel cancel;
};

/* ---- beginning ---- */

/* Check whether two lists have equal strings. */
static bool same_words(const struct strlist *a, const struct strlist *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->item[i], b->item[i]) == 0;
    return same;
}

/* Check whether two strings are equal; both may be NULL. */
static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Check whether a host is queued and can share a step with host `first`: same group, program,
 * arguments and input.
 */
static bool belongs(const struct start_node *first, const struct start_node *p)
{
    return p->stage == START_QUEUED && p->ops == first->ops && p->at.group == first->at.group &&
           same_text(p->at.host->eddis, first->at.host->eddis) &&
           same_words(&p->args, &first->args) && same_text(p->session.input, first->session.input);
}

/* Free a step.  Accepts NULL. */
static void step_free(struct start_step *t)
{
    if (!t)
        return;
    step_cancel_fini(&t->cancel);
    session_fini(&t->session);
    free(t->member);
    free(t->of_task);
    free(t);
}

/* Make a step of this host and all later queued hosts that can share it, append it to s->step,
 * which owns it, and return it; NULL: no memory.
 */
static struct start_step *step_new(struct starter *s, int host)
{
    struct start_step *t = calloc(1, sizeof *t), **more;

    if (!t)
        return NULL;
    session_init(&t->session);
    *t = (struct start_step){
        .s = s, .session = t->session, .id = -1, .end_ns = CLOCK_NEVER, .pause_ns = idle_ns
    };
    step_cancel_init(&t->cancel);
    t->member = calloc((size_t)s->n, sizeof *t->member);
    t->of_task = calloc((size_t)s->n, sizeof *t->of_task);
    more = realloc(s->step, (size_t)(s->n_steps + 1) * sizeof *more);
    if (more)
        s->step = more;
    if (!t->member || !t->of_task || !more) {
        step_free(t);
        return NULL;
    }
    for (int i = host; i < s->n; i++)
        if (belongs(&s->node[host], &s->node[i])) {
            t->of_task[t->n] = -1;
            t->member[t->n++] = i;
        }
    t->number = s->n_steps;
    s->step[s->n_steps++] = t;
    return t;
}

static void divide(void *ctx, char *line);

/* Start srun for a step and watch it.  Return 0 or a negative errno; no process is left on
 * failure.
 */
static int begin_process(struct start_step *t, struct eddis_error *err)
{
    const struct start_node *first = &t->s->node[t->member[0]];
    cleanup_free const struct start_place **at = calloc((size_t)t->n, sizeof *at);
    int rc = at ? session_renew(&t->session, first->session.input, err)
                : eddis_fail(err, -ENOMEM, "no memory to start agents");

    for (int i = 0; rc == 0 && i < t->n; i++)
        at[i] = &t->s->node[t->member[i]].at;
    t->session.divide = divide;
    t->session.ctx = t;
    if (rc == 0)
        rc = queue_run(t->s, t->s->n + t->number, first, at, t->n, &t->session, err);
    return rc;
}

void steps_begin(struct starter *s, int host)
{
    struct eddis_error err = { 0 };
    struct start_step *t = step_new(s, host);
    int rc = t ? begin_process(t, &err) : eddis_fail(&err, -ENOMEM, "no memory to start agents");

    if (!t)
        queue_failed(s, host, err.text);
    for (int i = 0; t && i < t->n; i++) {
        struct start_node *p = &s->node[t->member[i]];

        session_wipe_input(&p->session);
        p->step = t->number;
        p->emptied = false;
        if (rc == 0)
            queue_login(s, t->member[i]);
        else
            queue_failed(s, t->member[i], err.text);
    }
    if (t && rc < 0)
        t->over = true;
}

/* ---- its output ---- */

void steps_answered(struct starter *s, int step)
{
    struct start_step *t = s->step[step];
    struct session *p = &t->session;

    t->n_answered++;
    if (t->asked)
        return;
    t->asked = true;
    if (!p->input || queue_watch(s, s->n + step, START_WATCH_TO, p->to, EPOLLOUT) < 0)
        session_wipe_input(p);
}

void steps_emptied(struct starter *s, int step)
{
    s->step[step]->n_emptied++;
}

/* Return the task of a labelled line " 2: words", and store a pointer to its words, within the
 * line, in *ret; -1: a line of srun's own, *ret is unchanged. n: number of tasks.
 */
static int read_task(char *line, int n, char **ret)
{
    char *s = line + strspn(line, " "), *end;
    long task = isdigit((unsigned char)*s) ? strtol(s, &end, 10) : -1;

    if (task < 0 || task >= n || *end != ':')
        return -1;
    *ret = end + 1 + (end[1] == ' ');
    return (int)task;
}

/* Record the host of a task and the step's number in Slurm from the supervisor's first line, after
 * its name: "0.1.0 n07 4".  Cut the line after the version.
 */
static void introduce(struct start_step *t, int task, char *words)
{
    char *node = strchr(words, ' '), *step = node ? strchr(node + 1, ' ') : NULL;

    if (!step)
        return;
    *node++ = *step++ = '\0';
    for (int i = 0; i < t->n; i++)
        if (strcasecmp(t->s->node[t->member[i]].at.name, node) == 0)
            t->of_task[task] = t->member[i];
    if (isdigit((unsigned char)*step) && strlen(step) < 9)
        t->id = atoi(step);
}

/* Handle a line of srun's output: pass a task's line to its host, and keep other lines as srun's
 * own (session_line_fn).
 */
static void divide(void *ctx, char *line)
{
    static const char keeper[] = "eddis-keeper ", end[] = "eddis-keeper exit ";
    struct start_step *t = ctx;
    char *words;
    int task = read_task(line, t->n, &words), host;

    if (task < 0) {
        session_take(&t->session, line);
        return;
    }
    if (t->of_task[task] < 0 && strncmp(words, keeper, sizeof keeper - 1) == 0)
        introduce(t, task, words + sizeof keeper - 1);
    host = t->of_task[task];
    if (host < 0) {
        session_take(&t->session, words);
    } else if (t->s->node[host].step == t->number) { /* not started again since */
        if (strncmp(words, end, sizeof end - 1) == 0) {
            queue_ended(t->s, host, atoi(words + sizeof end - 1));
            return;
        }
        session_take(&t->s->node[host].session, words);
        queue_hear(t->s, host);
    }
}

/* ---- its end ---- */

bool steps_run(const struct starter *s, int step)
{
    return !s->step[step]->over;
}

/* Reap the step's process if it has ended, and report the end of its nodes. */
static void reap(struct start_step *t)
{
    int status = 0, code = t->over ? -1 : session_reap(&t->session, false, &status);

    if (code < 0)
        return;
    session_forget(&t->session);
    session_wipe_input(&t->session);
    t->over = true;
    t->cut = WIFSIGNALED(status);
    for (int i = 0; i < t->n; i++)
        if (t->s->node[t->member[i]].step == t->number)
            queue_lost(t->s, t->member[i], code, t->cut, &t->session);
}

void steps_take(struct starter *s, int step, enum start_watch kind)
{
    struct start_step *t = s->step[step];

    if (kind == START_WATCH_FROM)
        session_read(&t->session);
    else if (kind == START_WATCH_TO)
        session_write(&t->session);
    else
        reap(t);
}

/* Check whether no request to Slurm to end this step is running. */
static bool cancel_is_over(struct start_step *t)
{
    return step_cancel_is_over(&t->cancel, t->s->node[t->member[0]].ops->is_over);
}

/* Ask Slurm to end a step, in place of an earlier request that still runs.  Kill srun if the step's
 * number is unknown or the request fails.
 */
static void cancel(struct start_step *t)
{
    const struct start_node *first = &t->s->node[t->member[0]];
    struct strlist argv = { 0 }, envp = { 0 };

    step_cancel_fini(&t->cancel); /* an earlier request may still run */
    if (t->id < 0 || !first->ops->cancel) {
        session_kill_alone(&t->session); /* its number is unknown */
        return;
    }
    first->ops->cancel(&first->at, t->id, &argv);
    first->ops->environment(&envp);
    if (argv.failed || envp.failed || step_cancel_begin(&t->cancel, argv.item, envp.item) < 0) {
        session_kill_alone(&t->session);
        t->cancel.refused = true;
    }
    strlist_fini(&argv);
    strlist_fini(&envp);
}

/* Check whether a host of the step has not ended, and was not queued again. */
static bool is_needed(const struct start_step *t)
{
    for (int i = 0; i < t->n; i++) {
        const struct start_node *p = &t->s->node[t->member[i]];

        if (p->step == t->number && p->stage != START_OVER && p->stage != START_QUEUED)
            return true;
    }
    return false;
}

int64_t steps_look(struct starter *s, int64_t now_ns)
{
    int64_t next_ns = CLOCK_NEVER;

    for (int i = 0; i < s->n_steps; i++) {
        struct start_step *t = s->step[i];

        if (t->over || is_needed(t))
            continue;
        if (t->end_ns == CLOCK_NEVER)
            t->end_ns = clock_after_ns(now_ns, idle_ns);
        if (now_ns >= t->end_ns) {
            cancel(t);
            t->end_ns = clock_after_ns(now_ns, t->pause_ns);
            t->pause_ns = 2 * t->pause_ns < most_ns ? 2 * t->pause_ns : most_ns;
        }
        if (t->end_ns < next_ns)
            next_ns = t->end_ns;
    }
    return next_ns;
}

/* Read the output of all steps and reap their processes.  Return whether all steps, and all
 * requests to end them, have ended.
 */
static bool settle(struct starter *s)
{
    bool all = true;

    for (int i = 0; i < s->n_steps; i++) {
        struct start_step *t = s->step[i];

        if (!t->over)
            session_read(&t->session);
        reap(t);
        all = cancel_is_over(t) && t->over && all;
    }
    return all;
}

/* Wait until all steps and all requests to end them have ended, or until until_ns.  Blocks. */
static void await_all(struct starter *s, int64_t until_ns)
{
    while (!settle(s) && clock_now_ns() < until_ns)
        clock_sleep_until_ns(clock_now_ns() + again_ns);
}

/* Check whether a step may still exist in Slurm: if srun was killed, nobody here sees the step's
 * end.
 */
static bool may_be_there(const struct start_step *t)
{
    return !t->over || t->cut;
}

/* Check whether a step that is waited for since since_ns may still end by itself: for patience_ns,
 * but only for silent_ns if a node never answered or srun was killed.
 */
static bool may_end(const struct start_step *t, int64_t since_ns, int64_t patience_ns)
{
    bool silent = t->n_answered < t->n || t->cut;
    int64_t wait_ns = silent && silent_ns < patience_ns ? silent_ns : patience_ns;

    return may_be_there(t) && clock_now_ns() < clock_after_ns(since_ns, wait_ns);
}

/* Wait until no step can be expected to end by itself any more, at most patience_ns.  Blocks. */
static void await_patiently(struct starter *s, int64_t patience_ns)
{
    int64_t since_ns = clock_now_ns();
    bool any = true;

    while (any) {
        (void)settle(s);
        any = false;
        for (int i = 0; i < s->n_steps; i++)
            any = any || may_end(s->step[i], since_ns, patience_ns);
        if (any)
            clock_sleep_until_ns(clock_now_ns() + again_ns);
    }
}

/* Append "step 7.4 on n0, n1" to b, with the step's name in Slurm, after "; " if b is not empty. */
static void describe(const struct start_step *t, struct strbuf *b)
{
    const struct start_node *first = &t->s->node[t->member[0]];
    struct strlist argv = { 0 };

    if (t->id >= 0 && first->ops->cancel)
        first->ops->cancel(&first->at, t->id, &argv);
    strbuf_addf(b, "%s%s%s", b->len ? "; " : "", argv.n ? "step " : "a step",
                argv.n ? argv.item[argv.n - 1] : "");
    for (int i = 0; i < t->n && i < NAMED; i++)
        strbuf_addf(b, "%s%s", i ? ", " : " on ", t->s->node[t->member[i]].at.name);
    if (t->n > NAMED)
        strbuf_addf(b, " and %d more", t->n - NAMED);
    strlist_fini(&argv);
}

/* Return 0 if both texts are empty.  Otherwise return an error that names steps that Slurm has not
 * ended: -ETIMEDOUT for steps with something left, else -EINPROGRESS for steps whose nodes are
 * empty.
 */
static int say_not_ended(const struct strbuf *left, const struct strbuf *empty,
                         struct eddis_error *err)
{
    if (left->len)
        return eddis_fail(err, -ETIMEDOUT,
                          "Slurm has not ended %.200s; look at squeue -s, and end it with scancel",
                          strbuf_text(left));
    if (empty->len)
        return eddis_fail(
            err, -EINPROGRESS,
            "Slurm has not ended %.200s, although no process is left there; look at squeue -s",
            strbuf_text(empty));
    return 0;
}

/* Kill the local processes of all steps, and return an error that names the steps that Slurm has
 * not ended; 0: all have ended.  Blocks for reap_ns at most.
 */
static int give_up(struct starter *s, struct eddis_error *err)
{
    struct strbuf left = { 0 }, empty = { 0 };
    int rc;

    for (int i = 0; i < s->n_steps; i++) {
        struct start_step *t = s->step[i];
        bool there = may_be_there(t), answered = cancel_is_over(t);

        if (there && (!t->over || !answered || t->cancel.refused))
            describe(t, t->n_emptied == t->n ? &empty : &left);
        step_cancel_fini(&t->cancel);
        session_kill_alone(&t->session);
    }
    await_all(s, clock_now_ns() + reap_ns);
    for (int i = 0; i < s->n_steps; i++)
        s->step[i]->cut = false;
    rc = say_not_ended(&left, &empty, err);
    strbuf_fini(&left);
    strbuf_fini(&empty);
    return rc;
}

int steps_clean(struct starter *s, int64_t patience_ns, int64_t deadline_ns,
                struct eddis_error *err)
{
    bool any = false;

    await_patiently(s, patience_ns);
    for (int i = 0; i < s->n_steps; i++)
        if (may_be_there(s->step[i])) {
            cancel(s->step[i]);
            any = true;
        }
    if (any)
        await_all(s, deadline_ns - reap_ns);
    return any ? give_up(s, err) : 0;
}

void steps_free(struct starter *s)
{
    for (int i = 0; i < s->n_steps; i++)
        step_free(s->step[i]);
    free(s->step);
    s->step = NULL;
    s->n_steps = 0;
}
