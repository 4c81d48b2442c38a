/* SPDX-License-Identifier: Apache-2.0 */
/* joining.c - asks until the driver answers, always with the same nonce */
#include "joining.h"

#include "agents/protocol/protocol_join.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A request for an agent configuration, and its answer. */
struct question {
    const struct invitation *i;
    struct http_client *http;
    struct tick_page *page; /* page for the heartbeats to the supervisor */
    char *json;             /* body of the request */
    bool answered;          /* the request has ended, with or without an answer */
    int status;             /* HTTP status of the answer; 0: no answer */
    char *body;             /* body of an answer 200; owned */
    char refusal[200];      /* error sentence of any other answer */
    struct eddis_error why; /* reason for no answer */
};

int joining_client(char *const *url, const char *token, const char *pin, int64_t lease_ns,
                   struct http_client **ret, struct eddis_error *err)
{
    struct http_client_options o = { .base = (const char *const *)url,
                                     .token = token,
                                     .pin = pin,
                                     .connect_ns = timing_connect_ns(lease_ns),
                                     .tcp = { .silence_ms = timing_tcp_silence_ms(lease_ns),
                                              .probe_s = timing_tcp_probe_s(lease_ns),
                                              .probes = TIMING_TCP_PROBES } };

    while (url[o.n_bases])
        o.n_bases++;
    return http_client_open(&o, ret, err);
}

/* Store the error sentence of a rejecting answer, n bytes of body, in q->refusal. */
static void read_refusal(struct question *q, const char *body, size_t n)
{
    cleanup_json json_t *o = NULL;
    const json_t *sentence =
        json_parse(body, n, "answer", &o, NULL) < 0 ? NULL : json_object_get(o, "error");

    (void)snprintf(q->refusal, sizeof q->refusal, "%s",
                   json_is_string(sentence) ? json_string_value(sentence) : "it gives no reason");
}

/* Record an answer, or the reason for no answer, in the struct question ctx (callback of the HTTP
 * client on this thread).
 */
static void on_done(void *ctx, int status, const char *body, size_t n,
                    const struct eddis_error *err)
{
    struct question *q = ctx;

    q->answered = true;
    q->status = status;
    if (status == 200)
        q->body = strndup(body, n);
    else if (status)
        read_refusal(q, body, n);
    else if (err)
        q->why = *err;
}

/* Wait until q->answered is set or until until_ns, and send the supervisor heartbeats meanwhile.
 * Return 0 in both cases, or a negative errno.
 */
static int wait(struct question *q, int64_t until_ns, struct eddis_error *err)
{
    int64_t tick_ns = timing_tick_ns(q->i->lease_ns);
    int rc = 0;

    while (rc >= 0 && !q->answered && clock_now_ns() < until_ns) {
        tick_beat(q->page, TICK_AGENT);
        rc = http_client_wait(q->http, NULL, 0, timing_least_ns(until_ns, clock_now_ns() + tick_ns),
                              err);
    }
    return rc < 0 ? rc : 0;
}

/* Send the request repeatedly until the driver answers, for at most a lease.  Return 0 with the
 * answer in q->body; -ETIMEDOUT: no answer; -EACCES: the driver rejects the node; or another
 * negative errno.
 */
static int ask(struct question *q, struct eddis_error *err)
{
    int64_t lease_ns = q->i->lease_ns, end_ns = clock_now_ns() + lease_ns;
    uint64_t chance = random_mix((uint64_t)clock_now_ns(), (uint64_t)getpid());
    int rc = 0;

    while (rc == 0 && !q->status && clock_now_ns() < end_ns) {
        q->answered = false;
        rc = http_client_start(q->http, "/v1/join", q->json, timing_request_ns(lease_ns), on_done,
                               q, err);
        if (rc == 0)
            rc = wait(q, CLOCK_NEVER, err);
        if (rc < 0 || q->status)
            break;
        q->answered = false; /* pause before the next try */
        rc = wait(q, clock_now_ns() + timing_retry_ns(lease_ns, random_next(&chance)), err);
    }
    if (rc < 0)
        return rc;
    if (!q->status)
        return eddis_fail(err, -ETIMEDOUT, "eddis-run cannot be reached at %s: %s", q->i->url[0],
                          q->why.text);
    if (q->status != 200)
        return eddis_fail(err, -EACCES, "eddis-run refuses this node: %s", q->refusal);
    return q->body ? 0 : eddis_fail(err, -ENOMEM, "no memory for the agent configuration");
}

int joining_ask(const char *text, size_t n, const char *node, struct tick_page *page, char **ret,
                size_t *ret_n, struct eddis_error *err)
{
    struct invitation *i = NULL;
    struct question q = { .page = page };
    struct join j = { 0 };
    int rc = invitation_parse(text, n, &i, err);

    if (rc < 0)
        return rc;
    q.i = i;
    (void)snprintf(j.node, sizeof j.node, "%s", node);
    rc = random_hex(j.nonce, PROTOCOL_NONCE, err);
    if (rc == 0 && !(q.json = join_text(&j)))
        rc = eddis_fail(err, -ENOMEM, "no memory to request the agent configuration");
    if (rc == 0)
        rc = joining_client(i->url, i->secret, i->pin, i->lease_ns, &q.http, err);
    if (rc == 0)
        rc = ask(&q, err);
    http_client_close(q.http);
    invitation_free(i);
    free(q.json);
    if (rc < 0) {
        free(q.body);
        return rc;
    }
    *ret = q.body;
    *ret_n = strlen(q.body);
    return 0;
}
