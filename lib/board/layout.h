/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - the layout of the node's shared memory, byte for byte
 *
 * One file per node and generation, made by the agent (0600), mapped by the agent and by the node's
 * workers:
 *
 *     +-----------+  0
 *     | area      |  written by the agent, read by every worker
 *     +-----------+  BOARD_GROUP_AT: int32_t [n_ranks], the group of every rank of the job
 *     | of each   |  board_node_at: int32_t [n_ranks], its node
 *     | rank      |  board_slot_at, BOARD_PLANS times: struct board_slot, int64_t [n_ranks] of
 *     |           |  batches, as many of micro-batch sizes
 *     +-----------+  board_pages_at
 *     | page of   |  written by local rank 0, read by the agent
 *     |  local 0  |
 *     +-----------+  + BOARD_PAGE_BYTES
 *     | page of   |
 *     |  local 1  |  ...
 *     +-----------+
 *
 * So the file's size follows from the numbers of ranks of the job and of the node.
 *
 * Both sides may be of different builds of eddis, so every field has a fixed size, and `magic` and
 * `version` come first.  A page has one writer.  It makes `sequence` odd, writes, and makes it
 * even.  A reader copies the page, and tries again if the number was odd or has changed.  Neither
 * side makes a system call or waits for the other.
 *
 * The slots are written under the same kind of lock, the area's `sequence`.  Plans are kept as a
 * short history, since a worker may have read ahead under the previous one: plan v is in slot v %
 * BOARD_PLANS.  If the mode ("auto") or an option is open, the first plan is version 0, which is
 * never in force; it has the batches of programs that never commit.  eddis_commit writes the size
 * of the model to the page and waits for version 1, with its mode, algorithm, options and groups.
 *
 * The state from which a generation begins, found by rank 0 and sent to the others:
 *
 *     generation >= 2   the newest whole checkpoint in checkpoint_dir; a damaged one is skipped
 *     otherwise, or     resume_from: that checkpoint, or the newest whole one in it when it is a
 *     when it has none  folder of checkpoints; it must be there, unless it is checkpoint_dir itself
 *     "" there          a fresh start
 *
 * So the agent writes the same two paths in every generation.  The generation here is that of the
 * fence, which continues to count if Slurm requeues the job, so it is not 1 in the first generation
 * of a later start.
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
    BOARD_MAX_RANKS = 65536, /* ranks of one job */
    BOARD_MAX_LOCAL = 256,   /* ranks of one node */
    BOARD_PLANS = 4,         /* plan versions kept */
    BOARD_RING = 64,         /* recent steps kept in a page */
    BOARD_METRICS = 8,
    BOARD_METRIC_NAME = 24,
    BOARD_COMPUTING = 2, /* EDDIS_PHASE_COMPUTE of lib/eddis.h */
    BOARD_JOB = 128,     /* bytes of a job's id with its 0 */
    BOARD_WHY = 256,     /* bytes of an error message with its 0 */
    /* Layout 29; one more option of an algorithm makes another layout. */
    BOARD_VERSION = 29 << 16 | (int)sizeof(struct sync_options),
};

/* Limit of a page's steps_done, so that adding recent steps does not overflow. */
#define BOARD_MOST_STEPS (INT64_MAX - BOARD_RING)

enum {
    BOARD_STEPS_CALLS = 1,  /* the program reports its steps itself (eddis_progress) */
    BOARD_STEPS_OUTPUT = 2, /* the wrapper finds steps in the output, until libeddis takes over */
};

#define BOARD_MAGIC UINT64_C(0x64616f6273696465) /* "edisboad", little endian */

/* Time of one step on one worker, ns.  The parts add up to total. */
struct board_times {
    int64_t input_ns;   /* waiting for data */
    int64_t compute_ns; /* forward, backward, update */
    int64_t exposed_ns; /* communication not hidden behind compute */
    int64_t wait_ns;    /* waiting for other workers */
    int64_t total_ns;
};

