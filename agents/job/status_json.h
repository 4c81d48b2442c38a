/* SPDX-License-Identifier: Apache-2.0 */
/* status_json.h - what a job is doing and how it ended, to and from JSON
 *
 * One struct, filled by the driver alone, is the source of every figure that people or programs
 * see, so that they agree:
 *
 *     GET /v1/job          job_status_text(s)     eddis-status, live
 *     GET /v1/workers      job_status_workers_text(s)    the same workers without the job
 *     metrics.jsonl        job_status_line(s, ...), one line a second, with a few of the workers
 *                                               and without the list of plans
 *     summary.json         job_status_text(s) at the end, with state "ended"
 *     the printed summary  job_status_print
 *     eddis-status --json  job_status_text(s)
 *
 * Units are part of the key.  A figure that is not known is NAN here and null in JSON.
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

enum job_state {
    JOB_STARTING,
    JOB_PROFILING,
    JOB_PLANNING,
    JOB_LAUNCHING,
    JOB_RUNNING,
    JOB_STOPPING,
    JOB_ENDED,
    JOB_LOST, /* eddis-status says so of a job whose driver died without a summary */
    JOB_STATES,
};

/* The agent's and board's view of one worker. */
struct worker_status {
    int rank, pid; /* pid 0: not started */
    char node[256];
    char device[96];
    char state[24];       /* "waiting", "start", "input", "compute", "wait", "evaluate",
                           * "checkpoint", "done", "exited", "killed", "lost",
                           * "stopped by eddis" */
    int64_t steps_done;   /* number of its last step + 1 */
    int64_t batch;        /* of the plan in force */
    int group;            /* of hybrid mode; 0 in sync mode, the rank in async mode */
    int staleness;        /* steps since its model was last drawn to the centre */
    double samples_per_s; /* recent: its own share */
    double step_ms;       /* medians of `figures`, and the rest of it as wait; while there are none,
                           * means of recent steps, in the end of all under the plan in force */
    double compute_ms, input_ms, exposed_ms, wait_ms; /* add up to step_ms */
    double expected_ms;     /* step time of the plan's model for its batch; NAN: relative model */
    double relative_speed;  /* expected / (compute + input), 1 = as expected; NAN unknown */
    double overrun_ms;      /* emulated: real work beyond the emulated time, per step */
    double last_step_age_s; /* NAN: no step yet */
    struct step_figures figures; /* of its latest steps; plan 0: none */
    double queued_ms;     /* of such a step, mean: its thread waited for a processor; NAN unknown */
    int64_t memory_bytes; /* most held at once under the plan in force; 0: unknown */
    char straggler[16];   /* what makes it slow while it is one: "compute", "processor", "input",
                           * "network"; "": it is none */
    double straggler_times;  /* as long as before, of the last time that it was one; NAN never */
    int64_t straggler_since; /* number of the first step of that */
    double straggler_confidence; /* 0 to 1: part of the extra time that the cause explains */
    char straggler_says[384];    /* of one: "takes 3.0 times as long as before since ..." */
    int64_t piece;    /* most samples that it holds at once in its present step; 0: none yet */
    bool memory_told; /* it is of the device, as the program tells; else of the process */
};

/* What one plan gave. */
struct plan_status {
    int64_t generation, version;
    int64_t since, steps;           /* its first step, -1: not agreed on; how many under it count */
    double samples_per_s;           /* measured; NAN: not by all workers */
    double predicted_samples_per_s; /* NAN: ratios only were known */
    double ideal_samples_per_s;     /* sum of the devices at the batches that it gave them */
    char reason[256];               /* why it took the place of the one before; "": the first */
};

/* Of the job, over all its generations. */
struct checkpoint_status {
    int64_t written, failed;
    int64_t newest;   /* step of the newest that was written; -1: none so far */
    char reason[256]; /* why the last one that was begun was not written; "": it was */
};

/* What failed first. */
struct first_failure {
    bool set;
    int rank; /* -1: not a rank */
    int pid;
    char node[256];
    char what[256]; /* one sentence */
    int code;       /* exit code, -1: a signal */
    int signal;     /* 0: none */
    int64_t step;   /* it was at; -1 unknown */
};

