/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - run requests on libcurl's multi interface, trying several addresses */
#include "client.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/ip.h"
#include "lib/base/strbuf.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENT_MAX_ANSWER = 16 << 20, /* limit of an answer's bytes */
    CLIENT_MAX_FDS = 64,          /* limit of the caller's descriptors in http_client_wait */
    CLIENT_FD_WORDS = 64,         /* 64-bit words of a set of descriptors, see open_fds */
    CLIENT_CONNECTIONS = 2,       /* a long poll and one other request */
    CLIENT_BASE = 128,            /* size of an address */
};

/* One request, until its answer or failure has been reported. */
struct request {
    struct request *next;
    struct http_client *c;
    CURL *easy;
    char *path, *json;         /* what follows the address in the URL; body of a POST, or NULL */
    int base;                  /* index of the address to which the request is sent */
    int tries;                 /* number of addresses that could not be reached so far */
    int64_t deadline_ns;       /* end of the time limit for all addresses together */
    struct strbuf unreached;   /* error messages of the addresses that could not be reached */
    struct strbuf answer;      /* body of the answer */
    bool too_long;             /* the answer exceeds CLIENT_MAX_ANSWER */
    char why[CURL_ERROR_SIZE]; /* curl's error message */
    http_done_fn done;
    void *ctx;
};

/* A client with its connections and requests. */
struct http_client {
    CURLM *multi;
    char base[HTTP_MAX_BASES][CLIENT_BASE];
    int n_bases, now;    /* number of addresses; index of the address that requests try first */
    int other;           /* index of the address that was tried last after `now` had failed */
    bool known;          /* the address `now` has answered a request */
    bool unanswered;     /* the latest request was not answered: open a new connection */
    int64_t connect_ns;  /* time limit to connect to one address */
    char *pin, *path;    /* the server's pin, or NULL; path of its Unix socket, or NULL */
    struct http_tcp tcp; /* limits of connections without acknowledgements */
    struct curl_slist *headers; /* headers of every request; the first contains the token */
    struct request *requests;   /* list of the requests that are not finished */
};

/* Set in `set` (CLIENT_FD_WORDS words) the bit of each descriptor below 64 * CLIENT_FD_WORDS that
 * this process has open, and clear all other bits.
 */
static void open_fds(uint64_t *set)
{
    cleanup_dir DIR *d = opendir("/proc/self/fd");
    struct dirent *e;

    memset(set, 0, CLIENT_FD_WORDS * sizeof *set);
    while (d && (e = readdir(d))) {
        long fd = strtol(e->d_name, NULL, 10);

        if (fd != dirfd(d) && fd >= 0 && fd < 64 * CLIENT_FD_WORDS)
            set[fd / 64] |= UINT64_C(1) << (fd % 64);
    }
}

/* Return a new multi handle of curl; NULL: failure.  Set close-on-exec for its wake-up sockets,
 * which a program that is executed would inherit otherwise.
 */
static CURLM *multi_open(void)
{
    uint64_t before[CLIENT_FD_WORDS], after[CLIENT_FD_WORDS];
    CURLM *m;

    open_fds(before);
    m = curl_multi_init();
    open_fds(after);
    for (int fd = 0; fd < 64 * CLIENT_FD_WORDS; fd++)
        if ((after[fd / 64] & ~before[fd / 64]) >> (fd % 64) & 1)
            (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return m;
}

/* Return a new socket with the TCP options of the client ctx, or -1; curl's
 * CURLOPT_OPENSOCKETFUNCTION.
 */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
    const struct http_client *c = ctx;
    int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);

    if (fd >= 0)
        http_socket_tune(fd, &c->tcp);
    return fd;
}

/* Append size * n received bytes at p to the answer of the request ctx; curl's
 * CURLOPT_WRITEFUNCTION.  Return their number.  If the answer gets too long, or without memory,
 * return 0, with which curl ends the request.
 */
static size_t on_answer(char *p, size_t size, size_t n, void *ctx)
{
    struct request *r = ctx;

    if (r->answer.len + size * n > CLIENT_MAX_ANSWER) {
        r->too_long = true;
        return 0;
    }
    strbuf_add_bytes(&r->answer, p, size * n);
    return r->answer.failed ? 0 : size * n;
}

/* Copy the host in a text like "10.1.0.7:41233" or "[fd00::7]:41233" to ret, without brackets.
 * Return false if the text has another form.
 */
