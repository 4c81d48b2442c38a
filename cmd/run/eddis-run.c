/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-run.c - trains a job, from reading its file to printing its summary */
#include "agents/driver/driver.h"
#include "cmd/run/compare/compare.h"
#include "cmd/run/end/run_end.h"
#include "cmd/run/end/run_prune.h"
#include "cmd/run/request/preflight.h"
#include "cmd/run/request/run_allocation.h"
#include "cmd/run/request/run_batch.h"
#include "cmd/run/request/run_find.h"
#include "cmd/run/request/run_job.h"
#include "cmd/run/request/run_link.h"
#include "cmd/run/request/run_options.h"
#include "cmd/run/request/run_resume.h"
#include "cmd/run/view/dry_run.h"
#include "cmd/run/view/output_view.h"
#include "cmd/run/view/plan_print.h"
#include "cmd/run/view/run_check.h"
#include "cmd/run/view/run_head.h"
#include "cmd/run/view/run_view.h"
#include "cmd/run/what_if/what_if.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/program.h"
#include "lib/base/strbuf.h"
#include "lib/base/trust.h"
#include "lib/base/user_env.h"
#include "lib/job/job_text.h"
#include "run_detach.h"
#include "run_requeue.h"
#include "run_slurm.h"
#include "scheduler/drop.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longest wait for a slow reader of our output after the user or Slurm has ended the job. */
static const int64_t UNREAD_NS = 5 * CLOCK_S;

/* One run of this program. */
struct run {
    struct run_request q;
    struct run_view view;
    struct output_view *output; /* NULL: output of the workers is not shown */
    bool showed;                /* output of the workers was shown */
    char *log_dir;
    struct job_folder folder;
    bool launches; /* the job's folder was made, and workers will be started */
    struct run_head head;
    /* Pipe for the report to the parent that the workers are up (--detach); -1: no parent waits. */
    int up;
    /* Descriptor of driver.log, for output once the workers are up (--detach); negative: no file.
     */
    int up_log;
    /* The file system of the job's folder hangs, and driver.log with it: print nothing any more. */
    bool stuck;
    /* The user or Slurm has ended the job, and the output was not read within UNREAD_NS. */
    bool unread;
    enum run_requeue put_back; /* whether and how to requeue the job in Slurm at the end */
    /* The driver's sentences printed so far, one a line; the summary does not repeat them. */
    struct strbuf said;
};

/* Print the error on standard error and return `code`, the exit code. */
static int fail(const struct eddis_error *err, int code)
{
    options_complain("eddis-run", err, stderr);
    return code;
}

/* ---- callbacks of driver_run (struct driver_view, on the main thread); ctx: struct run ---- */

/* Print a sentence of the driver on standard error, after all pending output of workers. Store it
 * in r->said, so that the summary does not repeat it. A callback of driver_run.
 */
static void on_say(void *ctx, const char *sentence)
{
    struct run *r = ctx;

    if (r->output)
        output_view_flush(r->output);
    run_view_say(&r->view, sentence);
    strbuf_addf(&r->said, "%s\n", sentence);
}

/* Print the last lines of a failed rank (-1: of mpirun) on standard error, unless standard output
 * and error are the same file and these lines are among the newest ones shown there. A callback of
 * driver_run.
 */
static void on_last_lines(void *ctx, int rank, const char *lines)
{
    struct run *r = ctx;

    /* The lines need not appear twice on one screen. */
    if (r->output && r->view.errors == r->view.out && output_view_has(r->output, rank, lines))
        return;
    run_view_last_lines(&r->view, rank, lines);
}

/* Show lines that a rank has printed, unless the output of workers is not shown. `dropped` lines
 * before them are only in the rank's log file. A callback of driver_run.
 */
static void on_output(void *ctx, const char *node, int rank, const char *text, int64_t dropped)
{
    struct run *r = ctx;

    if (r->output)
        output_view_add(r->output, node, rank, text, dropped, clock_now_ns());
}

