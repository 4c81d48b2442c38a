/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - commands to the communication thread: steps, gradients, exchanges, requests
 *
 * Each command begins with a struct command, whose `kind` determines the containing struct.
 * MAIL_LEAVE has no containing struct.
 */
#ifndef EDDIS_SYNC_MAIL_H
#define EDDIS_SYNC_MAIL_H

#include "engine.h"

#include "lib/comm/collective.h"
#include "lib/smb/smb.h"

/* The kinds of commands. */
enum command_kind {
    MAIL_BEGIN,
    MAIL_WEIGHT,
    MAIL_ANNOUNCE,
    MAIL_FINISH,
    MAIL_EXCHANGE,
    MAIL_BOX,
    MAIL_LEAVE,
    MAIL_REQUEST,
};

/* The header of a command.  A sent command belongs to the communication thread until it is handled,
 * which is certain once the bucket or request that it concerns is done.
 */
struct command {
    struct command *next;
    enum command_kind kind;
};

/* Begin a step. */
struct command_begin {
    struct command command;
    struct engine_step step;
};

/* Set the weight of a step or of a round. */
struct command_weight {
    struct command command;
    int set; /* set whose next round has this weight; -1: the whole step */
    double weight;
};

/* Finish the present round of a set: gradients not announced in it count as zeros. */
struct command_finish {
    struct command command;
    int set;
};

/* Announce a gradient. */
struct command_announce {
    struct command command;
    struct engine_announcement what;
};

/* Begin an exchange between two steps.  The exchange is over once a wait of kind WAIT_EXCHANGE
 * succeeds.
 */
struct command_exchange {
    struct command command;
    struct sync_turn turn; /* the exchange; its tag is set by the engine */
};

/* A request to the Soft Memory Box. */
struct command_queue {
    struct command command;
    struct smb_request r; /* r.user is set by the communication thread */
    struct command_queue *next_done;
    bool done; /* guarded by the communication thread's lock */
};

/* The ranks that take part in a request.  Each rank numbers the requests of each level, and the
 * number is part of the tag.  So the ranks of a group must send all requests of their level, in the
 * same order.  Other ranks need not send any.  A rank is in one group of each level.
 *
 * If ranks send different requests at one place of that order, a message may meet a receive of
 * another length.  That ends the communication of the receiving rank, with an error that names the
 * sender.  If no message meets a receive, the wait reports the missing rank.  Different requests
 * whose messages happen to have equal lengths are not detected, such as a sum and a maximum of the
 * same buffers.  For that the kind would have to be part of the tag, but MPI guarantees only 15
 * bits; or each request would cost another message.
 */
enum request_level {
    REQUEST_ALL,   /* all ranks */
    REQUEST_GROUP, /* ranks of the group that trains one model */
    REQUEST_NODE,  /* the group's ranks on one node */
    REQUEST_HOST,  /* all ranks of one node */
    REQUEST_FIRST, /* the group's first rank of each node */
    REQUEST_LEVELS,
};

/* A general collective operation, under way until `done`. */
struct request {
    struct command command;
    struct collective *collective; /* the operation; borrowed */
    enum request_level level;
    int tag; /* message tag, set by comm_thread_send */
    struct request *next_active;
    bool done; /* guarded by the communication thread's lock */
    int peer;  /* rank that the request waits for; -1: none */
};

#endif
