/* SPDX-License-Identifier: Apache-2.0 */
#include "run_job.h"

#include "agents/driver/checkpoints.h"
#include "agents/job_folder.h"
#include "lib/base/cleanup.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct option_row rows[] = {
    { "np", 'n', "N", "workers on each node (workers_per_node)" },
    { "env", 'x', "NAME[=VALUE]", "set a variable of the workers, or hand ours on" },
    { "set", 0, "KEY=VALUE", "set any key of train.yaml, --set batch.global=512" },
    { "seed", 0, "N", "seed of the order of samples and of the first weights" },
    { "timeout", 0, "TIME", "end the job after so long, 30s, 5m, 12:00:00" },
    { "resume", 0, "CHECKPOINT", "go on from a checkpoint's folder, or from a job's newest" },
    { "plan", 0, "FILE", "replay the plan of an earlier job, plan-1-1.json" },
    { "measure-equal", 0, "STEPS", "train so many steps with an equal split first, to compare" },
    { "job-dir", 0, "FOLDER", "keep the job's files here; it must be missing or empty" },
    { "dry-run", 0, NULL, "print the plan and where each value of the job comes from, and stop" },
    { "profile", 0, NULL, "print what the devices were measured to be and stop" },
    { "json", 0, NULL, "print one JSON document instead of text" },
    { "verbose", 'v', NULL, "with the plan, print each value and where it comes from" },
    { "quiet", 'q', NULL, "print nothing but errors" },
    { "help", 'h', NULL, "print this and exit" },
    { "version", 'V', NULL, "print the version and exit" },
};

static const char *const use[] = { "[option ...] train.yaml",
                                   "[option ...] -- command [argument ...]",
                                   "[option ...] --profile", NULL };

const struct option_table run_options = {
    .program = "eddis-run",
    .summary = "Train on unequal devices at the sum of their speeds.",
    .use = use,
    .row = rows,
    .n = sizeof rows / sizeof *rows,
    .footer = "exit codes: 0 every worker ended well, 1 fault of eddis or a lost node, 2 usage,\n"
              "3 the job could not start, 75 stopped with a checkpoint, 124 time is over,\n"
              "130 Ctrl-C, 143 SIGTERM; otherwise that of the worker that failed first, or\n"
              "128 + its signal.  More in eddis-run(1).\n",
};

/* Words of the command line before they are put into a job. */
struct words {
    const char *file;
    const char **command; /* into argv */
    struct {
        const char *key, *value, *flag;
    } set[64];
    int n_set;
    const char *resume;
};

static int remember(struct words *w, const char *key, const char *value, const char *flag,
                    struct eddis_error *err)
{
    if (w->n_set == (int)(sizeof w->set / sizeof *w->set))
        return eddis_fail(err, -E2BIG, "too many options");
    w->set[w->n_set].key = key;
    w->set[w->n_set].value = value;
    w->set[w->n_set++].flag = flag;
    return 0;
}

/* "NAME=VALUE", or "NAME" for the value that it has here. */
static int add_env(struct run_request *r, const char *text, struct eddis_error *err)
{
    size_t n = strcspn(text, "=");
    cleanup_free char *name = strndup(text, n);
    const char *value = text[n] ? text + n + 1 : name ? getenv(name) : NULL;
    char **more;

    if (!name)
        return eddis_fail(err, -ENOMEM, "no memory for a variable");
    if (n == 0 || name[strcspn(name, " \t\n")])
        return eddis_fail(err, -EINVAL, "-x \"%s\": this is no variable's name", text);
    if (!value)
        return eddis_fail(err, -EINVAL, "-x %s: the variable is not set here; give -x %s=VALUE",
                          name, name);
    more = realloc(r->env, (size_t)(r->n_env + 2) * sizeof *more);
    if (!more)
        return eddis_fail(err, -ENOMEM, "no memory for a variable");
    r->env = more;
    if (asprintf(&more[r->n_env], "%s=%s", name, value) < 0) {
        more[r->n_env] = NULL;
        return eddis_fail(err, -ENOMEM, "no memory for a variable");
    }
    more[++r->n_env] = NULL;
    return 0;
}

static int whole_number(const char *flag, const char *text, int64_t *ret, struct eddis_error *err)
{
    char *end;
    long long n = strtoll(text, &end, 10);

    if (end == text || *end || n < 1 || n > INT32_MAX)
        return eddis_fail(err, -EINVAL, "%s \"%s\" is no whole number from 1", flag, text);
    *ret = n;
    return 0;
}

static int take_set(struct words *w, const char *text, struct eddis_error *err)
{
    if (!strchr(text, '=') || text[0] == '=')
        return eddis_fail(err, -EINVAL, "--set \"%s\" is not KEY=VALUE", text);
    return remember(w, text, strchr(text, '=') + 1, "--set", err);
}

/* Options that are plain switches. */
static bool take_switch(struct run_request *r, const struct options_item *i)
{
    const struct {
        const char *name;
        bool *flag;
    } row[] = {
        { "dry-run", &r->dry_run }, { "profile", &r->profile }, { "json", &r->json },
        { "quiet", &r->quiet },     { "help", &r->help },       { "version", &r->version },
    };

    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
        if (options_is(i, row[k].name)) {
            *row[k].flag = true;
            return true;
        }
    r->verbose += options_is(i, "verbose");
    return options_is(i, "verbose");
}

