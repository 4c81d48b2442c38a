/* SPDX-License-Identifier: Apache-2.0 */
#include "start_impl.h"

#include "localhost.h"

#include "agents/job/node_list.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "lib/base/random.h"
#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* First wait after a limit of connections; doubled each time, with jitter. */
static const int64_t again_ns = CLOCK_S / 4, again_most_ns = 5 * CLOCK_S;
static const int64_t leave_ns = CLOCK_S; /* from an agent's farewell to its session's end */

enum { NAMED = 8 }; /* hosts that a sentence names */

enum watch_kind { WATCH_FROM, WATCH_TO, WATCH_PID, WATCH_KINDS };

/* ---- opening ---- */

static const struct start_ops *way_of(const struct start_options *o, int host)
{
    return !o->host || (!start_ssh_needed(&o->host[host]) && localhost_is(o->host[host].host))
               ? &start_local
               : &start_ssh;
}

int starter_open(const struct start_options *o, struct starter **ret, struct eddis_error *err)
{
    cleanup_free struct proctree_process *before = NULL;
    int n = proctree_list(getpid(), &before, err);
    struct starter *s;

    if (n < 0)
        return n;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return eddis_fail_errno(err, -errno, "cannot become the reaper of the job's processes");
    s = calloc(1, sizeof *s);
    if (s)
        *s = (struct starter){ .o = *o, .clean = n == 0, .next_ns = CLOCK_NEVER };
    if (s)
        s->node = calloc((size_t)o->n, sizeof *s->node);
    if (!s || !s->node) {
        free(s);
        return eddis_fail(err, -ENOMEM, "no memory to start agents on %d hosts", o->n);
    }
    for (int i = 0; i < o->n; i++) {
        s->node[i].ops = way_of(o, i);
        s->node[i].pidfd = s->node[i].to = s->node[i].from = -1;
    }
    s->random = (uint64_t)clock_now_ns() ^ ((uint64_t)getpid() << 32);
    s->events = epoll_create1(EPOLL_CLOEXEC);
    if (s->events < 0) {
        n = eddis_fail_errno(err, -errno, "cannot wait for agents to start");
        starter_close(s);
        return n;
    }
    *ret = s;
    return 0;
}

const char *starter_host(const struct starter *s, int host)
{
    return s->o.host ? s->o.host[host].host : "this machine";
}

bool starter_is_local(const struct starter *s, int host)
{
    return s->node[host].ops == &start_local;
}

const char *starter_words(const struct starter *s, int host)
{
    return s->node[host].words;
}

/* ---- one start ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void wipe_input(struct start_node *p)
{
    if (p->input)
        explicit_bzero(p->input, p->input_n);
    free(p->input);
    p->input = NULL;
    close_fd(&p->to);
}

static void free_args(struct start_node *p)
{
    for (char **a = p->args; a && *a; a++)
        free(*a);
    free(p->args);
    p->args = NULL;
}

static void set_stage(struct starter *s, struct start_node *p, enum start_stage stage)
{
    bool was = p->stage == START_LOGIN, is = stage == START_LOGIN;

    if (p->ops->logs_in)
        s->n_logins += is - was;
    p->stage = stage;
}

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
        wipe_input(p);
        free_args(p);
        set_stage(s, p, START_OVER);
    }
}

bool starter_event(struct starter *s, struct start_event *ret)
{
    for (int i = 0; i < s->o.n && s->n_events; i++) {
        if (!s->node[i].has_event)
            continue;
        s->node[i].has_event = false;
        s->n_events--;
        *ret = s->node[i].event;
        return true;
    }
    return false;
}

static char **copy_list(const char *const *list)
{
    struct strlist l = { 0 };

    strlist_add_all(&l, (char *const *)(uintptr_t)list);
    if (!l.failed && l.item)
        return l.item;
    strlist_fini(&l);
    return NULL;
}

int starter_add(struct starter *s, int host, const char *const *args, const char *input,
                int64_t deadline_ns, struct eddis_error *err)
{
    struct start_node *p = &s->node[host];

    if (p->stage != START_IDLE && p->stage != START_OVER)
        return eddis_fail(err, -EBUSY, "%s has been started already", starter_host(s, host));
    p->args = copy_list(args);
    p->input = input ? strdup(input) : NULL;
    p->input_n = input ? strlen(input) : 0;
    p->input_at = 0;
    if (!p->args || (input && !p->input)) {
        wipe_input(p);
        free_args(p);
        return eddis_fail(err, -ENOMEM, "no memory to start an agent");
    }
    p->told = false;
    p->tries = 0;
    p->at_ns = 0;
    p->deadline_ns = deadline_ns;
    p->words[0] = p->said[0] = '\0';
    set_stage(s, p, START_QUEUED);
    s->next_ns = 0;
    return 0;
}

static int watch(struct starter *s, int host, enum watch_kind kind, int fd, uint32_t events)
{
    struct epoll_event e = { .events = events,
                             .data.u64 = (uint64_t)host * WATCH_KINDS + (uint64_t)kind };

    return epoll_ctl(s->events, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

static int make_pipes(int in[2], int out[2])
{
    if (pipe2(in, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(out, O_CLOEXEC) < 0) {
        int rc = -errno;

        (void)close(in[0]);
        (void)close(in[1]);
        return rc;
    }
    (void)fcntl(in[1], F_SETFL, O_NONBLOCK);
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    return 0;
}

/* A session of its own: Ctrl-C at the terminal is for the driver alone, and without a terminal
 * nobody can ask for a password there.
 */
