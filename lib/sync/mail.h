/* SPDX-License-Identifier: Apache-2.0 */
/* mail.h - what callers ask of the communication thread: steps, gradients, exchanges, requests
 *
 * Each kind begins with a struct mail, whose kind says what it is; MAIL_LEAVE is nothing more.
 */
#ifndef EDDIS_SYNC_MAIL_H
#define EDDIS_SYNC_MAIL_H

#include "engine.h"

#include "lib/comm/collective.h"
#include "lib/smb/smb.h"

enum mail_kind {
    MAIL_BEGIN,
    MAIL_WEIGHT,
    MAIL_ANNOUNCE,
    MAIL_FINISH,
    MAIL_EXCHANGE,
    MAIL_BOX,
    MAIL_LEAVE,
    MAIL_REQUEST,
};

/* Part of what is sent; belongs to the communication thread until it has been handled, which is
 * certain when the bucket or request it is about is done.
 */
struct mail {
    struct mail *next;
    enum mail_kind kind;
};

struct mail_begin {
    struct mail mail;
    struct engine_step step;
};

struct mail_weight {
    struct mail mail;
    int set; /* whose next round it is for; -1: for the step */
    double weight;
};

struct mail_finish {
    struct mail mail;
    int set;
};

struct mail_announce {
    struct mail mail;
    struct engine_announcement what;
};

/* Between two steps; over when a wait for WAIT_EXCHANGE says so. */
struct mail_exchange {
    struct mail mail;
    struct sync_turn turn; /* all but the tag */
};

/* A request to the Soft Memory Box. */
struct mail_box {
    struct mail mail;
    struct smb_request r; /* its user is the communication thread's */
    struct mail_box *next_done;
    bool done; /* guarded by the communication thread's lock */
};

/* By whom a request is made, which decides what its messages are told apart by.  Requests of one
 * level are numbered by each rank for itself, and the number is part of the tag: so the ranks of a
 * group must send those of its level in the same order, and all of them.  Other ranks need not send
 * any.  A rank is in one group of each level.
 *
 * Where ranks send unlike requests in one place of that order, a message that meets a receive of
 * another length ends the communication of the rank that gets it, and names the sender; where no
 * message meets one the wait names for whom it is.  What is not seen is unlike requests whose
 * messages are as long by chance, such as a sum and a maximum of the same buffers: for that the
 * kind would have to be part of the tag, of which MPI promises 15 bits only, or each request cost
 * another message.
 */
enum request_level {
    REQUEST_ALL,   /* all ranks */
    REQUEST_GROUP, /* the group that trains one model */
    REQUEST_NODE,  /* its members on one node */
    REQUEST_HOST,  /* all ranks of one node */
    REQUEST_FIRST, /* the first of its members on each node */
    REQUEST_LEVELS,
};

/* A general collective, under way until `done`. */
struct request {
    struct mail mail;
    struct collective *collective; /* borrowed */
    enum request_level level;
    int tag; /* set by comm_thread_send */
    struct request *next_active;
    bool done; /* guarded by the communication thread's lock */
    int peer;  /* whom it waits for; -1: nobody */
};

#endif