/* Print the workers' output lines that were pending long enough. A callback of driver_run, called
 * at least five times a second.
 */
static void on_turn(void *ctx)
{
    struct run *r = ctx;

    if (r->output)
        output_view_tick(r->output, clock_now_ns());
}

/* Remove the live line from the terminal before this process is stopped (Ctrl-Z), since the shell
 * writes next. Block for 0.2 s at most until that is written. A callback of driver_run.
 */
static void on_pausing(void *ctx)
{
    struct run *r = ctx;

    run_view_clear(&r->view);
    (void)run_view_flush(&r->view, CLOCK_S / 5, NULL);
}

/* Show in place of the live line which agents the driver waits for, and why. A callback of
 * driver_run.
 */
static void on_waiting(void *ctx, const char *text)
{
    run_view_waiting(&((struct run *)ctx)->view, text);
}

/* Report to the waiting parent that the workers are up, so that the parent exits (--detach). Send
 * standard output and error to driver.log from now on; on failure print why and leave them where
 * they are.
 */
static void go_to_background(struct run *r)
{
    struct eddis_error err = { 0 };

    run_view_clear(&r->view);
    (void)run_view_flush(&r->view, CLOCK_S, NULL);
    if (run_detach_up(&r->up, r->up_log, &err) < 0)
        run_view_say(&r->view, err.text);
    run_view_look(&r->view);
}

/* Show the job's progress on the live line. With --detach, first go to the background when the
 * workers run. A callback of driver_run.
 */
static void on_progress(void *ctx, const struct job_status *s)
{
    struct run *r = ctx;

    if (r->up >= 0 && s->state == JOB_RUNNING)
        go_to_background(r);
    run_view_progress(&r->view, s);
}

/* Print the result of --check for all n nodes: first, on standard error, the reasons of nodes that
 * are not ready, unless printed before; then a table, or JSON. A callback of driver_run.
 */
static void on_checked(void *ctx, const struct driver_check *node, int n)
{
    struct run *r = ctx;

    for (int i = 0; i < n; i++) { /* the check may have ended at the first failure */
        char text[RUN_CHECK_SENTENCE];

        if (run_check_sentence(&node[i], text) && !strstr(strbuf_text(&r->said), text))
            on_say(r, text);
    }
    run_view_clear(&r->view);
    (void)run_view_flush(&r->view, CLOCK_NEVER, NULL);
    if (r->q.json)
        run_check_json(node, n, stdout);
    else if (!r->q.quiet)
        run_check_print(node, n, stdout);
}

/* Print the profiles of n nodes on standard output for --profile, as text or as JSON. */
static void print_profile(const struct run *r, const struct plan_print *o,
                          const struct node_profile *nodes, int n)
{
    if (!r->q.json) {
        plan_print_nodes(o, nodes, n); /* with notes on what could not be measured */
        plan_print_profiles(o, nodes, n);
        strbuf_add(o->out, "\n");
        plan_print_devices(o, nodes, n);
        plan_print_gpus(o, nodes, n);
        fputs(strbuf_text(o->out), stdout);
        return;
    }
    printf("{\"nodes\": [\n");
    for (int i = 0; i < n; i++) {
        cleanup_free char *text = profile_text(&nodes[i]);

        printf("%s%s", i ? ",\n" : "", text ? text : "null");
    }
    printf("],\n\"schema_version\": 1}\n");
}

/* Print the job, the profiles of n nodes and the plan on standard output for --dry-run --json; on
 * failure print the error on standard error instead.
 */
static void print_dry_run_json(const struct run *r, const struct node_profile *nodes, int n,
                               const struct plan *p)
{
    cleanup_free char *text = NULL;
    struct eddis_error err = { 0 };

    if (dry_run_json(r->q.job, nodes, n, p, &text, &err) < 0)
        fail(&err, 0);
    else
        fputs(text, stdout);
}

