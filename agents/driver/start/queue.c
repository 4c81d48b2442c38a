/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - decide when each host is started or retried, and report the result of each start */
#include "start_impl.h"

#include "start_step.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

/* First and longest delay before a new attempt after a limit of connections was met; doubled each
 * time, with jitter.
 */
static const int64_t again_ns = CLOCK_S / 4, again_most_ns = 5 * CLOCK_S;
static const int64_t leave_ns = CLOCK_S; /* limit for a session's end after its agent left */

enum { NAMED = 8 }; /* most hosts named in a report */

/* Set the stage of a host, and update the number of logins under way and whether the supervisor's
 * answer is awaited.
 */
static void set_stage(struct starter *s, struct start_node *p, enum start_stage stage)
{
    bool was = p->stage == START_LOGIN, is = stage == START_LOGIN;

    if (p->ops->logs_in && !p->ops->is_shared)
        s->n_logins += is - was;
    p->stage = stage;
    p->session.awaited = is;
}

/* Check whether a host is being started: its agent has not registered, ended or failed. */
static bool is_waited_for(const struct start_node *p)
{
    return p->stage == START_QUEUED || p->stage == START_LOGIN || p->stage == START_UP;
}

/* Kill the host's process.  Do nothing if that is a step, which continues for other nodes and ends
 * with the last.
 */
static void kill_process(const struct start_node *p)
{
    if (!p->ops->is_shared)
        session_kill(&p->session);
}

/* Check whether the process of a host, or of its step, runs. */
static bool has_process(const struct starter *s, const struct start_node *p)
{
    return p->ops->is_shared ? p->step >= 0 && steps_run(s, p->step) : p->session.pid != 0;
}

/* ---- events ---- */

/* Queue an event for a host, in place of an unread event.  Wipe the host's input and set its stage
 * to START_OVER, unless the event is START_CUT and the agent has not registered yet.
 */
__attribute__((format(printf, 5, 6))) static void
tell(struct starter *s, int host, enum start_event_type type, int code, const char *fmt, ...)
{
    struct start_node *p = &s->node[host];
    va_list ap;

    if (!p->has_event)
        s->n_events++;
    p->has_event = true;
    p->event = (struct start_event){ .type = type, .host = host, .code = code };
    va_start(ap, fmt);
    (void)vsnprintf(p->event.text, sizeof p->event.text, fmt, ap);
    va_end(ap);
    text_strip_control(p->event.text);
    if (type != START_CUT || p->stage == START_REGISTERED) {
        session_wipe_input(&p->session);
        strlist_fini(&p->args);
        set_stage(s, p, START_OVER);
    }
}

bool starter_event(struct starter *s, struct start_event *ret)
{
    for (int i = 0; i < s->n && s->n_events; i++) {
        if (!s->node[i].has_event)
            continue;
        s->node[i].has_event = false;
        s->n_events--;
        *ret = s->node[i].event;
        return true;
    }
    return false;
}

/* ---- beginning a start ---- */

int starter_add(struct starter *s, int host, const char *const *args, const char *input,
                int64_t deadline_ns, struct eddis_error *err)
{
    struct start_node *p = &s->node[host];
    int rc;

    if (p->stage != START_IDLE && p->stage != START_OVER)
        return eddis_fail(err, -EBUSY, "%s has been started already", p->at.name);
    strlist_add_all(&p->args, (char *const *)(uintptr_t)args);
    rc = p->args.failed ? eddis_fail(err, -ENOMEM, "no memory to start an agent")
                        : session_renew(&p->session, input, err);
    if (rc < 0) {
        strlist_fini(&p->args);
        return rc;
    }
    p->tries = 0;
    p->at_ns = 0;
    p->deadline_ns = deadline_ns;
    set_stage(s, p, START_QUEUED);
    s->next_ns = 0;
    return 0;
}

