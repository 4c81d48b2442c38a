/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client.h"

#include "lib/base/clock.h"
#include "lib/http/server.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char token[] = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";

struct fixture {
    struct http_server *s;
    struct http_client *c;
    struct http_exchange *kept; /* written by the server's thread, read after a later answer */
    char *big;
};

static void handle(void *ctx, const struct http_request *q, struct http_exchange *x)
{
    struct fixture *f = ctx;
    char text[128];

    if (strcmp(q->path, "/keep") == 0) {
        f->kept = x;
    } else if (strcmp(q->path, "/release") == 0) {
        if (f->kept)
            http_reply(f->kept, 200, "{\"kept\":1}");
        f->kept = NULL;
        http_reply(x, 200, "{}");
    } else if (strcmp(q->path, "/big") == 0) {
        http_reply(x, 200, f->big);
    } else if (strcmp(q->path, "/teapot") == 0) {
        http_reply_error(x, 418, "a sentence");
    } else if (strcmp(q->path, "/plain") == 0) {
        http_reply_text(x, 200, "text/plain", "a 1\n");
    } else {
        (void)snprintf(text, sizeof text, "{\"method\":\"%s\",\"n\":%zu}", q->method, q->body_n);
        http_reply(x, 200, text);
    }
}

static void start(struct fixture *f)
{
    const struct http_server_options o = {
        .address = "127.0.0.1", .token = { token }, .handle = handle, .ctx = f
    };
    struct eddis_error err = { 0 };
    char base[64];

    memset(f, 0, sizeof *f);
    /* A proxy in the environment is not ours. */
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    ck_assert_msg(http_server_start(&o, &f->s, &err) == 0, "%s", err.text);
    (void)snprintf(base, sizeof base, "http://127.0.0.1:%d", http_server_port(f->s));
    ck_assert_msg(http_client_open(base, token, &f->c, &err) == 0, "%s", err.text);
}

static void stop(struct fixture *f)
{
    http_client_close(f->c);
    http_server_stop(f->s);
    free(f->big);
}

START_TEST(call)
{
    struct fixture f;
    char *body = NULL, *json = malloc(500001);
    size_t n = 0;

    start(&f);
    ck_assert_int_eq(http_client_call(f.c, "/x", NULL, CLOCK_S * 10, &body, &n, NULL), 200);
    ck_assert_str_eq(body, "{\"method\":\"GET\",\"n\":0}");
    ck_assert_uint_eq(n, strlen(body));
    free(body);
    memset(json, ' ', 500000);
    json[500000] = '\0';
    ck_assert_int_eq(http_client_call(f.c, "/x", json, CLOCK_S * 10, &body, NULL, NULL), 200);
    ck_assert_str_eq(body, "{\"method\":\"POST\",\"n\":500000}");
    free(body);
    ck_assert_int_eq(http_client_call(f.c, "/x", "", CLOCK_S * 10, &body, NULL, NULL), 200);
    ck_assert_str_eq(body, "{\"method\":\"POST\",\"n\":0}");
    free(body);
    ck_assert_int_eq(http_client_call(f.c, "/teapot", "{}", CLOCK_S * 10, &body, NULL, NULL), 418);
    ck_assert_str_eq(body, "{\"error\":\"a sentence\"}");
    free(body);
    ck_assert_int_eq(http_client_call(f.c, "/plain", NULL, CLOCK_S * 10, &body, NULL, NULL), 200);
    ck_assert_str_eq(body, "a 1\n");
    free(body);
    free(json);
    stop(&f);
}
END_TEST

struct seen {
    int done, status, code;
    char body[64];
};

static void on_done(void *ctx, int status, const char *body, size_t n,
                    const struct eddis_error *err)
{
    struct seen *s = ctx;

    s->done++;
    s->status = status;
    s->code = err->code;
    (void)snprintf(s->body, sizeof s->body, "%.*s", (int)n, body);
}

/* A long poll in the background while others come and go. */
START_TEST(side_by_side)
{
    struct fixture f;
    struct seen seen = { 0 };
    char *body = NULL;

    start(&f);
    ck_assert_int_eq(http_client_start(f.c, "/keep", NULL, CLOCK_S * 60, on_done, &seen, NULL), 0);
    ck_assert_int_eq(http_client_wait(f.c, NULL, 0, clock_now_ns() + 50 * CLOCK_MS, NULL), 0);
    ck_assert_int_eq(seen.done, 0);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(http_client_call(f.c, "/x", "{}", CLOCK_S * 10, &body, NULL, NULL), 200);
        free(body);
    }
    ck_assert_int_eq(seen.done, 0);
    ck_assert_int_eq(http_client_call(f.c, "/release", "{}", CLOCK_S * 10, &body, NULL, NULL), 200);
    free(body);
    while (!seen.done)
        ck_assert_int_eq(http_client_wait(f.c, NULL, 0, CLOCK_NEVER, NULL), 0);
    ck_assert_int_eq(seen.status, 200);
    ck_assert_str_eq(seen.body, "{\"kept\":1}");
    stop(&f);
    ck_assert_int_eq(seen.done, 1);
}
END_TEST

