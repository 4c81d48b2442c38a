/* SPDX-License-Identifier: Apache-2.0 */
/* request_queue.c - check and parse requests on the servers' threads, and queue them for the
 * driver's thread
 */
#include "request_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The queue.  The lock protects the list, first and last, and shut. */
struct request_queue {
    pthread_mutex_t lock;
    struct request_item *first, **last;
    bool shut;
    int fd; /* eventfd, readable if requests may have arrived */
    int n_agents;
};

int request_queue_open(int n_agents, struct request_queue **ret, struct eddis_error *err)
{
    struct request_queue *b = calloc(1, sizeof *b);

    if (!b)
        return eddis_fail(err, -ENOMEM, "no memory for the driver");
    b->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->fd < 0) {
        int rc = eddis_fail_errno(err, -errno, "cannot make an eventfd");

        free(b);
        return rc;
    }
    pthread_mutex_init(&b->lock, NULL);
    b->last = &b->first;
    b->n_agents = n_agents;
    *ret = b;
    return 0;
}

int request_queue_fd(const struct request_queue *b)
{
    return b->fd;
}

void request_item_free(struct request_item *i)
{
    if (!i)
        return;
    report_free(i->report);
    free(i);
}

struct request_item *request_queue_take(struct request_queue *b)
{
    struct request_item *i;
    uint64_t n;

    pthread_mutex_lock(&b->lock);
    i = b->first;
    if (i) {
        b->first = i->next;
        if (!b->first)
            b->last = &b->first;
    } else {
        (void)!read(b->fd, &n, sizeof n);
    }
    pthread_mutex_unlock(&b->lock);
    return i;
}

/* Reply to an HTTP request that the job is over. */
static void refuse_late(struct http_exchange *x)
{
    http_reply_error(x, 503, "the job has ended");
}

/* Queue a request, taking i, and wake the driver.  If the queue is shut, reply to the request that
 * the job has ended, and free i.
 */
static void put(struct request_queue *b, struct request_item *i)
{
    const uint64_t one = 1;
    bool shut;

    pthread_mutex_lock(&b->lock);
    shut = b->shut;
    if (!shut) {
        *b->last = i;
        b->last = &i->next;
        (void)!write(b->fd, &one, sizeof one);
    }
    pthread_mutex_unlock(&b->lock);
    if (shut) {
        refuse_late(i->x);
        request_item_free(i);
    }
}

void request_queue_shut(struct request_queue *b)
{
    struct request_item *i;

    pthread_mutex_lock(&b->lock);
    b->shut = true;
    pthread_mutex_unlock(&b->lock);
    while ((i = request_queue_take(b))) {
        refuse_late(i->x);
        request_item_free(i);
    }
}

