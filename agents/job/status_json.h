/* SPDX-License-Identifier: Apache-2.0 */
/* status_json.h - a job's progress and result, and their conversion to and from JSON
 *
 * One struct, filled by the driver alone, is the source of every value that users or programs see,
 * so all of them agree:
 *
 *     GET /v1/job          job_status_text(s)            eddis-status while the job runs
 *     GET /v1/workers      job_status_workers_text(s)    the same workers without the job
 *     metrics.jsonl        job_status_line(s, ...), one line a second, with a few of the workers
 *                                                   and without the list of plans
 *     summary.json         job_status_text(s) at the end, with state "ended"
 *     the printed summary  job_status_print
 *     eddis-status --json  job_status_text(s)
 *
 * Units are part of the key.  An unknown value is NAN in the struct and null in JSON.
 */
#ifndef EDDIS_AGENTS_JOB_STATUS_JSON_H
#define EDDIS_AGENTS_JOB_STATUS_JSON_H

#include "lib/base/error.h"
#include "lib/model/choice.h"
#include "lib/model/gpu_state.h"
#include "lib/model/plan_left.h"
#include "lib/model/step_window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_SCHEMA_VERSION = 1, STATUS_MAX_WORKERS = 65536, STATUS_MAX_PLANS = 32 };

/* State of a job, in this order. */
enum job_state {
    JOB_STARTING,
    JOB_PROFILING,
    JOB_PLANNING,
    JOB_LAUNCHING,
    JOB_RUNNING,
    JOB_STOPPING,
    JOB_ENDED,
    JOB_LOST, /* the driver died without a summary; this state is set by eddis-status */
    JOB_STATES,
};

/* Status of one worker, from its agent and its board. */
struct worker_status {
    int rank, pid; /* pid 0: not started */
    char node[256];
    char device[96];
    /* "waiting", "start", "input", "compute", "wait", "evaluate", "checkpoint", "done", "exited",
     * "killed", "lost", "stopped by eddis"
     */
    char state[24];
    int64_t steps_done;   /* number of the worker's last step + 1 */
    int64_t batch;        /* samples a step under the plan in force */
    int group;            /* group in hybrid and local mode; 0 in sync, the rank in async mode */
    int staleness;        /* steps since the last exchange of models */
    double samples_per_s; /* recent rate of this worker */
    /* median of a step from `metrics`; without them the mean of recent steps, or, when the job has
     * ended, of all steps under the plan in force
     */
    double step_ms, compute_ms, input_ms, exposed_ms, wait_ms; /* the last four add up to step_ms */
    double expected_ms;     /* step time that the plan predicts; NAN: the plan knows only ratios */
    double relative_speed;  /* expected_ms / (compute_ms + input_ms), 1: as expected; NAN unknown */
    double overrun_ms;      /* emulated device: real work beyond the emulated time, per step */
    double last_step_age_s; /* time since the last step; NAN: no step yet */
    struct step_metrics metrics; /* of the worker's latest steps; plan 0: none */
    double queued_ms;     /* mean time per step that the thread waited for a core; NAN: unknown */
    int64_t memory_bytes; /* peak of memory under the plan in force; 0: unknown */
    /* cause of a slowdown: "compute", "processor", "input", "network"; "": worker is not slow */
    char straggler[16];
    double straggler_times;      /* factor of the last slowdown; NAN: the worker was never slow */
    int64_t straggler_since;     /* number of the first slow step */
    double straggler_confidence; /* fraction of additional time that the cause explains */
    char straggler_says[384];    /* message: "takes 3.0 times as long as before since ..." */
    struct gpu_state gpu; /* of its GPU, of several of the one that slows it; reading 0: none */
    struct gpu_state gpus[GPU_MOST]; /* of all GPUs, if it has several */
    int n_gpus;
    int64_t piece;    /* most samples held at one time in the present step; 0: none yet */
    bool memory_told; /* memory_bytes is device memory, from the program; false: process memory */
};