START_TEST(time_out_and_close)
{
    struct fixture f;
    struct seen seen = { 0 };
    struct eddis_error err = { 0 };
    char *body = NULL;

    start(&f);
    ck_assert_int_eq(http_client_call(f.c, "/keep", NULL, 50 * CLOCK_MS, &body, NULL, &err),
                     -ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(err.text, "/keep"));
    ck_assert_ptr_null(strstr(err.text, token));
    ck_assert_int_eq(http_client_call(f.c, "/release", "{}", CLOCK_S * 10, &body, NULL, NULL), 200);
    free(body);
    ck_assert_int_eq(http_client_start(f.c, "/keep", NULL, CLOCK_S * 60, on_done, &seen, NULL), 0);
    ck_assert_int_eq(http_client_call(f.c, "/x", "{}", CLOCK_S * 10, &body, NULL, NULL), 200);
    free(body);
    ck_assert_int_eq(seen.done, 0);
    http_client_close(f.c);
    f.c = NULL;
    ck_assert_int_eq(seen.done, 1);
    ck_assert_int_eq(seen.status, 0);
    ck_assert_int_eq(seen.code, -ECANCELED);
    if (f.kept)
        http_reply(f.kept, 200, NULL);
    stop(&f);
}
END_TEST

START_TEST(own_descriptors)
{
    struct fixture f;
    struct seen seen = { 0 };
    int pipes[2];
    struct pollfd p[2];

    start(&f);
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
    stop(&f);
}
END_TEST

START_TEST(refused_and_nobody_there)
{
    struct fixture f;
    struct http_client *c;
    struct eddis_error err = { 0 };
    char base[64], *body = NULL;

    start(&f);
    (void)snprintf(base, sizeof base, "http://127.0.0.1:%d", http_server_port(f.s));
    ck_assert_int_eq(http_client_open(base, "wrong", &c, NULL), 0);
    ck_assert_int_eq(http_client_call(c, "/x", "{}", CLOCK_S * 10, &body, NULL, NULL), 401);
    free(body);
    http_server_stop(f.s);
    f.s = NULL;
    ck_assert_int_eq(http_client_call(c, "/x", "{}", CLOCK_S * 10, &body, NULL, &err),
                     -ECONNREFUSED);
    http_client_close(c);
    stop(&f);
    ck_assert_int_eq(http_client_open("https://127.0.0.1:1", token, &c, NULL), -EINVAL);
    ck_assert_int_eq(http_client_open("file:///etc/passwd", token, &c, NULL), -EINVAL);
    http_client_close(NULL);
}
END_TEST

/* An endless answer is cut at the limit. */
START_TEST(answer_too_long)
{
    struct fixture f;
    struct eddis_error err = { 0 };
    char *body = NULL;

    start(&f);
    f.big = malloc((17 << 20) + 1);
    memset(f.big, ' ', 17 << 20);
    f.big[17 << 20] = '\0';
    ck_assert_int_eq(http_client_call(f.c, "/big", NULL, CLOCK_S * 60, &body, NULL, &err),
                     -EMSGSIZE);
    stop(&f);
}
END_TEST

START_TEST(close_on_exec)
{
    struct fixture f;
    char *body = NULL;

    start(&f);
    ck_assert_int_eq(http_client_call(f.c, "/x", NULL, CLOCK_S * 10, &body, NULL, NULL), 200);
    free(body);
    for (int i = 3; i < 200; i++) {
        int flags = fcntl(i, F_GETFD);
        char name[64], what[256] = "";

        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", i);
        if (flags < 0 || readlink(name, what, sizeof what - 1) < 0 ||
            (strncmp(what, "socket", 6) != 0 && strncmp(what, "anon", 4) != 0))
            continue; /* not open, or a file of Check's */
        ck_assert_msg(flags & FD_CLOEXEC, "descriptor %d: %s", i, what);
    }
    stop(&f);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, call);
    tcase_add_test(tc, side_by_side);
    tcase_add_test(tc, time_out_and_close);
    tcase_add_test(tc, own_descriptors);
    tcase_add_test(tc, refused_and_nobody_there);
    tcase_add_test(tc, answer_too_long);
    tcase_add_test(tc, close_on_exec);
}

SUITE_MAIN("client", add_tests)
