/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-status.c - shows a job's progress, its slow workers and their causes, and its logs */
#include "agents/job/job_folder.h"
#include "agents/job/status_fetch.h"
#include "agents/job/status_json.h"
#include "cmd/shared/options.h"
#include "cmd/slurm/job_location.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/json.h"
#include "lib/base/program.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/base/user_env.h"
#include "status_far.h"
#include "status_list.h"
#include "status_live.h"
#include "status_logs.h"
#include "status_page.h"
#include "status_screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Least value of --interval. */
static const int64_t shortest_ns = 100 * CLOCK_MS;
static const int64_t patience_ns = 5 * CLOCK_S; /* longest wait for Slurm's answer */

static const struct option_row rows[] = {
    { "once", '1', NULL, "print the status once and exit, also on a terminal" },
    { "watch", 'w', NULL, "show the status until the job ends, also when not on a terminal" },
    { "json", 'j', NULL, "print JSON for programs; with --watch one line for each update" },
    { "list", 'l', NULL, "list the jobs" },
    { "gpus", 'g', NULL, "show what the workers' GPUs do, and why their clocks are low" },
    { "report", 'r', NULL, "print the summary of a job that has ended" },
    { "logs", 0, "RANK", "print the end of the output of this worker" },
    { "lines", 'n', "N", "with --logs: print this many lines (default 20)" },
    { "follow", 'f', NULL, "with --logs: print also new output until the job ends" },
    { "interval", 'i', "TIME", "time between two updates (default 1s)" },
    { "ascii", 0, NULL, "print ASCII characters only" },
    { "version", 'V', NULL, "print the version" },
    { "help", 'h', NULL, "print this help" },
};

static const char *const uses[] = { "[OPTION]... [JOB]", NULL };

static const struct option_table table = {
    .program = "eddis-status",
    .summary = "show a running or ended job: the newest, or JOB by the beginning of its id, by its "
               "folder or by Slurm's number",
    .use = uses,
    .row = rows,
    .n = sizeof rows / sizeof *rows,
};

/* Parsed command line, and what standard output is. */
struct request {
    const char *job; /* NULL: the newest job */
    bool once, watch, json, list, report, gpus, ascii, version, help;
    bool dead;            /* the driver is known to be gone: read the job's files only */
    bool color, terminal; /* standard output takes colors, is a terminal */
    int64_t interval_ns;
    /* Rank of --logs, -1: not given; number of --lines, 0: not given. */
    int64_t log_rank, log_lines;
    bool follow;
};

/* Print the error on standard error and return `code`, the exit code. */
static int fail(const struct eddis_error *err, int code)
{
    options_complain("eddis-status", err, stderr);
    return code;
}

/* Parse the whole number of the option `flag`, from `least` to INT32_MAX, into *ret. Return 0;
 * -EINVAL: text is no such number.
 */
static int take_number(const char *flag, const char *text, int64_t least, int64_t *ret,
                       struct eddis_error *err)
{
    char *end;
    long long n = strtoll(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end || n < least || n > INT32_MAX)
        return eddis_fail(err, -EINVAL, "%s \"%s\" is not a whole number of at least %d", flag,
                          text, (int)least);
    *ret = n;
    return 0;
}

/* Store one option of the command line, or the job's name, in q. Return 0; -EINVAL: its value is
 * wrong, or a second job is named.
 */
static int take_option(struct request *q, const struct options_item *i, struct eddis_error *err)
{
    const struct option_switch flags[] = {
        { "once", &q->once },       { "watch", &q->watch },   { "json", &q->json },
        { "list", &q->list },       { "report", &q->report }, { "ascii", &q->ascii },
        { "version", &q->version }, { "help", &q->help },     { "follow", &q->follow },
        { "gpus", &q->gpus },
    };

    if (i->row && options_switch(i->row->name, flags, sizeof flags / sizeof *flags))
        return 0;
    if (options_is(i, "logs"))
        return take_number("--logs", i->value, 0, &q->log_rank, err);
    if (options_is(i, "lines"))
        return take_number("--lines", i->value, 1, &q->log_lines, err);
    if (options_is(i, "interval")) {
        int rc = text_duration_ns(i->value, &q->interval_ns, err);

        if (rc < 0)
            return eddis_fail_prefix(err, rc, "--interval");
        if (q->interval_ns < shortest_ns || q->interval_ns > 86400 * CLOCK_S)
            return eddis_fail(err, -EINVAL, "--interval '%s' is not between 100ms and 1d",
                              i->value);
        return 0;
    }
    if (q->job)
        return eddis_fail(err, -EINVAL, "give only one job, not both '%s' and '%s'", q->job,
                          i->value);
    q->job = i->value;
    return 0;
}

