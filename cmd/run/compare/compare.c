/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - trains a job in one mode after another and compares them */
#include "compare.h"

#include "cmd/run/compare/compare_estimate.h"
#include "cmd/run/compare/compare_facts.h"
#include "cmd/run/compare/compare_folder.h"
#include "cmd/run/compare/compare_modes.h"
#include "cmd/run/compare/compare_rows.h"
#include "cmd/run/compare/compare_table.h"
#include "cmd/run/compare/compare_watch.h"
#include "cmd/shared/number.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/program.h"
#include "lib/base/signal_fd.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often agents report at most: the target is then seen soon. Agents of more hosts report as the
 * job says.
 */
enum { HEARTBEAT_MS = 200, MANY_HOSTS = 64 };

/* A comparison that is being made. */
struct comparing {
    struct run_request *q;
    struct compare_folder folder;
    struct compare *c;
    struct strlist options[SYNC_MODES]; /* of each mode of q->ask, for its eddis-run */
    int signals;
    bool shown; /* a line of progress is on the terminal */
};

/* ---- output ---- */

/* Check whether text for people is printed. */
static bool talks(const struct comparing *m)
{
    return !m->q->quiet && !m->q->json;
}

/* Remove the line of progress from the terminal. */
static void clear_line(struct comparing *m)
{
    if (m->shown) {
        fputs("\r\033[K", stdout);
        fflush(stdout);
    }
    m->shown = false;
}

/* Print a line, unless output is quiet or JSON. */
static void say(struct comparing *m, const char *line)
{
    if (!talks(m))
        return;
    clear_line(m);
    puts(line);
    fflush(stdout);
}

/* Show the progress of a run on a terminal. A callback of compare_watch. */
static void on_progress(void *ctx, const struct job_status *s, const struct curve_point *p)
{
    struct comparing *m = ctx;
    char rate[NUMBER_SIZE];

    if (!talks(m) || !p->samples || !isatty(STDOUT_FILENO))
        return;
    printf("\r\033[K%s: %.0f s, %s samples/s", s->mode, p->seconds,
           number_rate(s->recent_samples_per_s, rate));
    if (isfinite(p->loss))
        printf(", loss %.4g", p->loss);
    if (isfinite(p->accuracy))
        printf(", accuracy %.4g", p->accuracy);
    fflush(stdout);
    m->shown = true;
}

/* Print what will be trained, where its files are, and how long it will take. */
static void say_head(struct comparing *m)
{
    cleanup_strbuf struct strbuf b = { 0 };
    char target[64], rest[160], runs[NUMBER_SIZE];
    int done = 0;

    for (int i = 0; i < m->c->n_runs; i++)
        done += m->c->run[i].state != COMPARE_OPEN;
    compare_target_text(&m->c->target, target, sizeof target);
    strbuf_addf(&b, "compare %s: ", m->c->name);
    for (int i = 0; i < m->q->ask.n_modes; i++)
        strbuf_addf(&b, "%s%s", i ? ", " : "", sync_mode_name(m->q->ask.mode[i]));
    strbuf_addf(&b, " until %s; %s, seed %llu", target, number_of(m->c->n_runs, "run", runs),
                (unsigned long long)m->c->seed);
    if (m->c->rounds > 1)
        strbuf_addf(&b, " to %llu", (unsigned long long)m->c->seed + (unsigned)m->c->rounds - 1);
    strbuf_addf(&b, "\nfiles   %s", m->folder.path);
    if (m->folder.anew)
        strbuf_add(&b, "\nbegins anew: the job, its options, the modes, the target or the rounds "
                       "are not those of an earlier comparison");
    if (done)
        strbuf_addf(&b, "\n%s: %d of %d runs have ended",
                    done < m->c->n_runs ? "goes on" : "is finished", done, m->c->n_runs);
    compare_estimate(m->c, rest, sizeof rest);
    if (rest[0])
        strbuf_addf(&b, "\ntime    %s", rest);
    say(m, strbuf_text(&b));
}

