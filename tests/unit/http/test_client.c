/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c - tests of lib/http/client.h */
#include "lib/http/client.h"

#include "lib/base/clock.h"
#include "lib/http/server.h"
#include "suite.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
    struct http_tokens *tokens;
    struct http_key *key; /* NULL: plain HTTP */
    char token[HTTP_TOKEN_CHARS + 1], base[64];
    struct http_server *s;
    struct http_client *c;
    struct http_exchange *_Atomic kept; /* by the server's thread */
    char *big;
    atomic_int asked; /* by the server's threads */
};

/* The end of a request in the background. */
struct seen {
    int done, status, code;
    char body[64];
};

static struct fixture f;
static struct seen seen;
static char *body; /* of the newest answer */
static struct eddis_error err;

static void handle(void *ctx, const struct http_request *q, struct http_exchange *x)
{
    char text[128];

    (void)ctx;
    f.asked++;
    if (strcmp(q->path, "/keep") == 0) {
        f.kept = x;
    } else if (strcmp(q->path, "/release") == 0) {
        if (f.kept)
            http_reply(f.kept, 200, "{\"kept\":1}");
        f.kept = NULL;
        http_reply(x, 200, "{}");
    } else if (strcmp(q->path, "/big") == 0) {
        http_reply(x, 200, f.big);
    } else if (strcmp(q->path, "/teapot") == 0) {
        http_reply_error(x, 418, "a sentence");
    } else if (strcmp(q->path, "/plain") == 0) {
        http_reply_text(x, 200, "text/plain", "a 1\n");
    } else {
        (void)snprintf(text, sizeof text, "{\"method\":\"%s\",\"n\":%zu}", q->method, q->body_n);
        http_reply(x, 200, text);
    }
}

static int client(const char *token, struct http_client **ret)
{
    const char *const base[] = { f.base };
    const struct http_client_options o = {
        .base = base, .n_bases = 1, .token = token, .pin = f.key ? http_key_pin(f.key) : NULL
    };

    return http_client_open(&o, ret, NULL);
}

/* As http_server_start, on an address of its own choice. */
static void serve(const char *address, const struct http_key *key, struct http_server **ret,
                  char base[64])
{
    const struct http_server_options o = {
        .address = address, .key = key, .tokens = f.tokens, .handle = handle
    };

    ck_assert_msg(http_server_start(&o, ret, &err) == 0, "%s", err.text);
    (void)snprintf(base, 64, "http%s://%s:%d", key ? "s" : "", address, http_server_port(*ret));
}

static void start_with(bool tls)
{
    /* A proxy in the environment is not ours. */
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("https_proxy", "http://127.0.0.1:1", 1);
    ck_assert_int_eq(http_tokens_new(1, &f.tokens, NULL), 0);
    http_tokens_text(f.tokens, 0, f.token);
    if (tls)
        ck_assert_int_eq(http_key_new(&f.key, NULL), 0);
    serve("127.0.0.1", f.key, &f.s, f.base);
    ck_assert_int_eq(client(f.token, &f.c), 0);
}

/* Each test is run in plain HTTP and in TLS. */
static void start(int i)
{
    start_with(i == 1);
}

static void stop(void)
{
    http_client_close(f.c);
    http_server_stop(f.s);
    http_tokens_free(f.tokens);
    http_key_free(f.key);
    free(f.big);
    memset(&f, 0, sizeof f);
}

static void set_up(void)
{
    memset(&f, 0, sizeof f);
    memset(&seen, 0, sizeof seen);
    body = NULL;
}

static void tear_down(void)
{
    free(body);
    stop();
}

/* Ask for an answer in the place of the one before. */
static int ask(struct http_client *c, const char *path, const char *json, int64_t within_ns)
{
    free(body);
    body = NULL;
    return http_client_call(c, path, json, within_ns, &body, NULL, &err);
}