/* Parse the command line into q. Return 0; -EINVAL: it has an error, or options that exclude each
 * other.
 */
static int parse(int argc, char **argv, struct request *q, struct eddis_error *err)
{
    struct options o = { .table = &table, .argc = argc, .argv = argv };
    struct options_item item;
    int rc;

    while ((rc = options_next(&o, &item, err)) == 1) {
        rc = take_option(q, &item, err);
        if (rc < 0)
            return rc;
    }
    if (rc == 0 && q->once && q->watch)
        rc = eddis_fail(err, -EINVAL, "--once and --watch exclude each other");
    if (rc == 0 && q->log_rank < 0 && (q->follow || q->log_lines))
        rc = eddis_fail(err, -EINVAL, "--lines and --follow work only with --logs");
    if (rc == 0 && q->log_rank >= 0 &&
        (q->watch || q->json || q->list || q->report || q->once || q->gpus))
        rc = eddis_fail(err, -EINVAL, "--logs can be combined only with --lines and --follow");
    if (rc == 0 && q->list && (q->watch || q->report || q->gpus || q->job))
        rc = eddis_fail(err, -EINVAL, "--list can be combined only with --json");
    if (rc == 0 && q->report && (q->watch || q->json))
        rc = eddis_fail(err, -EINVAL, "--report cannot be combined with --watch or --json");
    return rc;
}

/* Set in q what standard output can show: whether it is a terminal, whether it takes colors, and
 * ascii if it does not take UTF-8.
 */
static void look_around(struct request *q)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

    q->terminal = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
    q->color = q->terminal && !(no_color && *no_color);
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        q->ascii = true;
}

/* ---- printing ---- */

/* Print the status on standard output as a JSON document, or as JSON in one line. Return 0 or a
 * negative error.
 */
static int print_json(const struct job_status *s, bool one_line, struct eddis_error *err)
{
    cleanup_free char *text = job_status_text(s);
    cleanup_json json_t *o = NULL;

    if (text && one_line) {
        int rc = json_parse(text, strlen(text), "status", &o, err);

        if (rc < 0)
            return rc;
        free(text);
        text = json_text(o, false);
    }
    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory for the status");
    puts(text);
    return 0;
}

/* Borrow the name of the job if the user gave a path, which advice must then repeat: only jobs in
 * the default folder are found by id. NULL: the user gave none.
 */
static const char *place(const struct request *q)
{
    return q->job && strchr(q->job, '/') ? q->job : NULL;
}

/* Print the summary of a job that has ended; unless --report is given, also further details. */
static void print_summary(const struct request *q, const struct job_status *s)
{
    cleanup_strbuf struct strbuf b = { 0 };

    job_status_print(s, place(q), &b);
    if (!q->report)
        job_status_print_more(s, place(q), &b);
    fputs(strbuf_text(&b), stdout);
}

/* Print advice on the job's problems, if there is any. */
static void print_advice(const struct request *q, const struct job_status *s)
{
    cleanup_strbuf struct strbuf b = { 0 };

    job_status_print_advice(s, place(q), &b);
    fputs(strbuf_text(&b), stdout);
}

/* Print the page with the table of workers, as wide as the terminal; of any width if standard
 * output is none. Return 0 or a negative error.
 */