/* Result of one plan. */
struct plan_status {
    int64_t generation, version;
    int64_t since, steps;           /* first step, -1: not agreed; number of steps measured */
    double samples_per_s;           /* measured rate; NAN: some worker has measured no step yet */
    double predicted_samples_per_s; /* predicted rate; NAN: the plan knows only ratios */
    double ideal_samples_per_s;     /* sum of the devices' rates at the plan's batches */
    char reason[256]; /* why this plan replaced the previous plan; "": it is the first plan */
};

/* Checkpoints of the job, over all its generations. */
struct checkpoint_status {
    int64_t written, failed;
    int64_t newest;   /* step of the newest complete checkpoint; -1: none so far */
    char reason[256]; /* why the last attempt to write a checkpoint failed; "": it succeeded */
};

/* The first failure of the job. */
struct first_failure {
    bool set;      /* false: nothing failed */
    int rank, pid; /* rank -1: not a rank */
    char node[256];
    char what[256];   /* one sentence */
    int code, signal; /* exit code, -1: ended by a signal; signal, 0: none */
    int64_t step;     /* step at which the failure happened; -1: unknown */
};

/* Status of a job. */
struct job_status {
    char job[128]; /* id of the job */
    char name[128];
    enum job_state state;
    char reason[16];   /* "" until the end; ok, rank_exit, rank_signal, oom, node_lost, hang,
                        * timeout, interrupted, preempted, usage, start, internal */
    char message[512]; /* one sentence; "": none */
    char waiting[512]; /* cause of a delay at the start, "agents 6/8 up; ..."; "": none */
    char refused[256]; /* rejected requests, "3 refused requests from 10.1.0.9"; "": none */
    char communication[CHOICE_REASON]; /* measured and chosen settings; "": none; not in JSON */
    int exit_code;                     /* exit code of the job; -1 until the end */
    char mode[16], algorithm[16];
    int64_t generation, plan_version; /* of the present plan; 0: none yet */
    int64_t generations, replans;     /* numbers so far: 1 and 0 in an ordinary run */
    int64_t restarts;                 /* number of restarts after failures of the program */
    int64_t node_losses;              /* number of restarts after lost nodes */
    int64_t stragglers;               /* how many times a worker was found slow */
    double all_slow_times; /* step time / earlier step time, if most workers are slow, or NAN */
    int n_nodes, n_workers, n_plans, n_left; /* nodes that have workers; lengths of lists below */
    int64_t steps_done, steps_total;         /* total 0: unknown */
    int64_t epoch, epochs; /* present epoch, from 1, and their number; 0: unknown */
    int64_t samples;       /* samples trained so far by all workers */
    int64_t global_batch;
    double loss;                 /* last loss, weighted mean over workers */
    double accuracy, test_loss;  /* last test_accuracy and test_loss of rank 0 */
    double samples_per_s;        /* samples / longest sum of step times, see metrics.h */
    double recent_samples_per_s; /* rate over the last seconds; NAN: no steps are made */
    double ideal_samples_per_s;  /* sum of the devices' rates at the batches of each generation's
                                  * last plan, over generations */
    double recent_ideal_samples_per_s; /* sum of the devices' rates for the plan in force */
    double predicted_samples_per_s;
    double equal_predicted_samples_per_s;
    double equal_measured_samples_per_s; /* NAN: the equal split was not measured */
    double start_s; /* start of the job by the wall clock, seconds since 1970 */
    double wall_s, eta_s;
    double recovery_s; /* time from the last failure to the next step; NAN: no such step yet */
    bool emulated;
    bool stopped_by_program; /* a worker has called eddis_stop in the present generation */
    int64_t models_compared; /* comparisons of the workers' models in this generation */
    int64_t models_unlike;   /* number of comparisons that found differences by rounding */
    double models_largest;   /* largest relative difference by rounding; NAN: none */
    char models_say[256];    /* message: which model differs, and since when; "": none */
    char loss_says[256];     /* message: which worker's loss was first not finite; "": none */
    bool folder_hangs;       /* the job's folder did not respond at the end; not in JSON */
    bool may_be_left;        /* processes or files may remain on a node (--cleanup); not in JSON */
    struct checkpoint_status checkpoints;
    struct plan_left left[PLAN_MAX_LEFT]; /* [n_left] workers that the present plan leaves out */
    struct first_failure failure;
    struct plan_status plan[STATUS_MAX_PLANS]; /* [n_plans] the first plan and the newest plans */
    struct worker_status *worker;              /* [n_workers] by rank; owned */
};

