/* SPDX-License-Identifier: Apache-2.0 */
/* loop_job.h - a job for tests of the whole library: a thread a rank over the in-process loop
 *
 *     struct loop_job j = { .n = 3, .share = 8, .run = scenario_train };
 *
 *     loop_job_run(&j);
 *     return check_result();
 */
#ifndef EDDIS_TESTS_LOOP_JOB_H
#define EDDIS_TESTS_LOOP_JOB_H

#include "bench/loop.h"
#include "lib/board/board.h"
#include "lib/model/algorithm.h"
#include "scenario.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_RANKS = 8 };

/* Ranks of a group that stand for a mode; more than ASYNC are hybrid mode. */
enum { SYNC = 0, ASYNC = 1 };

/* The job's name, by which its checkpoint folders are fenced. */
#define LOOP_JOB_NAME "loop"

/* The node of each rank, in the initializer of a job: { .n = 3, NODES(0, 0, 1) }. */
#define NODES(...)                                                                                 \
    .node_of = (const int[])                                                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

struct loop_job;
typedef void loop_body_fn(struct eddis *e, int rank, struct loop_job *j);

struct loop_job {
    int n;
    scenario_fn *run;     /* what each rank does: this with its scenario ... */
    loop_body_fn *body;   /* ... or this */
    void *arg;            /* the test's own */
    struct scenario each; /* every rank's, with the job as arg if that is NULL */

    /* The first plan's split, or share samples for each rank; neither: no board. */
    int64_t split[MAX_RANKS];
    int64_t share;
    int per_group;         /* SYNC, ASYNC, or ranks of a group */
    const char *algorithm; /* of local mode, with groups of per_group; NULL: not local mode */
    double outer_rate, outer_momentum; /* 0: as the algorithm has them */
    int64_t overlap;                   /* of local mode */
    const int *node_of;                /* [n] nodes; NULL: each group is one, or all are one */
    bool hosts; /* nodes are hosts, between which gradients travel as wire says */
    enum sync_wire wire;
    int64_t period;  /* of models, 0: 2; later plans have others, see loop_job_period */
    int64_t open_ns; /* the mode is open, until loop_job_settle; 0: it is not */
    bool mode_named; /* but the job names it, so that only its options are */
    const struct comm_choice *choice; /* as of a plan that is replayed; NULL: none */
    int emulated;
    int64_t check_models; /* steps between two comparisons; 0: none */
    int generation;       /* 0: 1 */
    int64_t fence;        /* generation of the fence; 0: the same */
    const char *checkpoint_dir;
    int64_t checkpoint_every; /* 0: 10 */
    int checkpoint_keep;

    int closes;             /* what eddis_close returns */
    bool dies;              /* eddis_close may fail */
    int opens;              /* what opening returns ... */
    const char *open_words; /* ... with these words */
    const char *board_of_1; /* rank 1's board; NULL: as the others' */

    /* The rest is the job's own. */
    struct loop *loop;
    struct board *board; /* the agent's end; NULL: none */
    char dir[64], path[96];
    int64_t version;
    struct scenario scenario[MAX_RANKS];
    atomic_int reached;                        /* the test's own count, see loop_job_await */
    atomic_int sent[MAX_RANKS][COMM_CHANNELS]; /* messages */
    atomic_bool holds; /* no rank receives messages of models, which are longer than trailers */
    atomic_llong step[MAX_RANKS]; /* see loop_job_keep_pace */
};

/* Give each rank its scenario, and make the board with the first plan. */
void loop_job_prepare(struct loop_job *j);

/* Run all ranks of a job, which is prepared if it is not yet, and wait for their ends.  Remove the
 * board.
 */
void loop_job_run(struct loop_job *j);

/* Run a job like that, with this body and its arg. */
void loop_job_run_body(const struct loop_job *like, loop_body_fn *body, void *arg);

/* Remove the board of a job that is prepared and does not run. */
void loop_job_board_remove(struct loop_job *j);

const char *loop_job_mode(const struct loop_job *j);
const char *loop_job_algorithm(const struct loop_job *j);

/* Return the period of this version's plan. */
int64_t loop_job_period(const struct loop_job *j, int64_t version);

/* Publish the next plan; when there is no room for it nothing happens. */
void loop_job_publish(struct loop_job *j, const int64_t *batch, int64_t flags);

/* Publish the first plan and the mode of a board where that was open. */
void loop_job_settle(struct loop_job *j, const int64_t *batch, int64_t flags);

/* Count one in j->reached, and wait until it is n. */
void loop_job_reach(struct loop_job *j);
void loop_job_await(const struct loop_job *j, int n);

/* The keep_pace of a scenario, whose arg is the job.  Without it who is far ahead takes most of the
 * samples, and the others come to the end too soon.
 */
void loop_job_keep_pace(void *arg, int rank, int64_t step);

/* Read the progress page of a rank: one that is being written just now is read again. */
void loop_job_page(const struct loop_job *j, int rank, struct board_page *ret);

#endif
