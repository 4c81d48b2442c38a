/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-sbatch.c - submits a job to Slurm
 *
 * Words before the job's file are options of eddis-sbatch. Words after it are options of sbatch,
 * except for the long options of eddis-sbatch, which are recognized there, too.
 */
#include "cmd/shared/job_file.h"
#include "cmd/shared/options.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"
#include "lib/base/program.h"
#include "lib/base/strlist.h"
#include "lib/base/user_env.h"
#include "lib/job/job_read.h"
#include "sbatch_options.h"
#include "sbatch_script.h"
#include "sbatch_submit.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_row rows[] = {
    { "print", 0, NULL, "print the script and exit" },
    { "test-only", 0, NULL, "ask Slurm whether and when it could start the job, and exit" },
    { "set", 0, "KEY=VALUE", "set any key of train.yaml, --set slurm.nodes=8" },
    { "json", 0, NULL, "print one JSON document instead of text" },
    { "parsable", 0, NULL, "print only the job's number, as sbatch does" },
    { "help", 'h', NULL, "print this help and exit" },
    { "version", 'V', NULL, "print the version and exit" },
};

static const char *const use[] = { "[option ...] train.yaml [option of sbatch ...]", NULL };

static const struct option_table table = {
    .program = "eddis-sbatch",
    .summary = "Submit a training job to Slurm.",
    .use = use,
    .row = rows,
    .n = sizeof rows / sizeof *rows,
    .footer =
        "Options after the file are passed to sbatch: eddis-sbatch train.yaml -p gpu -N 4\n"
        "exit codes: 0 the job is in the queue, 2 wrong usage, 3 Slurm rejected the job; with\n"
        "--wait the exit code of the job.  More in eddis-sbatch(1).\n",
};

/* Parsed command line. */
struct request {
    const char *file; /* borrowed from argv */
    struct strlist set, words;
    bool print, test, json, parsable, help, version;
};

/* Print the error on standard error and return `code`, the exit code. */
static int fail(const struct eddis_error *err, int code)
{
    options_complain("eddis-sbatch", err, stderr);
    return code;
}

/* ---- the command line ---- */

/* Set the member of q for the option of this long name. Return false if no option without a value
 * has that name.
 */
static bool take_switch(struct request *q, const char *name)
{
    const struct option_switch row[] = {
        { "print", &q->print },       { "test-only", &q->test }, { "json", &q->json },
        { "parsable", &q->parsable }, { "help", &q->help },      { "version", &q->version },
    };

    return options_switch(name, row, sizeof row / sizeof *row);
}

/* Append KEY=VALUE of --set to q->set. Return 0; -EINVAL: text has no key or no '='. */
static int take_set(struct request *q, const char *text, struct eddis_error *err)
{
    if (!strchr(text, '=') || text[0] == '=')
        return eddis_fail(err, -EINVAL, "--set needs KEY=VALUE, not \"%.100s\"", text);
    strlist_addf(&q->set, "%s", text);
    return 0;
}

/* Parse eddis-sbatch's own options into q up to the job's file, which is stored in q->file. Return
 * 0 or a negative error; for an unknown option it says that options of sbatch come after the file.
 */
static int read_ours(struct options *o, struct request *q, struct eddis_error *err)
{
    struct options_item i;
    int rc;

    while ((rc = options_next(o, &i, err)) == 1) {
        if (!i.row) {
            q->file = i.value;
            return 0;
        }
        if (options_is(&i, "set"))
            rc = take_set(q, i.value, err);
        else
            (void)take_switch(q, i.row->name);
        if (rc < 0)
            return rc;
    }
    if (rc == -EINVAL && strncmp(err->text, "unknown option", 14) == 0 &&
        !strstr(err->text, "did you mean")) {
        const struct eddis_error ours = *err;

        return eddis_fail(
            err, rc,
            "%.200s; write options of sbatch after the job's file: eddis-sbatch train.yaml -p gpu",
            ours.text);
    }
    return rc;
}

/* Parse the whole command line into q: eddis-sbatch's options, the job's file, and after it the
 * options of sbatch (q->words), among which --set and switches of eddis-sbatch may stand. Return 0
 * or a negative error.
 */