int queue_watch(struct starter *s, int whom, enum start_watch kind, int fd, uint32_t events)
{
    struct epoll_event e = { .events = events,
                             .data.u64 = (uint64_t)whom * START_WATCHES + (uint64_t)kind };

    return epoll_ctl(s->events, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

/* Watch the process of a host or step; kill it on failure.  Return 0 or a negative error. */
static int watch_process(struct starter *s, int whom, struct session *p, bool is_shared,
                         struct eddis_error *err)
{
    int cause;

    if (p->pidfd >= 0 && queue_watch(s, whom, START_WATCH_PID, p->pidfd, EPOLLIN) == 0 &&
        queue_watch(s, whom, START_WATCH_FROM, p->from, EPOLLIN) == 0)
        return 0;
    cause = errno;
    if (is_shared)
        session_kill_alone(p);
    else
        session_kill(p);
    (void)waitpid(p->pid, NULL, 0);
    session_forget(p);
    return eddis_fail(err, -cause, "cannot watch its start: %s", strerror(cause));
}

int queue_run(struct starter *s, int whom, const struct start_node *p,
              const struct start_place *const *at, int n, struct session *session,
              struct eddis_error *err)
{
    struct strlist argv = { 0 }, envp = { 0 };
    int rc = p->ops->argv(at, n, p->args.item, &argv, err);

    if (p->ops->environment)
        p->ops->environment(&envp);
    if (rc == 0 && (argv.failed || envp.failed))
        rc = eddis_fail(err, -ENOMEM, "no memory to start agents");
    if (rc == 0)
        rc = session_begin(session, (const char *const *)argv.item, (const char *const *)envp.item,
                           p->ops->logs_in, err);
    if (rc == 0)
        rc = watch_process(s, whom, session, p->ops->is_shared, err);
    strlist_fini(&argv);
    strlist_fini(&envp);
    return rc;
}

/* Start a queued host, or the step that it belongs to.  Report it as START_FAILED if that fails. */
static void start_node(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];
    const struct start_place *const at[] = { &p->at };
    struct eddis_error err = { 0 };

    if (p->ops->is_shared)
        steps_begin(s, host);
    else if (queue_run(s, host, p, at, 1, &p->session, &err) < 0)
        queue_failed(s, host, err.text);
    else
        set_stage(s, p, START_LOGIN);
}

/* ---- the supervisor's answer ---- */

/* Handle the supervisor's answer.  If it has another version, kill its process and report
 * START_FAILED; otherwise have its input written.
 */
static void keeper_answers(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];
    struct session *session = &p->session;

    if (strcmp(session->version, EDDIS_VERSION) != 0) {
        kill_process(p);
        tell(s, host, START_FAILED, -1,
             "node %.200s runs eddis %.40s and this is eddis %s; install one version on both",
             p->at.name, session->version, EDDIS_VERSION);
        return;
    }
    set_stage(s, p, START_UP);
    if (p->ops->is_shared) {
        session->input_sent = true;
        steps_answered(s, p->step);
    } else if (!session->input) {
        session->input_sent = true;
        session_wipe_input(session);
    } else if (queue_watch(s, host, START_WATCH_TO, session->to, EPOLLOUT) < 0) {
        session_wipe_input(session);
    }
}

void queue_login(struct starter *s, int host)
{
    set_stage(s, &s->node[host], START_LOGIN);
}

void queue_hear(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];

    if (p->stage == START_LOGIN && !p->session.awaited)
        keeper_answers(s, host);
}

/* ---- the end of a start ---- */

/* Queue a host again after a random delay that grows with each attempt, since a limit of
 * connections was met.
 */
static void try_again(struct starter *s, struct start_node *p, int64_t now_ns)
{
    int64_t wait_ns = again_ns << (p->tries < 8 ? p->tries : 8);

    if (wait_ns > again_most_ns)
        wait_ns = again_most_ns;
    wait_ns = (int64_t)((double)wait_ns * (0.5 + random_unit(&s->random)));
    p->tries++;
    p->at_ns = clock_after_ns(now_ns, wait_ns);
    p->session.said[0] = '\0';
    set_stage(s, p, START_QUEUED);
}

