/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - what lies in the node's shared memory, byte for byte
 *
 * One file per node and generation, made by the agent (0600), mapped by the agent and by the
 * node's workers:
 *
 *     +-----------+  0
 *     | area      |  written by the agent, read by every worker
 *     +-----------+  BOARD_GROUP_AT: int32_t [n_ranks], the group of every rank of the job
 *     | of each   |  board_node_at: int32_t [n_ranks], its node
 *     | rank      |  board_slot_at, BOARD_PLANS times: struct board_slot, int64_t [n_ranks] of
 *     |           |  batches, as many of pieces
 *     +-----------+  board_pages_at
 *     | page of   |  written by local rank 0, read by the agent
 *     |  local 0  |
 *     +-----------+  + BOARD_PAGE_BYTES
 *     | page of   |
 *     |  local 1  |  ...
 *     +-----------+
 *
 * So its size follows from the job's number of ranks and the node's own.
 *
 * Both sides may be of unlike builds of eddis, so every field has a fixed size and `magic` and
 * `version` come first.  A page has one writer: it makes `sequence` odd, writes, makes it even; a
 * reader copies and tries again when the number was odd or has changed.  Neither side makes a
 * system call or waits for the other.
 *
 * The slots are written under the same kind of lock, the area's `sequence`.  Plans are kept as a
 * short history, since a worker may have read ahead under the one before: plan v is in slot
 * v % BOARD_PLANS.
 * Where the mode is open the first plan is version 0, which is in force nowhere: batches of
 * programs that never commit.  The workers' eddis_commit tells the size of the model in its page
 * and waits for version 1, with which mode, algorithm, options and groups are written anew.
 *
 * Where a generation begins, as rank 0 finds it and tells the others:
 *
 *     generation >= 2   the newest whole checkpoint in checkpoint_dir; a damaged one is passed over
 *     otherwise, or     resume_from: that checkpoint, or the newest whole one in it when it is a
 *     when it has none  folder of checkpoints; it must be there, unless it is checkpoint_dir itself
 *     "" there          a fresh start
 *
 * So the agent writes the same two paths in every generation.  The generation is that of the fence:
 * of a job that Slurm starts again not even the first of a later start is 1.
 */
#ifndef EDDIS_BOARD_LAYOUT_H
#define EDDIS_BOARD_LAYOUT_H

#include "lib/model/algorithm.h"
#include "lib/model/choice.h"
#include "lib/model/model_check.h"
#include "lib/model/network_check.h"
#include "lib/model/program_facts.h"

#include <stdint.h>

enum {
    BOARD_MAX_RANKS = 65536, /* of one job */
    BOARD_MAX_LOCAL = 256,   /* of one node */
    BOARD_PLANS = 4,         /* plan versions kept */
    BOARD_RING = 64,         /* recent steps kept in a page */
    BOARD_METRICS = 8,
    BOARD_METRIC_NAME = 24,
    BOARD_COMPUTING = 2, /* EDDIS_PHASE_COMPUTE of lib/eddis.h */
    BOARD_JOB = 128,     /* of a job's id with its 0 */
    BOARD_WHY = 256,     /* of a sentence with its 0 */
    /* Layout 25; an option more of an algorithm is another one. */
    BOARD_VERSION = 25 << 16 | (int)sizeof(struct sync_options),
};

/* Steps that a page may tell of: what is told next is counted, too. */
#define BOARD_MOST_STEPS (INT64_MAX - BOARD_RING)

enum {
    BOARD_TOLD_CALLS = 1,  /* the program tells them itself */
    BOARD_TOLD_OUTPUT = 2, /* another process finds them in what it prints, until it has libeddis
                            * take over the page */
};

#define BOARD_MAGIC UINT64_C(0x64616f6273696465) /* "edisboad", little endian */

/* Time of one step on one worker, ns.  The parts add up to total. */
struct board_times {
    int64_t input_ns;   /* waiting for data */
    int64_t compute_ns; /* forward, backward, update */
    int64_t exposed_ns; /* communication not hidden behind compute */
    int64_t wait_ns;    /* for other workers */
    int64_t total_ns;
};