START_TEST(call)
{
    char *json = malloc(500001);
    size_t n = 0;

    start(_i);
    ck_assert_int_eq(http_client_call(f.c, "/x", NULL, CLOCK_S * 60, &body, &n, NULL), 200);
    ck_assert_str_eq(body, "{\"method\":\"GET\",\"n\":0}");
    ck_assert_uint_eq(n, strlen(body));
    memset(json, ' ', 500000);
    json[500000] = '\0';
    ck_assert_int_eq(ask(f.c, "/x", json, CLOCK_S * 60), 200);
    ck_assert_str_eq(body, "{\"method\":\"POST\",\"n\":500000}");
    ck_assert_int_eq(ask(f.c, "/x", "", CLOCK_S * 60), 200);
    ck_assert_str_eq(body, "{\"method\":\"POST\",\"n\":0}");
    ck_assert_int_eq(ask(f.c, "/teapot", "{}", CLOCK_S * 60), 418);
    ck_assert_str_eq(body, "{\"error\":\"a sentence\"}");
    ck_assert_int_eq(ask(f.c, "/plain", NULL, CLOCK_S * 60), 200);
    ck_assert_str_eq(body, "a 1\n");
    free(json);
}
END_TEST

static void on_done(void *ctx, int status, const char *answer, size_t n,
                    const struct eddis_error *error)
{
    struct seen *s = ctx;

    s->done++;
    s->status = status;
    s->code = error->code;
    (void)snprintf(s->body, sizeof s->body, "%.*s", (int)n, answer);
}

/* A long poll in the background while others come and go. */
START_TEST(side_by_side)
{
    start(_i);
    ck_assert_int_eq(http_client_start(f.c, "/keep", NULL, CLOCK_S * 60, on_done, &seen, NULL), 0);
    ck_assert_int_eq(http_client_wait(f.c, NULL, 0, clock_now_ns() + 50 * CLOCK_MS, NULL), 0);
    ck_assert_int_eq(seen.done, 0);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(ask(f.c, "/x", "{}", CLOCK_S * 60), 200);
    }
    ck_assert_int_eq(seen.done, 0);
    ck_assert_int_eq(ask(f.c, "/release", "{}", CLOCK_S * 60), 200);
    while (!seen.done)
        ck_assert_int_eq(http_client_wait(f.c, NULL, 0, CLOCK_NEVER, NULL), 0);
    ck_assert_int_eq(seen.status, 200);
    ck_assert_str_eq(seen.body, "{\"kept\":1}");
    stop();
    ck_assert_int_eq(seen.done, 1);
}
END_TEST

START_TEST(time_out_and_close)
{
    start(_i);
    /* The connection is there: it is the answer that does not come. */
    ck_assert_int_eq(ask(f.c, "/x", "{}", CLOCK_S * 60), 200);
    ck_assert_int_eq(ask(f.c, "/keep", NULL, 200 * CLOCK_MS), -ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(err.text, "/keep"));
    ck_assert_ptr_null(strstr(err.text, f.token));
    ck_assert_int_eq(ask(f.c, "/release", "{}", CLOCK_S * 60), 200);
    ck_assert_int_eq(http_client_start(f.c, "/keep", NULL, CLOCK_S * 60, on_done, &seen, NULL), 0);
    ck_assert_int_eq(ask(f.c, "/x", "{}", CLOCK_S * 60), 200);
    ck_assert_int_eq(seen.done, 0);
    http_client_close(f.c);
    f.c = NULL;
    ck_assert_int_eq(seen.done, 1);
    ck_assert_int_eq(seen.status, 0);
    ck_assert_int_eq(seen.code, -ECANCELED);
    if (f.kept)
        http_reply(f.kept, 200, NULL);
}
END_TEST

START_TEST(own_descriptors)
{
    int pipes[2];
    struct pollfd p[2];

    start(_i);
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    p[0] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
    p[1] = (struct pollfd){ .fd = -1, .events = POLLIN };
    ck_assert_int_eq(http_client_wait(f.c, p, 2, clock_now_ns() + 20 * CLOCK_MS, NULL), 0);
    ck_assert_int_eq(write(pipes[1], "x", 1), 1);
    ck_assert_int_eq(http_client_wait(f.c, p, 2, CLOCK_NEVER, NULL), 1);
    ck_assert_int_eq(p[0].revents, POLLIN);
    ck_assert_int_eq(read(pipes[0], seen.body, 1), 1);
    close(pipes[1]); /* a hang-up without data */
    ck_assert_int_eq(http_client_wait(f.c, p, 2, CLOCK_NEVER, NULL), 1);
    ck_assert_int_eq(p[0].revents, POLLHUP);
    close(pipes[0]);
}
END_TEST