static int print_page(const struct request *q, const struct job_status *s, struct eddis_error *err)
{
    const struct status_print o = { .out = stdout, .color = q->color };
    struct status_page_form form = { .ascii = q->ascii, .gpus = q->gpus };
    struct status_page page;
    int lines, rc;

    if (q->terminal)
        screen_size(&lines, &form.columns);
    rc = status_page_make(s, &form, &page, err);
    if (rc < 0)
        return rc;
    status_page_print(&page, s, &o);
    status_page_fini(&page);
    return 0;
}

/* Print one status of the job in folder f as JSON, as a page, or as a report. Return 0; -EAGAIN:
 * --report was given, but the job has not ended; or another negative error.
 */
static int print_once(const struct request *q, const struct job_folder *f,
                      const struct job_status *s, struct eddis_error *err)
{
    int rc;

    if (q->json)
        return print_json(s, q->watch, err);
    if (q->report) {
        if (s->state != JOB_ENDED && s->state != JOB_LOST)
            return eddis_fail(err, -EAGAIN, "job %s has not ended yet: it is %s", f->id,
                              job_state_name(s->state));
        if (s->state == JOB_ENDED) {
            print_summary(q, s);
            putchar('\n');
        }
    }
    rc = print_page(q, s, err);
    if (rc == 0 && s->state == JOB_ENDED && !q->report)
        print_summary(q, s);
    if (rc == 0)
        print_advice(q, s);
    if (rc == 0 && q->report)
        printf("folder  %s\n", f->path);
    return rc;
}

/* Print on standard error why the driver did not answer, if `fetched`, the result of status_fetch,
 * is 2: the status is then from files.
 */
static void say_unanswered(int fetched, const struct eddis_error *why)
{
    if (fetched == 2)
        fprintf(stderr, "eddis-status: %s\n", why->text);
}

/* Write what standard output has buffered. Return 0, or -EIO: this or an earlier write failed; the
 * errno of an earlier one is lost.
 */
static int write_out(struct eddis_error *err)
{
    bool bad = ferror(stdout);
    int rc = fflush(stdout) != 0 ? -errno : bad ? -EIO : 0;

    return rc < 0 ? eddis_fail_errno(err, rc, "cannot write") : 0;
}

/* Print the status every interval until the job ends, as a page or a line of JSON. Block until
 * then. Return 0 or a negative error, also when standard output cannot be written.
 */
static int watch_plainly(const struct request *q, const struct job_folder *f,
                         struct eddis_error *err)
{
    for (;;) {
        int64_t next_ns = clock_after_ns(clock_now_ns(), q->interval_ns);
        struct job_status s;
        int live = status_fetch(f, &s, err), rc = live;

        if (live < 0)
            return live;
        say_unanswered(live, err);
        rc = print_once(q, f, &s, err);
        job_status_fini(&s);
        if (rc == 0)
            rc = write_out(err);
        if (rc < 0 || !live)
            return rc;
        if (!q->json)
            putchar('\n');
        clock_sleep_until_ns(next_ns);
    }
}

/* Fetch the job's status, from its driver, or from the job's files if the driver is gone or does
 * not answer, and print it once. Return 0 or a negative error.
 */
static int look_once(const struct request *q, const struct job_folder *f, struct eddis_error *err)
{
    struct job_status s;
    int rc = q->dead ? status_from_files(f, &s, err) : status_fetch(f, &s, err);

    if (rc < 0)
        return rc;
    say_unanswered(rc, err);
    rc = print_once(q, f, &s, err);
    job_status_fini(&s);
    return rc;
}

/* Print the end of the log of the worker that --logs names; with --follow also new output until the
 * job ends. Return 0 or a negative error.
 */
static int show_log(const struct request *q, const struct job_folder *f, struct eddis_error *err)
{
    const struct status_logs o = { .rank = (int)q->log_rank,
                                   .lines = q->log_lines ? q->log_lines : 20,
                                   .follow = q->follow,
                                   .plain = isatty(STDOUT_FILENO),
                                   .interval_ns = q->interval_ns };

    return status_logs_print(f, &o, err);
}

/* Show a job of this machine: live on a terminal until the job ends or the user quits, repeatedly
 * with --watch, else once. Return 0, 128 + the signal that ended the view, or a negative error.
 */