struct board_step {
    int64_t step;   /* number of the step */
    int64_t count;  /* samples of this worker */
    int64_t plan;   /* plan version under which it was done */
    int64_t end_ns; /* clock_now_ns when it ended */
    double work;    /* units of work in its samples; 0: samples cost the same */
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
    int64_t steps_done;  /* number of the newest finished step + 1; 0: none yet */
    int64_t steps_total; /* 0: unknown */
    int64_t steps_in_epoch, samples_in_epoch;
    int64_t epochs;       /* 0: unknown */
    int64_t steps_here;   /* steps done by this process; after a resume the first is not step 0 */
    int64_t samples_done; /* samples of this worker in its steps_here steps */
    /* Samples of all workers up to the checkpoint resumed from, and samples_done when it was
     * resumed.  Both 0 if steps_done shows the job's progress: if workers do not count their own
     * steps or do samples that others left.
     */
    int64_t restored_samples, restored_at;
    int64_t asked_step;   /* highest step whose samples the program has asked for */
    int64_t plan_version; /* newest plan version that this worker has read */
    int64_t plan_since;   /* first step under plan_version; -1 until it is agreed on */
    int64_t bytes_sent;
    int64_t overrun_ns;  /* sum over steps of real work beyond an emulated device's time */
    int64_t phase_ns;    /* clock_now_ns when the phase began; a wait repeated after timeouts is one
                          * phase */
    int64_t model_bytes; /* bytes of the parameters; 0: not registered yet */
    struct program program; /* set together with model_bytes, its precision by a later step */
    double loss;            /* loss of the newest step that reported one */
    int32_t has_loss;
    int32_t staleness;      /* staleness of the model in steps; 0 in sync mode */
    int64_t waits_for;      /* rank that this one has waited for, for a second or more; -1: none or
                             * unknown */
    struct board_times sum; /* sum over all finished steps */
    int64_t exchanges;      /* exchanges of models before the finished steps; 0 in sync mode */
    int64_t exchange_ns;    /* sum of the times that exchanges of models took: waited for, and
                             * the reads that steps have hidden */
    int64_t memory_bytes;   /* peak memory that the program reported under step_plan; 0: none */
    int64_t at_once;        /* most samples in memory at the same time in this step; 0: none yet */
    int64_t takes_pieces;   /* 1: the program uses a plan's micro-batch size */
    int64_t stops;          /* 1: this worker's program has called eddis_stop */
    int64_t trained;        /* 1: this worker has found no step of the job left */
    int64_t ended; /* 1: the worker has ended its steps by itself and waits for the workers of its
                    * model */
    int64_t steps_source; /* BOARD_STEPS_... if only the numbers of the steps are known; else 0 */
    int64_t own_times;    /* 1: steps of a steps_source have own times; else compute_ns is all */
    int64_t thread;       /* number (gettid) of the thread that begins the steps; 0: none yet */
    int64_t step_plan;    /* plan version of the newest finished step; 0: none yet */
    struct board_times sum_before;        /* sum over the steps before the first under step_plan */
    int64_t steps_before, samples_before; /* number of steps in sum_before, and of their samples */
    struct network_check network; /* set by rank 0, in the first generation, if an earlier job has
                                   * measured the network */
    /* Of this process: numbers of checkpoints written and failed, step of the newest written, and
     * the reason why the last attempt failed; "": it did not.
     */
    int64_t checkpoints_written, checkpoints_failed, checkpoint_step;
    char checkpoint_why[BOARD_WHY];
    int64_t committed;         /* 1: eddis_commit has set model_bytes and network */
    struct model_check models; /* result of comparing the models of the group's workers */
    int64_t loss_step;         /* first step with a loss that is not finite, + 1; 0: none */
    struct board_metric metric[BOARD_METRICS];
    struct board_step ring[BOARD_RING]; /* step s in slot s % BOARD_RING */
    struct comm_choice choice;          /* set by rank 0: measured, or as in the area */
};