static int read_words(int argc, char **argv, struct request *q, struct eddis_error *err)
{
    struct options o = { .table = &table, .argc = argc, .argv = argv };
    bool theirs = false;
    int rc = read_ours(&o, q, err);

    for (int i = o.at + 1; q->file && i < argc && rc == 0; i++) {
        const char *w = argv[i];

        if (!theirs && strcmp(w, "--") == 0)
            theirs = true;
        else if (!theirs && strcmp(w, "--set") == 0 && i + 1 < argc)
            rc = take_set(q, argv[++i], err);
        else if (!theirs && strncmp(w, "--set=", 6) == 0)
            rc = take_set(q, w + 6, err);
        else if (theirs || strncmp(w, "--", 2) != 0 || !take_switch(q, w + 2))
            strlist_addf(&q->words, "%s", w);
    }
    if (rc == 0 && !q->file && !q->help && !q->version)
        rc =
            eddis_fail(err, -EINVAL, "no job is named; name a train.yaml; see eddis-sbatch --help");
    if (rc == 0 && (q->set.failed || q->words.failed))
        rc = eddis_fail(err, -ENOMEM, "no memory for the command line");
    return rc;
}

/* ---- the job ---- */

/* Set the keys of all --set options in the job; if there are any, check the job again. Return 0 or
 * a negative error.
 */
static int set_keys(const struct request *q, struct job *job, struct eddis_error *err)
{
    int rc = 0;

    for (size_t i = 0; i < q->set.n && rc == 0; i++) {
        const char *equals = strchr(q->set.item[i], '=');
        cleanup_free char *key = strndup(q->set.item[i], (size_t)(equals - q->set.item[i]));

        rc = key ? job_set(job, key, equals + 1, "--set", err)
                 : eddis_fail(err, -ENOMEM, "no memory for an option");
    }
    return rc == 0 && q->set.n ? job_check(job, err) : rc;
}

/* ---- output ---- */

/* State of a submission, for the callback on_got. */
struct answer {
    const struct request *q;
    const struct job *job;
    const char *later; /* why the job cannot start now; NULL: it can */
    sigset_t before;   /* signal mask before hold_signals */
};

/* Check whether the job's output goes to slurm-ID.out in the current folder, because no option of
 * sbatch and no variable changes that.
 */
static bool writes_here(const struct answer *a)
{
    static const struct {
        const char *name;
        char letter;
    } row[] = { { "output", 'o' }, { "chdir", 'D' }, { "array", 'a' }, { "clusters", 'M' } };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (sbatch_options_have(a->q->words.item, row[i].name, row[i].letter) ||
            sbatch_options_have(a->job->slurm.extra, row[i].name, row[i].letter))
            return false;
    return !getenv("SBATCH_OUTPUT") && !getenv("SBATCH_ARRAY_INX");
}

/* Block SIGINT, SIGTERM and SIGHUP and store the former signal mask in a->before. For the time in
 * which Slurm is asked about the submitted job: a signal would otherwise leave a job behind that
 * was not reported to the user.
 */
static void hold_signals(struct answer *a)
{
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ours, &a->before);
}

/* Restore the signal mask if hold_signals was called (a->later is set). */
static void let_signals(const struct answer *a)
{
    if (a->later)
        (void)sigprocmask(SIG_SETMASK, &a->before, NULL);
}

/* Print the number of the job that Slurm has accepted and, on standard error, why it waits, if
 * known. Then restore the signal mask. A callback of sbatch_submit; ctx: struct answer.
 */
static void on_got(void *ctx, const char *id, const char *cluster)
{
    const struct answer *a = ctx;
    const char *job = a->job->name;

    if (a->q->parsable)
        printf("%s%s%s\n", id, *cluster ? ";" : "", cluster);
    else if (a->q->json) /* none of these needs an escape: see text_is_name and Slurm's names */
        printf("{\"cluster\": \"%s\", \"job\": \"%s\", \"name\": \"%s\", \"schema_version\": 1}\n",
               cluster, id, job);
    else if (writes_here(a))
        printf("job %s (%s) is in Slurm's queue; its output goes to slurm-%s.out; run scancel %s "
               "to end it\n",
               id, job, id, id);
    else
        printf("job %s (%s) is in Slurm's queue; run scancel %s to end it\n", id, job, id);
    fflush(stdout);
    if (a->later)
        fprintf(stderr, "eddis-sbatch: job %s waits: %s\n", id, a->later);
    let_signals(a);
}

