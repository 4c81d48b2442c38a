/* SPDX-License-Identifier: Apache-2.0 */
/* run_job.c - reads the job's file and applies the command line to it */
#include "run_job.h"

#include "cmd/shared/job_file.h"
#include "cmd/shared/options.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"
#include "lib/base/text.h"
#include "lib/base/user_env.h"
#include "lib/job/job_read.h"
#include "preflight.h"
#include "run_allocation.h"
#include "run_batch.h"
#include "run_compare.h"
#include "run_env.h"
#include "run_find.h"
#include "run_options.h"
#include "run_resume.h"
#include "run_together.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How an option's value is stored in its key. */
enum value_kind {
    AS_KEY,  /* parsed as in the job's file */
    AS_TEXT, /* a text, whatever it looks like */
    AS_PATH, /* a path; a relative one is below the current folder */
};

/* An option that sets a key of the job. flag: how errors name the option. */
struct setting {
    const char *option, *key, *flag;
    enum value_kind kind;
};

static const struct setting settings[] = {
    { "host", "nodes", "-H", AS_TEXT },
    { "hostfile", "hostfile", "--hostfile", AS_PATH },
    { "seed", "seed", "--seed", AS_KEY },
    { "restarts", "restarts", "--restarts", AS_KEY },
    { "max-restarts", "restarts", "--max-restarts", AS_KEY },
    { "ssh-port", "ssh.port", "--ssh-port", AS_KEY },
    { "ssh-command", "ssh.command", "--ssh-command", AS_TEXT },
    { "network-interface", "communication.interface", "--network-interface", AS_TEXT },
    { "wait", "timeouts.gpus", "--wait", AS_KEY },
    { "timeout", "timeouts.job", "--timeout", AS_KEY },
    { "log-dir", "logs.dir", "--log-dir", AS_PATH },
};

/* Parsed command line, before it is applied to a job. All texts are borrowed from argv. */
struct words {
    const char *file;
    const char **command; /* the words after "--", within argv, NULL-ended; NULL: none */
    struct {
        struct setting s;
        const char *value;
    } set[64];
    int n_set;
    const char *resume, *plan, *prune;
    bool hosts, hostfile; /* -H and --hostfile were given */
};

/* Append an option that sets a key, with its value, to w->set. Return 0; -E2BIG: there are too
 * many.
 */
static int remember(struct words *w, const struct setting *s, const char *value,
                    struct eddis_error *err)
{
    if (w->n_set == (int)(sizeof w->set / sizeof *w->set))
        return eddis_fail(err, -E2BIG, "too many options");
    w->set[w->n_set].s = *s;
    w->set[w->n_set++].value = value;
    return 0;
}

/* Least number of --measure-equal: the workers agree on the change of plan while they train. */
enum { LEAST_EQUAL_STEPS = 4 };

/* Parse the number of steps of --measure-equal into *ret. Return 0 or -EINVAL. */
static int take_measure_equal(const char *text, int64_t *ret, struct eddis_error *err)
{
    char *end;
    long long n = strtoll(text, &end, 10);

    if (end == text || *end || n < LEAST_EQUAL_STEPS || n > INT32_MAX)
        return eddis_fail(err, -EINVAL,
                          "--measure-equal \"%s\" is not a whole number of at least %d, the fewest "
                          "steps in which workers agree on a change",
                          text, LEAST_EQUAL_STEPS);
    *ret = n;
    return 0;
}

/* Longest duration that --simulate accepts: 30 d. */
enum { MOST_SIMULATED_S = 30 * 86400 };

/* Parse the argument of --simulate. Return 0; -EINVAL: text is no duration in the range. */
static int take_simulate(const char *text, int64_t *ret, struct eddis_error *err)
{
    int64_t ns = 0;

    if (text_duration_ns(text, &ns, NULL) < 0 || ns < CLOCK_S || ns > MOST_SIMULATED_S * CLOCK_S)
        return eddis_fail(err, -EINVAL,
                          "--simulate \"%s\" is not a duration from 1s to 30d; write one like "
                          "600s or 10m",
                          text);
    *ret = ns;
    return 0;
}

