/* SPDX-License-Identifier: Apache-2.0 */
/* loop_job.h - a job for tests of the whole library: a thread a rank over the in-process loop */
#ifndef EDDIS_TESTS_LOOP_JOB_H
#define EDDIS_TESTS_LOOP_JOB_H

#include "bench/loop.h"
#include "lib/board/board.h"
#include "lib/eddis.h"
#include "lib/model/algorithm.h"
#include "scenario.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_RANKS = 8 };

extern int loop_job_failures;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                             \
            __atomic_add_fetch(&loop_job_failures, 1, __ATOMIC_RELAXED);                           \
        }                                                                                          \
    } while (0)

struct loop_job {
    int n;
    struct loop *loop;
    struct board *board; /* the agent's end; NULL: none */
    char dir[64], path[96];
    void (*body)(struct eddis *e, int rank, struct loop_job *j);
    struct scenario scenario[MAX_RANKS];
    int64_t version;
    const struct comm_choice *choice; /* as of a plan that is replayed; NULL: none */
    int emulated;
    const char *mode, *algorithm; /* NULL: sync, allreduce */
    int per_group;                /* ranks of a group, each a node; 0: one group, one node */
    const int *node_of;           /* [n] nodes that are not the groups; NULL: they are */
    bool hosts;                   /* nodes are hosts, between which gradients travel as wire says */
    enum sync_wire wire;
    int64_t period;       /* of models; later plans have others, see loop_job_period */
    int64_t open_ns;      /* the mode is open, until loop_job_settle; 0: it is not */
    int64_t check_models; /* steps between two comparisons; 0: none */
    int generation;       /* 0: 1 */
    const char *checkpoint_dir;
    void *arg; /* the test's own */
    atomic_int opened;
    atomic_int sent[MAX_RANKS][COMM_CHANNELS]; /* messages */
    atomic_llong turn[MAX_RANKS];              /* see loop_job_turn */
    int broken; /* what the communication fails with, and so eddis_close; 0: it does not */
    float *buffer[MAX_RANKS];
};

struct loop_rank {
    struct loop_job *j;
    int rank;
    pthread_t thread;
};

/* A comm_thread_open_fn; arg is a struct loop_rank. */
int loop_job_open(void *arg, struct transport **ret, struct eddis_error *err);

/* Run all ranks and wait for their ends; removes the board. */
void loop_job_run(struct loop_job *j);

/* Make the board with a first plan of this split, or of 10, 20 and, for the last rank, 13. */
void loop_job_board_of(struct loop_job *j, const int64_t *batch);
void loop_job_board(struct loop_job *j);

/* Of a job that is not run. */
void loop_job_board_remove(struct loop_job *j);

/* Return the period of this version's plan. */
int64_t loop_job_period(const struct loop_job *j, int64_t version);

/* The next plan; when there is no room for it nothing happens. */
void loop_job_publish(struct loop_job *j, const int64_t *batch, int64_t flags);

/* The first plan and the mode of a board where that was open. */
void loop_job_settle(struct loop_job *j, const int64_t *batch, int64_t flags);

/* A values_pace's; arg is the job.  Who is far ahead takes most of the samples, and the others come
 * to the end too soon.
 */
void loop_job_turn(void *arg, int rank, int64_t step);

/* The progress page of a rank as it is: one that is being written just now is read again. */
void loop_job_page(const struct loop_job *j, int rank, struct board_page *ret);

#endif
