/* SPDX-License-Identifier: Apache-2.0 */
/* status_live.c - redraws a job's page until the job ends */
#include "status_live.h"

#include "agents/job/status_fetch.h"
#include "status_page.h"
#include "status_screen.h"

#include "agents/job/driver_socket.h"
#include "agents/job/status_json.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/http/client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int64_t answer_ns = 5 * CLOCK_S; /* time limit of one answer of the driver */

/* State of the live view. */
struct live {
    const struct status_live *o;
    const struct job_folder *folder;
    struct http_client *client;
    struct job_status status;
    struct eddis_error trouble; /* error of the last request, shown in the last row; code 0: none */
    /* A request runs; there is something new to draw; the job has ended or its driver is gone. */
    bool asking, fresh, over;
    int signals; /* signalfd of the signals that the view handles */
    int end;     /* value that ends the view and that it returns; 0: go on */
};

/* Keep v->status, or replace it by a newer one from the job's folder, since the driver does not
 * answer. Put its age before the error that is shown, v->trouble.
 */
static void keep_last(struct live *v)
{
    struct eddis_error why = v->trouble;
    struct job_status s;

    if (status_last(v->folder, &s, NULL) == 0) {
        bool newer = !v->status.job[0] || s.wall_s > v->status.wall_s + 1;
        struct job_status old = newer ? v->status : s;

        if (newer)
            v->status = s;
        job_status_fini(&old);
    }
    eddis_fail(&v->trouble, why.code, "%.0f s old: %.300s", status_age_s(&v->status), why.text);
}

/* Process the driver's answer: store its status, or else set the error to show. status 0: there was
 * no answer, because of err. Set v->over if the job has ended or its driver is gone. A callback of
 * the HTTP client; ctx: struct live.
 */
static void on_answer(void *ctx, int status, const char *body, size_t n,
                      const struct eddis_error *err)
{
    struct live *v = ctx;
    struct job_status s;

    v->asking = false;
    v->fresh = true;
    if (status == 200 && job_status_parse(body, n, "answer of the driver", &s, &v->trouble) == 0) {
        job_status_fini(&v->status);
        v->status = s;
        v->trouble.code = 0;
        v->over = s.state == JOB_ENDED;
        return;
    }
    if (status == 0 && err)
        v->trouble = *err;
    else if (status != 200)
        eddis_fail(&v->trouble, -EPROTO, "the driver answered with HTTP status %d", status);
    v->over = job_driver_check(v->folder, NULL) != 1;
    if (!v->over)
        keep_last(v);
}

/* Start a request to the driver for the job's status and return 0, without waiting; on_answer gets
 * the answer. If the driver's process is stopped, set the error to show instead. Return a negative
 * error if the request cannot be started.
 */
static int ask(struct live *v, struct eddis_error *err)
{
    struct eddis_error stopped = { 0 };
    struct job_driver d;
    int alive = job_driver_read(v->folder, &d, NULL);

    explicit_bzero(d.token, sizeof d.token);
    explicit_bzero(d.owner, sizeof d.owner);
    if (alive == 1 && status_driver_stopped(&d, &stopped) < 0) {
        on_answer(v, 0, NULL, 0, &stopped);
        return 0;
    }
    v->asking = true;
    return http_client_start(v->client, "/v1/job", NULL, answer_ns, on_answer, v, err);
}

/* Draw the page of v->status, cut to the window, and in the last row the error or the hint about
 * keys. If the terminal is gone, end the view (v->end).
 */
static void paint(struct live *v)
{
    struct status_print o = { .out = stdout, .color = v->o->color, .window = true };
    struct status_page_form form = { .ascii = v->o->ascii, .gpus = v->o->gpus };
    struct status_page page;

    v->fresh = false;
    screen_size(&o.rows, &o.columns);
    form.columns = o.columns;
    if (status_page_make(&v->status, &form, &page, &v->trouble) < 0)
        return;
    o.rows -= 1; /* the last row is for the keys */
    fputs("\033[H", stdout);
    status_page_print(&page, &v->status, &o);
    fputs("\033[J", stdout);
    if (v->trouble.code)
        printf("\033[%d;1H%.*s", o.rows + 1, o.columns - 1, v->trouble.text);
    else
        printf("\033[%d;1H%.*s", o.rows + 1, o.columns - 1, "q quits");
    status_page_fini(&page);
    /* The terminal is gone. */
    if (fflush(stdout) != 0)
        v->end = 128 + SIGHUP;
}