enum {
    BOARD_FLAG_CHECKPOINT = 1, /* write a checkpoint at the first step of this plan */
    BOARD_FLAG_STOP = 2,       /* the first step of this plan is the last step */
    BOARD_FLAG_PASSING = 4,    /* will soon be replaced: its steps do not predict later ones */
    BOARD_FLAGS = BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP | BOARD_FLAG_PASSING,
};

struct board_slot {
    int64_t version; /* from 1; 0: the mode is open */
    int64_t global_batch;
    int64_t flags;  /* BOARD_FLAG_... */
    int64_t period; /* steps between two averages of models; 0: the algorithm has none */
};

/* A plan outside the shared memory. */
struct board_plan {
    int64_t version, global_batch, flags, period;
    int64_t *batch; /* [n_ranks] samples of every rank of the job; they add up to global_batch */
    int64_t *piece; /* [n_ranks] largest micro-batch of each rank; 0: any */
};

struct board_area {
    uint64_t magic;
    uint32_t version, sequence;
    int32_t n_ranks, n_local;
    int32_t generation;
    int32_t first_rank; /* first rank of this node; the ranks of a node are consecutive */
    int32_t emulated;   /* 1: the node's workers emulate other devices */
    int32_t checkpoint_keep;
    int64_t checkpoint_every; /* steps between checkpoints; 0: only if a plan asks for one */
    int64_t bucket_bytes;     /* 0: the workers measure it */
    uint64_t seed;
    int64_t warmup_steps; /* warm-up of the learning rate; 0: none */
    int64_t check_models; /* steps between comparisons of the workers' models; 0: never */
    int64_t open_ns;      /* longest wait of eddis_commit for a plan after plan 0 */
    int64_t mode_named;   /* 1: the job names the mode, so that plan 0 has it; 0: "auto" */
    int64_t plan_version; /* newest plan version */
    /* mode, algorithm, options and the groups may change with plan version 1. */
    char mode[16], algorithm[16];
    struct sync_options options;      /* the algorithm's options, but its period is in each plan */
    struct comm_choice choice;        /* settings of a replayed plan; version 0: to be measured */
    struct network_checks checks;     /* links of this node to measure again */
    int64_t fence_generation;         /* generation for fences and checkpoints; 0: `generation` */
    char job[BOARD_JOB];              /* id of the job that owns the checkpoints; "": none */
    char checkpoint_dir[1024];        /* folder for this job's checkpoints alone; "": none */
    char resume_from[1024];           /* checkpoint or folder of checkpoints to resume; "": none */
    double fixed_s[BOARD_MAX_LOCAL];  /* emulated device of a local rank: fixed seconds of a step */
    double sample_s[BOARD_MAX_LOCAL]; /* seconds per sample, already divided by the device's rate */
    double jitter[BOARD_MAX_LOCAL];   /* relative standard deviation of a step's time */
    /* Pointers of this process, NULL in the shared memory, to arrays [n_ranks]: the group of every
     * rank, from 0, all 0 in sync mode; and its node, numbered in the order of ranks.
     */
    const int32_t *group, *node_of;
};

#define BOARD_PAGE_BYTES 12288
#define BOARD_GROUP_AT   ((uint64_t)sizeof(struct board_area))

/* Return the offset of the ranks' nodes in the file. */
static inline uint64_t board_node_at(int32_t n_ranks)
{
    return BOARD_GROUP_AT + ((uint64_t)n_ranks + 1) / 2 * 8;
}

/* Return the offset of a plan's slot (0 .. BOARD_PLANS - 1) in the file. */
static inline uint64_t board_slot_at(int32_t n_ranks, int64_t slot)
{
    return board_node_at(n_ranks) + ((uint64_t)n_ranks + 1) / 2 * 8 +
           (uint64_t)slot * ((uint64_t)sizeof(struct board_slot) + (uint64_t)n_ranks * 16);
}

/* Return the offset of the workers' pages in the file. */
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
