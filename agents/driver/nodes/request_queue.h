/* SPDX-License-Identifier: Apache-2.0 */
/* request_queue.h - request queue from the HTTP server's threads to the driver's thread
 *
 * The server's handler checks the sender's rights, parses the request and queues it; the driver's
 * loop takes the request from the queue and replies. So all decisions and replies are made on one
 * thread, and the queue's lock is the only lock.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_REQUEST_QUEUE_H
#define EDDIS_AGENTS_DRIVER_NODES_REQUEST_QUEUE_H

#include "agents/protocol/protocol.h"
#include "agents/protocol/protocol_join.h"
#include "lib/base/error.h"
#include "lib/http/server.h"

#include <stdint.h>

/* Numbers of the tokens of people. The token of an agent has the agent's number; higher numbers are
 * those of join secrets.
 */
enum request_person {
    REQUEST_READER, /* token that permits reading */
    REQUEST_OWNER,  /* token that permits reading and stopping the job */
    N_REQUEST_PERSONS,
};

/* The kinds of requests. */
enum request_type {
    REQUEST_HELLO,
    REQUEST_JOIN, /* `agent` is the number of a join secret's token */
    REQUEST_POLL,
    REQUEST_REPORT,
    REQUEST_STOP, /* from the owner */
    /* from readers */
    REQUEST_JOB,
    REQUEST_PLAN,
    REQUEST_WORKERS,
    REQUEST_EVENTS,
    REQUEST_METRICS,
    REQUEST_LOGS,
};

/* A parsed request. */
struct request_item {
    struct request_item *next;
    enum request_type type;
    int agent;                  /* number of the agent that sent the request; see REQUEST_JOIN */
    char peer[HTTP_PEER_CHARS]; /* address of the sender */
    int64_t after;              /* number after which the sender wants orders, events or log text */
    int rank;                   /* the log's rank (REQUEST_LOGS) */
    struct hello hello;
    struct join join;
    struct report *report;   /* owned */
    struct http_exchange *x; /* exchange to which the consumer must reply */
};

struct request_queue;

/* Create an empty queue for requests of n_agents agents in *ret, which the caller frees with
 * request_queue_close. Return 0 or a negative errno.
 */
int request_queue_open(int n_agents, struct request_queue **ret, struct eddis_error *err);

/* Return a descriptor, borrowed, that is readable if requests may have arrived. */
int request_queue_fd(const struct request_queue *b);

/* Take the oldest request from the queue; NULL: the queue is empty. The caller replies to the
 * request, and frees it with request_item_free.
 */
struct request_item *request_queue_take(struct request_queue *b);

/* Free a request without replying to it.  Accepts NULL. */
void request_item_free(struct request_item *i);

/* Reply "503 the job has ended" to all queued requests and to all that arrive from now on. */
void request_queue_shut(struct request_queue *b);

/* Free the request queue.  The servers must have been stopped.  Accepts NULL. */
void request_queue_close(struct request_queue *b);

/* Handle an HTTP request from an agent (on a server's thread); ctx is the queue. */
void request_queue_handle_agent(void *ctx, const struct http_request *q, struct http_exchange *x);

/* Handle an HTTP request from a person (on a server's thread); ctx is the queue. */
void request_queue_handle_person(void *ctx, const struct http_request *q, struct http_exchange *x);

#endif