static int take_option(struct run_request *r, struct words *w, const struct options_item *i,
                       struct eddis_error *err)
{
    static const struct {
        const char *name, *key, *flag;
    } keys[] = {
        { "np", "workers_per_node", "--np" },
        { "seed", "seed", "--seed" },
        { "timeout", "timeouts.job", "--timeout" },
    };

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (options_is(i, keys[k].name))
            return remember(w, keys[k].key, i->value, keys[k].flag, err);
    if (options_is(i, "set"))
        return take_set(w, i->value, err);
    if (options_is(i, "env"))
        return add_env(r, i->value, err);
    if (options_is(i, "measure-equal"))
        return whole_number("--measure-equal", i->value, &r->measure_equal, err);
    if (options_is(i, "resume"))
        w->resume = i->value;
    else if (options_is(i, "plan"))
        r->plan_path = i->value;
    else if (options_is(i, "job-dir"))
        r->job_dir = i->value;
    else
        (void)take_switch(r, i);
    return 0;
}

static int read_words(int argc, char **argv, struct run_request *r, struct words *w,
                      struct eddis_error *err)
{
    struct options o = { .table = &run_options, .argc = argc, .argv = argv };
    struct options_item i;
    int rc;

    while ((rc = options_next(&o, &i, err)) == 1) {
        if (i.row)
            rc = take_option(r, w, &i, err);
        else if (o.behind) {
            w->command = (const char **)(uintptr_t)&argv[o.at]; /* argv ends with NULL */
            return 0;
        } else if (w->file)
            rc = eddis_fail(err, -EINVAL,
                            "\"%s\" and \"%s\": one job at a time; a command stands behind --",
                            w->file, i.value);
        else
            w->file = i.value;
        if (rc < 0)
            return rc;
        if (r->help || r->version)
            return 0;
    }
    return rc;
}

static int open_job(const struct words *w, struct run_request *r, struct eddis_error *err)
{
    static const char *nothing[] = { "true", NULL }; /* devices can be measured without a job */
    char folder[PATH_MAX];

    if (w->file && w->command)
        return eddis_fail(err, -EINVAL, "give either \"%s\" or a command behind --, not both",
                          w->file);
    if (w->file)
        return job_read(w->file, &r->job, err);
    if (!w->command && !r->profile)
        return eddis_fail(err, -EINVAL,
                          "which job? name a train.yaml, or a command behind --; see eddis-run "
                          "--help");
    if (!getcwd(folder, sizeof folder))
        return eddis_fail_errno(err, -errno, "cannot tell the current folder");
    return job_from_command(w->command ? w->command : nothing, folder, &r->job, err);
}

static int set_keys(const struct words *w, struct run_request *r, struct eddis_error *err)
{
    for (int i = 0; i < w->n_set; i++) {
        cleanup_free char *key = strndup(w->set[i].key, strcspn(w->set[i].key, "="));
        int rc = key ? job_set(r->job, key, w->set[i].value, w->set[i].flag, err)
                     : eddis_fail(err, -ENOMEM, "no memory for an option");

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The word of --resume is a checkpoint, or a job whose newest checkpoint is meant. */
static int set_resume(const char *word, struct run_request *r, struct eddis_error *err)
{
    char path[PATH_MAX], whole[PATH_MAX], dir[PATH_MAX];
    struct job_folder folder;
    struct stat st;
    int rc;

    if (!word)
        return 0;
    if (snprintf(path, sizeof path, "%s/manifest.json", word) < (int)sizeof path &&
        stat(path, &st) == 0) {
        (void)snprintf(path, sizeof path, "%s", word);
    } else {
        rc = job_folder_find(word, &folder, err);
        if (rc < 0)
            return eddis_fail_prefix(err, rc, "--resume %s is no checkpoint, and as a job", word);
        (void)snprintf(dir, sizeof dir, "%s/checkpoints", folder.path);
        if (checkpoints_newest(dir, path, sizeof path) < 0)
            return eddis_fail(err, -ENOENT, "job '%s' has no checkpoint in '%s'", folder.id, dir);
    }
    if (!realpath(path, whole))
        return eddis_fail_errno(err, -errno, "no checkpoint '%s'", path);
    return job_set(r->job, "checkpoint.resume", whole, "--resume", err);
}

int run_request_read(int argc, char **argv, struct run_request *ret, struct eddis_error *err)
{
    struct run_request r = { 0 };
    struct words w = { 0 };
    int rc = read_words(argc, argv, &r, &w, err);

    if (rc == 0 && !r.help && !r.version) {
        rc = open_job(&w, &r, err);
        if (rc == 0)
            rc = set_keys(&w, &r, err);
        if (rc == 0)
            rc = set_resume(w.resume, &r, err);
        if (rc == 0 && (w.n_set || w.resume))
            rc = job_check(r.job, err);
    }
    if (rc < 0)
        run_request_fini(&r);
    else
        *ret = r;
    return rc;
}

void run_request_fini(struct run_request *r)
{
    job_free(r->job);
    for (int i = 0; i < r->n_env; i++)
        free(r->env[i]);
    free(r->env);
    *r = (struct run_request){ 0 };
}