/* Print how a run has ended and the time that the others will take. */
static void say_run(struct comparing *m, const struct compare_run *r)
{
    cleanup_strbuf struct strbuf b = { 0 };
    char rest[160];

    compare_run_line(m->c, r, &b);
    compare_estimate(m->c, rest, sizeof rest);
    if (rest[0])
        strbuf_addf(&b, " (%s)", rest);
    say(m, strbuf_text(&b));
}

/* ---- runs ---- */

/* Append the command of a run to argv. Return 0 or a negative errno. */
static int add_command(const struct comparing *m, const struct compare_run *r, const char *dir,
                       const struct strlist *mode, struct strlist *argv, struct eddis_error *err)
{
    char program[PATH_MAX];
    const struct job *job = m->q->job;
    int rc = program_path("eddis-run", program, sizeof program, err);

    if (rc < 0)
        return rc;
    strlist_addf(argv, "%s", program);
    strlist_add_all(argv, m->q->args.item);
    strlist_add_all(argv, mode->item);
    strlist_addf(argv, "--set=seed=%llu", (unsigned long long)r->seed);
    if (job->timeouts.heartbeat_ns > HEARTBEAT_MS * CLOCK_MS && job->n_hosts <= MANY_HOSTS)
        strlist_addf(argv, "--set=timeouts.heartbeat=%dms", HEARTBEAT_MS);
    /* A comparison neither reads nor writes the job's own checkpoints. */
    strlist_addf(argv, "--set=checkpoint.dir=auto");
    strlist_addf(argv, "--set=checkpoint.resume=auto");
    strlist_addf(argv, "--set=checkpoint.every=0");
    strlist_addf(argv, "--set=restarts=0");
    strlist_addf(argv, "--set=node_losses=auto");
    strlist_addf(argv, "--set=slurm.requeue=off");
    if (job->logs.dir)
        strlist_addf(argv, "--set=logs.dir=%s/%s", job->logs.dir, r->job);
    strlist_addf(argv, "--job-dir=%s", dir);
    strlist_addf(argv, "--quiet");
    strlist_add_all(argv, m->q->words.item);
    return argv->failed ? eddis_fail(err, -ENOMEM, "no memory for a command") : 0;
}

/* Remove the checkpoint that the run has saved when it was asked to end. */
static void drop_checkpoints(const char *dir)
{
    cleanup_free char *path = file_join(dir, "checkpoints");

    if (path)
        (void)file_remove_tree(path, NULL);
}

/* Train a run to its end and write compare.json. Return 0; the number of a signal that ends the
 * comparison; or a negative errno.
 */
static int train(struct comparing *m, struct compare_run *r, const struct strlist *mode,
                 struct eddis_error *err)
{
    cleanup_free char *dir = file_join(m->folder.path, "%s", r->job);
    cleanup_free char *log = file_join(m->folder.path, "%s.log", r->job);
    cleanup_strlist struct strlist argv = { 0 };
    double best_s = compare_best_s(m->c);
    struct compare_watch w = { .dir = dir,
                               .log = log,
                               .target = m->c->target,
                               .late_s = m->c->target.goal == COMPARE_TIME
                                             ? NAN
                                             : COMPARE_LATE_TIMES * best_s,
                               .signals = m->signals,
                               .progress = on_progress,
                               .ctx = m };
    int rc = dir && log ? compare_folder_clear(dir, err)
                        : eddis_fail(err, -ENOMEM, "no memory for a path"),
        written;

    if (rc == 0)
        rc = add_command(m, r, dir, mode, &argv, err);
    if (rc < 0)
        return rc;
    w.argv = argv.item;
    rc = compare_watch(&w, r, err);
    if (rc < 0)
        return rc;
    if (!r->model_bytes && r->curve.n)
        r->model_bytes = compare_facts_model(m->q->job);
    if (r->state != COMPARE_OPEN) {
        say_run(m, r);
        drop_checkpoints(dir);
    }
    compare_rows_fill(m->c);
    written = compare_folder_write(&m->folder, m->c, err);
    return written < 0 ? written : rc;
}

/* Open the failed runs again, and find out which modes the job cannot be trained in. Return 0 or a
 * negative errno.
 */
