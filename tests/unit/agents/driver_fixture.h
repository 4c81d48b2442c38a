/* SPDX-License-Identifier: Apache-2.0 */
/* driver_fixture.h - the driver's state machine with a job, as its tests drive it */
#ifndef EDDIS_TESTS_DRIVER_FIXTURE_H
#define EDDIS_TESTS_DRIVER_FIXTURE_H

#include "agents/driver/state/state_impl.h"

#include "suite.h"

enum { NODES = 4, RANKS = 5, ACTIONS = ACTION_LAST_LINES + 1 };

struct fixture {
    struct state s;
    int64_t now_ns;
    bool cached;            /* the network is known from an earlier job */
    bool silent[NODES];     /* the node is frozen or cut off: not heard, and does nothing */
    int ordered[ACTIONS];   /* how often each action was */
    char did[2048];         /* actions since this was cleared: "stop kill; revive 2; plan" */
    char said[8192];        /* a sentence a line */
    int place[RANKS];       /* what agents answer of ranks when asked where they stand */
    char where[RANKS][256]; /* likewise */
};

/* Return the options of a job of two nodes that are this machine, two ranks each, or of three
 * nodes, the second and third reached by ssh, with five ranks.  Nothing is started again.
 */
struct state_options job_options(bool remote);

/* Begin a job with these options. */
void begin(struct fixture *f, const struct state_options *o);

/* Return the name of an action without its operands. */
const char *action_name(enum action_type type);

/* Take and note all actions, and answer where ranks stand. */
void drain(struct fixture *f);

/* Return an event of the present generation. */
struct event event(const struct fixture *f, enum event_type type);

/* Report an event; the agent is heard by that. */
void report(struct fixture *f, int agent, const struct event *e);

/* Report an event from all agents that are there, and have something to do with it if it concerns a
 * generation, as long as the phase stays.
 */
void report_all(struct fixture *f, const struct event *e);

/* Report a progress page.  Where all ranks do the same steps they are the job's. */
void send_page(struct fixture *f, struct progress page);

void enroll(struct fixture *f, int agent);
void start_rank(struct fixture *f, int rank);

/* Answer with a plan for the usable nodes. */
void plan(struct fixture *f);

/* Go on as far as a phase, and let happen what each one waits for.  Return false if none leads
 * there.
 */
bool go_to(struct fixture *f, enum state_phase to);

/* Let time pass, while whoever is not silent is heard every half second. */
void pass(struct fixture *f, int64_t ns);

/* Let who is there confirm the stop and go, until the job is over.  Return false if it is not, or
 * does not order all to leave before.
 */
bool leave(struct fixture *f);

#endif
