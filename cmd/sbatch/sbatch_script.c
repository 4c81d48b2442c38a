/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_script.c - writes the batch script of a job */
#include "sbatch_script.h"

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/strlist.h"
#include "lib/job/job_text.h"
#include "lib/slurm/slurm_time.h"
#include "sbatch_options.h"
#include "sbatch_variables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return how many seconds before its time limit the job is signalled to save. It is the time for
 * the last checkpoint and for the workers' orderly end, rounded up.
 */
static int64_t warning_s_of(const struct job *job)
{
    return (job->timeouts.checkpoint_ns + job->timeouts.grace_ns + CLOCK_S - 1) / CLOCK_S;
}

int64_t sbatch_script_nodes(const struct job *job)
{
    int64_t n = 0;

    for (size_t i = 0; i < job->slurm.n_components; i++)
        n += job->slurm.component[i].nodes;
    if (n || job->slurm.nodes)
        return n ? n : job->slurm.nodes;
    return job->n_hosts ? (int64_t)job->n_hosts : 1;
}

size_t sbatch_script_components(const struct job *job)
{
    return job->slurm.n_components ? job->slurm.n_components : 1;
}

/* ---- combinations that are rejected ---- */

/* Set err to the sentence "train.yaml:3: slurm.nodes: <what>", for `key` and where it was set.
 * Return -EINVAL.
 */
static int wrong(const struct job *job, const char *key, struct eddis_error *err, const char *what)
{
    eddis_fail(err, -EINVAL, "%s: %s", key, what);
    return job_fail_origin(job, key, -EINVAL, err);
}

/* Check the job's node names: they exclude slurm.components, and slurm.nodes must be their number.
 * Return 0 or -EINVAL.
 */
static int check_nodes(const struct job *job, struct eddis_error *err)
{
    const char *key = job->hostfile ? "hostfile" : "nodes";

    if (!job->n_hosts)
        return 0;
    if (job->slurm.n_components)
        return wrong(job, key, err,
                     "named nodes cannot be divided among slurm.components; remove one of the two");
    if (job->slurm.nodes && job->slurm.nodes != (int64_t)job->n_hosts)
        return wrong(job, "slurm.nodes", err,
                     "that is not the number of named nodes; leave it out");
    return 0;
}

const char *sbatch_script_said(const struct sbatch_ask *a, size_t i, const char *name, char letter,
                               const char **ret_where)
{
    const char *text = sbatch_options_value(a->words, i, name, letter);

    *ret_where = text ? "command line" : "slurm.extra";
    return text ? text : sbatch_options_value(a->job->slurm.extra, i, name, letter);
}

int64_t sbatch_script_time_ns(const struct sbatch_ask *a, size_t i, char *ret_where, size_t size)
{
    char origin[160], value[40];
    const char *where, *text = sbatch_script_said(a, i, "time", 't', &where);

    if (!text && a->job->slurm.time_ns != CLOCK_NEVER) {
        job_origin_text(a->job, "slurm.time", origin, sizeof origin);
        job_value_text(a->job, "slurm.time", value, sizeof value);
        (void)snprintf(ret_where, size, "slurm.time is %s (%s)", value, origin);
        return a->job->slurm.time_ns;
    }
    if (!text) {
        text = getenv("SBATCH_TIMELIMIT");
        where = "SBATCH_TIMELIMIT";
    }
    (void)snprintf(ret_where, size, "the time limit is \"%.60s\" (%s)", text ? text : "", where);
    return text ? slurm_time_limit_ns(text) : -1;
}

const char *sbatch_script_partition(const struct sbatch_ask *a, size_t i)
{
    const struct job *job = a->job;
    const char *where, *text = sbatch_script_said(a, i, "partition", 'p', &where);

    if (!text && i < job->slurm.n_components)
        text = job->slurm.component[i].partition;
    text = text ? text : job->slurm.partition;
    return text ? text : getenv("SBATCH_PARTITION");
}

/* Check that the time limit of component i is longer than the time for saving the last checkpoint.
 * Return 0, also if the limit is unknown; -EINVAL: it is not.
 */