static bool take_host(const char *place, char ret[static CLIENT_BASE])
{
    const char *port = strrchr(place, ':');
    size_t n = port ? (size_t)(port - place) : 0;
    bool six = *place == '[';
    struct ip a;

    if (n == 0 || !port[1] || port[1 + strspn(port + 1, "0123456789")] ||
        strpbrk(place, "/@?# \t\r\n") || (six && place[n - 1] != ']'))
        return false;
    (void)snprintf(ret, CLIENT_BASE, "%.*s", (int)(n - 2 * six), place + six);
    return six ? ip_parse(ret, &a) && !ip_is_v4(&a) : !strpbrk(ret, ":[]");
}

/* Append an address like "https://10.1.0.7:41233" to the client's addresses.  Its scheme must be
 * https if the client has a pin, else http.  Return 0 or a negative errno; -EINVAL: it has another
 * form; -EPERM: plain HTTP to an address that is not loopback.
 */
static int take_base(struct http_client *c, const char *base, struct eddis_error *err)
{
    const char *scheme = c->pin ? "https://" : "http://";
    char address[CLIENT_BASE];

    if (strncmp(base, scheme, strlen(scheme)) != 0 || strlen(base) >= CLIENT_BASE ||
        !take_host(base + strlen(scheme), address))
        return eddis_fail(err, -EINVAL, "'%s' is not an address of a driver", base);
    if (!c->pin && !http_address_is_loopback(address))
        return eddis_fail(err, -EPERM, "refusing plain HTTP to %s, which is not a loopback address",
                          address);
    (void)snprintf(c->base[c->n_bases++], CLIENT_BASE, "%s", base);
    return 0;
}

/* Set the client's multi handle, with its limits, and the headers, with the token.  Return false on
 * failure.
 */
static bool client_set(struct http_client *c, const char *token)
{
    cleanup_free char *bearer = NULL;

    c->multi = multi_open();
    if (asprintf(&bearer, "Authorization: Bearer %s", token) >= 0) {
        c->headers = curl_slist_append(NULL, bearer);
        explicit_bzero(bearer, strlen(bearer));
    } else {
        bearer = NULL;
    }
    /* an empty "Expect:" prevents curl from asking the server before it sends a long body */
    return c->multi && c->headers &&
           curl_slist_append(c->headers, "Content-Type: application/json") &&
           curl_slist_append(c->headers, "Expect:") &&
           !curl_multi_setopt(c->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)CLIENT_CONNECTIONS) &&
           !curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)CLIENT_CONNECTIONS);
}

int http_client_open(const struct http_client_options *o, struct http_client **ret,
                     struct eddis_error *err)
{
    struct http_client *c;
    int rc = 0;

    if (o->n_bases < 1 || o->n_bases > HTTP_MAX_BASES)
        return eddis_fail(err, -EINVAL, "a driver has 1 to %d addresses", HTTP_MAX_BASES);
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return eddis_fail(err, -EIO, "cannot initialise libcurl");
    c = calloc(1, sizeof *c);
    if (!c) {
        curl_global_cleanup();
        return eddis_fail(err, -ENOMEM, "no memory for an HTTP client");
    }
    c->tcp = o->tcp;
    c->connect_ns = o->connect_ns ? o->connect_ns : 3 * CLOCK_S;
    c->pin = o->pin ? strdup(o->pin) : NULL;
    c->path = o->path ? strdup(o->path) : NULL;
    if ((o->pin && !c->pin) || (o->path && !c->path) || !client_set(c, o->token))
        rc = eddis_fail(err, -ENOMEM, "no memory for an HTTP client");
    for (int i = 0; rc == 0 && i < o->n_bases; i++)
        rc = take_base(c, o->base[i], err);
    if (rc < 0)
        http_client_close(c);
    else
        *ret = c;
    return rc;
}

/* Borrow the "host:port" of the client's address with index `base`. */
static const char *place(const struct http_client *c, int base)
{
    return strstr(c->base[base], "://") + 3;
}

/* Free a request, which must not be in its client's list or in curl's multi handle. */
static void request_free(struct request *r)
{
    if (r->easy)
        curl_easy_cleanup(r->easy);
    strbuf_fini(&r->answer);
    strbuf_fini(&r->unreached);
    free(r->path);
    free(r->json);
    free(r);
}

/* Remove a request from its client's list and from curl's multi handle. */
static void request_unlink(struct http_client *c, struct request *r)
{
    struct request **at = &c->requests;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    curl_multi_remove_handle(c->multi, r->easy);
}