void request_queue_close(struct request_queue *b)
{
    if (!b)
        return;
    (void)close(b->fd);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* ---- the server's side ---- */

/* Return the whole number in s, from 0 and of at most 18 digits; -1: s is NULL or no such number.
 */
static int64_t number(const char *s)
{
    char *end;
    long long n;

    if (!s || *s < '0' || *s > '9' || strlen(s) > 18)
        return -1;
    n = strtoll(s, &end, 10);
    return *end ? -1 : n;
}

/* Return the agent's number in a path such as "/v1/agents/12/orders", and store a pointer to the
 * part after it, "orders", in *ret_rest; -1: another path, *ret_rest is unchanged.
 */
static int agent_path(const char *path, const char **ret_rest)
{
    static const char before[] = "/v1/agents/";
    char digits[8] = "";
    size_t n;
    int64_t agent;

    if (strncmp(path, before, sizeof before - 1) != 0)
        return -1;
    path += sizeof before - 1;
    n = strcspn(path, "/");
    if (n >= sizeof digits || path[n] != '/')
        return -1;
    memcpy(digits, path, n);
    agent = number(digits);
    if (agent < 0)
        return -1;
    *ret_rest = path + n + 1;
    return (int)agent;
}

/* Set an error for a request that is rejected; return its HTTP status. */
static int reject(struct eddis_error *err, int status, const char *why)
{
    eddis_fail(err, -EPERM, "%s", why);
    return status;
}

/* Set an error for a request of one agent in another's name; return 403. */
static int not_itself(struct eddis_error *err)
{
    return reject(err, 403, "an agent may send requests only for itself");
}

/* Parse an agent's registration into i.  Return 0, or an HTTP status with the reason in err. */
static int hello_request(const struct http_request *q, struct request_item *i,
                         struct eddis_error *err)
{
    i->type = REQUEST_HELLO;
    if (hello_parse(q->body, q->body_n, &i->hello, err) < 0)
        return 400;
    i->agent = i->hello.agent;
    return i->agent == q->who ? 0 : not_itself(err);
}

/* Parse a request of an agent into i.  Return 0, or an HTTP status with the reason in err.  The
 * sender's rights are checked before the contents.
 */
static int agent_request(const struct http_request *q, struct request_item *i,
                         struct eddis_error *err)
{
    bool post = strcmp(q->method, "POST") == 0, get = strcmp(q->method, "GET") == 0;
    const char *rest = "";

    if (strcmp(q->path, "/v1/agents") == 0 && post)
        return hello_request(q, i, err);
    i->agent = agent_path(q->path, &rest);
    if (i->agent >= 0 && i->agent != q->who)
        return not_itself(err);
    if (i->agent >= 0 && strcmp(rest, "orders") == 0 && get) {
        i->type = REQUEST_POLL;
        i->after = number(q->after);
        if (i->after >= 0)
            return 0;
        return reject(err, 400, "\"after\" must be the number of the last order");
    }
    if (i->agent >= 0 && strcmp(rest, "reports") == 0 && post) {
        i->type = REQUEST_REPORT;
        if (report_parse(q->body, q->body_n, &i->report, err) < 0)
            return 400;
        return i->report->agent == q->who ? 0 : not_itself(err);
    }
    return reject(err, 404, "agents have no such request");
}

/* Parse a request of a node that is about to join, into i: the node may ask for its configuration
 * and nothing else.  Return 0, or an HTTP status with the reason in err.
 */
static int join_request(const struct http_request *q, struct request_item *i,
                        struct eddis_error *err)
{
    i->type = REQUEST_JOIN;
    i->agent = q->who;
    if (strcmp(q->path, "/v1/join") != 0 || strcmp(q->method, "POST") != 0)
        return reject(err, 403, "a node that joins may only request its agent configuration");
    return join_parse(q->body, q->body_n, &i->join, err) < 0 ? 400 : 0;
}

/* Check a person's POST request and store its type in i: the owner may stop the job.  Return 0, or
 * an HTTP status with the reason in err.
 */
static int person_post(const struct http_request *q, struct request_item *i,
                       struct eddis_error *err)
{
    bool stop = strcmp(q->path, "/v1/job/stop") == 0;

    if (q->who != REQUEST_OWNER)
        return reject(err, stop ? 403 : 405, "a reader's token permits only GET requests");
    i->type = REQUEST_STOP;
    if (stop)
        return 0;
    return reject(err, 405, "only /v1/job/stop accepts a POST request");
}

/* Parse a person's request for a part of a rank's log into i.  Return 0, or an HTTP status with the
 * reason in err.
 */
static int log_request(const struct http_request *q, struct request_item *i,
                       struct eddis_error *err)
{
    int64_t rank = number(q->path + 9);

    i->type = REQUEST_LOGS;
    i->rank = (int)rank;
    i->after = q->after ? number(q->after) : 0;
    if (rank >= 0 && rank < BOARD_MAX_RANKS && i->after >= 0)
        return 0;
    return reject(err, 400, "the path of a log is /v1/logs/RANK?after=OFFSET");
}

/* Parse a request of a person into i.  Return 0, or an HTTP status with the reason in err. */
static int person_request(const struct http_request *q, struct request_item *i,
                          struct eddis_error *err)
{
    static const struct {
        const char *path;
        enum request_type type;
    } row[] = {
        { "/v1/job", REQUEST_JOB },         { "/v1/plan", REQUEST_PLAN },
        { "/v1/workers", REQUEST_WORKERS }, { "/v1/events", REQUEST_EVENTS },
        { "/metrics", REQUEST_METRICS },
    };

    if (strcmp(q->method, "GET") != 0)
        return person_post(q, i, err);
    if (strncmp(q->path, "/v1/logs/", 9) == 0)
        return log_request(q, i, err);
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        if (strcmp(q->path, row[k].path) != 0)
            continue;
        i->type = row[k].type;
        i->after = q->after ? number(q->after) : 0;
        if (i->after >= 0)
            return 0;
        return reject(err, 400, "\"after\" must be the number of an event");
    }
    return reject(err, 404, "there is nothing at this path");
}

/* Parse a request with read(), which returns 0 or an HTTP status, and queue it with x, on which its
 * consumer replies.  After an error, without memory or if the queue is shut, reply with the error
 * now.
 */
static void take(struct request_queue *b, const struct http_request *q, struct http_exchange *x,
                 int (*read)(const struct http_request *q, struct request_item *i,
                             struct eddis_error *err))
{
    struct request_item *i = calloc(1, sizeof *i);
    struct eddis_error err = { 0 };
    int status;

    if (!i) {
        http_reply_error(x, 503, "no memory");
        return;
    }
    i->x = x;
    (void)snprintf(i->peer, sizeof i->peer, "%s", q->peer);
    status = read(q, i, &err);
    if (status) {
        http_reply_error(x, status, err.text);
        request_item_free(i);
        return;
    }
    put(b, i);
}

void request_queue_handle_agent(void *ctx, const struct http_request *q, struct http_exchange *x)
{
    const struct request_queue *b = ctx;

    take(ctx, q, x, q->who < b->n_agents ? agent_request : join_request);
}

void request_queue_handle_person(void *ctx, const struct http_request *q, struct http_exchange *x)
{
    take(ctx, q, x, person_request);
}