/* Decide whether a failed start is tried again, by the output and exit code of session `of`.
 * Return true if so; otherwise report START_FAILED with the reason and return false.
 */
static bool judge(struct starter *s, int host, int code, const struct session *of)
{
    struct start_node *p = &s->node[host];
    char text[512];
    enum start_verdict verdict = p->ops->judge(&p->at, of, code, text, sizeof text);

    if (verdict == START_AGAIN)
        return true;
    tell(s, host, START_FAILED, code, "%s", text);
    p->event.gone = verdict == START_GONE;
    return false;
}

/* Handle the end of a host's process before the supervisor answered: queue the host again, or
 * report why its start failed.
 */
static void ended_early(struct starter *s, int host, int code, int64_t now_ns)
{
    struct start_node *p = &s->node[host];

    if (judge(s, host, code, &p->session))
        /* until timeouts.launch: the length of a server's queue is unknown */
        try_again(s, p, now_ns);
}

/* Report START_ENDED for a supervisor and its agent. killed: a signal ended the supervisor itself.
 * The exit code of a supervisor whose agent was killed shows the signal, as a shell's does.
 */
static void say_end(struct starter *s, int host, int code, bool killed)
{
    struct start_node *p = &s->node[host];
    const char *words = p->session.words;
    bool spoke = *words && strcmp(words, "started") != 0 && code != 0;
    /* a complete sentence: how the agent was lost */
    bool whole = spoke && strncmp(words, "agent ", 6) == 0;

    if (code > 128 && p->ops == &start_local)
        tell(s, host, START_ENDED, code, "%s was killed by signal %d",
             killed ? "supervisor" : "agent", code - 128);
    else if (whole)
        tell(s, host, START_ENDED, code, "%.300s", words);
    else
        tell(s, host, START_ENDED, code, "agent exited %d%s%.300s", code, spoke ? ": " : "",
             spoke ? words : "");
    p->event.swept = !killed && code != START_KEEPER_FAILED;
}

/* Report START_CUT: session `of` of a host has ended while the agent may still run. */
static void say_cut(struct starter *s, int host, int code, const struct session *of)
{
    struct start_node *p = &s->node[host];
    const char *way = p->ops->name;
    char last[SESSION_LINE];

    session_last_line(of, last);
    tell(s, host, START_CUT, code, "its %s session has ended%s%s", way, *last ? ": " : "", last);
    (void)snprintf(p->session.words, sizeof p->session.words,
                   "started, but its %s session has ended", way);
}

/* Report START_ENDED for an agent that has left, with the reason that it gave. */
static void say_left(struct starter *s, int host, int code)
{
    const char *why = s->node[host].session.words;

    tell(s, host, START_ENDED, code, "agent has left%s%.300s", *why ? ": " : "", why);
}

/* Handle the end of the process that ran the supervisor on a host: report it or queue the host
 * again.  Do nothing if the process still runs.
 */
static void process_ended(struct starter *s, int host, int64_t now_ns)
{
    struct start_node *p = &s->node[host];
    int status = 0,
        code = p->session.pid ? session_reap(&p->session, p->ops->logs_in, &status) : -1;

    if (code < 0)
        return;
    queue_hear(s, host); /* the last output may contain the first answer */
    session_forget(&p->session);
    if (p->stage == START_LOGIN)
        ended_early(s, host, code, now_ns);
    else if (p->stage == START_OVER || p->stage == START_QUEUED)
        return; /* we killed the process and reported that; the host may be queued again already */
    else if (p->stage == START_LEAVING && *p->session.words)
        say_left(s, host, code);
    else if (p->session.input_sent && p->ops->is_cut && p->ops->is_cut(status))
        say_cut(s, host, code, &p->session);
    else
        say_end(s, host, code, WIFSIGNALED(status));
}

void queue_failed(struct starter *s, int host, const char *text)
{
    tell(s, host, START_FAILED, -1, "%.200s: %.300s", s->node[host].at.name, text);
}