/* Append the key and value of --set to w->set. Return 0; -EINVAL: text is not KEY=VALUE; -E2BIG. */
static int take_set(struct words *w, const char *text, struct eddis_error *err)
{
    if (!strchr(text, '=') || text[0] == '=')
        return eddis_fail(err, -EINVAL,
                          "--set \"%s\" is not KEY=VALUE; write it as --set batch.global=512",
                          text);
    return remember(w, &(struct setting){ NULL, text, "--set", AS_KEY }, strchr(text, '=') + 1,
                    err);
}

/* Append the value of -n to w->set. Return 0; -E2BIG; -EINVAL: it is neither a number nor "auto".
 * The error names it: if the number was forgotten, it is the name of the job's file.
 */
static int take_np(struct words *w, const char *text, struct eddis_error *err)
{
    if (strcmp(text, "auto") != 0 && (!*text || text[strspn(text, "0123456789")]))
        return eddis_fail(err, -EINVAL, "-n needs the number of workers on each node, not '%s'",
                          text);
    return remember(w, &(struct setting){ NULL, "workers_per_node", "--np", AS_KEY }, text, err);
}

/* Store an option without a value. */
static void take_switch(struct run_request *r, const char *name)
{
    const struct option_switch row[] = {
        { "dry-run", &r->dry_run }, { "profile", &r->profile }, { "json", &r->json },
        { "quiet", &r->quiet },     { "help", &r->help },       { "version", &r->version },
        { "detach", &r->detach },   { "check", &r->check },     { "failed", &r->failed },
        { "slurm", &r->submit },    { "verbose", &r->verbose }, { "compare", &r->compare },
    };

    (void)options_switch(name, row, sizeof row / sizeof *row);
}

/* Store one option of the command line in r or w. Return 0 or a negative error that names it. */
static int take_option(struct run_request *r, struct words *w, const struct options_item *i,
                       struct eddis_error *err)
{
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
        if (options_is(i, settings[k].option)) {
            w->hosts = w->hosts || settings[k].key == settings[0].key;
            w->hostfile = w->hostfile || options_is(i, "hostfile");
            return remember(w, &settings[k], i->value ? i->value : "none", err);
        }
    if (options_is(i, "np"))
        return take_np(w, i->value, err);
    if (options_is(i, "set"))
        return take_set(w, i->value, err);
    if (options_is(i, "env"))
        return run_env_set(&r->env, i->value, err);
    if (options_is(i, "ranks")) {
        int rc = rank_list_parse(i->value, &r->ranks, err);

        return rc < 0 ? eddis_fail_prefix(err, rc, "--ranks") : 0;
    }
    if (options_is(i, "measure-equal"))
        return take_measure_equal(i->value, &r->measure_equal, err);
    if (options_is(i, "simulate"))
        return take_simulate(i->value, &r->simulate_ns, err);
    if (options_is(i, "modes"))
        return compare_ask_modes(i->value, &r->ask, err);
    if (options_is(i, "until"))
        return compare_ask_until(i->value, &r->ask.target, err);
    if (options_is(i, "rounds"))
        return compare_ask_rounds(i->value, &r->ask, err);
    if (options_is(i, "resume"))
        w->resume = i->value;
    else if (options_is(i, "plan"))
        w->plan = i->value;
    else if (options_is(i, "what-if"))
        r->what_if = i->value;
    else if (options_is(i, "job-dir"))
        r->job_dir = i->value;
    else if (options_is(i, "stop"))
        r->stop = i->value;
    else if (options_is(i, "cleanup"))
        r->cleanup = i->value;
    else if (options_is(i, "prune"))
        w->prune = i->value;
    else
        take_switch(r, i->row->name);
    return 0;
}

/* Check whether a name ends in this text. */
static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);

    return n >= k && strcmp(name + n - k, end) == 0;
}

/* Check whether a file name ends as that of a job's file: .yaml, .yml or .json. */
static bool is_yaml(const char *name)
{
    return ends_in(name, ".yaml") || ends_in(name, ".yml") || ends_in(name, ".json");
}

/* Set err because of two words before "--", and return -EINVAL. If the first is no file, it is more
 * often the name of a program than of a job's file: say how to run a program.
 */
