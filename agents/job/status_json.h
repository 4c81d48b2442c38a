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
    JOB_LOST, /* its driver died without a summary; set by eddis-status */
    JOB_STATES,
};

/* Status of one worker, from its agent and its board. */
struct worker_status {
    int rank, pid; /* pid 0: not started */
    char node[256];
    char device[96];
    char state[24];       /* "waiting", "start", "input", "compute", "wait", "evaluate",
                           * "checkpoint", "done", "exited", "killed", "lost",
                           * "stopped by eddis" */
    int64_t steps_done;   /* number of its last step + 1 */
    int64_t batch;        /* samples a step under the plan in force */
    int group;            /* in hybrid mode; 0 in sync mode, the rank in async mode */
    int staleness;        /* steps since its model was last drawn to the center variable */
    double samples_per_s; /* its own recent rate */
    double step_ms;       /* median from `figures`; without them the mean of recent steps, or, when
                           * the job has ended, of all steps under the plan in force */
    double compute_ms, input_ms, exposed_ms, wait_ms; /* likewise; wait_ms is the rest of step_ms */
    double expected_ms;     /* step time that the plan predicts; NAN: only ratios are known */
    double relative_speed;  /* expected_ms / (compute_ms + input_ms), 1: as expected; NAN unknown */
    double overrun_ms;      /* emulated device: real work beyond the emulated time, per step */
    double last_step_age_s; /* NAN: no step yet */
    struct step_metrics metrics; /* of its latest steps; plan 0: none */
    double queued_ms;     /* mean time per step that its thread waited for a core; NAN unknown */
    int64_t memory_bytes; /* most held at once under the plan in force; 0: unknown */
    char straggler[16];   /* cause of its slowdown: "compute", "processor", "input", "network"; "":
                           * it is not slow now */
    double straggler_times;      /* factor of its last slowdown; NAN: it was never slow */
    int64_t straggler_since;     /* number of the first slow step */
    double straggler_confidence; /* part of the extra time that the cause explains, 0 to 1 */
    char straggler_says[384];    /* message: "takes 3.0 times as long as before since ..." */
    int64_t piece;               /* most samples held at once in the present step; 0: none yet */
    bool memory_told; /* memory_bytes is the device's, from the program; false: the process's */
};

/* Result of one plan. */
struct plan_status {
    int64_t generation, version;
    int64_t since, steps;           /* first step, -1: not agreed; number of steps measured */
    double samples_per_s;           /* measured; NAN: not yet by all workers */
    double predicted_samples_per_s; /* NAN: only ratios are known */
    double ideal_samples_per_s;     /* sum of the devices' rates at the plan's batches */
    char reason[256];               /* why it replaced the previous plan; "": it is the first */
};

/* Checkpoints of the job, over all its generations. */
struct checkpoint_status {
    int64_t written, failed;
    int64_t newest;   /* step of the newest written checkpoint; -1: none so far */
    char reason[256]; /* why the last attempt failed; "": it succeeded */
};

/* The first failure of the job. */
struct first_failure {
    bool set; /* false: nothing failed */
    int rank; /* -1: not a rank */
    int pid;
    char node[256];
    char what[256]; /* one sentence */
    int code;       /* exit code; -1: ended by a signal */
    int signal;     /* 0: none */
    int64_t step;   /* step at that time; -1: unknown */
};

/* Status of a job. */
struct job_status {
    char job[128]; /* id */
    char name[128];
    enum job_state state;
    char reason[16];   /* "" until the end; ok, rank_exit, rank_signal, oom, node_lost, hang,
                        * timeout, interrupted, preempted, usage, start, internal */
    char message[512]; /* one sentence; "": none */
    char waiting[512]; /* cause of a delay at the start, "agents 6/8 up; ..."; "": none */
    char refused[256]; /* "3 refused requests from 10.1.0.9"; "": none */
    char communication[CHOICE_REASON]; /* measured and chosen settings; "": none; not in JSON */
    int exit_code;                     /* -1 until the end */
    char mode[16], algorithm[16];
    int64_t generation, plan_version; /* 0: none yet */
    int64_t generations, replans;     /* so far: 1 and 0 in an ordinary run */
    int64_t restarts;                 /* after failures of the program */
    int64_t node_losses;              /* restarts after lost nodes */
    int64_t stragglers;               /* how often a worker was found slow */
    double all_slow_times; /* step time / earlier step time, while most workers are slow; or NAN */
    int n_nodes;
    int64_t steps_done, steps_total; /* total 0: unknown */
    int64_t epoch, epochs;           /* present epoch, from 1, and their number; 0: unknown */
    int64_t samples;                 /* trained so far, all workers */
    int64_t global_batch;
    double loss;                 /* last one, weighted mean over workers */
    double accuracy, test_loss;  /* last test_accuracy and test_loss of rank 0 */
    double samples_per_s;        /* samples / longest sum of step times, see metrics.h */
    double recent_samples_per_s; /* over the last seconds; NAN: no steps are made */
    double ideal_samples_per_s;  /* sum of the devices' rates at the batches of each generation's
                                  * last plan, over generations */
    double recent_ideal_samples_per_s; /* the same for the plan in force */
    double predicted_samples_per_s;
    double equal_predicted_samples_per_s;
    double equal_measured_samples_per_s; /* NAN in an ordinary run */
    double start_s;                      /* wall clock, seconds since 1970 */
    double wall_s, eta_s;
    double recovery_s; /* from the last failure to the next step; NAN: none yet */
    bool emulated;
    bool stopped_by_program; /* a worker has called eddis_stop in the present generation */
    int64_t models_compared; /* comparisons of the workers' models in this generation */
    int64_t models_unlike;   /* those that found differences as small as rounding makes */
    double models_largest;   /* largest such difference, relative; NAN: none */
    char models_say[256];    /* message: which model differs, and since when; "": none */
    char loss_says[256];     /* message: which worker's loss was first not finite; "": none */
    bool folder_hangs;       /* the job's folder did not respond at the end; not in JSON */
    bool may_be_left;        /* something may be left on a node (--cleanup); not in JSON */
    struct checkpoint_status checkpoints;
    struct first_failure failure;
    struct plan_status plan[STATUS_MAX_PLANS]; /* [n_plans], the first one and the newest */
    int n_plans;
    struct worker_status *worker; /* [n_workers] by rank; owned */
    int n_workers;
};