/* Record once for a step's node that nothing is left on it, and count that in the step. */
static void note_emptied(struct starter *s, struct start_node *p)
{
    if (p->step < 0 || p->emptied)
        return;
    p->emptied = true;
    steps_emptied(s, p->step);
}

void queue_ended(struct starter *s, int host, int code)
{
    struct start_node *p = &s->node[host];

    if (code != START_KEEPER_FAILED)
        note_emptied(s, p);
    if (p->stage == START_OVER || p->stage == START_QUEUED)
        return;
    if (p->stage == START_LEAVING && *p->session.words)
        say_left(s, host, code);
    else
        say_end(s, host, code, false);
}

void queue_lost(struct starter *s, int host, int code, bool cut, const struct session *of)
{
    struct start_node *p = &s->node[host];
    char last[SESSION_LINE];

    session_last_line(of, last);
    if (p->stage == START_OVER || p->stage == START_QUEUED || p->stage == START_IDLE)
        return;
    if (p->stage == START_LOGIN) {
        (void)judge(s, host, code, of); /* START_AGAIN never occurs with a step */
    } else if (p->stage == START_LEAVING) {
        say_left(s, host, code);
    } else if (cut) {
        say_cut(s, host, code, of);
    } else {
        tell(s, host, START_ENDED, code, "its %s has ended%s%s", p->ops->name, *last ? ": " : "",
             last);
    }
}

/* Describe for the user, in ret, how far the start of a host is. */
static void describe(const struct start_node *p, char *ret, size_t size)
{
    const char *words = p->session.words;

    if (p->tries && (p->stage == START_QUEUED || p->stage == START_LOGIN))
        (void)snprintf(
            ret, size,
            "ssh: the server accepts no more connections, attempt %d; raise MaxStartups there",
            p->tries + 1);
    else if (p->stage == START_QUEUED)
        (void)snprintf(ret, size, "not started");
    else if (p->stage == START_LOGIN)
        (void)snprintf(ret, size, "%s", p->ops->begins);
    else if (p->stage == START_OVER)
        (void)snprintf(ret, size, "%.300s", *words ? words : "has ended");
    else
        (void)snprintf(ret, size, "%s%.300s", strncmp(words, "started", 7) == 0 ? "" : "started, ",
                       words);
}

/* Kill the process of a host whose deadline has passed, and report START_LATE. */
static void late(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];
    char why[400];

    describe(p, why, sizeof why);
    (void)snprintf(p->session.words, sizeof p->session.words, "%s", why);
    kill_process(p);
    tell(s, host, START_LATE, -1,
         "the agent of %.100s was not up within %g s (timeouts.launch): %.280s", p->at.name,
         (double)p->at.launch_ns / CLOCK_S, why);
}

/* ---- reports from the owner ---- */

void starter_registered(struct starter *s, int host)
{
    if (is_waited_for(&s->node[host]))
        set_stage(s, &s->node[host], START_REGISTERED);
}

void starter_left(struct starter *s, int host, const char *why, int64_t now_ns)
{
    struct start_node *p = &s->node[host];

    if (!p->ops->logs_in)
        return;
    (void)snprintf(p->session.words, sizeof p->session.words, "%s", why);
    note_emptied(s, p);
    if (!has_process(s, p)) {
        say_left(s, host, 0);
        return;
    }
    set_stage(s, p, START_LEAVING);
    p->deadline_ns = clock_after_ns(now_ns, leave_ns);
    s->next_ns = 0;
}

void starter_drop(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];

    if (!p->ops->logs_in || p->stage == START_IDLE || p->stage == START_OVER)
        return;
    kill_process(p);
    tell(s, host, START_ENDED, -1, "dropped");
    p->has_event = false;
    s->n_events--;
}