/* Allow only HTTPS (tls) or only HTTP for handle e.  Return curl's code.  libcurl has an option for
 * protocols by name from 7.85 on, where the option by number is deprecated.
 */
static CURLcode limit_protocol(CURL *e, bool tls)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, tls ? "https" : "http");
#else
    return curl_easy_setopt(e, CURLOPT_PROTOCOLS, (long)(tls ? CURLPROTO_HTTPS : CURLPROTO_HTTP));
#endif
}

/* Set curl's options for TLS 1.3 with a server that has the pinned key.  No certificate authority
 * is used, so curl need not read a list of authorities.  Return false on failure.
 */
static bool request_set_tls(struct request *r)
{
    CURL *e = r->easy;
    bool bad = false;

    bad |= curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_PINNEDPUBLICKEY, r->c->pin) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_SSL_ENABLE_ALPN, 0L) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_CAINFO, NULL) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_CAPATH, NULL) != CURLE_OK;
    return !bad;
}

/* Set the options of the request's curl handle that do not depend on the address.  Return false on
 * failure.
 */
static bool request_set(struct request *r)
{
    CURL *e = r->easy;
    bool bad = false;

    bad |= limit_protocol(e, r->c->pin != NULL) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_PROXY, "") != CURLE_OK; /* none, even if http_proxy is set */
    bad |= curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, r->c) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_answer) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_WRITEDATA, r) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_ERRORBUFFER, r->why) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_PRIVATE, r) != CURLE_OK;
    bad |= curl_easy_setopt(e, CURLOPT_HTTPHEADER, r->c->headers) != CURLE_OK;
    if (r->c->path)
        bad |= curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, r->c->path) != CURLE_OK;
    if (r->json) {
        bad |= curl_easy_setopt(e, CURLOPT_POSTFIELDS, r->json) != CURLE_OK;
        bad |= curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(r->json)) !=
               CURLE_OK;
    }
    return !bad && (!r->c->pin || request_set_tls(r));
}

/* Return ns as milliseconds for curl: the next larger whole number, limited to 1 .. 2^30. */
static long milliseconds(int64_t ns)
{
    int64_t ms = ns / CLOCK_MS + 1;

    return ms < 1 ? 1 : ms > 1 << 30 ? 1 << 30 : (long)ms;
}

/* Return how many addresses a request may try: 2 once an address has answered, otherwise all. */
static int most_tries(const struct http_client *c)
{
    return c->known && c->n_bases > 2 ? 2 : c->n_bases;
}

/* Start to send the request to address r->base.  The limit to connect is connect_ns of the client,
 * or less: the time left is shared by all addresses that may still be tried.  Return false on
 * failure.
 */
