/* SPDX-License-Identifier: Apache-2.0 */
/* test_tls.c - what stays outside a server with a key, and what a client with a pin does not
 * believe. */
#include "lib/base/clock.h"
#include "lib/http/client.h"
#include "lib/http/server.h"
#include "suite.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_KEPT = 256 };

struct fixture {
    struct http_key *key;
    struct http_tokens *tokens;
    struct http_server *s;
    char url[64], token[HTTP_TOKEN_CHARS + 1];
    atomic_int asked;
    struct http_exchange *kept[MAX_KEPT]; /* [asked - 1] */
};

static void handle(void *ctx, const struct http_request *q, struct http_exchange *x)
{
    struct fixture *f = ctx;
    int n = atomic_load(&f->asked);

    if (strcmp(q->path, "/keep") == 0)
        f->kept[n] = x;
    else
        http_reply(x, 200, "{}");
    atomic_store(&f->asked, n + 1);
}

static void start(struct fixture *f, int64_t deadline_ns)
{
    struct http_server_options o = {
        .address = "127.0.0.1", .handle = handle, .ctx = f, .deadline_ns = deadline_ns
    };
    struct eddis_error err = { 0 };

    memset(f, 0, sizeof *f);
    ck_assert_int_eq(http_tokens_new(1, &f->tokens, NULL), 0);
    http_tokens_text(f->tokens, 0, f->token);
    ck_assert_int_eq(http_key_new(&f->key, NULL), 0);
    o.key = f->key;
    o.tokens = f->tokens;
    ck_assert_msg(http_server_start(&o, &f->s, &err) == 0, "%s", err.text);
    (void)snprintf(f->url, sizeof f->url, "https://127.0.0.1:%d", http_server_port(f->s));
}

static void stop(struct fixture *f)
{
    http_server_stop(f->s);
    http_tokens_free(f->tokens);
    http_key_free(f->key);
}

static struct http_client *client(const struct fixture *f)
{
    const char *const base[] = { f->url };
    const struct http_client_options o = {
        .base = base, .n_bases = 1, .token = f->token, .pin = http_key_pin(f->key)
    };
    struct http_client *c;

    ck_assert_int_eq(http_client_open(&o, &c, NULL), 0);
    return c;
}

static size_t sink(char *p, size_t size, size_t n, void *ctx)
{
    return size * n;
}

/* Any other client, which trusts everybody and speaks these versions of TLS; returns its status. */
static long stranger(const struct fixture *f, long versions, const char *token)
{
    CURL *e = curl_easy_init();
    struct curl_slist *headers = NULL;
    char bearer[128];
    long status = 0;

    (void)snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", token);
    headers = curl_slist_append(NULL, bearer);
    curl_easy_setopt(e, CURLOPT_URL, f->url);
    curl_easy_setopt(e, CURLOPT_PROXY, "");
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(e, CURLOPT_SSLVERSION, versions);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, sink);
    curl_easy_perform(e);
    curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(e);
    curl_slist_free_all(headers);
    return status;
}

START_TEST(older_than_1_3)
{
    struct fixture f;

    start(&f, 0);
    ck_assert_int_eq(stranger(&f, CURL_SSLVERSION_TLSv1_3, f.token), 200);
    ck_assert_int_eq(stranger(&f, CURL_SSLVERSION_DEFAULT, f.token), 200);
    ck_assert_int_eq(stranger(&f, CURL_SSLVERSION_TLSv1_3, "x"), 401);
    ck_assert_int_eq(atomic_load(&f.asked), 2);
    ck_assert_int_eq(
        stranger(&f, (long)CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_TLSv1_2, f.token), 0);
    ck_assert_int_eq(
        stranger(&f, (long)CURL_SSLVERSION_TLSv1_0 | CURL_SSLVERSION_MAX_TLSv1_1, f.token), 0);
    ck_assert_int_eq(atomic_load(&f.asked), 2);
    stop(&f);
}
END_TEST

static enum MHD_Result answer(void *ctx, struct MHD_Connection *c, const char *url,
                              const char *method, const char *http, const char *data,
                              size_t *data_n, void **state)
{
    struct fixture *f = ctx;

    atomic_fetch_add(&f->asked, 1);
    return MHD_NO;
}

