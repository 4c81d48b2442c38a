/* SPDX-License-Identifier: Apache-2.0 */
/* test_server.c - tests of lib/http/server.h */
#include "lib/http/server.h"

#include "lib/base/clock.h"
#include "lib/http/unauthenticated.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_KEPT = 512 };

struct fixture {
    struct http_server *s;
    struct http_tokens *tokens; /* of numbers 0 and 1 */
    pthread_mutex_t lock;
    struct http_exchange *kept[MAX_KEPT];
    int n_kept, n_asked;
};

static struct fixture *f; /* NULL: no server */
static char answer[4096]; /* what was heard last */

/* /echo answers with what came; /keep waits until release(). */
static void handle(void *ctx, const struct http_request *q, struct http_exchange *x)
{
    char text[256];

    (void)ctx;
    pthread_mutex_lock(&f->lock);
    f->n_asked++;
    if (strcmp(q->path, "/keep") == 0) {
        f->kept[f->n_kept++] = x;
        x = NULL;
    }
    pthread_mutex_unlock(&f->lock);
    if (!x)
        return;
    if (strcmp(q->path, "/echo") != 0) {
        http_reply_error(x, 404, "no such \"path\"");
        return;
    }
    (void)snprintf(text, sizeof text, "{\"who\":%d,\"n\":%zu,\"after\":\"%s\",\"peer\":\"%s\"}",
                   q->who, q->body_n, q->after ? q->after : "", q->peer);
    http_reply(x, 200, text);
}

/* Start a server with these options and two tokens. */
static void start_with(struct http_server_options *o)
{
    struct eddis_error err = { 0 };

    f = calloc(1, sizeof *f);
    ck_assert_ptr_nonnull(f);
    pthread_mutex_init(&f->lock, NULL);
    ck_assert_int_eq(http_tokens_new(2, &f->tokens, NULL), 0);
    o->handle = handle;
    o->tokens = f->tokens;
    ck_assert_msg(http_server_start(o, &f->s, &err) == 0, "%s", err.text);
}

static void start(int64_t deadline_ns, int max_connections)
{
    struct http_server_options o = {
        .address = "127.0.0.1",
        .deadline_ns = deadline_ns,
        .refusal_ns = 20 * CLOCK_MS,
        .max_connections = max_connections,
    };

    start_with(&o);
    ck_assert_int_gt(http_server_port(f->s), 0);
}

static int kept(void)
{
    int n;

    pthread_mutex_lock(&f->lock);
    n = f->n_kept;
    pthread_mutex_unlock(&f->lock);
    return n;
}

static void wait_kept(int n)
{
    while (kept() < n)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
}

static void release(void)
{
    pthread_mutex_lock(&f->lock);
    for (int i = 0; i < f->n_kept; i++)
        http_reply(f->kept[i], 200, "{\"late\":true}");
    f->n_kept = 0;
    pthread_mutex_unlock(&f->lock);
}

static void stop(void)
{
    release();
    http_server_stop(f->s);
    http_tokens_free(f->tokens);
    pthread_mutex_destroy(&f->lock);
    free(f);
    f = NULL;
}

static void tear_down(void)
{
    if (f)
        stop();
}

static int dial(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)http_server_port(f->s)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* Returns text with <0> and <1> replaced by those numbers' tokens and <x> by a wrong one. */
static char *expand(const char *text)
{
    char *out = calloc(1, strlen(text) + 4 * HTTP_TOKEN_CHARS), *at = out;

    while (*text) {
        if (text[0] == '<' && text[2] == '>') {
            http_tokens_text(f->tokens, text[1] == '1', at);
            if (text[1] == 'x')
                at[HTTP_TOKEN_CHARS - 1] ^= 1;
            at += HTTP_TOKEN_CHARS;
            text += 3;
        } else {
            *at++ = *text++;
        }
    }
    return out;
}

static void say(int fd, const char *text)
{
    char *expanded = expand(text);
    size_t n = strlen(expanded);

    ck_assert_int_eq(send(fd, expanded, n, MSG_NOSIGNAL), (ssize_t)n);
    free(expanded);
}