/* Replace r->output by a view for the workers of plan p, after printing what is pending of earlier
 * workers. Without memory r->output is NULL, and output is not shown.
 */
static void show_output(struct run *r, const struct plan *p, const struct node_profile *nodes)
{
    const char *prefix = r->q.job->logs.prefix;
    struct output_view_options o = {
        .view = &r->view,
        .ranks = &r->q.ranks,
        .prefix = strcmp(prefix, "auto") != 0 ? prefix : NULL,
        .log_dir = r->log_dir,
        .n_ranks = p->n_workers,
    };

    for (int i = 0; i < p->n_workers; i++) {
        int width = output_view_label(nodes[p->worker[i].node].host, i, NULL, 0);

        o.width = width > o.width ? width : o.width;
    }
    if (r->output)
        r->showed = output_view_end(r->output) || r->showed;
    output_view_free(r->output);
    r->output = output_view_new(&o);
}

/* Print plan p with its head (run_head_text) on standard output. If workers will be started, print
 * it through r->view, so that a slow reader does not delay the job.
 */
static void print_plan(struct run *r, const struct plan_print *how, const struct plan *p,
                       const struct node_profile *nodes, int n)
{
    cleanup_free char *text =
        run_head_text(&r->head, &r->q, r->launches ? &r->folder : NULL, how, p, nodes, n);

    if (!text)
        return;
    if (r->launches)
        run_view_print(&r->view, text);
    else
        fputs(text, stdout);
}

/* Print plan p and replace r->output by a view for its workers; or with p NULL (--profile) print
 * the profiles of n nodes. Return 0; -ERANGE: --ranks names a rank that the first plan does not
 * have. A callback of driver_run.
 */
static int on_planned(void *ctx, const struct plan *p, const struct node_profile *nodes, int n,
                      struct eddis_error *err)
{
    struct run *r = ctx;
    cleanup_strbuf struct strbuf text = { 0 };
    const struct plan_print o = {
        .out = &text,
        .colour = r->view.colour,
        .home = getenv("HOME"),
        .now_s = clock_wall_ns() / CLOCK_S,
        .drops = drop_is_wanted(r->q.job),
    };
    /* Later plans may have fewer workers, if nodes are lost. */
    int rc = p && p->generation <= 1 ? rank_list_check(&r->q.ranks, p->n_workers, err) : 0;

    if (rc < 0)
        return eddis_fail_prefix(err, rc, "--ranks");
    run_view_clear(&r->view);
    if (!r->launches) /* what follows may be long and does not go through the view */
        (void)run_view_flush(&r->view, CLOCK_NEVER, NULL);
    if (!p) {
        print_profile(r, &o, nodes, n);
    } else if (r->q.dry_run && r->q.json) {
        print_dry_run_json(r, nodes, n, p);
    } else if (!r->q.quiet && !r->q.json) {
        print_plan(r, &o, p, nodes, n);
        if (r->launches)
            show_output(r, p, nodes);
    }
    fflush(stdout);
    return 0;
}

/* Print the rest of the head, which applies only to programs that use eddis: the job's first worker
 * has opened libeddis. A callback of driver_run.
 */
static void on_joined(void *ctx)
{
    struct run *r = ctx;
    cleanup_free char *text = run_head_joined(&r->head);

    if (text)
        run_view_print(&r->view, text);
}

/* Print the sync mode that was left open in plan p and is now decided, and append the text to
 * r->head.plan. Do nothing if output is quiet or JSON. A callback of driver_run.
 */
static void on_settled(void *ctx, const struct plan *p)
{
    struct run *r = ctx;
    cleanup_free char *text =
        r->q.quiet || r->q.json ? NULL : plan_print_settled(p, r->view.colour);

    if (!text)
        return;
    run_view_print(&r->view, text);
    strbuf_add(&r->head.plan, text);
}

/* ---- the job's folder ---- */

