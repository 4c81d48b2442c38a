/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - one stripe's share of a request: what is asked, and doing it in this node's memory
 *
 * An order is asked of the server of a stripe.  Who shares that server's memory carries it out
 * itself; from another node it travels as it is, and the server does it.  All processes are of one
 * build, so it travels as a struct.
 */
#ifndef EDDIS_SMB_WORK_H
#define EDDIS_SMB_WORK_H

#include "memory.h"

enum work_kind {
    WORK_HELLO,  /* to a server: its client is there; first: 1 when it uses the memory itself */
    WORK_BYE,    /* no more orders */
    WORK_CANCEL, /* end the wait of this number */
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

/* What is asked of a server. */
struct work_order {
    int32_t kind;
    int32_t rank;   /* for whom */
    uint32_t seq;   /* of the client's orders to this server */
    int32_t type;   /* CREATE */
    int32_t notify; /* WRITE, ACCUMULATE: count a notice at the end */
    int32_t users;  /* CREATE */
    uint64_t id, source;
    uint64_t n;            /* CREATE: elements of the whole buffer */
    uint64_t first, count; /* CREATE: the stripe; READ, WRITE: elements; FETCH_ADD: first */
    int64_t add;           /* FETCH_ADD */
    uint64_t version;      /* WAIT */
};

/* What comes back; the members that belong to the kind of order. */
struct work_result {
    uint32_t seq;
    int32_t rc;
    int32_t last;     /* DETACH: it was the last user */
    int32_t type;     /* ATTACH */
    uint64_t n;       /* ATTACH */
    int64_t before;   /* FETCH_ADD */
    uint64_t version; /* WAIT, NOTIFY */
    int64_t pid, fd;  /* answer 0 of a server to its own node: where its memory is */
};

/* An order that is being carried out. */
struct work {
    struct work_order order;
    struct work_result result;
    size_t moved; /* READ, WRITE that work_turn carries out: elements done */
    struct memory_creation creation;
    struct memory_sum sum;
};

/* Go on with an order.  data: memory of its first element, for READ and WRITE.  *budget: bytes that
 * may still be moved in this turn.  Returns 1 when it is over, with the result, else 0.
 */
int work_turn(struct work *w, struct memory *m, void *data, int64_t now_ns, size_t *budget);

#endif
