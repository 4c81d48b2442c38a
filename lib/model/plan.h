/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - who computes how much: the scheduler's result, and what a job's folder keeps of it */
#ifndef EDDIS_MODEL_PLAN_H
#define EDDIS_MODEL_PLAN_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"
#include "lib/model/choice.h"
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

/* Where a worker's time for a batch is known from. */
enum time_source {
    TIME_PROBE,    /* the probe's rates of its device, whose ratios alone mean something */
    TIME_GUESSED,  /* those ratios, set against workers whose seconds are known */
    TIME_GIVEN,    /* the job itself gives it, as of an emulated device */
    TIME_LEARNT,   /* earlier jobs of this command, in seconds */
    TIME_MEASURED, /* the job's own steps */
    TIME_SOURCES
};

/* An algorithm that the plan's job could have been given. */
struct plan_candidate {
    char mode[16], algorithm[16];
    struct sync_options options;
    double predicted_samples_per_s; /* 0: it was not to be had */
    double efficiency;              /* progress per sample beside sync; 0: not known */
    double predicted_progress;      /* the product of the two */
    char lost[128];                 /* why it was not taken, one sentence; "": it was */
};

struct plan_worker {
    int rank, local_rank;
    int node; /* index into plan.node */
    enum device_kind kind;
    char device_id[64];
    char device[96];          /* for people: "emulated 0.50" */
    char cpus[256];           /* its cores as a list; "" : not bound */
    double fixed_s, sample_s; /* time model: a step of b samples takes fixed_s + sample_s * b */
    enum time_source time;    /* where that is from */
    int64_t largest;          /* batch that was measured; 0: none was */
    int group;                /* from 0; all 0 in sync mode, in async mode the rank */
    int64_t batch;            /* samples a step */
    int64_t max;              /* most of them by the job, on that node; 0: any number */
    int64_t piece;            /* most of them at once, by its memory; 0: any number */
    int64_t equal_batch;      /* the same under an equal split */
    double weight;            /* batch / global batch */
    double step_s;            /* predicted */
    double samples_per_s;     /* predicted: batch / step_s */
};

struct plan {
    int64_t generation, version; /* from 1 */
    char mode[16], algorithm[16];
    char reason[256]; /* why this mode, one sentence */
    char change[256]; /* why it took the place of the version before, one sentence; "": the first */
    double gain; /* predicted: samples per second by those of the version before; 0: the first */
    int n_groups;
    struct sync_options options; /* of the algorithm */
    int64_t model_bytes;         /* what the predictions know of the model; 0: unknown */
    struct program program;      /* likewise */
    struct plan_candidate candidate[PLAN_MAX_CANDIDATES]; /* [n_candidates] */
    int n_candidates;
    struct comm_choice *choice; /* owned; what a run has chosen of its communication, or NULL */
    int64_t global_batch;
    int64_t bucket_bytes; /* 0: as the workers measure */
    uint64_t seed;
    bool emulated;     /* some worker emulates a device */
    bool takes_pieces; /* the program holds a worker's piece at once, whatever its batch;
                        * else no batch exceeds a piece; false where no worker has one */
    bool relative;     /* the time model knows only ratios: seconds have no meaning
                        * before the first steps were measured */
    double predicted_samples_per_s; /* of this plan */
    double ideal_samples_per_s;     /* sum over workers of batch / step at that batch */
    double equal_samples_per_s;     /* predicted for an equal split */
    char network[64];               /* that joins the nodes, "10.1.0.0/24"; "" on one node */
    char network_reason[200];       /* why this one, for people */
    char (*node)[256];              /* [n_nodes] host names */
    int n_nodes;
    struct plan_worker *worker; /* [n_workers] by rank */
    int n_workers;
};

/* "probe", "guessed", "given", "learnt", "measured". */
const char *time_source_name(enum time_source s);

/* Returns an empty plan with room for these; NULL without memory. */
struct plan *plan_new(int n_nodes, int n_workers);
void plan_free(struct plan *p);

/* Returns a copy; NULL without memory. */
struct plan *plan_copy(const struct plan *p);

/* Returns JSON text, sorted and indented, the same bytes for the same plan; NULL without memory. */
char *plan_text(const struct plan *p);

/* Parse and check (batches add up, ranks in order, nodes exist).  Returns a plan. */
int plan_parse(const char *text, size_t n, const char *what, struct plan **ret,
               struct eddis_error *err);
int plan_read(const char *path, struct plan **ret, struct eddis_error *err);
int plan_write(const char *path, const struct plan *p, struct eddis_error *err);

#endif
