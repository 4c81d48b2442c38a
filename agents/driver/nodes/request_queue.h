/* SPDX-License-Identifier: Apache-2.0 */
/* request_queue.h - from the server's threads to the driver's one thread
 *
 * The server's handler checks who asks for what, parses what came, and puts it here; the driver's
 * loop takes it and answers.  So every decision and every answer is made on one thread, and no
 * lock but this one is needed.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_REQUEST_QUEUE_H
#define EDDIS_AGENTS_DRIVER_NODES_REQUEST_QUEUE_H

#include "agents/protocol/protocol.h"
#include "agents/protocol/protocol_join.h"
#include "lib/base/error.h"
#include "lib/http/server.h"

#include <stdint.h>

/* Numbers of people's tokens; those of agents are the agents' numbers, and what is behind them is
 * of those who are to join.
 */
enum inbox_person {
    PERSON_READER, /* may read */
    PERSON_OWNER,  /* may stop the job, too */
    N_PERSONS,
};

enum inbox_type {
    INBOX_HELLO,
    INBOX_JOIN, /* agent is the number of a token behind the agents' own */
    INBOX_POLL,
    INBOX_REPORT,
    INBOX_STOP, /* of the owner */
    /* of readers */
    INBOX_JOB,
    INBOX_PLAN,
    INBOX_WORKERS,
    INBOX_EVENTS,
    INBOX_METRICS,
    INBOX_LOGS,
};

struct inbox_item {
    struct inbox_item *next;
    enum inbox_type type;
    int agent;
    char peer[HTTP_PEER_CHARS];
    int64_t after;
    int rank; /* of INBOX_LOGS */
    struct hello hello;
    struct join join;
    struct report *report;   /* owned */
    struct http_exchange *x; /* to be answered by whoever takes the item */
};

struct inbox;

int inbox_open(int n_agents, struct inbox **ret, struct eddis_error *err);

/* Borrow the descriptor that is readable when something may have come. */
int inbox_fd(const struct inbox *b);

/* Take the oldest item; NULL when there is none.  inbox_item_free frees it, without answering. */
struct inbox_item *inbox_take(struct inbox *b);
void inbox_item_free(struct inbox_item *i);

/* Answer everything "503 the job is over" from now on, also what is waiting. */
void inbox_shut(struct inbox *b);

/* The server must have been stopped.  Accepts NULL. */
void inbox_close(struct inbox *b);

/* The servers' handlers, of agents and of people; ctx is the inbox. */
void inbox_handle_agent(void *ctx, const struct http_request *q, struct http_exchange *x);
void inbox_handle_person(void *ctx, const struct http_request *q, struct http_exchange *x);

#endif