struct job_status {
    char job[128]; /* id */
    char name[128];
    enum job_state state;
    char reason[16];   /* "" until the end; ok, rank_exit, rank_signal, oom, node_lost, hang,
                        * timeout, interrupted, preempted, usage, start, internal */
    char message[512]; /* one sentence, "" when there is nothing to say */
    char waiting[512]; /* what the start waits for, "agents 6/8 up; waiting for ..."; "" nothing */
    char refused[256]; /* "3 refused requests from 10.1.0.9"; "" none */
    /* As this run has measured and chosen it; "": not; not in the JSON. */
    char communication[CHOICE_REASON];
    int exit_code; /* -1 until the end */
    char mode[16], algorithm[16];
    int64_t generation, plan_version; /* 0: none yet */
    int64_t generations, replans;     /* so far: 1 and 0 in an ordinary run */
    int64_t restarts;                 /* after failures of the program */
    int64_t node_losses;              /* the same after lost nodes */
    int64_t stragglers;               /* how often a worker was named */
    double all_slow_times; /* as long as before, while most workers take that at once; NAN: no */
    int n_nodes;
    int64_t steps_done, steps_total; /* total 0: unknown */
    int64_t epoch, epochs;           /* epoch under way, from 1; 0: unknown */
    int64_t samples;                 /* trained so far, all workers */
    int64_t global_batch;
    double loss;                 /* last, weighted over workers */
    double accuracy, test_loss;  /* last test_accuracy and test_loss of rank 0 */
    double samples_per_s;        /* samples over the longest sum of step times; see metrics.h */
    double recent_samples_per_s; /* over the last seconds; NAN: no steps are made */
    double ideal_samples_per_s;  /* sum of the devices at the batch of each generation's last plan,
                                    over generations */
    double recent_ideal_samples_per_s; /* the same of the plan in force */
    double predicted_samples_per_s;
    double equal_predicted_samples_per_s;
    double equal_measured_samples_per_s; /* NAN in an ordinary run */
    double start_s;                      /* wall clock, seconds since 1970 */
    double wall_s, eta_s;
    double recovery_s; /* from the last failure to the next step; NAN: none yet */
    bool emulated;
    bool stopped_by_program; /* a worker has called eddis_stop in the present generation */
    int64_t models_compared; /* how often the workers' models were, in this generation ... */
    int64_t models_unlike;   /* ... and differed by no more than rounding does, */
    double models_largest;   /* by so much at most; NAN: not at all */
    char models_say[256];    /* which model differs, and since when; "": none */
    char loss_says[256];     /* whose loss was not finite first, and when; "": nobody's */
    bool folder_hangs;       /* it did not answer in the end; not in the JSON */
    bool may_be_left;        /* something on a node, for eddis-run --cleanup; not in the JSON */
    struct checkpoint_status checkpoints;
    struct first_failure failure;
    struct plan_status plan[STATUS_MAX_PLANS]; /* [n_plans], the first one and the newest */
    int n_plans;
    struct worker_status *worker; /* [n_workers] by rank; owned */
    int n_workers;
};

/* Make everything unknown, without workers. */
void job_status_init(struct job_status *s);

/* Make room for n workers, all unknown, and drop those that were there. */
int job_status_resize(struct job_status *s, int n, struct eddis_error *err);

void job_status_fini(struct job_status *s);

/* Returns JSON text, NULL without memory: indented, with all workers; one line with n of them. */
char *job_status_text(const struct job_status *s);
char *job_status_line(const struct job_status *s, const int *rank, int n);

/* Returns {"schema_version": 1, "job": ..., "workers": [...]}. */
char *job_status_workers_text(const struct job_status *s);

/* Parse what job_status_text wrote (a file or an answer, hence untrusted); workers are optional.
 * *ret is as job_status_init left it after a failure, and freed by job_status_fini.
 */
int job_status_parse(const char *text, size_t n, const char *what, struct job_status *ret,
                     struct eddis_error *err);

/* Whether a worker is past its last step, however it ended. */
bool job_status_has_ended(const struct worker_status *w);

/* Whether its last step ended longer ago than its steps explain. */
bool job_status_is_stalled(const struct worker_status *w);

/* Seconds without a step of any worker that has not ended, while the job runs; 0: steps are made.
 */
double job_status_stalled_s(const struct job_status *s);

/* Return the rate of an equal split that the job's own may be held against, and whether it was
 * measured; NAN: none.  A prediction knows real devices alone, without communication and what else
 * a job's steps take, so it is left out there, where the plan is the equal split, and where the job
 * is slower than predicted, for whatever holds it up would hold up an equal split as well.
 */
double job_status_equal(const struct job_status *s, bool *ret_measured);

const char *job_state_name(enum job_state state); /* "running" */

/* Whether the job came to an end that nobody wanted: neither well nor, to go on later, by hand, by
 * a signal or since its time was over.  One that is lost has failed.
 */
bool job_status_failed(const struct job_status *s);

struct strbuf;

/* Append the summary that a run ends with, "done in 0:07   test accuracy 0.981 ...", one or two
 * lines, and advice.  Foreign text in it is stripped of control characters.  name: what
 * eddis-status finds the job by, NULL: its id.
 */
void job_status_print(const struct job_status *s, const char *name, struct strbuf *b);

/* Append the line that tells of checkpoints which were not written, "7 of 8 checkpoints were not
 * written, the newest is of step 40: ...", behind `before`; nothing where there are none.
 */
void job_status_print_checkpoints(const struct job_status *s, const char *before, struct strbuf *b);

/* Append the line that says where more is to be read, with the same name. */
void job_status_print_more(const struct job_status *s, const char *name, struct strbuf *b);

/* Append the line of it that says what to do about a lost job; of another nothing. */
void job_status_print_advice(const struct job_status *s, const char *name, struct strbuf *b);

/* Write seconds as "85 ms", "7.2 s", and from 10 s on as job_status_duration does.  Returns ret. */
char *job_status_elapsed(double s, char *ret, size_t size);

/* Write seconds as "0:07", "12:34" or "1:02:03"; size at least 32.  Returns ret. */
char *job_status_duration(double s, char *ret, size_t size);

#endif