START_TEST(refused_and_nobody_there)
{
    struct http_client *c;
    char sentence[128];

    start(_i);
    ck_assert_int_eq(client("wrong", &c), 0);
    ck_assert_int_eq(ask(c, "/x", "{}", CLOCK_S * 60), 401);
    http_server_stop(f.s);
    f.s = NULL;
    ck_assert_int_eq(ask(c, "/x", "{}", CLOCK_S * 60), -ECONNREFUSED);
    (void)snprintf(sentence, sizeof sentence, "cannot reach the driver at %s: Connection refused",
                   strstr(f.base, "127."));
    ck_assert_str_eq(err.text, sentence);
    http_client_close(c);
}
END_TEST

/* An endless answer is cut at the limit. */
START_TEST(answer_too_long)
{
    start(_i);
    f.big = malloc((17 << 20) + 1);
    memset(f.big, ' ', 17 << 20);
    f.big[17 << 20] = '\0';
    ck_assert_int_eq(ask(f.c, "/big", NULL, CLOCK_S * 60), -EMSGSIZE);
}
END_TEST

START_TEST(close_on_exec)
{
    start(_i);
    ck_assert_int_eq(ask(f.c, "/x", NULL, CLOCK_S * 60), 200);
    for (int i = 3; i < 200; i++) {
        int flags = fcntl(i, F_GETFD);
        char name[64], what[256] = "";

        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", i);
        if (flags < 0 || readlink(name, what, sizeof what - 1) < 0 ||
            (strncmp(what, "socket", 6) != 0 && strncmp(what, "anon", 4) != 0))
            continue; /* not open, or a file of Check's */
        ck_assert_msg(flags & FD_CLOEXEC, "descriptor %d: %s", i, what);
    }
}
END_TEST

static const struct {
    const char *base;
    bool pin;
    int rc;
} base_rows[] = {
    { "http://127.0.0.1:1", false, 0 },
    { "http://127.8.9.10:65535", false, 0 },
    { "https://10.1.0.7:41233", true, 0 },
    { "https://[fd00::7]:41233", true, 0 },
    { "http://[::1]:41233", false, 0 },
    /* no TLS, and others could listen */
    { "http://10.1.0.7:41233", false, -EPERM },
    { "http://localhost:41233", false, -EPERM },
    { "http://[fd00::7]:41233", false, -EPERM },
    { "http://[::2]:41233", false, -EPERM },
    { "http://128.0.0.1:1", false, -EPERM },
    { "http://127.0.0.1.evil.org:1", false, -EPERM },
    /* the scheme and the pin do not go together */
    { "https://127.0.0.1:1", false, -EINVAL },
    { "http://127.0.0.1:1", true, -EINVAL },
    { "file:///etc/passwd", false, -EINVAL },
    { "https://10.1.0.7", true, -EINVAL },
    { "https://10.1.0.7:", true, -EINVAL },
    { "https://10.1.0.7:x", true, -EINVAL },
    { "https://:1", true, -EINVAL },
    { "https://user@10.1.0.7:1", true, -EINVAL },
    { "https://10.1.0.7:1/x", true, -EINVAL },
    { "https://fd00::7:41233", true, -EINVAL },
    { "https://[fd00::7]", true, -EINVAL },
    { "https://[fd00::7]41233", true, -EINVAL },
    { "https://[fd00::7:41233", true, -EINVAL },
    { "https://fd00::7]:41233", true, -EINVAL },
    { "https://[fe80::7%eth0]:41233", true, -EINVAL },
    { "https://[10.1.0.7]:41233", true, -EINVAL },
    { "https://[]:41233", true, -EINVAL },
    { "https://[:41233", true, -EINVAL },
    { "", true, -EINVAL },
};

START_TEST(base_row)
{
    const char *const base[] = { base_rows[_i].base };
    const struct http_client_options o = {
        .base = base, .n_bases = 1, .token = "x", .pin = base_rows[_i].pin ? "sha256//x" : NULL
    };
    struct http_client *c = NULL;

    ck_assert_int_eq(http_client_open(&o, &c, NULL), base_rows[_i].rc);
    http_client_close(c);
}
END_TEST

static bool has_six(void)
{
    const struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ret = fd >= 0 && bind(fd, (const struct sockaddr *)&a, sizeof a) == 0;

    if (fd >= 0)
        (void)close(fd);
    return ret;
}