static int show(const struct request *q, const struct job_folder *f, struct eddis_error *err)
{
    const struct status_live live = { q->interval_ns, q->color, q->ascii, q->gpus };
    int rc;

    if (q->watch && (!q->terminal || q->json) && !q->dead)
        return watch_plainly(q, f, err);
    if (q->terminal && !q->once && !q->json && !q->report && !q->dead) {
        rc = status_live_run(f, &live, err);
        if (rc != 0)
            return rc == STATUS_LIVE_QUIT ? 0 : rc;
    }
    return look_once(q, f, err);
}

/* ---- jobs whose driver is on another node ---- */

/* Write to ret the arguments of eddis-status on the other node: those of this process, with the
 * job's name as it is known there. If memory is lacking, ret->failed is set.
 */
static void far_words(const struct request *q, const struct job_location *p, int argc, char **argv,
                      struct strlist *ret)
{
    bool named = false;

    strlist_addf(ret, "eddis-status");
    for (int i = 1; i < argc; i++) {
        bool job = argv[i] == q->job;

        named = named || job;
        strlist_addf(ret, "%s", job ? p->far : argv[i]);
    }
    if (!named)
        strlist_addf(ret, "%s", p->far);
}

/* Check whether the status is the last one of its job: the job has ended or is lost. */
static bool is_end(const struct job_status *s)
{
    return s->state == JOB_ENDED || s->state == JOB_LOST;
}

/* Show a job of another node on this terminal, live or with --once one page, which is made here,
 * where width and colors are known. Return 0; -ECONNRESET: Slurm ended the connection before the
 * final status came; 128 + the signal that ended the view; the exit code of eddis-status there; or
 * another negative error.
 */
static int show_far_page(const struct request *q, const struct job_location *p,
                         struct eddis_error *err)
{
    const struct status_live live = { q->interval_ns, q->color, q->ascii, q->gpus };
    struct job_folder f = p->folder;
    struct job_status s;
    int rc = q->once ? status_far_fetch(&p->proxy, p->far, &s, err)
                     : status_live_far(&p->proxy, p->far, &live, &s, err);

    if (rc != 0)
        return rc == STATUS_LIVE_QUIT ? 0 : rc;
    (void)snprintf(f.id, sizeof f.id, "%s", s.job);
    if (q->once || is_end(&s))
        rc = print_once(q, &f, &s, err);
    else
        rc = -ECONNRESET; /* Slurm ended the connection before the final status came */
    job_status_fini(&s);
    return rc;
}

/* ---- watching from another node ---- */

/* State of watch_far. */
struct far_look {
    const struct request *q;
    const struct job_folder *f;
    bool ended; /* the last status was a final one */
};

/* Print one status that came from the other node, free it, and store in ctx (struct far_look)
 * whether it is a final one. Return 0 or a negative error. A callback of status_far_watch.
 */
static int show_look(void *ctx, struct job_status *s, struct eddis_error *err)
{
    struct far_look *l = ctx;
    int rc = print_once(l->q, l->f, s, err);

    l->ended = is_end(s);
    job_status_fini(s);
    if (!l->q->json)
        putchar('\n');
    return rc == 0 ? write_out(err) : rc;
}

/* Print the status of a job on another node every interval until the job ends. Block until then.
 * Return 0; -ECONNRESET: Slurm ended the step before the job's final status came; the exit code of
 * eddis-status there; or another negative error.
 */
static int watch_far(const struct request *q, const struct job_location *p, struct eddis_error *err)
{
    struct far_look l = { .q = q, .f = &p->folder };
    int rc = status_far_watch(&p->proxy, p->far, q->interval_ns, show_look, &l, err);

    return rc == 0 && !l.ended ? -ECONNRESET : rc;
}

/* Show the end of a job after Slurm has ended the step that watched it: print its final status from
 * its folder, or, if that is not on this machine, how Slurm's job ended. Return 0; -ECONNRESET:
 * Slurm's job is not over; or another negative error. Block to ask Slurm.
 */
