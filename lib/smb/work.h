/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - one stripe's part of a request: its order, and carrying it out in this node's memory
 *
 * An order goes to the server of a stripe.  A rank that shares the server's memory carries it out
 * itself; from another node the struct is sent as it is, and the server carries it out.  All
 * processes are of one build, so a struct can be sent.
 */
#ifndef EDDIS_SMB_WORK_H
#define EDDIS_SMB_WORK_H

#include "memory.h"

enum work_kind {
    WORK_HELLO,  /* a client has started; first: 1 if this client uses the memory itself */
    WORK_BYE,    /* no more orders */
    WORK_CANCEL, /* end the wait with this seq */
    WORK_CREATE,
    WORK_ATTACH,
    WORK_DETACH,
    WORK_FREE,
    WORK_READ,
    WORK_WRITE,
    WORK_ACCUMULATE,
    WORK_NOTIFY,
    WORK_WAIT,
    WORK_FETCH_ADD,
};

/* An order to a server. */
struct work_order {
    int32_t kind;
    int32_t rank;   /* the requesting rank */
    uint32_t seq;   /* number among the client's orders to this server */
    int32_t type;   /* CREATE: element type */
    int32_t notify; /* WRITE, ACCUMULATE: add a notice at the end */
    int32_t users;  /* CREATE: number of users */
    uint64_t id, source;
    uint64_t n;            /* CREATE: number of elements of the whole buffer */
    uint64_t first, count; /* CREATE: the stripe; READ, WRITE: range of elements; FETCH_ADD: `first`
                            * is the element */
    int64_t add;           /* FETCH_ADD: number to add */
    uint64_t version;      /* WAIT: number of notices that must be exceeded */
};

/* An answer; only the members for the order's kind are set. */
struct work_result {
    uint32_t seq;
    int32_t rc;
    int32_t last;     /* DETACH: 1: the last user has left */
    int32_t type;     /* ATTACH: element type */
    uint64_t n;       /* ATTACH: number of elements */
    int64_t before;   /* FETCH_ADD: the element's value before */
    uint64_t version; /* WAIT, NOTIFY: number of notices */
    int64_t pid, fd;  /* first answer of a server to its own node: the place of its memory */
};

/* An order in progress. */
struct work {
    struct work_order order;
    struct work_result result;
    size_t moved; /* READ, WRITE by work_turn: number of elements moved so far */
    struct memory_creation creation;
    struct memory_sum sum;
};

/* Continue an order.  data: memory of the order's first element, for READ and WRITE.  *budget:
 * bytes that may still be moved in this turn.  Return 1 when the order is done, with the result in
 * w, else 0.
 */
int work_turn(struct work *w, struct memory *m, void *data, int64_t now_ns, size_t *budget);

#endif