static int two_words(const char *first, const char *second, struct eddis_error *err)
{
    if (is_yaml(first) || access(first, F_OK) == 0)
        return eddis_fail(err, -EINVAL,
                          "\"%s\" and \"%s\": give one job at a time; write a command after --",
                          first, second);
    return eddis_fail(err, -EINVAL,
                      "\"%s\" is not a job file; write a command after --: eddis-run -- %s %s",
                      first, first, second);
}

/* Parse the command line into r and w up to "--", whose command is stored in w->command, or up to
 * --help or --version. Return 0 or a negative error.
 */
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
            w->command = (const char **)(uintptr_t)&argv[o.at]; /* ends with argv's NULL */
            return 0;
        } else if (w->file)
            rc = two_words(w->file, i.value, err);
        else
            w->file = i.value;
        if (rc < 0)
            return rc;
        if (r->help || r->version)
            return 0;
    }
    return rc;
}

/* Append to err how to run file `name`, which is not a job's file, as a program. Return rc. */
static int hint_program(const char *name, int rc, struct eddis_error *err)
{
    const char *slash = access(name, X_OK) == 0 && !strchr(name, '/') ? "./" : "";

    if (err)
        text_append(
            err->text, sizeof err->text, "; to run it as a program, write eddis-run -- %s%s%s",
            ends_in(name, ".py") ? "python3 " : "", ends_in(name, ".py") ? "" : slash, name);
    return rc;
}

/* Read the job into r->job: from its file, from the command after "--", or from the job that
 * --resume names; for --profile without any of them, make a job that only has devices to measure.
 * Return 0; -EINVAL: none of them is given, or two; or another negative error.
 */
static int open_job(const struct words *w, struct run_request *r, struct eddis_error *err)
{
    static const char *const nothing[] = { "true", NULL };
    const char *const *command = (const char *const *)w->command;
    char folder[PATH_MAX];

    if (w->file && w->command)
        return eddis_fail(err, -EINVAL, "give either \"%s\" or a command after --, not both",
                          w->file);
    if (w->file) {
        int rc = is_yaml(w->file) ? job_file_read("eddis-run", w->file, &r->job, err)
                                  : job_read(w->file, &r->job, err);

        if (rc == -ENOENT && spawn_find(w->file, folder, sizeof folder, NULL) == 0)
            return eddis_fail(
                err, -ENOENT,
                "no file '%s'; to run the program of this name, write eddis-run -- %s", w->file,
                w->file);
        if (rc == -ENOENT && !is_yaml(w->file))
            return job_file_missing(w->file, err);
        return rc == -EINVAL && !is_yaml(w->file) ? hint_program(w->file, rc, err) : rc;
    }
    if (!w->command && w->resume && !r->profile)
        return run_resume_job(w->resume, &r->env, &r->job, err);
    if (!w->command && r->profile)
        command = nothing; /* devices can be measured without a job */
    else if (!w->command)
        return eddis_fail(err, -EINVAL,
                          "no job is named; name a train.yaml, or write a command after --; see "
                          "eddis-run --help");
    if (!getcwd(folder, sizeof folder))
        return eddis_fail_errno(err, -errno, "cannot determine the current folder");
    return job_from_command(command, folder, &r->job, err);
}

/* Set the key of the i-th option in w->set in the job. Return 0 or a negative error that names the
 * option.
 */
static int set_key(struct job *job, const struct words *w, int i, struct eddis_error *err)
{
    cleanup_free char *key = strndup(w->set[i].s.key, strcspn(w->set[i].s.key, "=")), *path = NULL;
    const char *value = w->set[i].value;
    char folder[PATH_MAX];

    if (w->set[i].s.kind == AS_PATH && value[0] != '/' && value[0]) {
        if (!getcwd(folder, sizeof folder))
            return eddis_fail_errno(err, -errno, "cannot determine the current folder");
        path = file_join(folder, "%s", value);
        value = path;
    }
    if (!key || !value)
        return eddis_fail(err, -ENOMEM, "no memory for an option");
    if (w->set[i].s.kind == AS_TEXT)
        return job_set_text(job, key, value, w->set[i].s.flag, err);
    return job_set(job, key, value, w->set[i].s.flag, err);
}

