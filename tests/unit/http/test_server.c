/* SPDX-License-Identifier: Apache-2.0 */
/* test_server.c - tests of lib/http/server.h */
#include "lib/http/server.h"

#include "lib/base/clock.h"
#include "lib/http/unauthenticated.h"
#include "suite.h"

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

/* /echo answers with what came; /keep waits until release(). */
static void handle(void *ctx, const struct http_request *q, struct http_exchange *x)
{
    struct fixture *f = ctx;
    char text[256];

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

static struct fixture *start(int64_t deadline_ns, int max_connections)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct http_server_options o = {
        .address = "127.0.0.1",
        .handle = handle,
        .ctx = f,
        .deadline_ns = deadline_ns,
        .refusal_ns = 20 * CLOCK_MS,
        .max_connections = max_connections,
    };
    struct eddis_error err = { 0 };

    pthread_mutex_init(&f->lock, NULL);
    ck_assert_int_eq(http_tokens_new(2, &f->tokens, NULL), 0);
    o.tokens = f->tokens;
    ck_assert_msg(http_server_start(&o, &f->s, &err) == 0, "%s", err.text);
    ck_assert_int_gt(http_server_port(f->s), 0);
    return f;
}

static int kept(struct fixture *f)
{
    int n;

    pthread_mutex_lock(&f->lock);
    n = f->n_kept;
    pthread_mutex_unlock(&f->lock);
    return n;
}

static void wait_kept(struct fixture *f, int n)
{
    while (kept(f) < n)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
}

static void release(struct fixture *f)
{
    pthread_mutex_lock(&f->lock);
    for (int i = 0; i < f->n_kept; i++)
        http_reply(f->kept[i], 200, "{\"late\":true}");
    f->n_kept = 0;
    pthread_mutex_unlock(&f->lock);
}