/* All that comes until the server closes, or until the answer's last brace. */
static int hear(int fd)
{
    size_t n = 0;
    int status = 0;

    for (;;) {
        ssize_t got = recv(fd, answer + n, sizeof answer - 1 - n, 0);

        if (got <= 0)
            break;
        n += (size_t)got;
        answer[n] = '\0';
        if (answer[n - 1] == '}')
            break;
    }
    answer[n] = '\0';
    return sscanf(answer, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

/* One request on a connection of its own; returns the status, 0 when there was none. */
static int ask(const char *request)
{
    int fd = dial(), status;

    say(fd, request);
    status = hear(fd);
    close(fd);
    return status;
}

#define HOST   "Host: x\r\n"
#define AGENT  "Authorization: Bearer <0>\r\n"
#define READER "Authorization: Bearer <1>\r\n"

static const struct {
    const char *request;
    int status;
    const char *holds; /* in the answer; NULL: whatever */
    int refused;
} ask_rows[] = {
    { "GET /echo HTTP/1.1\r\n" HOST AGENT "\r\n", 200, "\"who\":0", 0 },
    { "GET /echo?after=17 HTTP/1.1\r\n" HOST READER "\r\n", 200,
      "{\"who\":1,\"n\":0,\"after\":\"17\",\"peer\":\"127.0.0.1\"}", 0 },
    { "POST /echo HTTP/1.1\r\n" HOST AGENT "Content-Length: 5\r\n\r\nhello", 200, "\"n\":5", 0 },
    { "GET /other HTTP/1.1\r\n" HOST AGENT "\r\n", 404, "{\"error\":\"no such \\\"path\\\"\"}", 0 },
    /* no token, an empty one, wrong ones, another scheme */
    { "GET /echo HTTP/1.1\r\n" HOST "\r\n", 401, "{\"error\":\"not authorised\"}", 1 },
    { "GET /echo HTTP/1.1\r\n" HOST "Authorization:\r\n\r\n", 401, "not authorised", 1 },
    { "GET /echo HTTP/1.1\r\n" HOST "Authorization: Bearer \r\n\r\n", 401, "not authorised", 1 },
    { "GET /echo HTTP/1.1\r\n" HOST "Authorization: Bearer a\r\n\r\n", 401, "not authorised", 1 },
    { "GET /echo HTTP/1.1\r\n" HOST "Authorization: Bearer <x>\r\n\r\n", 401, "not authorised", 1 },
    { "GET /echo HTTP/1.1\r\n" HOST "Authorization: Bearer <0>1\r\n\r\n", 401, "not authorised",
      1 },
    { "GET /echo HTTP/1.1\r\n" HOST "Authorization: Basic <0>\r\n\r\n", 401, "not authorised", 1 },
    /* who we do not know is not told that his body is too long */
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999\r\n\r\n", 401, "not authorised", 1 },
    { "POST /echo HTTP/1.1\r\n" HOST AGENT "Content-Length: 1048577\r\n\r\n", 413, "1 MiB", 0 },
    { "POST /echo HTTP/1.1\r\n" HOST AGENT "Content-Length: 99999999999999999999\r\n\r\n", 413,
      NULL, 0 },
    { "POST /echo HTTP/1.1\r\n" HOST AGENT "Transfer-Encoding: chunked\r\n\r\n", 411,
      "Content-Length", 0 },
    { "GET /e%0acho HTTP/1.1\r\n" HOST AGENT "\r\n", 400, "not plain", 0 },
    { "GET /\xc3\xa9 HTTP/1.1\r\n" HOST AGENT "\r\n", 400, "not plain", 0 },
};

START_TEST(ask_row)
{
    start(0, 0);
    ck_assert_int_eq(ask(ask_rows[_i].request), ask_rows[_i].status);
    if (ask_rows[_i].holds)
        ck_assert_msg(strstr(answer, ask_rows[_i].holds), "%s", answer);
    ck_assert_int_eq(http_server_refused(f->s), ask_rows[_i].refused);
    ck_assert_int_eq(f->n_asked, ask_rows[_i].status == 200 || ask_rows[_i].status == 404);
}
END_TEST

static int ask_from(uint32_t address, const char *request)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)http_server_port(f->s)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status;

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    say(fd, request);
    status = hear(fd);
    close(fd);
    return status;
}