/* By IPv6 as by IPv4: who has the token is answered, who has not is refused and counted. */
START_TEST(by_six)
{
    struct http_server *six;
    struct http_client *wrong;
    struct http_rejections r;
    char token[HTTP_TOKEN_CHARS + 1] = "";

    if (!has_six())
        return;
    start(_i);
    serve("::1", f.key, &six, f.base);
    (void)snprintf(f.base, sizeof f.base, "http%s://[::1]:%d", f.key ? "s" : "",
                   http_server_port(six));
    http_client_close(f.c);
    ck_assert_int_eq(client(f.token, &f.c), 0);
    ck_assert_int_eq(ask(f.c, "/x", NULL, CLOCK_S * 60), 200);
    ck_assert_str_eq(body, "{\"method\":\"GET\",\"n\":0}");
    memset(token, '0', HTTP_TOKEN_CHARS);
    ck_assert_int_eq(client(token, &wrong), 0);
    ck_assert_int_eq(ask(wrong, "/x", NULL, CLOCK_S * 60), 401);
    http_client_close(wrong);
    http_server_rejections(six, &r);
    ck_assert_int_eq(r.total, 1);
    ck_assert_str_eq(r.peer[0].peer, "::1");
    http_server_stop(six);
}
END_TEST

/* ---- TLS: who is let in, and who is believed ---- */

START_TEST(another_key)
{
    struct http_key *mine = NULL, *others = NULL;
    char sentence[128];

    start_with(true);
    http_client_close(f.c);
    ck_assert_int_eq(http_key_new(&others, NULL), 0);
    ck_assert_str_ne(http_key_pin(others), http_key_pin(f.key));
    mine = f.key;
    f.key = others;
    ck_assert_int_eq(client(f.token, &f.c), 0);
    ck_assert_int_eq(ask(f.c, "/x", "{}", CLOCK_S * 60), -EACCES);
    (void)snprintf(sentence, sizeof sentence,
                   "the driver at %s presents a key that is not the job's", strstr(f.base, "127."));
    ck_assert_str_eq(err.text, sentence);
    ck_assert_int_eq(f.asked, 0); /* and so the token did not leave us */
    http_key_free(mine);
}
END_TEST

/* A server that speaks no TLS gets no token. */
START_TEST(no_tls)
{
    start_with(false);
    http_client_close(f.c);
    ck_assert_int_eq(http_key_new(&f.key, NULL), 0);
    memmove(f.base + 5, f.base + 4, strlen(f.base + 4) + 1);
    f.base[4] = 's';
    ck_assert_int_eq(client(f.token, &f.c), 0);
    ck_assert_int_eq(ask(f.c, "/x", "{}", CLOCK_S * 60), -EPROTO);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot set up TLS 1.3 with the driver at 127.0.0.1:"));
    ck_assert_int_eq(f.asked, 0);
    ck_assert_int_eq(http_server_refused(f.s), 0);
}
END_TEST

/* ---- several addresses ---- */

/* A port that refuses: bound, but nobody listens. */
static int refusing_port(char base[64])
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    (void)snprintf(base, 64, "https://127.0.0.1:%d", ntohs(a.sin_port));
    return fd;
}

/* A port that takes connections and never says a word. */
static int silent_port(char base[64])
{
    int fd = refusing_port(base);

    ck_assert_int_eq(listen(fd, 16), 0);
    return fd;
}

/* How many connections have come since the last look. */
static int visits(int listener)
{
    struct pollfd p = { .fd = listener, .events = POLLIN };
    int n = 0;

    for (; poll(&p, 1, 0) == 1; n++) {
        int fd = accept(listener, NULL, NULL);

        ck_assert_int_ge(fd, 0);
        close(fd);
    }
    return n;
}