/* The right key, but an older TLS: the client goes away before it has said anything. */
START_TEST(older_server)
{
    struct fixture f;
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct MHD_Daemon *d;
    struct http_client *c;
    struct eddis_error err = { 0 };
    char *body = NULL;

    start(&f, 0);
    d = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_TLS, 0, NULL, NULL, answer, &f,
                         MHD_OPTION_SOCK_ADDR, &a, MHD_OPTION_HTTPS_MEM_KEY,
                         http_key_private(f.key), MHD_OPTION_HTTPS_MEM_CERT,
                         http_key_certificate(f.key), MHD_OPTION_HTTPS_PRIORITIES,
                         "NORMAL:-VERS-ALL:+VERS-TLS1.2", MHD_OPTION_END);
    ck_assert_ptr_nonnull(d);
    (void)snprintf(f.url, sizeof f.url, "https://127.0.0.1:%d",
                   MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    c = client(&f);
    ck_assert_int_eq(http_client_call(c, "/x", "{}", 10 * CLOCK_S, &body, NULL, &err), -EPROTO);
    ck_assert_msg(strstr(err.text, "cannot set up TLS 1.3 with the driver at 127.0.0.1:"), "%s",
                  err.text);
    ck_assert_int_eq(atomic_load(&f.asked), 0);
    http_client_close(c);
    MHD_stop_daemon(d);
    stop(&f);
}
END_TEST

static int dial(const struct fixture *f)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)http_server_port(f->s)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* Until the server closes; returns how much was not the beginning of a TLS record. */
static int hear_plain(int fd)
{
    char text[4096];
    ssize_t n;
    int plain = 0;

    while ((n = recv(fd, text, sizeof text - 1, 0)) > 0) {
        text[n] = '\0';
        plain += strstr(text, "HTTP/") != NULL;
    }
    return plain;
}

/* Whoever speaks plain HTTP to the agents' door, even with a good token, hears nothing. */
START_TEST(plain_http)
{
    struct fixture f;
    char text[512];
    int fd;

    start(&f, 500 * CLOCK_MS);
    fd = dial(&f);
    (void)snprintf(text, sizeof text,
                   "GET /x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", f.token);
    ck_assert_int_gt(send(fd, text, strlen(text), MSG_NOSIGNAL), 0);
    ck_assert_int_eq(hear_plain(fd), 0);
    close(fd);
    ck_assert_int_eq(atomic_load(&f.asked), 0);
    ck_assert_int_eq(http_server_refused(f.s), 0);
    stop(&f);
}
END_TEST

/* A handshake has its deadline too: silence, a byte now and then, garbage. */
START_TEST(slow_handshake)
{
    static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    struct fixture f;
    struct http_client *c;
    char *body = NULL;

    start(&f, 300 * CLOCK_MS);
    for (int kind = 0; kind < 3; kind++) {
        int fd = dial(&f);
        char byte;

        for (size_t i = 0; kind == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) < 0 &&
                           (errno == EAGAIN || errno == EWOULDBLOCK);
             i++) {
            if (send(fd, i < sizeof hello - 1 ? &hello[i] : "x", 1, MSG_NOSIGNAL) < 0)
                break;
            clock_sleep_until_ns(clock_now_ns() + 20 * CLOCK_MS);
        }
        if (kind == 2)
            (void)!send(fd, "\0\xff\r\n\r\n garbage", 15, MSG_NOSIGNAL);
        (void)hear_plain(fd);
        close(fd);
    }
    c = client(&f);
    ck_assert_int_eq(http_client_call(c, "/x", "{}", 10 * CLOCK_S, &body, NULL, NULL), 200);
    free(body);
    http_client_close(c);
    stop(&f);
}
END_TEST

static void count_done(void *ctx, int status, const char *body, size_t n,
                       const struct eddis_error *err)
{
    *(int *)ctx += status == 200;
}

/* Long polls of many clients over TLS wait and are answered, while others come and go. */
START_TEST(many_long_polls)
{
    enum { N = 64 };
    struct fixture f;
    struct http_client *c[N];
    int done = 0;

    start(&f, 20 * CLOCK_S);
    for (int i = 0; i < N; i++) {
        c[i] = client(&f);
        ck_assert_int_eq(
            http_client_start(c[i], "/keep", NULL, 60 * CLOCK_S, count_done, &done, NULL), 0);
        while (atomic_load(&f.asked) <= i)
            (void)http_client_wait(c[i], NULL, 0, clock_now_ns() + CLOCK_MS, NULL);
    }
    ck_assert_int_eq(stranger(&f, CURL_SSLVERSION_DEFAULT, f.token), 200);
    ck_assert_int_eq(done, 0);
    for (int i = 0; i < N; i++)
        http_reply(f.kept[i], 200, "{}");
    for (int i = 0; done < N; i = (i + 1) % N)
        (void)http_client_wait(c[i], NULL, 0, clock_now_ns() + CLOCK_MS, NULL);
    for (int i = 0; i < N; i++)
        http_client_close(c[i]);
    stop(&f);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, older_than_1_3);
    tcase_add_test(tc, older_server);
    tcase_add_test(tc, plain_http);
    tcase_add_test(tc, slow_handshake);
    tcase_add_test(tc, many_long_polls);
}

SUITE_MAIN("tls", add_tests)