static int prepare(struct comparing *m, struct eddis_error *err)
{
    for (int i = 0; i < m->c->n_runs; i++) {
        struct compare_run *r = &m->c->run[i];

        if (r->state == COMPARE_FAILED || r->state == COMPARE_NOT_RUN)
            r->state = COMPARE_OPEN;
        if (r->state == COMPARE_OPEN) {
            r->why[0] = '\0';
            r->curve = (struct curve){ 0 };
        }
    }
    for (int k = 0; k < m->q->ask.n_modes; k++) {
        struct eddis_error why = { 0 };

        if (compare_mode_set(m->q->job, m->q->ask.mode[k], &m->options[k], &why) == 0)
            continue;
        for (int i = k; i < m->c->n_runs; i += m->q->ask.n_modes) {
            m->c->run[i].state = COMPARE_NOT_RUN;
            (void)snprintf(m->c->run[i].why, sizeof m->c->run[i].why, "%s", why.text);
        }
    }
    for (int k = 0; k < m->q->ask.n_modes; k++)
        if (m->options[k].failed)
            return eddis_fail(err, -ENOMEM, "no memory for options");
    compare_rows_fill(m->c);
    return compare_folder_write(&m->folder, m->c, err);
}

/* ---- the whole ---- */

/* Print the result, as JSON or as a table. Return EXIT_FAULT if every mode has failed or was not
 * run, otherwise 0.
 */
static int print_result(struct comparing *m)
{
    cleanup_strbuf struct strbuf b = { 0 };
    cleanup_free char *json = m->q->json ? compare_text(m->c) : NULL;
    bool trained = false;

    clear_line(m);
    compare_table(m->c, &b);
    if (json)
        puts(json);
    else if (talks(m))
        printf("\n%s", strbuf_text(&b));
    for (int i = 0; i < m->c->n_rows; i++) {
        const struct compare_row *r = &m->c->row[i];

        trained = trained || r->rounds;
        if (!talks(m) && r->why[0])
            fprintf(stderr, "eddis-run: %s %s: %s\n", r->mode, compare_state_names[r->state],
                    r->why);
    }
    return trained ? 0 : EXIT_FAULT;
}

/* Train all open runs and print the result. Return the exit code; negative: an error. */
static int compare_all(struct comparing *m, struct eddis_error *err)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, 0 };
    struct eddis_error why = { 0 };
    int rc = prepare(m, err), number = 0;

    if (rc == 0)
        rc = m->signals = signal_fd_open(signals, err);
    if (rc < 0)
        return rc;
    say_head(m);
    for (int i = 0; i < m->c->n_runs && !number; i++) {
        if (m->c->run[i].state != COMPARE_OPEN)
            continue;
        rc = train(m, &m->c->run[i], &m->options[i % m->q->ask.n_modes], err);
        if (rc < 0)
            return rc;
        number = rc;
    }
    if (compare_facts_keep(m->q->job, m->c, &why) < 0)
        fprintf(stderr, "eddis-run: later jobs plan without these efficiencies: %s\n", why.text);
    if (!number)
        return print_result(m);
    clear_line(m);
    if (!m->q->quiet)
        fprintf(stderr, "eddis-run: the comparison was stopped; the same command goes on\n");
    return EXIT_SIGNAL + number;
}

int compare_run(struct run_request *q, struct eddis_error *err)
{
    struct comparing m = { .q = q, .signals = -1 };
    int rc = compare_folder_open(q, &m.folder, &m.c, err);

    if (rc < 0)
        return EXIT_USAGE;
    rc = setenv(COMPARE_VARIABLE, "1", true) < 0
             ? eddis_fail(err, -errno, "no memory for the environment of the runs")
             : compare_all(&m, err);
    if (m.signals >= 0)
        (void)close(m.signals);
    for (int k = 0; k < SYNC_MODES; k++)
        strlist_fini(&m.options[k]);
    compare_folder_close(&m.folder);
    free(m.c);
    return rc < 0 ? EXIT_FAULT : rc;
}