void starter_abandon(struct starter *s)
{
    for (int i = 0; i < s->n; i++) {
        struct start_node *p = &s->node[i];

        if (!is_waited_for(p) || (p->stage == START_UP && p->session.input_sent))
            continue;
        if (p->ops->logs_in)
            kill_process(p);
        else
            session_end(&p->session); /* it may be making its folders, and removes them then */
        tell(s, i, START_ENDED, -1, "its start was abandoned");
    }
}

int starter_waiting(const struct starter *s, char *ret, size_t size)
{
    struct strbuf b = { 0 };
    int up = 0, named = 0, waiting = 0;

    for (int i = 0; i < s->n; i++)
        up += s->node[i].stage == START_REGISTERED;
    strbuf_addf(&b, "agents %d/%d up", up, s->n);
    for (int i = 0; i < s->n; i++) {
        const struct start_node *p = &s->node[i];
        char why[400];

        if (p->stage == START_REGISTERED || p->stage == START_IDLE)
            continue;
        waiting++;
        if (named == NAMED)
            continue;
        describe(p, why, sizeof why);
        strbuf_addf(&b, "%s%s (%s)", named++ ? ", " : "; waiting for ", p->at.name, why);
    }
    if (waiting > named)
        strbuf_addf(&b, " and %d more", waiting - named);
    (void)snprintf(ret, size, "%s", strbuf_text(&b));
    strbuf_fini(&b);
    return waiting;
}

/* ---- the event loop ---- */

int starter_fd(const struct starter *s)
{
    return s->events;
}

int64_t starter_next_ns(const struct starter *s)
{
    return s->n_events ? 0 : s->next_ns;
}

/* Handle a ready descriptor of a host, or of the step with number whom - s->n. */
static void take_watch(struct starter *s, int whom, enum start_watch kind, int64_t now_ns)
{
    struct session *session = whom < s->n ? &s->node[whom].session : NULL;

    if (!session) {
        steps_take(s, whom - s->n, kind);
    } else if (kind == START_WATCH_FROM) {
        session_read(session);
        queue_hear(s, whom);
    } else if (kind == START_WATCH_TO) {
        session_write(session);
    } else {
        process_ended(s, whom, now_ns);
    }
}

/* Handle all descriptors of hosts and steps that are ready. */
static void take_watches(struct starter *s, int64_t now_ns)
{
    struct epoll_event e[64];
    int n;

    do {
        n = epoll_wait(s->events, e, 64, 0);
        for (int i = 0; i < n; i++)
            take_watch(s, (int)(e[i].data.u64 / START_WATCHES),
                       (enum start_watch)(e[i].data.u64 % START_WATCHES), now_ns);
    } while (n == 64);
}

/* Begin queued starts, end starts and sessions whose deadline has passed, and set s->next_ns to the
 * time of the next call.
 */
static void look_round(struct starter *s, int64_t now_ns)
{
    int64_t next_ns;

    s->next_ns = CLOCK_NEVER;
    for (int i = 0; i < s->n; i++) {
        struct start_node *p = &s->node[i];
        bool leaving = p->stage == START_LEAVING;

        if (!is_waited_for(p) && !leaving)
            continue;
        if (now_ns >= p->deadline_ns && leaving) {
            kill_process(p);
            say_left(s, i, 0);
        } else if (now_ns >= p->deadline_ns) {
            late(s, i);
        }
        if (p->stage == START_QUEUED && !p->session.pid && now_ns >= p->at_ns &&
            (!p->ops->logs_in || p->ops->is_shared || s->n_logins < START_LOGINS))
            start_node(s, i);
        if (p->stage == START_QUEUED && p->at_ns > now_ns && p->at_ns < s->next_ns)
            s->next_ns = p->at_ns;
        if ((is_waited_for(p) || leaving) && p->deadline_ns < s->next_ns)
            s->next_ns = p->deadline_ns;
    }
    next_ns = steps_look(s, now_ns);
    if (next_ns < s->next_ns)
        s->next_ns = next_ns;
}

void starter_turn(struct starter *s, int64_t now_ns)
{
    take_watches(s, now_ns);
    look_round(s, now_ns);
}