static int spawn_node(struct starter *s, int host, struct eddis_error *err)
{
    struct start_node *p = &s->node[host];
    struct strlist argv = { 0 };
    struct spawn w = { .own_session = true, .parent_death_signal = p->ops->parent_death_signal };
    int in[2], out[2], rc = p->ops->argv(s, host, p->args, &argv, err);

    if (rc == 0 && argv.failed)
        rc = eddis_fail(err, -ENOMEM, "no memory to start an agent");
    if (rc == 0 && (rc = make_pipes(in, out)) < 0)
        eddis_fail_errno(err, rc, "cannot make a pipe");
    if (rc < 0) {
        strlist_fini(&argv);
        return rc;
    }
    w.argv = (const char *const *)argv.item;
    w.in = in[0];
    w.out = p->ops->logs_in ? -1 : out[1]; /* what a login's shell prints there is not for us */
    w.err = out[1];
    rc = spawn_start(&w, &p->pid, err);
    strlist_fini(&argv);
    (void)close(in[0]);
    (void)close(out[1]);
    p->to = in[1];
    p->from = out[0];
    p->line_n = 0;
    return rc;
}

/* All of its session: what stands in the place of ssh may have started ssh. */
static void kill_node(const struct start_node *p)
{
    if (p->pid > 0)
        (void)kill(-p->pid, SIGKILL);
}

static void forget_process(struct start_node *p)
{
    p->pid = 0;
    close_fd(&p->pidfd);
    close_fd(&p->from);
    close_fd(&p->to);
}

static void start_node(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];
    struct eddis_error err = { 0 };
    int rc = spawn_node(s, host, &err);

    if (rc < 0) {
        p->pid = 0;
        forget_process(p);
        tell(s, host, START_FAILED, -1, "%.200s: %.300s", starter_host(s, host), err.text);
        return;
    }
    set_stage(s, p, START_LOGIN);
    p->pidfd = pidfd_open(p->pid, 0);
    if (p->pidfd < 0 || watch(s, host, WATCH_PID, p->pidfd, EPOLLIN) < 0 ||
        watch(s, host, WATCH_FROM, p->from, EPOLLIN) < 0) {
        kill_node(p);
        (void)waitpid(p->pid, NULL, 0);
        forget_process(p);
        tell(s, host, START_FAILED, -1, "%.200s: cannot watch its start: %s", starter_host(s, host),
             strerror(errno));
    }
}

/* ---- what is said ---- */

/* Keep the tail: what matters comes last, behind banners. */
static void remember(struct start_node *p, const char *line)
{
    size_t have = strlen(p->said), n = strlen(line);

    while (have && have + n + 2 > sizeof p->said) {
        char *next = strchr(p->said, '\n');

        next = next ? next + 1 : p->said + have;
        have -= (size_t)(next - p->said);
        memmove(p->said, next, have + 1);
    }
    (void)snprintf(p->said + have, sizeof p->said - have, "%s\n", line);
}

static void keeper_answers(struct starter *s, int host, const char *version)
{
    struct start_node *p = &s->node[host];

    if (strcmp(version, EDDIS_VERSION) != 0) {
        kill_node(p);
        tell(s, host, START_FAILED, -1,
             "node %.200s runs eddis %.40s and this is eddis %s; install one version on both",
             starter_host(s, host), version, EDDIS_VERSION);
        return;
    }
    set_stage(s, p, START_UP);
    (void)snprintf(p->words, sizeof p->words, "started");
    if (!p->input) {
        p->told = true;
        close_fd(&p->to);
    } else if (watch(s, host, WATCH_TO, p->to, EPOLLOUT) < 0) {
        close_fd(&p->to);
    }
}