static int check_time(const struct sbatch_ask *a, size_t i, struct eddis_error *err)
{
    int64_t warning_s = warning_s_of(a->job), ns;
    char where[240];

    ns = sbatch_script_time_ns(a, i, where, sizeof where);
    if (ns < 0 || ns > warning_s * CLOCK_S)
        return 0;
    return eddis_fail(err, -EINVAL,
                      "%s, of which the last %" PRId64
                      " s are for saving (timeouts.checkpoint and timeouts.grace); give the job "
                      "more time, or shorten these timeouts",
                      where, warning_s);
}

int sbatch_script_check(const struct sbatch_ask *a, struct eddis_error *err)
{
    const struct job *job = a->job;
    size_t parts = sbatch_script_components(job);
    int rc = sbatch_options_check(job->slurm.extra, parts, err);

    if (rc < 0)
        return job_fail_origin(job, "slurm.extra", rc, err);
    rc = sbatch_options_check(a->words, parts, err);
    if (rc == 0 && getenv("SBATCH_GPUS_PER_TASK")) /* sbatch reads this variable as an option */
        rc = sbatch_options_no_gpus_per_task("the variable SBATCH_GPUS_PER_TASK", err);
    if (rc == 0)
        rc = check_nodes(job, err);
    for (size_t i = 0; i < parts && rc == 0; i++)
        rc = check_time(a, i, err);
    if (rc == 0 && strcmp(job->slurm.requeue, "on") == 0 && !job->checkpoint.dir)
        rc = wrong(job, "slurm.requeue", err,
                   "without checkpoints a requeued job starts from the beginning; set "
                   "checkpoint.dir to a folder that all nodes share");
    return rc;
}

/* ---- the script ---- */

/* Append a word to the script b, in single quotes if the shell would change it. */
static void add_quoted(const char *word, struct strbuf *b)
{
    size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                            "/._-+=:,@%");

    if (n && !word[n])
        strbuf_add(b, word);
    else
        strbuf_add_quoted(b, word);
}

/* Append "--option=value" to l, unless the value is NULL or "none". */
static void add_text(const char *option, const char *value, struct strlist *l)
{
    if (value && strcmp(value, "none") != 0)
        strlist_addf(l, "--%s=%s", option, value);
}

/* Append "--time=D-HH:MM:SS", ns rounded up to a second, to l; nothing for CLOCK_NEVER. */
static void add_time(int64_t ns, struct strlist *l)
{
    int64_t s = ns / CLOCK_S + (ns % CLOCK_S > 0), days = s / 86400;
    char before[24] = "";

    if (ns == CLOCK_NEVER)
        return;
    if (days)
        (void)snprintf(before, sizeof before, "%" PRId64 "-", days);
    strlist_addf(l, "--time=%s%02d:%02d:%02d", before, (int)(s / 3600 % 24), (int)(s / 60 % 60),
                 (int)(s % 60));
}

/* Append --nodelist with the hosts that the job names to l; nothing if it names none. */
static void add_hosts(const struct job *job, struct strlist *l)
{
    cleanup_strbuf struct strbuf b = { 0 };

    for (size_t i = 0; i < job->n_hosts; i++)
        strbuf_addf(&b, "%s%s", i ? "," : "", job->host[i].host);
    if (job->n_hosts)
        strlist_addf(l, "--nodelist=%s", strbuf_text(&b));
    l->failed = l->failed || b.failed;
}

/* Append to l the option for the processors of component i: --cpus-per-task if the job sets their
 * number; --exclusive if it wants all, or if nothing limits its share of a node, since Slurm's own
 * default is one processor, too little for training.
 */
static void add_cpus(const struct sbatch_ask *a, size_t i, const struct job_component *c,
                     struct strlist *l)
{
    bool gres = c->gres && strcmp(c->gres, "none") != 0;