START_TEST(addresses_in_turn)
{
    struct http_server *second;
    struct http_client *c;
    struct http_key *other = NULL;
    char base[4][64];
    const char *const list[] = { base[0], base[1], base[2], base[3] };
    struct http_client_options o = { .base = list, .n_bases = 4 };
    int refusing = refusing_port(base[0]), silent = silent_port(base[1]), tried[3] = { 0 };
    bool other_key = false, late = false;

    start_with(true);
    ck_assert_int_eq(http_key_new(&other, NULL), 0);
    serve("127.0.0.1", other, &second, base[2]);
    (void)snprintf(base[3], sizeof base[3], "%s", f.base);
    o.token = f.token;
    o.pin = http_key_pin(f.key);
    ck_assert_int_eq(http_client_open(&o, &c, NULL), 0);
    ck_assert_int_eq(ask(c, "/x", "{}", CLOCK_S * 60), 200);
    ck_assert_int_eq(f.asked, 1);
    /* It stays with the one that answered. */
    (void)visits(silent);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(ask(c, "/x", "{}", CLOCK_S * 60), 200);
    }
    ck_assert_int_eq(visits(silent), 0);
    http_server_stop(f.s);
    f.s = NULL;
    /* That one always, and the others one by one. */
    for (int i = 0; i < 3; i++) {
        ck_assert_int_lt(ask(c, "/x", "{}", CLOCK_S * 2), 0);
        ck_assert_msg(strstr(err.text, strstr(base[3], "127.")), "%s", err.text);
        for (int k = 0; k < 3; k++)
            tried[k] += strstr(err.text, strstr(base[k], "127.")) != NULL;
        ck_assert_msg(strstr(err.text, "Connection refused"), "%s", err.text);
        other_key |= strstr(err.text, "presents a key that is not the job's") != NULL;
        late |= strstr(err.text, " in time") != NULL;
    }
    ck_assert(other_key && late);
    ck_assert_int_eq(f.asked, 6);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(tried[k], 1);
    http_client_close(c);
    http_server_stop(second);
    http_key_free(other);
    close(refusing);
    close(silent);
}
END_TEST

/* What may have been heard is not said again elsewhere. */
START_TEST(sent_once)
{
    struct http_client *c;
    struct http_server *second;
    char base[2][64];
    const char *const list[] = { base[0], base[1] };
    struct http_client_options o = { .base = list, .n_bases = 2 };

    start_with(true);
    serve("127.0.0.1", f.key, &second, base[1]);
    (void)snprintf(base[0], sizeof base[0], "%s", f.base);
    o.token = f.token;
    o.pin = http_key_pin(f.key);
    ck_assert_int_eq(http_client_open(&o, &c, NULL), 0);
    ck_assert_int_eq(ask(c, "/keep", "{}", 300 * CLOCK_MS), -ETIMEDOUT);
    ck_assert_int_eq(f.asked, 1);
    ck_assert_int_eq(ask(c, "/release", "{}", CLOCK_S * 60), 200);
    http_client_close(c);
    http_server_stop(second);
}
END_TEST

/* Write the own ports of connections to the server; returns how many. */
static int own_ports(uint16_t ret[8])
{
    int n = 0;

    for (int fd = 3; fd < 200 && n < 8; fd++) {
        struct sockaddr_in a, own;
        socklen_t size = sizeof a;

        if (getpeername(fd, (struct sockaddr *)&a, &size) == 0 && a.sin_family == AF_INET &&
            ntohs(a.sin_port) == http_server_port(f.s) &&
            getsockname(fd, (struct sockaddr *)&own, &size) == 0)
            ret[n++] = own.sin_port;
    }
    return n;
}

/* A connection that was good before the trouble is not trusted behind it. */
START_TEST(new_connection)
{
    uint16_t before[8], after[8];
    int n, m;

    start(_i);
    ck_assert_int_eq(http_client_start(f.c, "/keep", NULL, 300 * CLOCK_MS, on_done, &seen, NULL),
                     0);
    ck_assert_int_eq(ask(f.c, "/x", "{}", CLOCK_S * 60), 200);
    n = own_ports(before);
    ck_assert_int_eq(n, 2); /* the poll's, and one that is idle now */
    while (!seen.done)
        ck_assert_int_eq(http_client_wait(f.c, NULL, 0, CLOCK_NEVER, NULL), 0);
    ck_assert_int_eq(seen.code, -ETIMEDOUT);
    ck_assert_int_eq(ask(f.c, "/release", "{}", CLOCK_S * 60), 200);
    m = own_ports(after);
    ck_assert_int_gt(m, 0);
    ck_assert_int_le(m, 2);
    n = 0;
    for (int i = 0; i < m; i++)
        n += after[i] != before[0] && after[i] != before[1];
    ck_assert_int_eq(n, 1);
}
END_TEST