/* Let sbatch test the script and submit it, or with --test-only only test it. Print the result.
 * Block for Slurm's answers, with sbatch's --wait until the job's end. Return the exit code:
 * sbatch's, with --wait the job's, or EXIT_START if the job cannot start.
 */
static int submit(const struct request *q, const struct sbatch_ask *ask, const char *script,
                  struct eddis_error *err)
{
    struct answer answer = { .q = q, .job = ask->job };
    cleanup_free char *start = NULL;
    int rc = sbatch_submit_test(ask, script, &start, err);

    if (rc < 0)
        return fail(err, rc == -ENOMEM ? EXIT_FAULT : EXIT_START);
    if (q->test && rc == 1) {
        eddis_fail(err, -EAGAIN,
                   "%s; only Slurm's queue shows whether it can start later; submit it without "
                   "--test-only",
                   start);
        return fail(err, EXIT_START);
    }
    if (q->test) {
        puts(start);
        return 0;
    }
    if (rc == 0 && sbatch_submit_is_narrow(ask, start))
        fprintf(stderr, "eddis-sbatch: %s\n", sbatch_submit_narrow);
    if (rc == 1) {
        answer.later = start;
        hold_signals(&answer);
    }
    rc = sbatch_submit(ask, script, rc == 1, on_got, &answer, err);
    if (rc >= 0)
        return rc;
    (void)fail(err, EXIT_START);
    let_signals(&answer);
    return EXIT_START;
}

/* Append to args the arguments of eddis-run: the --set options and the absolute path of the job's
 * file. Return 0 or a negative error.
 */
static int make_args(const struct request *q, struct strlist *args, struct eddis_error *err)
{
    char folder[PATH_MAX];

    for (size_t i = 0; i < q->set.n; i++) {
        strlist_addf(args, "--set");
        strlist_addf(args, "%s", q->set.item[i]);
    }
    if (*q->file == '/')
        strlist_addf(args, "%s", q->file);
    else if (getcwd(folder, sizeof folder))
        strlist_addf(args, "%s/%s", folder, q->file);
    else
        return eddis_fail_errno(err, -errno, "cannot determine the current folder");
    return args->failed ? eddis_fail(err, -ENOMEM, "no memory for a command line") : 0;
}

/* Check the job and make its script; then print it (--print), test it or submit it. Return the exit
 * code.
 */
static int run_with(const struct request *q, const struct sbatch_ask *ask, struct eddis_error *err)
{
    cleanup_free char *script = NULL;

    if (sbatch_script_check(ask, err) < 0)
        return fail(err, EXIT_USAGE);
    script = sbatch_script_text(ask);
    if (!script)
        return eddis_fail(err, -ENOMEM, "no memory for the script"), fail(err, EXIT_FAULT);
    if (!q->print)
        return submit(q, ask, script, err);
    fputs(script, stdout);
    return 0;
}

/* Find eddis-run's path and handle the request for the job. Return the exit code. */
static int run(const struct request *q, const struct job *job, struct eddis_error *err)
{
    cleanup_strlist struct strlist args = { 0 };
    char program[PATH_MAX];
    struct sbatch_ask ask = { .job = job, .program = program, .words = q->words.item };

    if (program_path("eddis-run", program, sizeof program, err) < 0 || make_args(q, &args, err) < 0)
        return fail(err, EXIT_START);
    ask.args = args.item;
    return run_with(q, &ask, err);
}

/* Submit the job to Slurm, or print its script. Return the exit code: 0; EXIT_USAGE: wrong options
 * or a wrong file; EXIT_FAULT: standard output cannot be written; or that of run.
 */
int main(int argc, char **argv)
{
    struct request q = { 0 };
    struct eddis_error err = { 0 };
    struct job *job = NULL;
    int code = EXIT_USAGE;

    user_env_hide(argv);
    program_outlive_file_limit();
    if (read_words(argc, argv, &q, &err) < 0) {
        fail(&err, 0);
    } else if (q.help || q.version) {
        options_about(&table, !q.help);
        code = 0;
    } else if (job_file_read("eddis-sbatch", q.file, &job, &err) < 0 ||
               set_keys(&q, job, &err) < 0) {
        fail(&err, 0);
    } else {
        code = run(&q, job, &err);
    }
    job_free(job);
    strlist_fini(&q.set);
    strlist_fini(&q.words);
    if (code == 0 && options_flush(&err) < 0)
        code = fail(&err, EXIT_FAULT);
    return code;
}