static void take_line(struct starter *s, int host, char *line)
{
    static const char keeper[] = "eddis-keeper ", agent[] = "eddis-agent ";
    struct start_node *p = &s->node[host];
    const char *colon;

    text_strip_control(line);
    if (p->stage == START_LOGIN && strncmp(line, keeper, sizeof keeper - 1) == 0) {
        keeper_answers(s, host, line + sizeof keeper - 1);
    } else if (strncmp(line, agent, sizeof agent - 1) == 0) {
        (void)snprintf(p->words, sizeof p->words, "started");
    } else if ((strncmp(line, "eddis-keeper: ", 14) == 0 ||
                strncmp(line, "eddis-agent: ", 13) == 0) &&
               (colon = strchr(line, ' '))) {
        (void)snprintf(p->words, sizeof p->words, "%s", colon + 1);
    } else if (*line) {
        remember(p, line);
    }
}

static void read_words(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];
    char bytes[1024];
    ssize_t n;

    while (p->from >= 0 && (n = read(p->from, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        for (ssize_t i = 0; i < n; i++) {
            if (bytes[i] != '\n') {
                if (p->line_n + 1 < sizeof p->line)
                    p->line[p->line_n++] = bytes[i] ? bytes[i] : '?';
                continue;
            }
            p->line[p->line_n] = '\0';
            p->line[strcspn(p->line, "\r")] = '\0';
            p->line_n = 0;
            take_line(s, host, p->line);
        }
    }
    close_fd(&p->from);
}

static void write_input(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];
    ssize_t n = 0;

    if (p->to < 0)
        return;
    while (p->input && p->input_at < p->input_n) {
        n = write(p->to, p->input + p->input_at, p->input_n - p->input_at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break; /* it has ended: its descriptor will say so */
        p->input_at += (size_t)n;
    }
    p->told = n >= 0;
    wipe_input(p);
}

/* ---- its end ---- */

static void try_again(struct starter *s, int host, int64_t now_ns)
{
    struct start_node *p = &s->node[host];
    int64_t wait_ns = again_ns << (p->tries < 8 ? p->tries : 8);

    if (wait_ns > again_most_ns)
        wait_ns = again_most_ns;
    wait_ns = (int64_t)((double)wait_ns * (0.5 + random_unit(&s->random)));
    p->tries++;
    p->at_ns = now_ns + wait_ns;
    p->said[0] = '\0';
    set_stage(s, p, START_QUEUED);
}

static void ended_early(struct starter *s, int host, int code, int64_t now_ns)
{
    struct start_node *p = &s->node[host];
    char text[512];

    if (p->ops->judge(s, host, code, text, sizeof text) == START_AGAIN &&
        p->tries + 1 < START_TRIES)
        try_again(s, host, now_ns);
    else
        tell(s, host, START_FAILED, code, "%s", text);
}

/* A keeper whose agent was killed says so as a shell would: by its own exit code. */
static void say_end(struct starter *s, int host, int code, bool killed)
{
    struct start_node *p = &s->node[host];
    bool spoke = p->words[0] && strcmp(p->words, "started") != 0 && code != 0;

    if (code > 128 && p->ops == &start_local)
        tell(s, host, START_ENDED, code, "%s was killed by signal %d", killed ? "keeper" : "agent",
             code - 128);
    else
        tell(s, host, START_ENDED, code, "agent exited %d%s%.300s", code, spoke ? ": " : "",
             spoke ? p->words : "");
}

const char *start_last_line(const char *said, int *ret_n)
{
    size_t end = strlen(said), begin;

    while (end && said[end - 1] == '\n')
        end--;
    for (begin = end; begin && said[begin - 1] != '\n';)
        begin--;
    *ret_n = (int)(end - begin);
    return said + begin;
}

static void say_cut(struct starter *s, int host, int code)
{
    struct start_node *p = &s->node[host];
    int n;
    const char *last = start_last_line(p->said, &n);

    tell(s, host, START_CUT, code, "its ssh session has ended%s%.*s", n ? ": " : "", n, last);
    (void)snprintf(p->words, sizeof p->words, "started, but its ssh session has ended");
}

static void say_left(struct starter *s, int host, int code)
{
    const char *why = s->node[host].words;

    tell(s, host, START_ENDED, code, "agent has left%s%.300s", *why ? ": " : "", why);
}

/* ssh was killed, and what it had started to connect through was not.  Before the reaping, for the
 * number of the group is nobody else's as long.
 */
static void end_helpers(const struct start_node *p)
{
    siginfo_t i = { 0 };

    if (waitid(P_PID, (id_t)p->pid, &i, WEXITED | WNOHANG | WNOWAIT) == 0 && i.si_pid == p->pid)
        kill_node(p);
}

static void process_ended(struct starter *s, int host, int64_t now_ns)
{
    struct start_node *p = &s->node[host];
    int status = 0, code;
    pid_t got;

    if (!p->pid)
        return;
    if (p->ops->logs_in)
        end_helpers(p);
    do
        got = waitpid(p->pid, &status, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return;
    code = got < 0 ? 255 : spawn_exit_code(status);
    read_words(s, host); /* its last ones */
    if (p->line_n) {
        p->line[p->line_n] = '\0';
        p->line_n = 0;
        take_line(s, host, p->line);
    }
    forget_process(p);
    if (p->stage == START_LOGIN)
        ended_early(s, host, code, now_ns);
    else if (p->stage == START_OVER || p->stage == START_QUEUED)
        return; /* it was killed, and that is told; a new start may wait already */
    else if (p->stage == START_LEAVING && *p->words)
        say_left(s, host, code);
    else if (p->told && p->ops->is_cut && p->ops->is_cut(status))
        say_cut(s, host, code);
    else
        say_end(s, host, code, got > 0 && WIFSIGNALED(status));
}

static bool is_waited_for(const struct start_node *p)
{
    return p->stage == START_QUEUED || p->stage == START_LOGIN || p->stage == START_UP;
}

static void describe(const struct starter *s, int host, char *ret, size_t size)
{
    const struct start_node *p = &s->node[host];

    if (p->stage == START_QUEUED && p->tries)
        (void)snprintf(ret, size, "ssh: the server takes no more connections, try %d of %d",
                       p->tries + 1, START_TRIES);
    else if (p->stage == START_QUEUED)
        (void)snprintf(ret, size, "not begun");
    else if (p->stage == START_LOGIN)
        (void)snprintf(ret, size, "%s", p->ops->begins);
    else if (p->stage == START_OVER)
        (void)snprintf(ret, size, "%.300s", p->words[0] ? p->words : "has ended");
    else
        (void)snprintf(ret, size, "%s%.300s",
                       strncmp(p->words, "started", 7) == 0 ? "" : "started, ", p->words);
}

static void late(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];
    char why[400];

    describe(s, host, why, sizeof why);
    (void)snprintf(p->words, sizeof p->words, "%s", why);
    kill_node(p);
    tell(s, host, START_LATE, -1,
         "the agent of %.100s was not up within %g s (timeouts.launch): %.280s",
         starter_host(s, host), (double)s->o.launch_ns / CLOCK_S, why);
}

void starter_abandon(struct starter *s)
{
    for (int i = 0; i < s->o.n; i++) {
        struct start_node *p = &s->node[i];

        if (!is_waited_for(p) || (p->stage == START_UP && p->told))
            continue;
        kill_node(p);
        tell(s, i, START_ENDED, -1, "start was given up");
    }
}

void starter_drop(struct starter *s, int host)
{
    struct start_node *p = &s->node[host];

    if (!p->ops->logs_in || p->stage == START_IDLE || p->stage == START_OVER)
        return;
    kill_node(p);
    tell(s, host, START_ENDED, -1, "dropped");
    p->has_event = false;
    s->n_events--;
}

void starter_left(struct starter *s, int host, const char *why, int64_t now_ns)
{
    struct start_node *p = &s->node[host];

    if (!p->ops->logs_in)
        return;
    (void)snprintf(p->words, sizeof p->words, "%s", why);
    if (!p->pid) {
        say_left(s, host, 0);
        return;
    }
    set_stage(s, p, START_LEAVING);
    p->deadline_ns = now_ns + leave_ns;
    s->next_ns = 0;
}

void starter_registered(struct starter *s, int host)
{
    if (is_waited_for(&s->node[host]))
        set_stage(s, &s->node[host], START_REGISTERED);
}

/* ---- the loop's side ---- */

int starter_fd(const struct starter *s)
{
    return s->events;
}

int64_t starter_next_ns(const struct starter *s)
{
    return s->n_events ? 0 : s->next_ns;
}

static void take_watches(struct starter *s, int64_t now_ns)
{
    struct epoll_event e[64];
    int n;

    do {
        n = epoll_wait(s->events, e, 64, 0);
        for (int i = 0; i < n; i++) {
            int host = (int)(e[i].data.u64 / WATCH_KINDS);
            enum watch_kind kind = (enum watch_kind)(e[i].data.u64 % WATCH_KINDS);

            if (kind == WATCH_FROM)
                read_words(s, host);
            else if (kind == WATCH_TO)
                write_input(s, host);
            else
                process_ended(s, host, now_ns);
        }
    } while (n == 64);
}

/* Start what may be started, and find out when to look again. */
static void look_round(struct starter *s, int64_t now_ns)
{
    s->next_ns = CLOCK_NEVER;
    for (int i = 0; i < s->o.n; i++) {
        struct start_node *p = &s->node[i];
        bool leaving = p->stage == START_LEAVING;

        if (!is_waited_for(p) && !leaving)
            continue;
        if (now_ns >= p->deadline_ns && leaving) {
            kill_node(p);
            say_left(s, i, 0);
        } else if (now_ns >= p->deadline_ns) {
            late(s, i);
        }
        if (p->stage == START_QUEUED && !p->pid && now_ns >= p->at_ns &&
            (!p->ops->logs_in || s->n_logins < START_LOGINS))
            start_node(s, i);
        if (p->stage == START_QUEUED && p->at_ns > now_ns && p->at_ns < s->next_ns)
            s->next_ns = p->at_ns;
        if ((is_waited_for(p) || leaving) && p->deadline_ns < s->next_ns)
            s->next_ns = p->deadline_ns;
    }
}

void starter_turn(struct starter *s, int64_t now_ns)
{
    take_watches(s, now_ns);
    look_round(s, now_ns);
}

int starter_waiting(const struct starter *s, char *ret, size_t size)
{
    struct strbuf b = { 0 };
    int up = 0, named = 0, waiting = 0;

    for (int i = 0; i < s->o.n; i++)
        up += s->node[i].stage == START_REGISTERED;
    strbuf_addf(&b, "agents %d/%d up", up, s->o.n);
    for (int i = 0; i < s->o.n; i++) {
        char why[400];

        if (s->node[i].stage == START_REGISTERED || s->node[i].stage == START_IDLE)
            continue;
        waiting++;
        if (named == NAMED)
            continue;
        describe(s, i, why, sizeof why);
        strbuf_addf(&b, "%s%s (%s)", named++ ? ", " : "; waiting for ", starter_host(s, i), why);
    }
    if (waiting > named)
        strbuf_addf(&b, " and %d more", waiting - named);
    (void)snprintf(ret, size, "%s", strbuf_text(&b));
    strbuf_fini(&b);
    return waiting;
}

/* Of this machine the name is written, for it is another one where the record may be read. */
char *starter_record(const struct starter *s, int host, const char *job_id,
                     const struct node_identity *id)
{
    static const struct job_ssh nothing;
    char own[256] = "";
    struct job_host here = { .host = own };
    struct job_ssh ssh;

    if (!starter_is_local(s, host)) {
        ssh = start_ssh_settings(s, host);
        return node_list_line(job_id, &s->o.host[host], &ssh, id->cleanup_key);
    }
    if (gethostname(own, sizeof own - 1) < 0 || !own[0])
        (void)snprintf(own, sizeof own, "localhost");
    return node_list_line(job_id, &here, &nothing, id->cleanup_key);
}

/* ---- the end ---- */

int starter_clean(struct starter *s, int64_t patience_ns, int64_t deadline_ns,
                  struct eddis_error *err)
{
    if (!s->clean)
        return 0;
    for (int i = 0; i < s->o.n; i++)
        if (s->node[i].ops->logs_in)
            kill_node(&s->node[i]);
    return start_local_clean(patience_ns, deadline_ns, err);
}

void starter_close(struct starter *s)
{
    if (!s)
        return;
    for (int i = 0; s->node && i < s->o.n; i++) {
        wipe_input(&s->node[i]);
        free_args(&s->node[i]);
        forget_process(&s->node[i]);
    }
    close_fd(&s->events);
    free(s->node);
    free(s);
}