/* Who was refused is known by his address; those beyond the table are counted together. */
START_TEST(refusals_by_peer)
{
    static const char wrong[] = "GET /echo HTTP/1.1\r\n" HOST AGENT "\r\n";
    struct http_rejections r;
    char bad[sizeof wrong];

    start(0, 0);
    strcpy(bad, wrong);
    strstr(bad, "<0>")[1] = 'x';
    for (uint32_t i = 0; i < 40; i++)
        for (uint32_t k = 0; k <= i % 3; k++)
            ck_assert_int_eq(ask_from(INADDR_LOOPBACK + 1 + i, bad), 401);
    ck_assert_int_eq(ask_from(INADDR_LOOPBACK + 1, wrong), 200);
    http_server_rejections(f->s, &r);
    ck_assert_int_eq(r.total, 79);
    ck_assert_int_eq(http_server_refused(f->s), 79);
    ck_assert_int_eq(r.n_peers, HTTP_REFUSAL_PEERS);
    ck_assert_str_eq(r.peer[0].peer, "127.0.0.2");
    ck_assert_int_eq(r.peer[0].n, 1);
    ck_assert_str_eq(r.peer[2].peer, "127.0.0.4");
    ck_assert_int_eq(r.peer[2].n, 3);
    ck_assert_str_eq(r.peer[HTTP_REFUSAL_PEERS - 1].peer, "others");
    for (int i = 0; i < HTTP_REFUSAL_PEERS; i++)
        r.total -= r.peer[i].n;
    ck_assert_int_eq(r.total, 0);
}
END_TEST

/* Whatever comes, the handler does not hear of it and the next client is served. */
START_TEST(garbage)
{
    static const char *const row[] = { "\r\n\r\n\r\n",
                                       "hello\r\n\r\n",
                                       "GET\r\n\r\n",
                                       "GET / HTTP/9.9\r\n\r\n",
                                       "POST /echo HTTP/1.1\r\n" HOST AGENT
                                       "Content-Length: -1\r\n\r\n",
                                       "POST /echo HTTP/1.1\r\n" HOST AGENT
                                       "Content-Length: 5x\r\n\r\nhello",
                                       "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n" };

    start(500 * CLOCK_MS, 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ck_assert_int_ne(ask(row[i]), 200);
    ck_assert_int_eq(f->n_asked, 0);
    ck_assert_int_eq(ask(ask_rows[0].request), 200);
}
END_TEST

START_TEST(header_too_long)
{
    char *request = malloc(100000);
    int n = sprintf(request, "GET /echo HTTP/1.1\r\n" HOST "X-Long: "), fd;

    start(0, 0);
    fd = dial();
    memset(request + n, 'x', 90000);
    strcpy(request + n + 90000, "\r\n\r\n");
    /* The server may close before it has read all. */
    (void)!send(fd, request, strlen(request), MSG_NOSIGNAL);
    ck_assert_int_ne(hear(fd), 200);
    ck_assert_int_eq(f->n_asked, 0);
    close(fd);
    free(request);
}
END_TEST

START_TEST(longest_body_in_pieces)
{
    char *body = malloc(HTTP_MAX_BODY + 1);
    int fd;

    start(0, 0);
    fd = dial();
    memset(body, 'x', HTTP_MAX_BODY);
    body[HTTP_MAX_BODY] = '\0';
    say(fd, "POST /echo HTTP/1.1\r\n" HOST AGENT "Content-Length: 1048576\r\n\r\n");
    say(fd, body);
    ck_assert_int_eq(hear(fd), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\"n\":1048576"));
    close(fd);
    free(body);
}
END_TEST

