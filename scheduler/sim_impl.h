/* SPDX-License-Identifier: Apache-2.0 */
/* sim_impl.h - the state of a simulation, and the time that its workers take by their laws
 *
 * Private to scheduler/sim*.c.
 */
#ifndef EDDIS_SCHEDULER_SIM_IMPL_H
#define EDDIS_SCHEDULER_SIM_IMPL_H

#include "lib/model/algorithm.h"
#include "scheduler/sim.h"
#include "scheduler/sim_links.h"

#include <stdbool.h>
#include <stdint.h>

/* A simulated worker. */
struct member {
    struct sim_worker law;
    double times; /* factor on the time by the law */
    int64_t batch;
    int64_t count; /* samples of the present step: a part of a round's, else `batch` */
    struct step_window window;
    int64_t reported_since, reported_plan; /* window of the last report with something new */
    bool unsure;                           /* that window had begun again and had few points */
    double reported_s;                     /* when the worker last reported */
    double own_s;                          /* of the present step */
    double exposed_s, exchange_s; /* sums over all steps; exchange_s: exchanges, hidden reads too */
    double sum_s;                 /* sum of own times since the last sim_own_s */
    int64_t sum_n;                /* number of steps in sum_s */
    double slice_s, visited_s;    /* used of its time slice; until when `visited` holds */
    bool visited;                 /* other programs use its core */
    uint64_t visits; /* random state for visits alone, so that other plans do not change them */
};

/* Simulated workers that train one model together. */
struct party {
    int first, n; /* ranks */
    int n_nodes;
    double slowest_bytes_per_s;
    int64_t step, version;
    int64_t switch_at;     /* step from which the published plan holds */
    int64_t exchanges;     /* number of exchanges so far */
    double hidden_s;       /* part of the exchange before it that steps hid */
    double begin_s, end_s; /* of the present step */
    double longest_s;      /* longest own time of a member in it */
    double exchange_s;     /* duration of the exchange before it */
    /* of a round (ALGORITHM_ROUNDS): its samples, its steps, and those done; and when they were */
    int64_t round_samples, round_steps, round_step;
    double round_end_s;
    int64_t lands_after; /* step of the round after which the combined model is applied */
    double lands_s;      /* when it is there; 0: it is applied */
};

struct sim {
    struct sim_setup set;
    const struct algorithm *algorithm;
    struct member *member; /* [n] */
    int n;
    struct party *party;    /* [links.n], a heap by end_s from `heap` */
    int *heap;              /* [links.n] */
    struct sim_links links; /* number of parties and of nodes; exchanges */
    int64_t *batch, *next;  /* [n] batches in force everywhere; published batches */
    int64_t version, published, period;
    int waiting; /* number of parties that do not follow the published plan yet */
    int at_end;  /* number of parties that wait at the end of a round */
    uint64_t seed;
    double now_s, tick_s;
    int contradictions;
    struct replan_contradiction contradiction;
    int64_t samples, total;
    int64_t work;                 /* as sim_work */
    struct modes_sending sending; /* of the setup, completed */
};

/* Draw a random factor on a step's time, from jitter and spikes. */
double sim_impl_luck(struct sim *s);

/* Return the true compute seconds of a simulated worker for a batch: those of its law, see struct
 * sim_worker, times the factor of sim_slow.
 */
double sim_impl_compute_s(const struct member *m, int64_t batch);

/* Return a worker's own seconds for a batch: compute and the wait for input, without randomness. */
double sim_impl_own_s(const struct sim *s, int rank, int64_t batch);

/* Return how long a worker waits for other programs' time slices if it computes for so long from
 * now on.
 */
double sim_impl_turns_s(struct member *m, double now_s, double compute);

#endif