/* Set all members to unknown, without workers. */
void job_status_init(struct job_status *s);

/* Replace the workers by n new ones, all unknown.  Return 0 or a negative errno; on failure the old
 * workers stay.
 */
int job_status_resize(struct job_status *s, int n, struct eddis_error *err);

/* Free the workers and set all members to unknown. */
void job_status_fini(struct job_status *s);

/* Return the whole status as indented JSON, which the caller frees; NULL without memory. */
char *job_status_text(const struct job_status *s);

/* Return the status as one line of JSON, without plans and with the workers rank[n] only (NULL: the
 * first n).  The caller frees it; NULL without memory.
 */
char *job_status_line(const struct job_status *s, const int *rank, int n);

/* Return {"schema_version": 1, "job": ..., "workers": [...]}, which the caller frees; NULL without
 * memory.
 */
char *job_status_workers_text(const struct job_status *s);

/* Parse the result of job_status_text or job_status_line, n bytes of a file or an answer and so
 * untrusted. `what` names it in errors.  Return 0, and *ret for job_status_fini, or a negative
 * errno; *ret is written only on success.
 */
int job_status_parse(const char *text, size_t n, const char *what, struct job_status *ret,
                     struct eddis_error *err);

/* Check whether a worker makes no more steps, however it ended. */
bool job_status_has_ended(const struct worker_status *w);

/* Check whether the worker's last step ended longer ago than its step time explains. */
bool job_status_is_stalled(const struct worker_status *w);

/* Return the seconds since any worker that has not ended made a step, if all of them stall while
 * the job runs; otherwise 0.
 */
double job_status_stalled_s(const struct job_status *s);

/* Return the rate of an equal split to compare the job's rate with, in samples/s, and whether it
 * was measured; NAN: there is none.  A prediction is used for emulated devices only, since for real
 * ones it lacks communication and other parts of a step.  It is not used if the plan is the equal
 * split, or if the job is slower than predicted: the cause would slow an equal split down, too.
 */
double job_status_equal(const struct job_status *s, bool *ret_measured);

/* Borrow the name of a state, such as "running". */
const char *job_state_name(enum job_state state);

/* Check whether the job failed: it ended neither well nor by the user, a signal or its time limit.
 * A job in state JOB_LOST counts as failed.
 */
bool job_status_failed(const struct job_status *s);

struct strbuf;

/* Append the summary of a run, "done in 0:07 test accuracy 0.981 ...", and advice if there is any.
 * Control characters are removed from text of other sources. name is the job's name in
 * eddis-status; NULL: its id.
 */
void job_status_print(const struct job_status *s, const char *name, struct strbuf *b);

/* Append `before` and a line about checkpoints that were not written, "7 of 8 checkpoints were not
 * written, the newest checkpoint is of step 40: ..."; nothing if all were written.
 */
void job_status_print_checkpoints(const struct job_status *s, const char *before, struct strbuf *b);

/* Append the line that names the command for the full report. name as in job_status_print. */
void job_status_print_more(const struct job_status *s, const char *name, struct strbuf *b);

/* Append the line that names the commands for a lost job; nothing for other jobs. name as in
 * job_status_print.
 */
void job_status_print_advice(const struct job_status *s, const char *name, struct strbuf *b);

/* Write s seconds as "85 ms" or "7.2 s", and from 9.95 s on as job_status_duration.  Return ret. */
char *job_status_elapsed(double s, char *ret, size_t size);

/* Write s seconds as "0:07", "12:34" or "1:02:03"; size is at least 32.  Return ret. */
char *job_status_duration(double s, char *ret, size_t size);

#endif