/* A byte now and then keeps no connection, neither in the header nor, with a token, in the body. */
START_TEST(slow_loris)
{
    static const char *const begin[] = { "GET /echo HTTP/1.1\r\nX: ",
                                         "POST /echo HTTP/1.1\r\n" HOST AGENT
                                         "Content-Length: 1000\r\n\r\n" };

    start(300 * CLOCK_MS, 0);
    for (size_t i = 0; i < 2; i++) {
        int64_t since = clock_now_ns();
        int fd = dial();
        char byte;

        say(fd, begin[i]);
        while (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (send(fd, "x", 1, MSG_NOSIGNAL) < 0)
                break;
            clock_sleep_until_ns(clock_now_ns() + 20 * CLOCK_MS);
        }
        ck_assert_int_ge(clock_now_ns() - since, 250 * CLOCK_MS);
        close(fd);
    }
    ck_assert_int_eq(f->n_asked, 0);
}
END_TEST

/* How many of them the server has not closed. */
static int open_of(const int *fd, int n)
{
    int open_ones = 0;
    char byte;

    for (int i = 0; i < n; i++)
        open_ones +=
            recv(fd[i], &byte, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    return open_ones;
}

/* Three long polls on one connection of a server with this deadline.  Returns false when it was
 * over before a request had come.
 */
static bool polls(int64_t deadline_ns)
{
    int fd, n = 0;

    start(deadline_ns, 0);
    fd = dial();
    for (bool open = true; n < 3 && open; n += open) {
        say(fd, "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
        while (open && kept() < 1) {
            clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
            open = open_of(&fd, 1) == 1 || kept() == 1;
        }
        if (!open)
            break;
        clock_sleep_until_ns(clock_now_ns() + 5 * deadline_ns / 2);
        ck_assert_int_eq(open_of(&fd, 1), 1);
        release();
        ck_assert_int_eq(hear(fd), 200);
        ck_assert_ptr_nonnull(strstr(answer, "late"));
    }
    close(fd);
    stop();
    return n == 3;
}

/* A long poll is no idle connection: the deadline does not run while the answer is ours to give.
 * Ours are as short as a busy machine allows.
 */
START_TEST(long_poll)
{
    int64_t deadline_ns = 100 * CLOCK_MS;

    while (!polls(deadline_ns)) {
        deadline_ns *= 2;
        ck_assert_int_lt(deadline_ns, 20 * CLOCK_S);
    }
}
END_TEST

START_TEST(client_dies_in_long_poll)
{
    start(0, 0);
    for (int i = 0; i < 20; i++) {
        int fd = dial();
        struct linger reset = { .l_onoff = i % 2 };

        say(fd, "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
        wait_kept(1);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
        release();
    }
    ck_assert_int_eq(ask(ask_rows[0].request), 200);
}
END_TEST

START_TEST(many_long_polls)
{
    enum { N = 200 };
    int fd[N];

    start(0, 0);
    for (int i = 0; i < N; i++) {
        fd[i] = dial();
        say(fd[i], "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
    }
    wait_kept(N);
    ck_assert_int_eq(ask(ask_rows[0].request), 200);
    release();
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(hear(fd[i]), 200);
        close(fd[i]);
    }
}
END_TEST

/* Half of the clients are silent, half in a long poll; stop has to end all the same. */
START_TEST(stop_with_open_connections)
{
    int fd[40];

    start(0, 0);
    for (int i = 0; i < 40; i++) {
        fd[i] = dial();
        if (i % 2)
            say(fd[i], "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
    }
    wait_kept(20);
    stop();
    for (int i = 0; i < 40; i++)
        close(fd[i]);
}
END_TEST

START_TEST(connection_cap)
{
    int fd[32], closed = 0;

    start(300 * CLOCK_MS, 8);
    for (int i = 0; i < 32; i++)
        fd[i] = dial();
    /* Idle ones fill the house until their deadline; then there is room again. */
    for (int i = 0; i < 32; i++) {
        closed += recv(fd[i], answer, 1, 0) <= 0;
        close(fd[i]);
    }
    ck_assert_int_eq(closed, 32);
    ck_assert_int_eq(ask(ask_rows[0].request), 200);
}
END_TEST

static void raise_files(void)
{
    struct rlimit l;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_cur = l.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
}

static int status_within(int fd, int seconds)
{
    const struct timeval wait = { .tv_sec = seconds };

    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), 0);
    return hear(fd);
}

/* Those who come and say nothing keep nobody out, and nobody who has shown a token has to go. */
START_TEST(idle_ones_give_way)
{
    enum { IDLE = 600, KEPT = 20 };
    static int idle[IDLE];
    int kept_fd[KEPT], fd;
    int64_t end_ns;

    start(60 * CLOCK_S, 64);
    raise_files();
    for (int i = 0; i < KEPT; i++) {
        kept_fd[i] = dial();
        say(kept_fd[i], "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
    }
    wait_kept(KEPT);
    for (int i = 0; i < IDLE; i++)
        idle[i] = dial();
    /* As agents do: again when it had to go. */
    for (int i = 0, status = 0; status != 200; i++) {
        ck_assert_int_lt(i, 300);
        fd = dial();
        say(fd, ask_rows[0].request);
        status = status_within(fd, 5);
        close(fd);
        clock_sleep_until_ns(clock_now_ns() + (status == 200 ? 0 : 20 * CLOCK_MS));
    }
    release();
    for (int i = 0; i < KEPT; i++) {
        ck_assert_int_eq(hear(kept_fd[i]), 200);
        close(kept_fd[i]);
    }
    end_ns = clock_now_ns() + 60 * CLOCK_S; /* some may have come that it has not seen yet */
    while (open_of(idle, IDLE) > STRANGERS / 2 + 1 && clock_now_ns() < end_ns)
        clock_sleep_until_ns(clock_now_ns() + 10 * CLOCK_MS);
    ck_assert_int_le(open_of(idle, IDLE), STRANGERS / 2 + 1); /* one may be about to go */
    for (int i = 0; i < IDLE; i++)
        close(idle[i]);
}
END_TEST

/* A short time is enough to show a token. */
START_TEST(unauthenticated_have_little_time)
{
    struct http_server_options o = { .address = "127.0.0.1",
                                     .deadline_ns = 600 * CLOCK_S,
                                     .unauthenticated_ns = 100 * CLOCK_MS };
    int fd, known;

    start_with(&o);
    for (known = -1; known < 0;) {
        known = dial();
        say(known, ask_rows[0].request);
        if (hear(known) != 200) { /* the token came too late: a busy machine */
            close(known);
            known = -1;
        }
    }
    fd = dial();
    ck_assert_int_eq(status_within(fd, 60), 0); /* closed */
    say(known, ask_rows[0].request);
    ck_assert_int_eq(hear(known), 200);
    close(known);
    close(fd);
}
END_TEST

/* Who guesses waits for his answer, and others do not wait for him. */
START_TEST(wrong_tokens_are_slow)
{
    struct http_server_options o = { .address = "127.0.0.1", .refusal_ns = 400 * CLOCK_MS };
    int64_t since_ns;
    int fd, asleep;
    ssize_t n;

    start_with(&o);
    fd = dial();
    since_ns = clock_now_ns();
    say(fd, "GET /echo HTTP/1.1\r\n" HOST "Authorization: Bearer <x>\r\n\r\n");
    ck_assert_int_eq(ask(ask_rows[0].request), 200);
    n = recv(fd, answer, 1, MSG_DONTWAIT | MSG_PEEK);
    ck_assert(n < 0 || clock_now_ns() - since_ns >= 400 * CLOCK_MS);
    ck_assert_int_eq(status_within(fd, 60), 401);
    ck_assert_int_ge(clock_now_ns() - since_ns, 400 * CLOCK_MS);
    ck_assert_int_eq(http_server_refused(f->s), 1);
    close(fd);
    asleep = dial(); /* and the server stops all the same */
    say(asleep, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    while (http_server_refused(f->s) < 2)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    stop();
    close(asleep);
}
END_TEST

static int dial_path(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    return fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? fd : -1;
}

/* The kernel says who comes to a Unix socket: this user needs no token, another one has no answer
 * although his is right.
 */
START_TEST(unix_socket)
{
    cleanup_free char *path = file_join(scratch, "socket");
    struct http_server_options o = { .path = path, .local_who = 1, .refusal_ns = CLOCK_MS };
    struct stat st;
    int fd, status;

    start_with(&o);
    ck_assert_str_eq(http_server_path(f->s), path);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_ge(fd = dial_path(path), 0);
    say(fd, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    ck_assert_int_eq(hear(fd), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\"who\":1"));
    ck_assert_ptr_nonnull(strstr(answer, "\"peer\":\"this machine\""));
    say(fd, "GET /echo HTTP/1.1\r\n" HOST AGENT "\r\n");
    ck_assert_int_eq(hear(fd), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\"who\":0"));
    close(fd);
    if (geteuid() == 0) {
        char *request = expand(ask_rows[0].request);

        ck_assert_int_eq(chmod(scratch_base, 0755) + chmod(scratch, 0755) + chmod(path, 0666), 0);
        if (fork() == 0) {
            if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
                _exit(2);
            fd = dial_path(path);
            (void)!send(fd, request, strlen(request), MSG_NOSIGNAL); /* it may be shut already */
            _exit(fd >= 0 && hear(fd) == 0 ? 0 : 1);
        }
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
        free(request);
    }
    ck_assert_int_eq(f->n_asked, 2);
    stop();
    ck_assert_int_lt(access(path, F_OK), 0);
    ck_assert_int_eq(rmdir(scratch), 0); /* nor is anything else left */
}
END_TEST

/* Not every address, no address that is none, and without a key none that others can reach. */
START_TEST(bad_options)
{
    static const char *const address[] = {
        "0.0.0.0", "::", "::ffff:0.0.0.0", "fe80::1%lo", "[::1]", "localhost", ""
    };
    static const char *const open_to_others[] = { "10.1.2.3",       "192.0.2.1", "126.255.255.255",
                                                  "128.0.0.1",      "fd00::7",   "::2",
                                                  "::ffff:10.1.2.3" };
    struct http_server_options o = { .handle = handle };
    struct http_server *s;
    struct eddis_error err;

    for (size_t i = 0; i < sizeof address / sizeof *address; i++) {
        o.address = address[i];
        ck_assert_int_eq(http_server_start(&o, &s, NULL), -EINVAL);
    }
    for (size_t i = 0; i < sizeof open_to_others / sizeof *open_to_others; i++) {
        o.address = open_to_others[i];
        ck_assert_int_eq(http_server_start(&o, &s, &err), -EPERM);
        ck_assert_ptr_nonnull(strstr(err.text, "refusing plain HTTP"));
    }
    http_server_stop(NULL);
}
END_TEST

/* No descriptor of the server may live on in a program that is started later. */
START_TEST(close_on_exec)
{
    int fd;

    start(0, 0);
    fd = dial();
    say(fd, ask_rows[0].request);
    ck_assert_int_eq(hear(fd), 200);
    for (int i = 3; i < 200; i++) {
        int flags = fcntl(i, F_GETFD);
        char name[64], what[256] = "";

        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", i);
        if (flags < 0 || readlink(name, what, sizeof what - 1) < 0 ||
            (strncmp(what, "socket", 6) != 0 && strncmp(what, "anon", 4) != 0))
            continue; /* not open, or a file of Check's */
        ck_assert_msg(flags & FD_CLOEXEC, "descriptor %d: %s", i, what);
    }
    close(fd);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, ask_row, 0, sizeof ask_rows / sizeof *ask_rows);
    tcase_add_test(tc, refusals_by_peer);
    tcase_add_test(tc, garbage);
    tcase_add_test(tc, header_too_long);
    tcase_add_test(tc, longest_body_in_pieces);
    tcase_add_test(tc, slow_loris);
    tcase_add_test(tc, long_poll);
    tcase_add_test(tc, client_dies_in_long_poll);
    tcase_add_test(tc, many_long_polls);
    tcase_add_test(tc, stop_with_open_connections);
    tcase_add_test(tc, connection_cap);
    tcase_add_test(tc, idle_ones_give_way);
    tcase_add_test(tc, unauthenticated_have_little_time);
    tcase_add_test(tc, wrong_tokens_are_slow);
    tcase_add_test(tc, unix_socket);
    tcase_add_test(tc, bad_options);
    tcase_add_test(tc, close_on_exec);
}

SUITE_MAIN("server", add_tests)