/* Apply the options in w->set, --resume and --plan to the job, then check the job, and that it fits
 * the checkpoint. The checksums of the checkpoint are compared here unless the search for it has
 * done so. Return 0 or a negative error.
 */
static int set_keys(const struct words *w, struct run_request *r, struct eddis_error *err)
{
    cleanup_free char *checkpoint = NULL;
    bool compared = false;
    int rc = 0;

    if (w->hosts && w->hostfile)
        return eddis_fail(err, -EINVAL, "-H and --hostfile exclude each other; give one");
    for (int i = 0; i < w->n_set && rc == 0; i++)
        rc = set_key(r->job, w, i, err);
    if (rc == 0 && w->resume)
        rc = run_find_checkpoint(w->resume, &checkpoint, err);
    compared = rc > 0;
    if (checkpoint)
        rc = job_set(r->job, "checkpoint.resume", checkpoint, "--resume", err);
    if (rc == 0 && w->plan)
        rc = run_find_plan(w->plan, &r->plan_path, err);
    if (rc == 0 && w->plan && strcmp(r->job->drop, "auto") == 0)
        return eddis_fail(
            err, -EINVAL,
            "--plan and nodes.drop: auto exclude each other, since the plan says which "
            "workers train; add --set nodes.drop=none, and give the plan's nodes by -H");
    if (rc == 0 && (w->n_set || w->resume))
        rc = job_check(r->job, err);
    return rc == 0 && checkpoint ? run_resume_check(r->job, checkpoint, !compared, err) : rc;
}

/* Correct w and r if --dry-run or --failed stood between --prune and its duration: that option was
 * parsed as the duration, and the duration as the job's file.
 */
static void settle_prune(struct words *w, struct run_request *r)
{
    bool dry = w->prune && strcmp(w->prune, "--dry-run") == 0;
    bool failed = w->prune && strcmp(w->prune, "--failed") == 0;

    if (!w->file || (!dry && !failed))
        return;
    w->prune = w->file;
    w->file = NULL;
    r->dry_run = r->dry_run || dry;
    r->failed = r->failed || failed;
}

/* Let --simulate without --what-if predict the job without changes. */
static void settle_simulate(struct run_request *r)
{
    r->only_today = r->simulate_ns > 0 && !r->what_if;
    if (r->only_today)
        r->what_if = "";
}

/* Check the options given beside --stop, --cleanup or --prune, which run no job. Parse the duration
 * of --prune into r->prune_ns and set r->prune. Return 0 or -EINVAL.
 */
static int check_mode(const struct words *w, struct run_request *r, struct eddis_error *err)
{
    const char *mode = r->stop ? "--stop" : r->cleanup ? "--cleanup" : "--prune";

    if (!!r->stop + !!r->cleanup + !!w->prune > 1)
        return eddis_fail(err, -EINVAL,
                          "--stop, --cleanup and --prune exclude each other; give one");
    if (w->file || w->command || (!w->prune && r->dry_run) || r->profile || r->check || r->detach ||
        r->compare || r->what_if)
        return eddis_fail(err, -EINVAL,
                          "%s runs no job; leave out the job and the options for running one",
                          mode);
    if (!w->prune && r->failed)
        return eddis_fail(err, -EINVAL, "--failed works only with --prune, not with %s", mode);
    if (!w->prune)
        return 0;
    if (text_duration_ns(w->prune, &r->prune_ns, NULL) < 0 || r->prune_ns == CLOCK_NEVER)
        return eddis_fail(err, -EINVAL,
                          "--prune \"%s\" is not a duration; write one like 30d or 12h", w->prune);
    r->prune = true;
    return 0;
}

/* Check whether --resume alone is given and names a job that has trained to its end. */
static bool is_over(const struct words *w, const struct run_request *r)
{
    struct job_status s;

    if (!w->resume || w->file || w->command || w->n_set || r->profile || r->dry_run || r->what_if ||
        !run_resume_is_over(w->resume, &s))
        return false;
    job_status_fini(&s);
    return true;
}

/* Check whether value points into the text `word`. */
static bool stands(const char *value, const char *word)
{
    return value && value >= word && value <= word + strlen(word);
}