/* Make the job's folder with job.yaml, store both folders in r->folder and r->log_dir, and set
 * r->launches. Link the folder to the Slurm job that this process runs in, if any. Warn on standard
 * error if another user can write the folder. Return 0 or a negative error; r->launches then says
 * whether the folder was made.
 */
static int make_folder(struct run *r, struct eddis_error *err)
{
    cleanup_free char *path = NULL, *text = NULL, *dir = NULL;
    struct eddis_error shared = { 0 };
    struct stat st;
    int rc = run_batch_folder(&r->q.batch, r->q.job_dir, &dir, err);

    if (rc == 0)
        rc = job_folder_make(r->q.job->name, dir, &r->folder, err);
    if (rc < 0)
        return rc;
    if (dir && stat(r->folder.path, &st) == 0 && trust_stat(&st, dir, &shared, NULL) > 0)
        run_find_warn(&shared);
    r->launches = true;
    r->log_dir =
        r->q.job->logs.dir ? strdup(r->q.job->logs.dir) : file_join(r->folder.path, "logs");
    path = file_join(r->folder.path, "job.yaml");
    text = job_text(r->q.job);
    if (!r->log_dir || !path || !text)
        return eddis_fail(err, -ENOMEM, "no memory for the job's folder");
    rc = file_write_atomic(path, text, strlen(text), 0600, err);
    return rc == 0 && r->q.slurm ? run_link(&r->folder, r->q.slurm, err) : rc;
}

/* Remove the job's folder, if it was made, and clear r->launches; print an error if that fails. For
 * a job that was refused before a worker was started.
 */
static void drop_folder(struct run *r)
{
    struct eddis_error err = { 0 };

    if (r->launches && job_folder_drop(&r->folder, &err) < 0)
        fail(&err, 0);
    r->launches = false;
}

/* Check whether the job was refused as wrong usage before a worker was started, and its folder can
 * be removed: it does not hang, and nothing may be left on a node.
 */
static bool was_refused(const struct job_status *s)
{
    return strcmp(s->reason, "usage") == 0 && s->generation == 0 && !s->folder_hangs &&
           !s->may_be_left;
}

/* Print the job's end on standard output: its status as JSON, or the summary with the logs of the
 * failed rank. With --quiet, print only the message of a failed job on standard error, unless it
 * was printed before. Changes s: a message that was printed before is removed from it.
 */
static void print_summary(struct run *r, struct job_status *s)
{
    int rank = s->failure.set ? s->failure.rank : -1;
    cleanup_strbuf struct strbuf b = { 0 };
    cleanup_free char *json = NULL, *name = NULL;

    if (r->q.json) {
        json = job_status_text(s);
        if (json)
            printf("%s\n", json);
    } else if (!r->q.quiet && r->launches) {
        /* Only jobs in the default folder can be found by their id. */
        if (r->q.job_dir && asprintf(&name, "%s/", r->folder.path) < 0)
            name = NULL;
        if (s->message[0] && strstr(strbuf_text(&r->said), s->message)) {
            s->failure.set = s->failure.set && strcmp(s->failure.what, s->message) != 0;
            s->message[0] = '\0';
        }
        job_status_print(s, name, &b);
        job_status_print_more(s, name, &b);
        if (s->communication[0] && r->q.verbose)
            strbuf_addf(&b, "communication: %s\n", s->communication);
        if (!s->folder_hangs)
            run_view_add_output(r->log_dir, rank, s->n_workers, &b);
        printf("%s%s", r->showed ? "\n" : "", strbuf_text(&b));
    } else if (s->exit_code && s->message[0] && !strstr(strbuf_text(&r->said), s->message)) {
        fprintf(stderr, "eddis-run: %s\n", s->message); /* the message says how to continue */
    }
}