static bool request_go(struct request *r)
{
    int64_t left_ns = r->deadline_ns - clock_now_ns();
    int64_t share_ns = left_ns / (most_tries(r->c) - r->tries);
    int64_t to_connect_ns = share_ns < r->c->connect_ns ? share_ns : r->c->connect_ns;
    cleanup_free char *url = NULL;

    if (asprintf(&url, "%s%s", r->c->base[r->base], r->path) < 0) {
        url = NULL;
        return false;
    }
    r->why[0] = '\0';
    return curl_easy_setopt(r->easy, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(r->easy, CURLOPT_TIMEOUT_MS, milliseconds(left_ns)) == CURLE_OK &&
           curl_easy_setopt(r->easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(to_connect_ns)) ==
               CURLE_OK &&
           curl_easy_setopt(r->easy, CURLOPT_FRESH_CONNECT, r->c->unanswered ? 1L : 0L) ==
               CURLE_OK &&
           curl_multi_add_handle(r->c->multi, r->easy) == CURLM_OK;
}

int http_client_start(struct http_client *c, const char *path, const char *json, int64_t timeout_ns,
                      http_done_fn done, void *ctx, struct eddis_error *err)
{
    struct request *r = calloc(1, sizeof *r);

    if (!r)
        return eddis_fail(err, -ENOMEM, "no memory for a request");
    r->c = c;
    r->done = done;
    r->ctx = ctx;
    r->base = c->now;
    r->deadline_ns = clock_after_ns(clock_now_ns(), timeout_ns);
    r->json = json ? strdup(json) : NULL;
    r->path = strdup(path);
    r->easy = curl_easy_init();
    if (!r->easy || !r->path || (json && !r->json) || !request_set(r) || !request_go(r)) {
        request_free(r);
        return eddis_fail(err, -ENOMEM, "cannot start a request to %s%s", c->base[c->now], path);
    }
    r->next = c->requests;
    c->requests = r;
    return 0;
}

/* Check by curl's code whether the request was certainly not sent to its present address.  True:
 * err has the reason.  False: the request may have been sent, and err is unchanged.
 */
static bool was_not_reached(const struct request *r, CURLcode code, struct eddis_error *err)
{
    const char *at = place(r->c, r->base);
    curl_off_t sent_us = 0;
    long cause = 0;

    curl_easy_getinfo(r->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
    curl_easy_getinfo(r->easy, CURLINFO_OS_ERRNO, &cause);
    if (code == CURLE_SSL_PINNEDPUBKEYNOTMATCH)
        eddis_fail(err, -EACCES, "the driver at %s presents a key that is not the job's", at);
    else if (code == CURLE_SSL_CONNECT_ERROR)
        eddis_fail(err, -EPROTO, "cannot set up TLS 1.3 with the driver at %s: %s", at, r->why);
    else if (code == CURLE_COULDNT_CONNECT && cause)
        eddis_fail_errno(err, -(int)cause, "cannot reach the driver at %s", at);
    else if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
        eddis_fail(err, -EHOSTUNREACH, "cannot reach the driver at %s", at);
    else if (code == CURLE_OPERATION_TIMEDOUT && sent_us == 0)
        eddis_fail(err, -ETIMEDOUT, "cannot reach the driver at %s in time", at);
    else
        return false;
    return true;
}

/* Return the index of the address to try after address `tried` could not be reached: the next one
 * in the list.  Once `now` has answered, return the other addresses in turn, from call to call.
 */
static int next_base(struct http_client *c, int tried)
{
    if (!c->known)
        return (tried + 1) % c->n_bases;
    do
        c->other = (c->other + 1) % c->n_bases;
    while (c->other == c->now);
    return c->other;
}

/* Record `why` the request's present address could not be reached, and start to send the request to
 * another address.  Return false if no address or no time is left, or on failure.
 */
static bool request_turn(struct request *r, const struct eddis_error *why)
{
    struct http_client *c = r->c;

    if (r->unreached.len)
        strbuf_add(&r->unreached, "; ");
    strbuf_add(&r->unreached, why->text);
    if (!c->known && c->now == r->base)
        c->now = (r->base + 1) % c->n_bases;
    if (++r->tries >= most_tries(c) || clock_now_ns() >= r->deadline_ns)
        return false;
    r->base = next_base(c, r->base);
    curl_multi_remove_handle(c->multi, r->easy);
    return request_go(r);
}

/* Handle the end of a request with curl's code.  If its address could not be reached, try another
 * one.  Otherwise, or if that is not possible, call the request's done function and free it.
 */
static void request_end(struct request *r, CURLcode code)
{
    struct eddis_error err = { 0 };
    long status = 0;

    curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
    if (r->too_long) {
        eddis_fail(&err, -EMSGSIZE, "the answer to %s is longer than %d MiB", r->path,
                   CLIENT_MAX_ANSWER >> 20);
    } else if (code != CURLE_OK && was_not_reached(r, code, &err)) {
        if (request_turn(r, &err))
            return;
        eddis_fail(&err, err.code, "%s", strbuf_text(&r->unreached));
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        eddis_fail(&err, -ETIMEDOUT, "no answer to %s%s in time", r->c->base[r->base], r->path);
    } else if (code != CURLE_OK) {
        eddis_fail(&err, -EIO, "request to %s%s failed: %s", r->c->base[r->base], r->path,
                   r->why[0] ? r->why : curl_easy_strerror(code));
    } else {
        r->c->now = r->base;
        r->c->known = true;
    }
    r->c->unanswered = code != CURLE_OK;
    request_unlink(r->c, r);
    r->done(r->ctx, err.code ? 0 : (int)status, strbuf_text(&r->answer), r->answer.len, &err);
    request_free(r);
}

/* Let curl send and receive without blocking, and call request_end for each request that curl has
 * finished.  Return the number of these requests.
 */
static int run(struct http_client *c)
{
    int running, left, n = 0;
    CURLMsg *m;

    curl_multi_perform(c->multi, &running);
    while ((m = curl_multi_info_read(c->multi, &left)))
        if (m->msg == CURLMSG_DONE) {
            struct request *r;

            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&r);
            request_end(r, m->data.result);
            n++;
        }
    return n;
}

int http_client_wait(struct http_client *c, struct pollfd *fds, int n, int64_t deadline_ns,
                     struct eddis_error *err)
{
    struct curl_waitfd extra[CLIENT_MAX_FDS];
    int ready = 0;

    if (n > CLIENT_MAX_FDS)
        return eddis_fail(err, -EINVAL, "too many descriptors to wait for");
    for (int i = 0; i < n; i++)
        extra[i] =
            (struct curl_waitfd){ .fd = fds[i].fd,
                                  .events = (fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                                            (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0) };
    for (;;) {
        int answered = run(c), ms = clock_poll_ms(deadline_ns);

        if (answered)
            ms = 0;
        if (ms && curl_multi_poll(c->multi, extra, (unsigned)n, ms < 0 ? 60000 : ms, NULL))
            return eddis_fail(err, -EIO, "libcurl cannot wait for its connections");
        /* curl's revents do not include POLLHUP and POLLERR. */
        ready = poll(fds, (nfds_t)n, 0);
        if (ready < 0 && errno != EINTR)
            return eddis_fail_errno(err, -errno, "cannot poll");
        if (ready > 0 || answered || clock_poll_ms(deadline_ns) == 0)
            return ready > 0 ? ready : 0;
    }
}

/* The result of http_client_call's request. */
struct call {
    bool over; /* the other members are set */
    int status;
    char *body;
    size_t n;
    struct eddis_error err;
};

/* Store the result of a request in the struct call ctx, with a copy of the body; an http_done_fn.
 */
static void call_done(void *ctx, int status, const char *body, size_t body_n,
                      const struct eddis_error *err)
{
    struct call *call = ctx;

    call->over = true;
    call->status = status;
    call->err = *err;
    call->body = malloc(body_n + 1);
    if (!call->body) {
        eddis_fail(&call->err, -ENOMEM, "no memory for an answer");
        return;
    }
    memcpy(call->body, body, body_n);
    call->body[body_n] = '\0';
    call->n = body_n;
}

/* Free the request of a call whose wait failed, if it still exists, so that its done function
 * cannot write to the caller's stack later.
 */
static void forget_call(struct http_client *c, struct call *call)
{
    for (struct request *r = c->requests; r; r = r->next)
        if (r->ctx == call) {
            request_unlink(c, r);
            request_free(r);
            return;
        }
}

int http_client_call(struct http_client *c, const char *path, const char *json, int64_t timeout_ns,
                     char **ret_body, size_t *ret_n, struct eddis_error *err)
{
    struct call call = { 0 };
    int rc = http_client_start(c, path, json, timeout_ns, call_done, &call, err);

    while (rc >= 0 && !call.over)
        rc = http_client_wait(c, NULL, 0, CLOCK_NEVER, err);
    if (rc < 0) {
        forget_call(c, &call);
        free(call.body); /* not NULL if the wait failed after the answer had arrived */
        return rc;
    }
    if (call.err.code) {
        free(call.body);
        return eddis_fail(err, call.err.code, "%s", call.err.text);
    }
    *ret_body = call.body;
    if (ret_n)
        *ret_n = call.n;
    return call.status;
}

int http_client_hold(const struct http_client *c, struct eddis_error *err)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    const char *at = place(c, c->now), *port = strrchr(at, ':');
    int bracket = *at == '[';
    struct addrinfo *a = NULL;
    char host[CLIENT_BASE];
    int fd = -1, rc = 0;

    (void)snprintf(host, sizeof host, "%.*s", (int)(port - at) - 2 * bracket, at + bracket);
    if (c->path || getaddrinfo(host, port + 1, &hints, &a) != 0)
        return eddis_fail(err, -EINVAL, "'%s' is not an address to keep a connection to", at);
    fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        http_socket_tune(fd, &c->tcp);
    if (fd < 0 || (connect(fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS))
        rc = eddis_fail_errno(err, -errno, "cannot connect to %s", at);
    freeaddrinfo(a);
    if (rc == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

void http_client_close(struct http_client *c)
{
    struct eddis_error closed = { 0 };

    if (!c)
        return;
    eddis_fail(&closed, -ECANCELED, "the connection to %s was closed",
               c->n_bases ? c->base[c->now] : "the driver");
    while (c->requests) {
        struct request *r = c->requests;

        request_unlink(c, r);
        r->done(r->ctx, 0, "", 0, &closed);
        request_free(r);
    }
    if (c->multi)
        curl_multi_cleanup(c->multi);
    if (c->headers)
        explicit_bzero(c->headers->data, strlen(c->headers->data));
    curl_slist_free_all(c->headers);
    free(c->pin);
    free(c->path);
    free(c);
    curl_global_cleanup();
}