/* The time for a connection is its own, however long the answer may take. */
START_TEST(time_to_connect)
{
    struct http_client *c;
    char base[64];
    const char *const list[] = { base };
    struct http_client_options o = { .base = list, .n_bases = 1, .connect_ns = 100 * CLOCK_MS };
    int silent = silent_port(base);

    start_with(true);
    o.token = f.token;
    o.pin = http_key_pin(f.key);
    ck_assert_int_eq(http_client_open(&o, &c, NULL), 0);
    ck_assert_int_eq(ask(c, "/x", "{}", CLOCK_NEVER), -ETIMEDOUT);
    ck_assert_msg(strstr(err.text, " in time"), "%s", err.text);
    http_client_close(c);
    close(silent);
}
END_TEST

/* However many requests there are, a driver with 10 000 agents is not to have more than two
 * connections from each.
 */
START_TEST(two_connections)
{
    enum { N = 12 };
    struct seen each[N] = { 0 };
    int done = 0, most = 0;

    start(_i);
    ck_assert_int_eq(http_client_start(f.c, "/keep", NULL, CLOCK_S * 60, on_done, &each[0], NULL),
                     0);
    for (int i = 1; i < N; i++)
        ck_assert_int_eq(http_client_start(f.c, "/x", "{}", CLOCK_S * 60, on_done, &each[i], NULL),
                         0);
    while (done < N - 1 || !f.kept) {
        int n = 0;

        ck_assert_int_eq(http_client_wait(f.c, NULL, 0, clock_now_ns() + CLOCK_MS, NULL), 0);
        done = 0;
        for (int i = 1; i < N; i++)
            done += each[i].done;
        for (int fd = 3; fd < 200; fd++) { /* to the server's port: ours, not the server's */
            struct sockaddr_in a;
            socklen_t size = sizeof a;

            n += getpeername(fd, (struct sockaddr *)&a, &size) == 0 && a.sin_family == AF_INET &&
                 ntohs(a.sin_port) == http_server_port(f.s);
        }
        most = n > most ? n : most;
    }
    ck_assert_int_le(most, 2);
    ck_assert_int_eq(each[0].done, 0);
    http_client_close(f.c);
    f.c = NULL;
    http_reply(f.kept, 200, "{}");
}
END_TEST

/* A server that takes no connection, as one that is stopped, is held all the same, and one that is
 * gone is not.
 */
START_TEST(hold)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
    struct pollfd p = { .events = POLLOUT | POLLRDHUP };
    socklen_t n = sizeof a;

    ck_assert_int_eq(bind(server, (struct sockaddr *)&a, n) + listen(server, 1), 0);
    ck_assert_int_eq(getsockname(server, (struct sockaddr *)&a, &n), 0);
    (void)snprintf(f.base, sizeof f.base, "http://127.0.0.1:%d", ntohs(a.sin_port));
    ck_assert_int_eq(client("x", &f.c), 0);
    p.fd = fd = http_client_hold(f.c, NULL);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(poll(&p, 1, 10000), 1);
    ck_assert_int_eq(p.revents, POLLOUT);
    (void)close(server);
    p.events = POLLRDHUP;
    ck_assert_int_eq(poll(&p, 1, 10000), 1);
    (void)close(fd);
    fd = http_client_hold(f.c, NULL);
    if (fd >= 0) { /* else refused at once */
        p.fd = fd;
        ck_assert(poll(&p, 1, 10000) == 1 && p.revents & POLLERR);
        (void)close(fd);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, hold);
    tcase_add_loop_test(tc, call, 0, 2);
    tcase_add_loop_test(tc, side_by_side, 0, 2);
    tcase_add_loop_test(tc, time_out_and_close, 0, 2);
    tcase_add_loop_test(tc, own_descriptors, 0, 2);
    tcase_add_loop_test(tc, refused_and_nobody_there, 0, 2);
    tcase_add_loop_test(tc, answer_too_long, 0, 2);
    tcase_add_loop_test(tc, close_on_exec, 0, 2);
    tcase_add_loop_test(tc, base_row, 0, sizeof base_rows / sizeof *base_rows);
    tcase_add_loop_test(tc, by_six, 0, 2);
    tcase_add_test(tc, another_key);
    tcase_add_test(tc, no_tls);
    tcase_add_test(tc, addresses_in_turn);
    tcase_add_test(tc, sent_once);
    tcase_add_loop_test(tc, new_connection, 0, 2);
    tcase_add_test(tc, time_to_connect);
    tcase_add_loop_test(tc, two_connections, 0, 2);
}

SUITE_MAIN("client", add_tests)