static void stop(struct fixture *f)
{
    release(f);
    http_server_stop(f->s);
    http_tokens_free(f->tokens);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static int dial(const struct fixture *f)
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
static char *expand(const struct fixture *f, const char *text)
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

static void say(const struct fixture *f, int fd, const char *text)
{
    char *expanded = expand(f, text);
    size_t n = strlen(expanded);

    ck_assert_int_eq(send(fd, expanded, n, MSG_NOSIGNAL), (ssize_t)n);
    free(expanded);
}

/* All that comes until the server closes, or until the answer's last brace. */
static int hear(int fd, char *ret, size_t size)
{
    size_t n = 0;
    int status = 0;

    for (;;) {
        ssize_t got = recv(fd, ret + n, size - 1 - n, 0);

        if (got <= 0)
            break;
        n += (size_t)got;
        ret[n] = '\0';
        if (ret[n - 1] == '}')
            break;
    }
    ret[n] = '\0';
    return sscanf(ret, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

/* One request on a connection of its own; returns the status, 0 when there was none. */
static int ask(const struct fixture *f, const char *request, char *answer, size_t size)
{
    int fd = dial(f), status;

    say(f, fd, request);
    status = hear(fd, answer, size);
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
    struct fixture *f = start(0, 0);
    char answer[4096];

    ck_assert_int_eq(ask(f, ask_rows[_i].request, answer, sizeof answer), ask_rows[_i].status);
    if (ask_rows[_i].holds)
        ck_assert_msg(strstr(answer, ask_rows[_i].holds), "%s", answer);
    ck_assert_int_eq(http_server_refused(f->s), ask_rows[_i].refused);
    ck_assert_int_eq(f->n_asked, ask_rows[_i].status == 200 || ask_rows[_i].status == 404);
    stop(f);
}
END_TEST

static int ask_from(const struct fixture *f, uint32_t address, const char *request)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)http_server_port(f->s)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
    char answer[4096];

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    say(f, fd, request);
    status = hear(fd, answer, sizeof answer);
    close(fd);
    return status;
}

/* Who was refused is known by his address; those beyond the table are counted together. */
START_TEST(refusals_by_peer)
{
    static const char wrong[] = "GET /echo HTTP/1.1\r\n" HOST AGENT "\r\n";
    struct fixture *f = start(0, 0);
    struct http_rejections r;
    char bad[sizeof wrong];

    strcpy(bad, wrong);
    strstr(bad, "<0>")[1] = 'x';
    for (uint32_t i = 0; i < 40; i++)
        for (uint32_t k = 0; k <= i % 3; k++)
            ck_assert_int_eq(ask_from(f, INADDR_LOOPBACK + 1 + i, bad), 401);
    ck_assert_int_eq(ask_from(f, INADDR_LOOPBACK + 1, wrong), 200);
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
    stop(f);
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
    struct fixture *f = start(500 * CLOCK_MS, 0);
    char answer[4096];

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ck_assert_int_ne(ask(f, row[i], answer, sizeof answer), 200);
    ck_assert_int_eq(f->n_asked, 0);
    ck_assert_int_eq(ask(f, ask_rows[0].request, answer, sizeof answer), 200);
    stop(f);
}
END_TEST

START_TEST(header_too_long)
{
    struct fixture *f = start(0, 0);
    char *request = malloc(100000), answer[4096];
    int n = sprintf(request, "GET /echo HTTP/1.1\r\n" HOST "X-Long: "), fd = dial(f);

    memset(request + n, 'x', 90000);
    strcpy(request + n + 90000, "\r\n\r\n");
    /* The server may close before it has read all. */
    (void)!send(fd, request, strlen(request), MSG_NOSIGNAL);
    ck_assert_int_ne(hear(fd, answer, sizeof answer), 200);
    ck_assert_int_eq(f->n_asked, 0);
    close(fd);
    free(request);
    stop(f);
}
END_TEST

START_TEST(longest_body_in_pieces)
{
    struct fixture *f = start(0, 0);
    char *body = malloc(HTTP_MAX_BODY + 1), answer[4096];
    int fd = dial(f);

    memset(body, 'x', HTTP_MAX_BODY);
    body[HTTP_MAX_BODY] = '\0';
    say(f, fd, "POST /echo HTTP/1.1\r\n" HOST AGENT "Content-Length: 1048576\r\n\r\n");
    say(f, fd, body);
    ck_assert_int_eq(hear(fd, answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\"n\":1048576"));
    close(fd);
    free(body);
    stop(f);
}
END_TEST

/* A byte now and then keeps no connection, neither in the header nor, with a token, in the body. */
START_TEST(slow_loris)
{
    static const char *const begin[] = { "GET /echo HTTP/1.1\r\nX: ",
                                         "POST /echo HTTP/1.1\r\n" HOST AGENT
                                         "Content-Length: 1000\r\n\r\n" };
    struct fixture *f = start(300 * CLOCK_MS, 0);

    for (size_t i = 0; i < 2; i++) {
        int64_t since = clock_now_ns();
        int fd = dial(f);
        char byte;

        say(f, fd, begin[i]);
        while (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (send(fd, "x", 1, MSG_NOSIGNAL) < 0)
                break;
            clock_sleep_until_ns(clock_now_ns() + 20 * CLOCK_MS);
        }
        ck_assert_int_ge(clock_now_ns() - since, 250 * CLOCK_MS);
        close(fd);
    }
    ck_assert_int_eq(f->n_asked, 0);
    stop(f);
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
    struct fixture *f = start(deadline_ns, 0);
    int fd = dial(f), n = 0;
    char answer[4096];

    for (bool open = true; n < 3 && open; n += open) {
        say(f, fd, "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
        while (open && kept(f) < 1) {
            clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
            open = open_of(&fd, 1) == 1 || kept(f) == 1;
        }
        if (!open)
            break;
        clock_sleep_until_ns(clock_now_ns() + 5 * deadline_ns / 2);
        ck_assert_int_eq(open_of(&fd, 1), 1);
        release(f);
        ck_assert_int_eq(hear(fd, answer, sizeof answer), 200);
        ck_assert_ptr_nonnull(strstr(answer, "late"));
    }
    close(fd);
    stop(f);
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
    struct fixture *f = start(0, 0);
    char answer[4096];

    for (int i = 0; i < 20; i++) {
        int fd = dial(f);
        struct linger reset = { .l_onoff = i % 2 };

        say(f, fd, "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
        wait_kept(f, 1);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
        release(f);
    }
    ck_assert_int_eq(ask(f, ask_rows[0].request, answer, sizeof answer), 200);
    stop(f);
}
END_TEST

START_TEST(many_long_polls)
{
    enum { N = 200 };
    struct fixture *f = start(0, 0);
    int fd[N];
    char answer[4096];

    for (int i = 0; i < N; i++) {
        fd[i] = dial(f);
        say(f, fd[i], "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
    }
    wait_kept(f, N);
    ck_assert_int_eq(ask(f, ask_rows[0].request, answer, sizeof answer), 200);
    release(f);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(hear(fd[i], answer, sizeof answer), 200);
        close(fd[i]);
    }
    stop(f);
}
END_TEST

/* Half of the clients are silent, half in a long poll; stop has to end all the same. */
START_TEST(stop_with_open_connections)
{
    struct fixture *f = start(0, 0);
    int fd[40];

    for (int i = 0; i < 40; i++) {
        fd[i] = dial(f);
        if (i % 2)
            say(f, fd[i], "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
    }
    wait_kept(f, 20);
    stop(f);
    for (int i = 0; i < 40; i++)
        close(fd[i]);
}
END_TEST

START_TEST(connection_cap)
{
    struct fixture *f = start(300 * CLOCK_MS, 8);
    int fd[32], closed = 0;
    char answer[4096];

    for (int i = 0; i < 32; i++)
        fd[i] = dial(f);
    /* Idle ones fill the house until their deadline; then there is room again. */
    for (int i = 0; i < 32; i++) {
        closed += recv(fd[i], answer, 1, 0) <= 0;
        close(fd[i]);
    }
    ck_assert_int_eq(closed, 32);
    ck_assert_int_eq(ask(f, ask_rows[0].request, answer, sizeof answer), 200);
    stop(f);
}
END_TEST

static void raise_files(void)
{
    struct rlimit l;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_cur = l.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
}

static int status_within(int fd, int seconds, char *answer, size_t size)
{
    const struct timeval wait = { .tv_sec = seconds };

    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), 0);
    return hear(fd, answer, size);
}

/* Those who come and say nothing keep nobody out, and nobody who has shown a token has to go. */
START_TEST(idle_ones_give_way)
{
    enum { IDLE = 600, KEPT = 20 };
    struct fixture *f = start(60 * CLOCK_S, 64);
    static int idle[IDLE];
    int kept_fd[KEPT], fd;
    int64_t end_ns;
    char answer[4096];

    raise_files();
    for (int i = 0; i < KEPT; i++) {
        kept_fd[i] = dial(f);
        say(f, kept_fd[i], "GET /keep HTTP/1.1\r\n" HOST AGENT "\r\n");
    }
    wait_kept(f, KEPT);
    for (int i = 0; i < IDLE; i++)
        idle[i] = dial(f);
    /* As agents do: again when it had to go. */
    for (int i = 0, status = 0; status != 200; i++) {
        ck_assert_int_lt(i, 300);
        fd = dial(f);
        say(f, fd, ask_rows[0].request);
        status = status_within(fd, 5, answer, sizeof answer);
        close(fd);
        clock_sleep_until_ns(clock_now_ns() + (status == 200 ? 0 : 20 * CLOCK_MS));
    }
    release(f);
    for (int i = 0; i < KEPT; i++) {
        ck_assert_int_eq(hear(kept_fd[i], answer, sizeof answer), 200);
        close(kept_fd[i]);
    }
    end_ns = clock_now_ns() + 60 * CLOCK_S; /* some may have come that it has not seen yet */
    while (open_of(idle, IDLE) > STRANGERS / 2 + 1 && clock_now_ns() < end_ns)
        clock_sleep_until_ns(clock_now_ns() + 10 * CLOCK_MS);
    ck_assert_int_le(open_of(idle, IDLE), STRANGERS / 2 + 1); /* one may be about to go */
    for (int i = 0; i < IDLE; i++)
        close(idle[i]);
    stop(f);
}
END_TEST

/* A short time is enough to show a token. */
START_TEST(unauthenticated_have_little_time)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct http_server_options o = { .address = "127.0.0.1",
                                     .handle = handle,
                                     .ctx = f,
                                     .deadline_ns = 600 * CLOCK_S,
                                     .unauthenticated_ns = 100 * CLOCK_MS };
    char answer[4096];
    int fd, known;

    pthread_mutex_init(&f->lock, NULL);
    ck_assert_int_eq(http_tokens_new(2, &f->tokens, NULL), 0);
    o.tokens = f->tokens;
    ck_assert_int_eq(http_server_start(&o, &f->s, NULL), 0);
    for (known = -1; known < 0;) {
        known = dial(f);
        say(f, known, ask_rows[0].request);
        if (hear(known, answer, sizeof answer) !=
            200) { /* the token came too late: a busy machine */
            close(known);
            known = -1;
        }
    }
    fd = dial(f);
    ck_assert_int_eq(status_within(fd, 60, answer, sizeof answer), 0); /* closed */
    say(f, known, ask_rows[0].request);
    ck_assert_int_eq(hear(known, answer, sizeof answer), 200);
    close(known);
    close(fd);
    stop(f);
}
END_TEST

/* Who guesses waits for his answer, and others do not wait for him. */
START_TEST(wrong_tokens_are_slow)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct http_server_options o = {
        .address = "127.0.0.1", .handle = handle, .ctx = f, .refusal_ns = 400 * CLOCK_MS
    };
    char answer[4096];
    int64_t since_ns;
    int fd, asleep;
    ssize_t n;

    pthread_mutex_init(&f->lock, NULL);
    ck_assert_int_eq(http_tokens_new(2, &f->tokens, NULL), 0);
    o.tokens = f->tokens;
    ck_assert_int_eq(http_server_start(&o, &f->s, NULL), 0);
    fd = dial(f);
    since_ns = clock_now_ns();
    say(f, fd, "GET /echo HTTP/1.1\r\n" HOST "Authorization: Bearer <x>\r\n\r\n");
    ck_assert_int_eq(ask(f, ask_rows[0].request, answer, sizeof answer), 200);
    n = recv(fd, answer, 1, MSG_DONTWAIT | MSG_PEEK);
    ck_assert(n < 0 || clock_now_ns() - since_ns >= 400 * CLOCK_MS);
    ck_assert_int_eq(status_within(fd, 60, answer, sizeof answer), 401);
    ck_assert_int_ge(clock_now_ns() - since_ns, 400 * CLOCK_MS);
    ck_assert_int_eq(http_server_refused(f->s), 1);
    close(fd);
    asleep = dial(f); /* and the server stops all the same */
    say(f, asleep, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    while (http_server_refused(f->s) < 2)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    stop(f);
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
    struct fixture *f = calloc(1, sizeof *f);
    char folder[] = "/tmp/eddis-server-XXXXXX", path[64], answer[4096];
    struct http_server_options o = {
        .path = path, .local_who = 1, .handle = handle, .ctx = f, .refusal_ns = CLOCK_MS
    };
    struct stat st;
    int fd, status;

    pthread_mutex_init(&f->lock, NULL);
    ck_assert_int_eq(http_tokens_new(2, &f->tokens, NULL), 0);
    o.tokens = f->tokens;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/socket", folder);
    ck_assert_int_eq(http_server_start(&o, &f->s, NULL), 0);
    ck_assert_str_eq(http_server_path(f->s), path);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_ge(fd = dial_path(path), 0);
    say(f, fd, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    ck_assert_int_eq(hear(fd, answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\"who\":1"));
    ck_assert_ptr_nonnull(strstr(answer, "\"peer\":\"this machine\""));
    say(f, fd, "GET /echo HTTP/1.1\r\n" HOST AGENT "\r\n");
    ck_assert_int_eq(hear(fd, answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\"who\":0"));
    close(fd);
    if (geteuid() == 0) {
        char *request = expand(f, ask_rows[0].request);

        ck_assert_int_eq(chmod(folder, 0755) + chmod(path, 0666), 0);
        if (fork() == 0) {
            if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
                _exit(2);
            fd = dial_path(path);
            (void)!send(fd, request, strlen(request), MSG_NOSIGNAL); /* it may be shut already */
            _exit(fd >= 0 && hear(fd, answer, sizeof answer) == 0 ? 0 : 1);
        }
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
        free(request);
    }
    ck_assert_int_eq(f->n_asked, 2);
    stop(f);
    ck_assert_int_lt(access(path, F_OK), 0);
    ck_assert_int_eq(rmdir(folder), 0);
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
    struct fixture *f = start(0, 0);
    int fd = dial(f);
    char answer[4096];

    say(f, fd, ask_rows[0].request);
    ck_assert_int_eq(hear(fd, answer, sizeof answer), 200);
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
    stop(f);
}
END_TEST

static void add_tests(TCase *tc)
{
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