/* Print all pending output; the caller may print directly, and block, afterwards. Wait for a slow
 * reader as long as it takes; if the user or Slurm has ended the job, wait for UNREAD_NS and set
 * r->unread if the output was still not read. s: the job's final status; NULL: the job could not
 * begin.
 */
static void end_output(struct run *r, const struct job_status *s)
{
    bool ended =
        s && (strcmp(s->reason, "interrupted") == 0 || strcmp(s->reason, "preempted") == 0);

    if (r->output)
        r->showed = output_view_end(r->output) || r->showed;
    run_view_clear(&r->view);
    r->unread = run_view_flush(&r->view, ended ? UNREAD_NS : CLOCK_NEVER, NULL) == -ETIMEDOUT;
}

/* Run the job (or its plan, profile or check only) in this process and print its summary. Block
 * until its end. Remove its folder if it was refused before a worker was started; set r->stuck,
 * r->unread and r->put_back. Return the exit code.
 */
static int run_job(struct run *r)
{
    const struct driver_options o = {
        .job = r->q.job,
        .folder = r->launches ? &r->folder : NULL,
        .runtime_dir = getenv("XDG_RUNTIME_DIR"),
        .caller = { r->q.env.item, r->q.n_passed },
        .slurm = run_allocation_of_starts(r->q.job, r->q.slurm),
        .batch = r->q.batch.job[0] ? &r->q.batch : NULL,
        .plan_path = r->q.plan_path,
        .measure_equal = r->q.measure_equal,
        .plan_only = r->q.dry_run,
        .profile_only = r->q.profile,
        .check_only = r->q.check,
        .compared = getenv(COMPARE_VARIABLE) != NULL,
        .view = { .ctx = r,
                  .say = on_say,
                  .last_lines = on_last_lines,
                  .planned = on_planned,
                  .joined = on_joined,
                  .settled = on_settled,
                  .waiting = on_waiting,
                  .progress = on_progress,
                  .output = on_output,
                  .pausing = on_pausing,
                  .turn = on_turn,
                  .checked = on_checked },
    };
    struct job_status status;
    struct eddis_error err = { 0 };
    int code = driver_run(&o, &status, &err);
    bool has_job = r->launches;

    if (code >= 0 && r->q.detach && r->up < 0 && status.folder_hangs) {
        r->stuck = true;
        job_status_fini(&status);
        return code;
    }
    end_output(r, code < 0 ? NULL : &status);
    if (code < 0 || was_refused(&status))
        drop_folder(r);
    if (code < 0)
        return fail(&err, EXIT_START);
    r->put_back = o.batch ? run_requeue_due(&status, code) : RUN_REQUEUE_NOT;
    if (has_job && !r->unread)
        print_summary(r, &status);
    job_status_fini(&status);
    /* The check of the program comes last: the plan is useful even if the program is missing. */
    if (((code == 0 && r->q.dry_run) || r->q.check) &&
        preflight_program(r->q.job, &o.caller, &err) < 0)
        return code == 0 ? fail(&err, EXIT_USAGE) : EXIT_USAGE; /* else a node has reported it */
    return code;
}

/* Flush all output. Return the exit code: `code`, or EXIT_FAULT if code is 0, output was lost, and
 * the output was all that was asked for (no training, or JSON). Print why output was lost, except
 * to a reader that does not read.
 */
static int close_output(struct run *r, int code)
{
    struct eddis_error err = { 0 };
    int rc = r->unread ? -ETIMEDOUT : r->view.out ? run_view_flush(&r->view, CLOCK_NEVER, &err) : 0;

    r->unread = rc == -ETIMEDOUT;
    if (rc == 0 && options_flush(&err) == 0)
        return code;
    if (!r->unread)
        fail(&err, 0);
    return code == 0 && (!r->launches || r->q.json) ? EXIT_FAULT : code;
}

/* ---- requests that run no job ---- */

/* Run --prune: remove the folders of old jobs, or only list them (--dry-run). Return the exit code:
 * 0 or EXIT_FAULT.
 */