/* Set all members of *s to "unknown", with no workers. */
void job_status_init(struct job_status *s);

/* Replace the table of workers by n workers with unknown values. Return 0 or a negative errno; on
 * failure the old table stays.
 */
int job_status_resize(struct job_status *s, int n, struct eddis_error *err);

/* Free the table of workers, and set all members to "unknown". */
void job_status_fini(struct job_status *s);

/* Return the whole status as indented JSON, which the caller frees; NULL without memory. */
char *job_status_text(const struct job_status *s);

/* Return the status as one line of JSON, which the caller frees; NULL without memory. The line has
 * no plans, and only the workers with the ranks in rank [n] (NULL: the first n workers).
 */
char *job_status_line(const struct job_status *s, const int *rank, int n);

/* Return {"schema_version": 1, "job": ..., "workers": [...]} as text, which the caller frees; NULL
 * without memory.
 */
char *job_status_workers_text(const struct job_status *s);

/* Parse n bytes of text that job_status_text or job_status_line has made, into *ret, which the
 * caller frees with job_status_fini. The text comes from a file or a network, so it is not trusted;
 * `what` names it in errors. Return 0 or a negative errno; *ret is written only on success.
 */
int job_status_parse(const char *text, size_t n, const char *what, struct job_status *ret,
                     struct eddis_error *err);

/* Check whether a worker has ended, in any way. */
bool job_status_has_ended(const struct worker_status *w);

/* Check whether more time has passed since the worker's last step than its step time explains. */
bool job_status_is_stalled(const struct worker_status *w);

/* If the job runs and all its workers that have not ended are stalled, return the seconds since the
 * latest step of any of them; otherwise 0.  If the workers report steps without samples,
 * job_status_step_ms returns the longest step_ms of those not stalled; otherwise NAN.
 */
double job_status_stalled_s(const struct job_status *s);
double job_status_step_ms(const struct job_status *s);

/* Return the rate of an equal split, in samples/s, with which to compare the job's rate; NAN: none
 * is known. Store in *ret_measured whether it was measured or predicted. A prediction is used for
 * emulated devices only, since for real devices it lacks communication and other parts of a step.
 * It is not used if the plan is the equal split, or if the job is slower than predicted: the cause
 * would slow an equal split down, too.
 */
double job_status_equal(const struct job_status *s, bool *ret_measured);

/* Borrow the name of a state, such as "running". */
const char *job_state_name(enum job_state state);

/* Check whether the job failed: it did not end successfully, and was not ended by the user, a
 * signal or its time limit. A job in state JOB_LOST counts as failed.
 */
bool job_status_failed(const struct job_status *s);

struct strbuf;

/* Append to b the summary of a run, "done in 0:07 test accuracy 0.981 ...", and advice if there is
 * any. Control characters are removed from texts that do not come from eddis itself. name: the name
 * of the job for eddis-status; NULL: the job's id.
 */
void job_status_print(const struct job_status *s, const char *name, struct strbuf *b);

/* If checkpoints could not be written, append `before` and a line like "7 of 8 checkpoints were not
 * written, the newest checkpoint is of step 40: ..."; otherwise append nothing.
 */
void job_status_print_checkpoints(const struct job_status *s, const char *before, struct strbuf *b);

/* Append the line that names the command for the full report. name is as for job_status_print. */
void job_status_print_more(const struct job_status *s, const char *name, struct strbuf *b);

/* If the job is lost, append the line that names the commands for a lost job. name is as for
 * job_status_print.
 */
void job_status_print_advice(const struct job_status *s, const char *name, struct strbuf *b);

/* Format s seconds in ret as "85 ms", "7.2 s", or, from 9.95 s on, as job_status_duration. */
char *job_status_elapsed(double s, char *ret, size_t size);

/* Format s seconds in ret as "0:07", "12:34" or "1:02:03"; size is at least 32. Return ret. */
char *job_status_duration(double s, char *ret, size_t size);

#endif
