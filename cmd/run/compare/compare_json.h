/* SPDX-License-Identifier: Apache-2.0 */
/* compare_json.h - the runs and the result of a comparison, and compare.json
 *
 * compare.json is replaced after each run, so that the same command goes on after the last run that
 * has ended. An unknown value is NAN in the structs and null in the file.
 */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_JSON_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_JSON_H

#include "agents/job/curve.h"
#include "cmd/run/request/compare_ask.h"
#include "lib/base/error.h"
#include "lib/model/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMPARE_SCHEMA_VERSION = 1, COMPARE_MOST_RUNS = SYNC_MODES * COMPARE_MOST_ROUNDS };

/* How a run has ended, or that it has not */
enum compare_state {
    COMPARE_OPEN,    /* not run, or stopped: to be run */
    COMPARE_REACHED, /* has reached the target; without one, has trained to its end */
    COMPARE_ENDED,   /* has trained to its end without reaching the target */
    COMPARE_LATE,    /* ended by eddis: took COMPARE_LATE_TIMES as long as the best */
    COMPARE_FAILED,  /* the job failed */
    COMPARE_NOT_RUN, /* the job cannot be trained in this mode */
    COMPARE_STATES
};

/* A run whose time to the target exceeds the best one's this many times is ended. */
#define COMPARE_LATE_TIMES 3

/* One run of a mode. */
struct compare_run {
    char mode[16];
    int round; /* from 0 */
    uint64_t seed;
    int state;     /* enum compare_state */
    char why[512]; /* why it failed or was not run, one sentence; "": neither */
    char job[256]; /* name of the job's folder in the folder of the comparison */
    char algorithm[16];
    int writers;    /* number of workers or groups that train a model of their own; 0: unknown */
    int64_t period; /* steps between two averages of models; 0: none */
    char wire[16];  /* format of gradients between nodes; "": unknown */
    int64_t global_batch, model_bytes; /* 0: unknown */
    double samples_per_s;
    double seconds;  /* from the first step to the target, or to the end of a run without it */
    int64_t samples; /* trained in this time */
    double took_s;   /* from start to end of the job, for estimates */
    double accuracy, test_loss, loss; /* at the end; loss: the smoothed training loss */
    struct curve curve;
};

/* The figures of a mode over its rounds; see compare_rows.h. */
struct compare_row {
    char mode[16];
    int state;     /* the best state of its runs: reached, ended, late, failed, not run; or open */
    char why[512]; /* as of its first run that has one */
    int rounds;    /* runs whose figures count */
    char algorithm[16];
    int writers;
    int64_t period;
    char wire[16];
    int64_t global_batch, model_bytes;
    double samples_per_s;
    bool above;        /* seconds and samples are lower limits: not all runs reached the target */
    double seconds;    /* mean until the target; NAN: no run has reached it, or was cut off */
    double samples;    /* likewise */
    double final;      /* mean final value: test accuracy, or else smoothed training loss */
    double interval;   /* half of the 95 % interval of `final`; NAN: fewer than two rounds */
    double efficiency; /* samples of sync / samples of this mode, for the same progress */
    char by[8];        /* what that progress is: "target" or "loss"; "": no efficiency */
};

/* Write the name of the folder of a mode's run in a round, from 0, to ret [size]. */
void compare_run_folder(const char *mode, int round, char *ret, size_t size);

/* A comparison. */
struct compare {
    int64_t schema_version;
    char key[9]; /* checksum of job, modes, target and rounds, 8 hexadecimal digits */
    char name[128];
    uint64_t seed; /* of the first round */
    int rounds;
    struct compare_target target;
    bool finished;                      /* no run is open */
    char best[16];                      /* mode that won; "": none */
    char final_is[16];                  /* what row.final is: "accuracy" or "loss"; "": unknown */
    struct compare_row row[SYNC_MODES]; /* [n_rows] in the order of the runs */
    int n_rows;
    struct compare_run run[COMPARE_MOST_RUNS]; /* [n_runs] round by round */
    int n_runs;
};

/* Names of the states: "open", "reached", "ended", "late", "failed", "not run". */
extern const char *const compare_state_names[COMPARE_STATES];

/* Return the comparison as indented JSON, for the caller to free; NULL without memory. */
char *compare_text(const struct compare *c);

/* Replace the file by the comparison. Return 0 or a negative errno. */
int compare_write(const struct compare *c, const char *path, struct eddis_error *err);

/* Parse n bytes of text, which compare_text has made, into a new *ret, for the caller to free;
 * `what` names the text in errors. The text is not trusted. Return 0 or a negative errno.
 */
int compare_parse(const char *text, size_t n, const char *what, struct compare **ret,
                  struct eddis_error *err);

/* Read a comparison from the file into a new *ret, for the caller to free. Return 0 or a negative
 * errno; -ENOENT: there is no file; -EINVAL: it is damaged.
 */
int compare_read(const char *path, struct compare **ret, struct eddis_error *err);

#endif