static int show_end(const struct request *q, const struct job_location *p, struct eddis_error *err)
{
    char how[64];

    if (!status_far_ended(&p->proxy, how, sizeof how))
        return eddis_fail(
            err, -ECONNRESET,
            "Slurm ended the connection to its job %s, which still runs; run eddis-status again",
            p->proxy.name);
    if (p->has_folder)
        return q->log_rank >= 0 ? 0 : look_once(q, &p->folder, err);
    fprintf(stderr, "eddis-status: Slurm's job %s has ended: %s; its folder is on %s\n",
            p->proxy.name, how, p->proxy.node);
    return 0;
}

/* Show a job whose driver is on another node, by running eddis-status there through srun. Block
 * until that ends. Return 0, an exit code, or a negative error.
 */
static int show_far(const struct request *q, const struct job_location *p, int argc, char **argv,
                    struct eddis_error *err)
{
    const int64_t most_ns = q->follow ? CLOCK_NEVER : 120 * CLOCK_S;
    cleanup_strlist struct strlist words = { 0 };
    int rc;

    if (q->terminal && !q->json && !q->report && q->log_rank < 0) {
        rc = show_far_page(q, p, err);
    } else if (q->watch) {
        rc = watch_far(q, p, err);
    } else {
        far_words(q, p, argc, argv, &words);
        rc = words.failed
                 ? eddis_fail(err, -ENOMEM, "no memory for a command line")
                 : status_far_print(&p->proxy, &words, isatty(STDOUT_FILENO), most_ns, err);
    }
    return rc == -ECONNRESET ? show_end(q, p, err) : rc;
}

/* ---- the program ---- */

/* Find the job that the user named, or the newest one, and store in *ret where it runs. Block to
 * ask Slurm, if needed. Return 0 or a negative error; -EIO, -ETIMEDOUT: Slurm does not answer.
 */
static int find(const struct request *q, struct job_location *ret, struct eddis_error *err)
{
    int64_t end_ns = clock_now_ns() + patience_ns;
    struct job_folder f;
    int rc;

    if (q->job)
        return job_location_find(q->job, job_folder_find, end_ns, ret, err);
    rc = status_newest(&f, err);
    if (rc == 0)
        job_location_of(&f, NULL, end_ns, ret);
    return rc;
}

/* Find the job and show what was asked for. Return the exit code. */
static int show_job(struct request *q, int argc, char **argv, struct eddis_error *err)
{
    struct job_location p;
    int rc = find(q, &p, err);

    if (rc < 0)
        return fail(err, rc == -EIO || rc == -ETIMEDOUT ? EXIT_FAULT : EXIT_USAGE);
    if (p.where == JOB_FAR)
        rc = show_far(q, &p, argc, argv, err);
    if (p.where == JOB_WAITS)
        fprintf(stderr, "eddis-status: %s\n", p.text);
    if (p.where == JOB_WAITS && !p.has_folder)
        return EXIT_FAULT;
    q->dead = p.where == JOB_DEAD;
    if (p.where != JOB_FAR)
        rc = q->log_rank >= 0 ? show_log(q, &p.folder, err) : show(q, &p.folder, err);
    return rc < 0 ? fail(err, EXIT_FAULT) : rc;
}

/* Show a job or list the jobs, as the options request. Return the exit code: 0, EXIT_USAGE,
 * EXIT_FAULT, 128 + the signal that ended the view, or that of eddis-status on the job's node.
 */
int main(int argc, char **argv)
{
    struct request q = { .interval_ns = CLOCK_S, .log_rank = -1 };
    struct eddis_error err = { 0 };
    int rc;

    user_env_hide(argv);
    program_outlive_file_limit();
    if (parse(argc, argv, &q, &err) < 0)
        return fail(&err, EXIT_USAGE);
    if (q.help || q.version) {
        options_about(&table, !q.help);
        return options_flush(&err) < 0 ? fail(&err, EXIT_FAULT) : 0;
    }
    look_around(&q);
    rc = q.list ? status_list(q.json, &err) : show_job(&q, argc, argv, &err);
    if (rc < 0 || write_out(&err) < 0)
        return fail(&err, EXIT_FAULT);
    return rc; /* 0, 128 + the signal that ended the view, or the exit code on the other node */
}