static int prune_jobs(struct run *r)
{
    const struct run_prune p = { .older_ns = r->q.prune_ns,
                                 .now_ns = clock_wall_ns(),
                                 .only_failed = r->q.failed,
                                 .only_report = r->q.dry_run,
                                 .json = r->q.json,
                                 .quiet = r->q.quiet };
    struct eddis_error err = { 0 };

    return run_prune(&p, stdout, &err) < 0 ? fail(&err, EXIT_FAULT) : 0;
}

/* Print the summary of job r->q.over, which --resume names and which has trained to its end. Return
 * the exit code: 0; EXIT_USAGE if the job's files are gone.
 */
static int tell_over(const struct run *r)
{
    const char *name = strchr(r->q.over, '/') ? r->q.over : NULL;
    struct eddis_error err = { 0 };
    struct job_status status;
    cleanup_strbuf struct strbuf b = { 0 };

    if (!run_resume_is_over(r->q.over, &status)) /* another process may just have removed it */
        return eddis_fail(&err, -ENOENT, "--resume %s: the job is gone", r->q.over),
               fail(&err, EXIT_USAGE);
    if (r->q.json) {
        cleanup_free char *text = job_status_text(&status);

        puts(text ? text : "null");
    } else if (!r->q.quiet) {
        printf("nothing left to train: job %s has finished\n", status.job);
        job_status_print(&status, name, &b);
        job_status_print_more(&status, name, &b);
        fputs(strbuf_text(&b), stdout);
    }
    job_status_fini(&status);
    return 0;
}

/* Run --what-if and --simulate: print the prediction of the job, with the changes. Return the exit
 * code: 0, or EXIT_USAGE: it cannot be predicted.
 */
static int predict(const struct run *r)
{
    cleanup_strbuf struct strbuf text = { 0 };
    const struct what_if w = { .today = r->q.job,
                               .then = r->q.then,
                               .changes = &r->q.changes,
                               .text = r->q.what_if,
                               .simulate_s = (double)r->q.simulate_ns / CLOCK_S,
                               .only_today = r->q.only_today,
                               .job_dir = r->q.job_dir,
                               .json = r->q.json };
    const struct plan_print o = { .out = &text,
                                  .home = getenv("HOME"),
                                  .now_s = clock_wall_ns() / CLOCK_S };
    struct eddis_error err = { 0 };

    if (what_if(&w, &o, &err) < 0)
        return fail(&err, EXIT_USAGE);
    if (r->q.json || !r->q.quiet)
        fputs(strbuf_text(&text), stdout);
    return 0;
}

/* ---- jobs ---- */

/* Print on standard output that the job continues in the background and how to follow it: a
 * sentence, JSON, or with --quiet only its id.
 */
static void tell_detached(const struct run *r)
{
    const char *name = r->q.job_dir ? r->folder.path : r->folder.id, *end = r->q.job_dir ? "/" : "";

    if (r->q.json)
        printf("{\"job\": \"%s\"}\n", r->folder.id);
    else if (r->q.quiet)
        puts(r->folder.id);
    else
        printf("job %s continues in the background; run eddis-status %s%s to see it, eddis-run "
               "--stop %s%s to end it\n",
               r->folder.id, name, end, name, end);
}

/* Open driver.log in the job's folder and store its descriptor in r->up_log: before the job starts,
 * which must never wait for that folder. On failure print why and store a negative error: the
 * output then stays where it is.
 */
static void open_log(struct run *r)
{
    cleanup_free char *path = file_join(r->folder.path, "driver.log");
    struct eddis_error err = { 0 };

    r->up_log = path ? file_open_append(path, 0600, &err)
                     : eddis_fail(&err, -ENOMEM, "no memory for the job's folder");
    if (r->up_log < 0)
        fail(&err, 0);
}

/* Make the job's folder, unless it is a plan, profile or check only, and run the job in this
 * process or, with --detach, in a child. Block until the job ends, or with --detach until its
 * workers are up. Return the exit code.
 */