/* Read the keys that were pressed; end the view (v->end) if one was 'q' or 'Q'. */
static void on_keys(struct live *v)
{
    char key[64];
    ssize_t n = read(STDIN_FILENO, key, sizeof key);

    if (n > 0 && (memchr(key, 'q', (size_t)n) || memchr(key, 'Q', (size_t)n)))
        v->end = STATUS_LIVE_QUIT;
}

/* Read a signal and handle it: at SIGTSTP (Ctrl-Z) leave the alternate screen and stop this process
 * until it is continued; at SIGWINCH draw again; at any other end the view (v->end).
 */
static void on_signal(struct live *v)
{
    struct signalfd_siginfo s;

    if (read(v->signals, &s, sizeof s) != (ssize_t)sizeof s)
        return;
    if (s.ssi_signo == SIGTSTP) {
        screen_leave();
        (void)raise(SIGSTOP);
        screen_enter();
    } else if (s.ssi_signo != SIGWINCH) {
        v->end = 128 + (int)s.ssi_signo;
    }
    v->fresh = true;
}

/* Ask the driver every interval and draw its status, until the job ends or the user ends the view.
 * Block until then. Return as status_live_run.
 */
static int watch(struct live *v, struct eddis_error *err)
{
    struct pollfd fds[2] = { { .fd = v->signals, .events = POLLIN },
                             { .fd = isatty(STDIN_FILENO) ? STDIN_FILENO : -1, .events = POLLIN } };
    int64_t next_ns = 0;

    while (!v->end && !v->over) {
        int rc;

        if (!v->asking && clock_now_ns() >= next_ns) {
            next_ns = clock_now_ns() + v->o->interval_ns;
            rc = ask(v, err);
            if (rc < 0)
                return rc;
        }
        rc = http_client_wait(v->client, fds, fds[1].fd < 0 ? 1 : 2, next_ns, err);
        if (rc < 0)
            return rc;
        if (fds[0].revents)
            on_signal(v);
        if (fds[1].fd >= 0 && fds[1].revents)
            on_keys(v);
        if (v->fresh && !v->end && !v->over)
            paint(v);
    }
    return v->end;
}

/* ---- jobs whose driver is on another node ---- */

/* Silence after which the node is reported, beyond the interval. */
static const int64_t silent_ns = 15 * CLOCK_S;

/* Store the status in a line of JSON that eddis-status on the other node has printed, n bytes, in
 * v->status; or set the error to show if it is none.
 */
static void on_line(struct live *v, const char *line, size_t n)
{
    struct job_status s;

    if (job_status_parse(line, n, "answer of eddis-status", &s, &v->trouble) < 0) {
        v->fresh = true;
        return;
    }
    job_status_fini(&v->status);
    v->status = s;
    v->trouble.code = 0;
    v->fresh = true;
}

/* Process each complete line in b by on_line, and remove it from b. */
static void take_lines(struct live *v, struct strbuf *b)
{
    const char *text = strbuf_text(b), *at = text, *end;

    while ((end = memchr(at, '\n', b->len - (size_t)(at - text)))) {
        on_line(v, at, (size_t)(end - at));
        at = end + 1;
    }
    strbuf_drop(b, (size_t)(at - text));
}

/* Set the error to show: the node of c does not answer. */
static void say_silent(struct live *v, const struct srun_proxy_call *c)
{
    eddis_fail(&v->trouble, -ETIMEDOUT, "node %s of Slurm's job %s does not answer at the moment",
               c->at->node, c->at->name);
    v->fresh = true;
}

/* Draw each status that srun brings, until the program there or the user ends the view. Block until
 * then. Before the first status the terminal is left as it is, so that errors are printed normally.
 * Return 0 if the program there has ended, STATUS_LIVE_QUIT, 128 + the signal, or a negative error.
 */