/* Borrow the part of a word of the command line that is a path relative to the current folder;
 * NULL: it has none. The name of a job is a path only if it has a '/' or exists.
 */
static const char *path_in(const char *word, const struct words *w, const struct run_request *r)
{
    const char *may[] = { w->resume, w->plan }, *value = NULL;

    for (size_t i = 0; i < sizeof may / sizeof *may; i++)
        if (stands(may[i], word) && (strchr(may[i], '/') || access(may[i], F_OK) == 0))
            value = may[i];
    if (stands(r->job_dir, word))
        value = r->job_dir;
    for (int i = 0; i < w->n_set; i++)
        if (w->set[i].s.kind == AS_PATH && stands(w->set[i].value, word))
            value = w->set[i].value;
    if (stands(w->file, word))
        value = w->file;
    return value && *value && *value != '/' ? value : NULL;
}

/* Store in r->args the arguments for the eddis-run that Slurm starts: those of this process without
 * --slurm. Make relative paths absolute, since it may start in another folder (sbatch's --chdir).
 * Return 0 or a negative error.
 */
static int keep_words(int argc, char **argv, const struct words *w, struct run_request *r,
                      struct eddis_error *err)
{
    bool behind = false;
    char folder[PATH_MAX];

    if (!getcwd(folder, sizeof folder))
        return eddis_fail_errno(err, -errno, "cannot determine the current folder");
    for (int i = 1; i < argc; i++) {
        const char *path;

        behind = behind || strcmp(argv[i], "--") == 0;
        if (!behind && strcmp(argv[i], "--slurm") == 0)
            continue;
        path = behind ? NULL : path_in(argv[i], w, r);
        if (path)
            strlist_addf(&r->args, "%.*s%s/%s", (int)(path - argv[i]), argv[i], folder, path);
        else
            strlist_addf(&r->args, "%s", argv[i]);
    }
    return r->args.failed ? eddis_fail(err, -ENOMEM, "no memory for the command line") : 0;
}

/* Clear the node names of a resumed job, since the nodes of its earlier allocation now belong to
 * other jobs. Set slurm.nodes to their number, unless the job sets its nodes in Slurm itself.
 * Return 0 or a negative error.
 */
static int forget_nodes(struct job *job, struct eddis_error *err)
{
    char n[24];
    int rc = 0;

    (void)snprintf(n, sizeof n, "%zu", job->n_hosts);
    if (job->n_hosts && !job->slurm.nodes && !job->slurm.n_components)
        rc = job_set(job, "slurm.nodes", n, "--resume", err);
    return rc == 0 ? job_set(job, "nodes", "[]", "--resume", err) : rc;
}

/* Prepare r->job and r->args for --slurm. Return 0 or a negative error. */
static int prepare_submit(int argc, char **argv, const struct words *w, struct run_request *r,
                          struct eddis_error *err)
{
    int rc = w->file || w->command ? 0 : forget_nodes(r->job, err);

    return rc == 0 ? keep_words(argc, argv, w, r, err) : rc;
}

/* Check whether the request only prints something of the job. */
static bool trains_nothing(const struct run_request *r)
{
    return r->dry_run || r->profile || r->check || r->what_if;
}

/* Warn on standard error if Slurm's signals may end the batch script before the job has saved a
 * checkpoint. Do nothing outside Slurm, if quiet, or if nothing is trained.
 */
static void say_exposed(const struct run_request *r)
{
    if (!r->slurm || r->quiet || trains_nothing(r) || !run_batch_is_exposed())
        return;
    fprintf(stderr, "eddis-run: Slurm's signals may end the batch script, and with it the job "
                    "before it saves a checkpoint; start eddis-run by exec, or write trap '' TERM "
                    "USR1 above it and --signal=USR1@N without B:, see eddis-run(1)\n");
}

/* Put the variables of this process's environment that the job passes on before those of -x in
 * r->env. Return 0 or a negative error.
 */
static int pass_variables(struct run_request *r, struct eddis_error *err)
{
    cleanup_strlist struct strlist env = { 0 };
    size_t n = r->env.n;
    int rc;

    user_env_add(&env);
    if (env.failed)
        return eddis_fail(err, -ENOMEM, "no memory for variables");
    rc = run_env_pass(&r->env, r->job, env.item ? env.item : environ, err);
    r->n_passed = rc < 0 ? 0 : r->env.n - n;
    return rc;
}