struct board_step {
    int64_t step;   /* its number */
    int64_t count;  /* samples of this worker */
    int64_t plan;   /* version of the plan it was done under */
    int64_t end_ns; /* clock_now_ns when it ended */
    double work;    /* units of work in its samples; 0: they are alike */
    struct board_times t;
};

struct board_metric {
    char name[BOARD_METRIC_NAME]; /* "" in an unused row */
    double value;
};

struct board_page {
    uint64_t magic;
    uint32_t version, sequence;
    int32_t rank, local_rank;
    int32_t pid;
    int32_t phase;       /* enum eddis_phase */
    int64_t steps_done;  /* number of the last finished step + 1; 0: none yet */
    int64_t steps_total; /* 0: unknown */
    int64_t steps_in_epoch, samples_in_epoch;
    int64_t epochs;       /* 0: unknown */
    int64_t steps_here;   /* done by this process; a resumed one's first step is not number 0 */
    int64_t samples_done; /* by this worker, over all these steps */
    /* Where steps of this worker do not tell how far the job is, since the workers count their own
     * or do what others left out: samples of all workers up to the checkpoint that it went on from,
     * and samples_done at that moment.  Otherwise 0.
     */
    int64_t restored_samples, restored_at;
    int64_t asked_step;   /* highest step its sampler was asked for */
    int64_t plan_version; /* newest version seen */
    int64_t plan_since;   /* first step under the newest version; -1 while not agreed */
    int64_t bytes_sent;
    int64_t overrun_ns;     /* sum over steps of real work beyond an emulated device's time */
    int64_t phase_ns;       /* clock_now_ns when the phase began; waiting in slices is one phase */
    int64_t model_bytes;    /* of the parameters; 0: not registered yet */
    struct program program; /* as told with model_bytes */
    double loss;            /* of the last step that reported one */
    int32_t has_loss;
    int32_t staleness; /* 0 in synchronous modes */
    int64_t waits_for; /* the rank without which this one, waiting for a second or more, cannot go
                        * on, as far as it can tell; otherwise -1 */
    struct board_times sum; /* over all finished steps */
    int64_t exchanges;      /* of models, that these steps began with; 0 in synchronous modes */
    int64_t exchange_ns;    /* sum: how long they waited for them */
    int64_t memory_bytes;   /* most that the program told under step_plan; 0: none */
    int64_t at_once;        /* samples that it holds at most in the present step; 0: none yet */
    int64_t takes_pieces;   /* 1: the program promises to keep to a plan's piece */
    int64_t stops;          /* 1: this worker's program has called eddis_stop */
    int64_t trained;        /* 1: none of the job's steps was left */
    int64_t ended;          /* 1: it has ended its steps, though there may be some left, and waits
                             * for the workers that share its model to end theirs */
    int64_t told;           /* BOARD_TOLD_...: of its steps only the numbers are known, by that */
    int64_t thread;         /* number (gettid) of the one that begins the steps; 0: none yet */
    int64_t step_plan;      /* version that the last finished step was done under; 0: none yet */
    struct board_times sum_before;        /* of the steps before the first one under it ... */
    int64_t steps_before, samples_before; /* ... and how many of what they were */
    struct network_check network; /* of rank 0, in the first generation over a network that an
                                   * earlier job has measured */
    /* Of this process: checkpoints that were written and that failed, the step that the newest of
     * the former is of, and why the last attempt failed; "": it did not.
     */
    int64_t checkpoints_written, checkpoints_failed, checkpoint_step;
    char checkpoint_why[BOARD_WHY];
    int64_t committed;         /* 1: eddis_commit has told model_bytes and network */
    struct model_check models; /* what the workers that share this one's model found of it */
    int64_t loss_step; /* number of the first step whose loss was not finite + 1; 0: none was */
    struct board_metric metric[BOARD_METRICS];
    struct board_step ring[BOARD_RING]; /* step s in slot s % BOARD_RING */
    struct comm_choice choice;          /* of rank 0: as measured, or as the area gives it */
};