    if (c->cpus > 0)
        strlist_addf(l, "--cpus-per-task=%" PRId64, c->cpus);
    else if (c->cpus < 0 || (!gres && !sbatch_options_have_share(a->words, i) &&
                             !sbatch_options_have_share(a->job->slurm.extra, i)))
        strlist_addf(l, "--exclusive");
}

/* Return component i (from 0) with the job's value of each key that the component does not set. Its
 * strings are borrowed from the job.
 */
static struct job_component component(const struct job *job, size_t i)
{
    struct job_component c = { .nodes = sbatch_script_nodes(job) };

    if (i < job->slurm.n_components)
        c = job->slurm.component[i];
    c.partition = c.partition ? c.partition : job->slurm.partition;
    c.gres = c.gres ? c.gres : job->slurm.gres;
    c.constraint = c.constraint ? c.constraint : job->slurm.constraint;
    c.memory = c.memory ? c.memory : job->slurm.memory;
    c.cpus = c.cpus ? c.cpus : job->slurm.cpus;
    return c;
}

/* Append to l the options of component i that follow from the job's keys, and those that eddis
 * itself needs. If memory is lacking, l->failed is set.
 */
static void add_own(const struct sbatch_ask *a, size_t i, struct strlist *l)
{
    const struct job *job = a->job;
    struct job_component c = component(job, i);

    if (i == 0) {
        strlist_addf(l, "--job-name=%s", job->name);
        strlist_addf(l, "--signal=B:USR1@%" PRId64, warning_s_of(job));
    }
    add_text("partition", c.partition, l);
    strlist_addf(l, "--nodes=%" PRId64, c.nodes);
    strlist_addf(l, "--ntasks-per-node=1");
    add_text("gres", c.gres, l);
    add_text("constraint", c.constraint, l);
    add_cpus(a, i, &c, l);
    add_text("mem", c.memory, l);
    add_text("account", job->slurm.account, l);
    add_text("qos", job->slurm.qos, l);
    add_time(job->slurm.time_ns, l);
    if (strcmp(job->slurm.requeue, "on") == 0) {
        strlist_addf(l, "--requeue");
        strlist_addf(l, "--open-mode=append");
    } else if (strcmp(job->slurm.requeue, "off") == 0) {
        strlist_addf(l, "--no-requeue");
    }
    strlist_addf(l, "--no-kill");
    add_hosts(job, l); /* a job with hosts has one component */
}

/* Append the "#SBATCH" lines of component i to b: eddis's own, then slurm.extra, then the command
 * line's, which override earlier ones.
 */
static void add_lines(const struct sbatch_ask *a, size_t i, struct strbuf *b)
{
    cleanup_strlist struct strlist own = { 0 };

    add_own(a, i, &own);
    sbatch_options_add(own.item, 0, b);
    b->failed = b->failed || own.failed;
    sbatch_options_add(a->job->slurm.extra, i, b);
    sbatch_options_add(a->words, i, b);
}

char *sbatch_script_text(const struct sbatch_ask *a)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, "#!/bin/sh\n# Made by eddis-sbatch " EDDIS_VERSION
                   "; the job's file is read when the job starts.\n");
    for (size_t i = 0; i < sbatch_script_components(a->job); i++) {
        strbuf_add(&b, i ? "#SBATCH hetjob\n" : "");
        add_lines(a, i, &b);
    }
    strbuf_add(&b, "# Slurm signals only this shell before the time limit; eddis-run replaces it, "
                   "and saves.\nexec ");
    add_quoted(a->program, &b);
    for (char *const *w = a->args; *w; w++) {
        strbuf_add(&b, " ");
        add_quoted(*w, &b);
    }
    strbuf_add(&b, "\n");
    return strbuf_steal(&b);
}

void sbatch_script_drop_variables(const struct sbatch_ask *a)
{
    cleanup_strlist struct strlist own = { 0 };

    for (size_t i = 0; i < sbatch_script_components(a->job); i++)
        add_own(a, i, &own);
    sbatch_variables_drop(own.item);
    sbatch_variables_drop(a->job->slurm.extra);
    sbatch_variables_drop(a->words);
}