static int train(struct run *r)
{
    struct eddis_error err = { 0 };
    int code = 0, rc;

    if (!r->q.dry_run && !r->q.profile && !r->q.check && make_folder(r, &err) < 0) {
        drop_folder(r);
        return fail(&err, EXIT_USAGE);
    }
    rc = r->q.detach ? run_detach(&r->up, &code, &err) : 1;
    if (rc == 1 && r->q.detach)
        open_log(r);
    if (rc == 1) /* opened after run_detach, which must not fork a process that has threads */
        rc = run_view_open(&r->view, r->q.quiet || r->q.json, &err) < 0 ? -1 : 1;
    if (rc == 1)
        code = run_job(r);
    else if (rc < 0)
        code = fail(&err, EXIT_FAULT);
    else if (code == 0)
        tell_detached(r);
    return code;
}

/* Submit the job to Slurm (--slurm), follow it to its end and print its output. Return its exit
 * code; EXIT_USAGE, EXIT_START: it was not submitted or not started.
 */
static int submit(struct run *r)
{
    char program[PATH_MAX];
    const struct sbatch_ask a = { .job = r->q.job, .program = program, .args = r->q.args.item };
    struct eddis_error err = { 0 };
    int code;

    if (sbatch_script_check(&a, &err) < 0 || run_slurm_check(&a, &err) < 0)
        return fail(&err, EXIT_USAGE);
    if (program_path("eddis-run", program, sizeof program, &err) < 0)
        return fail(&err, EXIT_START);
    code = run_slurm(&a, r->q.quiet, &err);
    return code < 0 ? fail(&err, EXIT_START) : code;
}

/* Compare the job's modes (--compare) and print the result. Return the exit code. */
static int compare(struct run *r)
{
    struct eddis_error err = { 0 };
    int code = compare_run(&r->q, &err);

    return err.text[0] ? fail(&err, code) : code;
}

/* Do what the options request: train a job, or submit, stop, clean up or prune jobs. Block until
 * that is done; with --detach the job goes on afterwards. Return the exit code; EXIT_USAGE: the
 * options or the file are wrong.
 */
int main(int argc, char **argv)
{
    struct run r = { .up = -1 };
    struct eddis_error err = { 0 };
    int code = 0;

    user_env_hide(argv);
    program_outlive_file_limit();
    (void)signal(SIGPIPE, SIG_IGN); /* with "eddis-run | head" the job goes on */
    /* Our parent may have set it to SIG_IGN; then exit codes of children would be lost. */
    (void)signal(SIGCHLD, SIG_DFL);
    if (run_request_read(argc, argv, &r.q, &err) < 0)
        return fail(&err, EXIT_USAGE);
    if (r.q.help || r.q.version)
        options_about(&run_options, !r.q.help);
    else if (r.q.stop)
        code = run_end_stop(r.q.stop, r.q.json, r.q.quiet);
    else if (r.q.cleanup)
        code = run_end_cleanup(r.q.cleanup, r.q.quiet);
    else if (r.q.over)
        code = tell_over(&r);
    else if (r.q.prune)
        code = prune_jobs(&r);
    else if (r.q.what_if)
        code = predict(&r);
    else if (r.q.compare)
        code = compare(&r);
    else if (r.q.submit)
        code = submit(&r);
    else
        code = train(&r);
    if (r.stuck)
        _exit(code);
    code = close_output(&r, code);
    if (r.put_back)
        run_requeue(&r.q.batch, r.put_back, run_batch_advanced(r.q.job, &r.q.batch), r.q.quiet);
    if (r.unread)
        _exit(code);
    output_view_free(r.output);
    run_view_close(&r.view);
    run_request_fini(&r.q);
    free(r.log_dir);
    run_head_fini(&r.head);
    strbuf_fini(&r.said);
    return code;
}