static int watch_far(struct live *v, struct srun_proxy_call *c, struct eddis_error *err)
{
    cleanup_strbuf struct strbuf b = { 0 };
    bool shown = false;
    int64_t heard_ns = clock_now_ns();
    int rc = 0;

    while (!v->end && rc >= 0 && !srun_proxy_is_over(c)) {
        struct pollfd fds[] = { { .fd = v->signals, .events = POLLIN },
                                { .fd = shown && isatty(STDIN_FILENO) ? STDIN_FILENO : -1,
                                  .events = POLLIN },
                                { .fd = c->out, .events = POLLIN },
                                { .fd = c->errors, .events = POLLIN } };
        char bytes[16384];

        (void)poll(fds, 4,
                   clock_poll_ms(c->here ? heard_ns + v->o->interval_ns + silent_ns : c->end_ns));
        if (fds[0].revents)
            on_signal(v);
        if (fds[1].revents)
            on_keys(v);
        rc = srun_proxy_read(c, bytes, sizeof bytes, err);
        if (rc > 0) {
            heard_ns = clock_now_ns();
            strbuf_add_bytes(&b, bytes, (size_t)rc);
            take_lines(v, &b);
        } else if (c->here && clock_now_ns() >= heard_ns + v->o->interval_ns + silent_ns) {
            heard_ns = clock_now_ns();
            say_silent(v, c);
        }
        if (v->fresh && !v->end && rc >= 0) {
            if (!shown && v->status.job[0])
                screen_enter();
            shown = shown || v->status.job[0];
            if (shown)
                paint(v);
        }
    }
    if (shown)
        screen_leave();
    return rc < 0 ? rc : v->end;
}

/* Run eddis-status --watch --json on the job's node and draw what it prints. Return as watch_far;
 * but if the program there has ended, its exit code, after its last error line was printed if that
 * code is not 0, or a negative error.
 */
static int look_far(struct live *v, const struct srun_proxy *proxy, const char *word,
                    struct eddis_error *err)
{
    cleanup_free char *interval = NULL;
    struct srun_proxy_call c;
    int rc, code;

    if (asprintf(&interval, "%" PRId64 "ms", v->o->interval_ns / CLOCK_MS) < 0) {
        interval = NULL;
        return eddis_fail(err, -ENOMEM, "no memory for the view");
    }
    rc = srun_proxy_begin(proxy,
                          (const char *const[]){ "eddis-status", word, "--watch", "--json",
                                                 "--interval", interval, NULL },
                          true, &c, err);
    if (rc < 0)
        return rc;
    rc = watch_far(v, &c, err);
    code = srun_proxy_end(&c, rc == 0 ? err : NULL);
    if (rc == 0 && code > 0 && *c.last)
        fprintf(stderr, "%s\n", c.last);
    return rc ? rc : code;
}

/* ---- entry points ---- */

/* Block the signals that the view handles and receive them by the signalfd v->signals (-1: that
 * failed, see errno). *ret_before: the former signal mask.
 */
static void hold_signals(struct live *v, sigset_t *ret_before)
{
    static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigaddset(&set, caught[i]);
    (void)sigprocmask(SIG_BLOCK, &set, ret_before);
    v->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Close v->signals and restore the signal mask `before`. */
static void let_signals(struct live *v, const sigset_t *before)
{
    if (v->signals >= 0)
        (void)close(v->signals);
    (void)sigprocmask(SIG_SETMASK, before, NULL);
}

int status_live_far(const struct srun_proxy *proxy, const char *word, const struct status_live *o,
                    struct job_status *ret, struct eddis_error *err)
{
    struct live v = { .o = o, .signals = -1 };
    sigset_t before;
    int rc;

    job_status_init(&v.status);
    hold_signals(&v, &before);
    rc = v.signals < 0 ? eddis_fail_errno(err, -errno, "cannot wait for signals")
                       : look_far(&v, proxy, word, err);
    let_signals(&v, &before);
    if (rc == 0)
        *ret = v.status;
    else
        job_status_fini(&v.status);
    return rc;
}

int status_live_run(const struct job_folder *f, const struct status_live *o,
                    struct eddis_error *err)
{
    struct live v = { .o = o, .folder = f, .signals = -1 };
    struct job_driver d;
    sigset_t before;
    int alive = job_driver_read(f, &d, err);
    int rc = alive == 1 ? driver_socket_dial(&d, d.token, &v.client, err) : alive;

    explicit_bzero(&d, sizeof d);
    if (alive == -ENOENT)
        return 0;
    if (alive != 1 || rc < 0)
        return rc;
    job_status_init(&v.status);
    hold_signals(&v, &before);
    if (v.signals < 0) {
        rc = eddis_fail_errno(err, -errno, "cannot wait for signals");
    } else {
        screen_enter();
        rc = watch(&v, err);
        screen_leave();
    }
    let_signals(&v, &before);
    http_client_close(v.client);
    job_status_fini(&v.status);
    return rc;
}