/* Read and check what depends on this machine and its Slurm allocation: store the allocation in
 * r->slurm, the batch job in r->batch and the workers' variables in r->env, and set the job's nodes
 * and checkpoint to resume from. Check the job's folders, keys and program. Return 0 or a negative
 * error.
 */
static int look_around(const struct words *w, struct run_request *r, struct eddis_error *err)
{
    int rc = run_allocation(r->job, !w->file && !w->command, &r->slurm, err);

    if (rc == 0 && r->slurm)
        rc = job_check(r->job, err);
    if (rc == 0 && r->slurm && !trains_nothing(r) && !r->compare)
        rc = run_batch(r->job, &r->batch, err);
    if (rc >= 0)
        say_exposed(r);
    if (rc >= 0)
        rc = pass_variables(r, err);
    if (rc == 0 && !r->what_if)
        rc = preflight_check(r->job, err);
    /* A plan or a check is useful even if the program is missing. */
    if (rc < 0 || trains_nothing(r))
        return rc;
    return preflight_program(r->job, &(struct job_caller){ r->env.item, r->n_passed }, err);
}

/* Parse the changes of --what-if, and store the job with the changed keys in r->then. Return 0 or a
 * negative error.
 */
static int imagine(struct words *w, struct run_request *r, struct eddis_error *err)
{
    struct slurm_allocation *slurm = NULL;
    struct job *today = r->job;
    int rc = what_if_changes_parse(r->what_if, &r->changes, err);

    for (size_t i = 0; i < r->changes.key.n && rc == 0; i++)
        rc = remember(w, &(struct setting){ NULL, r->changes.key.item[i], "--what-if", AS_KEY },
                      strchr(r->changes.key.item[i], '=') + 1, err);
    if (rc < 0)
        return rc;
    r->job = NULL;
    rc = open_job(w, r, err);
    if (rc == 0)
        rc = set_keys(w, r, err);
    if (rc == 0)
        rc = run_allocation(r->job, false, &slurm, err);
    if (rc == 0 && slurm)
        rc = job_check(r->job, err);
    slurm_allocation_free(slurm);
    r->then = r->job;
    r->job = today;
    return rc;
}

int run_request_read(int argc, char **argv, struct run_request *ret, struct eddis_error *err)
{
    struct run_request r = { 0 };
    struct words w = { 0 };
    int rc = read_words(argc, argv, &r, &w, err);

    if (rc == 0 && !r.help && !r.version) {
        settle_prune(&w, &r);
        settle_simulate(&r);
        if (r.stop || r.cleanup || w.prune) {
            rc = check_mode(&w, &r, err);
        } else if ((rc = run_compare_check(&r, w.resume, w.plan, err)) < 0) {
            /* err says which option */
        } else if (is_over(&w, &r)) {
            r.over = w.resume;
        } else {
            rc = run_together_check(&r, w.resume, w.plan, err);
            if (rc == 0 && w.resume && !trains_nothing(&r) && !r.submit)
                rc = run_resume_alone(w.resume, w.file || w.command, err);
            if (rc == 0)
                rc = open_job(&w, &r, err);
            if (rc == 0)
                rc = set_keys(&w, &r, err);
            if (rc == 0)
                rc = preflight_launcher(r.job, r.quiet, err);
            if (rc == 0 && !r.quiet)
                preflight_python(r.job);
            if (rc == 0)
                rc = r.submit ? prepare_submit(argc, argv, &w, &r, err) : look_around(&w, &r, err);
            if (rc == 0 && r.what_if)
                rc = imagine(&w, &r, err);
            if (rc == 0 && r.compare)
                rc = run_compare_words(argc, argv, &r, err);
        }
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
    job_free(r->then);
    what_if_changes_fini(&r->changes);
    slurm_allocation_free(r->slurm);
    strlist_fini(&r->env);
    free(r->plan_path);
    strlist_fini(&r->args);
    strlist_fini(&r->words);
    *r = (struct run_request){ 0 };
}
