/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - which worker computes how much: the scheduler's result, kept in the job's folder */
#ifndef EDDIS_MODEL_PLAN_H
#define EDDIS_MODEL_PLAN_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"
#include "lib/model/choice.h"
#include "lib/model/plan_left.h"
#include "lib/model/profile.h"
#include "lib/model/program_facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLAN_SCHEMA_VERSION = 2,
    PLAN_MAX_WORKERS = 65536,
    PLAN_MAX_CANDIDATES = 16,
};

/* Source of a worker's time model */
enum time_source {
    TIME_PROBE,    /* a probe's rates of the device; only ratios between workers are meaningful */
    TIME_GUESSED,  /* ratios as of TIME_PROBE, scaled by workers whose times in seconds are known */
    TIME_GIVEN,    /* given by the job, as for an emulated device */
    TIME_LEARNT,   /* history of earlier jobs of this command, in seconds */
    TIME_MEASURED, /* measured in this job's own steps */
    TIME_SOURCES
};

/* An algorithm that was considered for the job */
struct plan_candidate {
    char mode[16], algorithm[16];
    struct sync_options options;
    double predicted_samples_per_s; /* predicted speed; 0: not available */
    double efficiency;              /* progress per sample relative to sync; 0: unknown */
    bool measured;                  /* the efficiency was measured with this program */
    double predicted_progress;      /* predicted_samples_per_s * efficiency */
    char lost[128];                 /* why it was not chosen, one sentence; "": it was chosen */
};

/* One worker's share */
struct plan_worker {
    int rank, local_rank;
    int skipped; /* number of the node's workers before it that the plan leaves out; not in files */
    int node;    /* index into plan.node */
    enum device_kind kind;
    char device_id[DEVICE_ID];
    char device[96];          /* for people: "emulated 0.50" */
    char cpus[256];           /* the worker's cores as a list; "": not bound */
    double fixed_s, sample_s; /* time model: a step of b samples takes fixed_s + sample_s * b */
    enum time_source time;    /* source of the time model */
    int64_t largest;          /* largest batch that was measured; 0: none */
    int group;                /* the worker's group, from 0; sync mode: all 0, async mode: the
                               * rank */
    int64_t batch;            /* samples of this worker in a step */
    int64_t max;              /* the job's limit of `batch` on the worker's node; 0: none */
    int64_t piece;            /* largest micro-batch that its memory allows; 0: no limit */
    bool guessed;             /* `piece` is a part of the GPUs' memory; not in files */
    int64_t failed;           /* fewest samples at once for which its memory was too small, if
                               * `piece` is from that failure; 0: none; not in files */
    int64_t memory_bytes;     /* memory of its GPU, else of its node; 0: unknown; not in files */
    int64_t equal_batch;      /* `batch` under an equal split */
    double weight;            /* batch / global batch */
    double step_s;            /* predicted time of a step */
    double samples_per_s;     /* predicted speed: batch / step_s */
};

/* A plan version */
struct plan {
    int64_t generation, version; /* from 1 */
    char mode[16], algorithm[16];
    char reason[256]; /* why this mode was chosen, one sentence */
    char change[256]; /* why this plan replaced the version before, one sentence; "": it is the
                       * first */
    double gain;      /* predicted speed relative to the version before; 0: it is the first */
    int n_groups;
    struct sync_options options; /* options of the algorithm */
    int64_t model_bytes;         /* size of the model, for the predictions; 0: unknown */
    struct program program;      /* properties of the program, for the predictions */
    struct plan_candidate candidate[PLAN_MAX_CANDIDATES]; /* [n_candidates] */
    int n_candidates;
    struct comm_choice *choice; /* owned; communication settings that a run has measured; NULL:
                                 * none */
    int64_t global_batch;
    double epoch_steps;   /* global batches of an epoch, whose end is a round's end; 0: unknown */
    int64_t bucket_bytes; /* 0: the workers measure it */
    uint64_t seed;
    bool emulated; /* some worker emulates a device */
    /* The program splits batches into micro-batches of at most `piece`.  false: no batch exceeds
     * `piece`, or no worker has a `piece`.
     */
    bool takes_pieces;
    bool relative;                  /* only ratios of times are known until steps are measured */
    double predicted_samples_per_s; /* predicted speed of this plan */
    double ideal_samples_per_s;     /* sum over workers of batch / step time at that batch */
    double equal_samples_per_s;     /* predicted speed of an equal split */
    char network[64];               /* network between the nodes, "10.1.0.0/24"; "": one node */
    char network_reason[200];       /* why this network, for people */
    char (*node)[256];              /* [n_nodes] host names */
    int n_nodes;
    struct plan_worker *worker; /* [n_workers] by rank */
    int n_workers;
    struct plan_left left[PLAN_MAX_LEFT]; /* [n_left] workers that were left out (nodes.drop) */
    int n_left;
};

/* Return the name of a source: "probe", "guessed", "given", "learnt" or "measured", a constant. */
const char *time_source_name(enum time_source s);

/* Return the predicted progress of the plan's mode: samples per second times the efficiency; 0: it
 * is unknown.
 */
double plan_progress(const struct plan *p);

/* Return how many models the workers train between exchanges: 1 in sync mode. */
int plan_models(const struct plan *p);

/* Find the worker that would do the most samples per second if it alone did the global batch, in
 * parts that its memory holds. Store its samples per second in *ret_samples_per_s, and return its
 * rank. The plan must have a worker.
 */
int plan_alone(const struct plan *p, double *ret_samples_per_s);

/* Return an empty plan for these numbers of nodes and workers; NULL without memory, or if a number
 * is negative.
 */
struct plan *plan_new(int n_nodes, int n_workers);

/* Free a plan.  Accepts NULL. */
void plan_free(struct plan *p);

/* Return a deep copy; NULL without memory. */
struct plan *plan_copy(const struct plan *p);

/* Return indented JSON text, for the caller to free; equal plans give equal bytes.  NULL without
 * memory.
 */
char *plan_text(const struct plan *p);

/* Parse a plan and check it: batches add up, ranks are in order, nodes exist.  `what` names the
 * source in errors; plan_free frees *ret.  Return 0 or a negative errno, and then *ret is
 * unchanged; -EINVAL: the text is no valid plan.
 */
int plan_parse(const char *text, size_t n, const char *what, struct plan **ret,
               struct eddis_error *err);

/* Read a plan from a file as plan_parse does.  Return as plan_parse and file_read do; plan_free
 * frees *ret.
 */
int plan_read(const char *path, struct plan **ret, struct eddis_error *err);

#endif
