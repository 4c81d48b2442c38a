/* SPDX-License-Identifier: Apache-2.0 */
#include "run_job.h"

#include "agents/driver/checkpoints.h"
#include "agents/job_folder.h"
#include "cmd/preflight.h"
#include "lib/base/cleanup.h"
#include "lib/base/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct option_row rows[] = {
    { "np", 'n', "N", "workers on each node (workers_per_node)" },
    { "env", 'x', "NAME[=VALUE]", "set a variable of the workers, or hand ours on" },
    { "set", 0, "KEY=VALUE", "set any key of train.yaml, --set batch.global=512" },
    { "seed", 0, "N", "seed of the order of samples and of the first weights" },
    { "timeout", 0, "TIME", "end the job after so long, 30s, 5m, 12:00:00" },
    { "resume", 0, "CHECKPOINT", "go on from a checkpoint's folder, or from a job's newest" },
    { "plan", 0, "PLAN", "replay a plan: a plan-*.json, or a job whose newest is meant" },
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
    const char *resume, *plan;
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
    if (job_check_variable(name, err) < 0)
        return eddis_fail_prefix(err, -EINVAL, "-x");
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
        return eddis_fail(err, -EINVAL,
                          "--set \"%s\" is not KEY=VALUE; write it as --set batch.global=512",
                          text);
    return remember(w, text, strchr(text, '=') + 1, "--set", err);
}

/* A forgotten number makes the job's file the option's value: say what was taken. */
static int take_np(struct words *w, const char *text, struct eddis_error *err)
{
    if (strcmp(text, "auto") != 0 && (!*text || text[strspn(text, "0123456789")]))
        return eddis_fail(err, -EINVAL, "-n needs the number of workers of each node and got '%s'",
                          text);
    return remember(w, "workers_per_node", text, "--np", err);
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
        { "seed", "seed", "--seed" },
        { "timeout", "timeouts.job", "--timeout" },
    };

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (options_is(i, keys[k].name))
            return remember(w, keys[k].key, i->value, keys[k].flag, err);
    if (options_is(i, "np"))
        return take_np(w, i->value, err);
    if (options_is(i, "set"))
        return take_set(w, i->value, err);
    if (options_is(i, "env"))
        return add_env(r, i->value, err);
    if (options_is(i, "measure-equal"))
        return whole_number("--measure-equal", i->value, &r->measure_equal, err);
    if (options_is(i, "resume"))
        w->resume = i->value;
    else if (options_is(i, "plan"))
        w->plan = i->value;
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
    static const char *const nothing[] = { "true", NULL };
    const char *const *command = (const char *const *)w->command;
    char folder[PATH_MAX];

    if (w->file && w->command)
        return eddis_fail(err, -EINVAL, "give either \"%s\" or a command behind --, not both",
                          w->file);
    if (w->file) {
        int rc = job_read(w->file, &r->job, err);

        if (rc == -ENOENT && spawn_find(w->file, folder, sizeof folder, NULL) == 0)
            return eddis_fail(err, -ENOENT,
                              "no file '%s'; to run the program of this name: eddis-run -- %s",
                              w->file, w->file);
        return rc;
    }
    if (!w->command && r->profile)
        command = nothing; /* devices are measured without a job, too */
    else if (!w->command)
        return eddis_fail(err, -EINVAL,
                          "which job? name a train.yaml, or a command behind --; see eddis-run "
                          "--help");
    if (!getcwd(folder, sizeof folder))
        return eddis_fail_errno(err, -errno, "cannot tell the current folder");
    return job_from_command(command, folder, &r->job, err);
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

static bool has_file(const char *folder, const char *name)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

/* A job by its folder or the beginning of its id, as the word of an option. */
static int find_job(const char *option, const char *word, struct job_folder *ret,
                    struct eddis_error *err)
{
    int rc = job_folder_find(word, ret, err);

    if (rc == -ENOENT)
        return eddis_fail(err, rc,
                          "%s %s: there is neither such a file or folder nor a job whose id begins "
                          "so; eddis-status --list shows the jobs",
                          option, word);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s %s", option, word) : rc;
}

/* The word of --resume is a checkpoint, or a folder of them or a job whose newest is meant. */
static int set_resume(const char *word, struct run_request *r, struct eddis_error *err)
{
    char path[PATH_MAX], whole[PATH_MAX], dir[PATH_MAX];
    struct job_folder folder;
    int rc;

    if (!word)
        return 0;
    if (has_file(word, "MANIFEST")) {
        (void)snprintf(path, sizeof path, "%s", word);
    } else if (checkpoints_newest(word, path, sizeof path) < 0) {
        rc = find_job("--resume", word, &folder, err);
        if (rc < 0)
            return rc;
        (void)snprintf(dir, sizeof dir, "%s/checkpoints", folder.path);
        if (checkpoints_newest(dir, path, sizeof path) < 0)
            return eddis_fail(err, -ENOENT, "--resume %s: the job has no checkpoint in '%s'", word,
                              dir);
    }
    if (!realpath(path, whole))
        return eddis_fail_errno(err, -errno, "no checkpoint '%s'", path);
    return job_set(r->job, "checkpoint.resume", whole, "--resume", err);
}

/* Write the path of the newest plan of a job's folder to ret [size]; false: it has none. */
static bool newest_plan(const char *folder, char *ret, size_t size)
{
    int64_t best_generation = -1, best_version = -1;
    DIR *dir = opendir(folder);
    struct dirent *e;

    while (dir && (e = readdir(dir))) {
        int64_t generation, version;
        int end = 0;

        if (sscanf(e->d_name, "plan-%" SCNd64 "-%" SCNd64 ".json%n", &generation, &version, &end) !=
                2 ||
            !end || e->d_name[end])
            continue;
        if (generation < best_generation ||
            (generation == best_generation && version <= best_version))
            continue;
        best_generation = generation;
        best_version = version;
        (void)snprintf(ret, size, "%s/%s", folder, e->d_name);
    }
    if (dir)
        closedir(dir);
    return best_generation >= 0;
}

/* The word of --plan is a file, or a job whose newest plan is meant. */
static int set_plan(const char *word, struct run_request *r, struct eddis_error *err)
{
    struct job_folder folder;
    char path[PATH_MAX];
    struct stat st;
    int rc;

    if (!word)
        return 0;
    if (stat(word, &st) == 0 && !S_ISDIR(st.st_mode)) {
        (void)snprintf(path, sizeof path, "%s", word);
    } else {
        rc = find_job("--plan", word, &folder, err);
        if (rc < 0)
            return rc;
        if (!newest_plan(folder.path, path, sizeof path))
            return eddis_fail(err, -ENOENT, "--plan %s: the job has no plan in '%s'", word,
                              folder.path);
    }
    r->plan_path = strdup(path);
    return r->plan_path ? 0 : eddis_fail(err, -ENOMEM, "no memory for an option");
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
        if (rc == 0)
            rc = set_plan(w.plan, &r, err);
        if (rc == 0 && (w.n_set || w.resume))
            rc = job_check(r.job, err);
        if (rc == 0)
            rc = preflight_check(r.job, err);
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
    free(r->plan_path);
    *r = (struct run_request){ 0 };
}