enum {
    BOARD_FLAG_CHECKPOINT = 1, /* write a checkpoint at the step from which this plan holds */
    BOARD_FLAG_STOP = 2,       /* that step is the last */
    BOARD_FLAG_PASSING = 4,    /* soon to be replaced: its steps tell nothing of those to come */
    BOARD_FLAGS = BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP | BOARD_FLAG_PASSING,
};

struct board_slot {
    int64_t version; /* from 1; 0: the mode is open */
    int64_t global_batch;
    int64_t flags;  /* BOARD_FLAG_... */
    int64_t period; /* steps between two averages of models; 0: the algorithm has none */
};

/* A plan as it is handed over outside the memory. */
struct board_plan {
    int64_t version, global_batch, flags, period;
    int64_t *batch; /* [n_ranks] of every rank of the job; they add up to global_batch */
    int64_t *piece; /* [n_ranks] most samples that each holds at once; 0: any number */
};

struct board_area {
    uint64_t magic;
    uint32_t version, sequence;
    int32_t n_ranks, n_local;
    int32_t generation;
    int32_t first_rank; /* of this node; its ranks follow one another */
    int32_t emulated;   /* 1: the node's workers emulate other devices */
    int32_t checkpoint_keep;
    int64_t checkpoint_every; /* steps; 0: only when told */
    int64_t bucket_bytes;     /* 0: as the workers measure */
    uint64_t seed;
    int64_t warmup_steps; /* of the learning rate; 0: none */
    int64_t check_models; /* the workers' models are compared every so many steps; 0: never */
    int64_t open_ns;      /* eddis_commit waits so long for an open mode */
    int64_t plan_version; /* newest */
    /* With plan version 1 the next three, and the groups, may change. */
    char mode[16], algorithm[16];
    struct sync_options options;      /* of the algorithm; its period is the plans' */
    struct comm_choice choice;        /* of a plan that is replayed; version 0: to be measured */
    struct network_checks checks;     /* of the network, from this node */
    int64_t fence_generation;         /* by which checkpoints know it; 0: generation */
    char job[BOARD_JOB];              /* whose checkpoints they are, a job's id; "": nobody's */
    char checkpoint_dir[1024];        /* of this job alone; "": none */
    char resume_from[1024];           /* see above; "": a fresh start */
    double fixed_s[BOARD_MAX_LOCAL];  /* emulated devices: a of a + c b, by local rank */
    double sample_s[BOARD_MAX_LOCAL]; /* c, already divided by the device's rate */
    double jitter[BOARD_MAX_LOCAL];   /* relative standard deviation of a step */
    /* Where this process has them, NULL in the memory itself: of every rank of the job its group,
     * from 0, all 0 in sync mode; and its node, numbered in the order of ranks.
     */
    const int32_t *group, *node_of;
};

#define BOARD_PAGE_BYTES 12288
#define BOARD_GROUP_AT   ((uint64_t)sizeof(struct board_area))

/* Return where the ranks' nodes begin, a plan's slot (0 .. BOARD_PLANS - 1) and the pages. */
static inline uint64_t board_node_at(int32_t n_ranks)
{
    return BOARD_GROUP_AT + ((uint64_t)n_ranks + 1) / 2 * 8;
}

static inline uint64_t board_slot_at(int32_t n_ranks, int64_t slot)
{
    return board_node_at(n_ranks) + ((uint64_t)n_ranks + 1) / 2 * 8 +
           (uint64_t)slot * ((uint64_t)sizeof(struct board_slot) + (uint64_t)n_ranks * 16);
}

static inline uint64_t board_pages_at(int32_t n_ranks)
{
    return (board_slot_at(n_ranks, BOARD_PLANS) + 4095) / 4096 * 4096;
}

#ifndef __cplusplus
_Static_assert(sizeof(struct board_page) <= BOARD_PAGE_BYTES, "a page must hold its struct");
_Static_assert(sizeof(struct board_times) == 40 && sizeof(struct board_step) == 80,
               "no padding in shared memory");
_Static_assert(sizeof(struct board_area) % 8 == 0, "what lies behind it is aligned");
#endif

#endif
