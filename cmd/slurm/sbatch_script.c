/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_script.c - writes the script of a job for Slurm */
#include "sbatch_script.h"

#include "cmd/slurm/sbatch_words.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t sbatch_script_warning_s(const struct job *job)
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

/* ---- what does not go together ---- */

/* -EINVAL: "train.yaml:3: slurm.nodes: <what>". */
static int wrong(const struct job *job, const char *key, struct eddis_error *err, const char *what)
{
    char origin[200];

    job_origin_text(job, key, origin, sizeof origin);
    return eddis_fail(err, -EINVAL, "%s: %s: %s", origin, key, what);
}

static int check_nodes(const struct job *job, struct eddis_error *err)
{
    const char *key = job->hostfile ? "hostfile" : "nodes";

    if (!job->n_hosts)
        return 0;
    if (job->slurm.n_components)
        return wrong(job, key, err,
                     "nodes that have names cannot be divided among slurm.components; remove one "
                     "of the two");
    if (job->slurm.nodes && job->slurm.nodes != (int64_t)job->n_hosts)
        return wrong(job, "slurm.nodes", err,
                     "that is not the number of the nodes that are named; leave it out");
    return 0;
}

/* What sbatch takes: minutes, or what eddis reads, too; "4-2", "4-2:30" are left to it. */
static int64_t time_ns(const char *text)
{
    int64_t ns = CLOCK_NEVER;

    if (*text && !text[strspn(text, "0123456789")])
        return strlen(text) < 8 ? atoi(text) * 60 * CLOCK_S : CLOCK_NEVER;
    if (text[strspn(text, "0123456789:")] || text_duration_ns(text, &ns, NULL) < 0)
        return CLOCK_NEVER;
    return ns;
}

int64_t sbatch_script_time_ns(const struct sbatch_ask *a, char *ret_where, size_t size)
{
    const char *text = sbatch_words_value(a->words, "time", 't'), *from = "command line";
    char origin[160], value[40];

    if (!text) {
        text = getenv("SBATCH_TIMELIMIT");
        from = "SBATCH_TIMELIMIT";
    }
    if (!text) {
        text = sbatch_words_value(a->job->slurm.extra, "time", 't');
        from = "slurm.extra";
    }
    if (text) {
        (void)snprintf(ret_where, size, "the time limit is \"%.60s\" (%s)", text, from);
        return time_ns(text);
    }
    job_origin_text(a->job, "slurm.time", origin, sizeof origin);
    job_value_text(a->job, "slurm.time", value, sizeof value);
    (void)snprintf(ret_where, size, "slurm.time is %s (%s)", value, origin);
    return a->job->slurm.time_ns;
}

const char *sbatch_script_partition(const struct sbatch_ask *a, size_t i)
{
    const struct job *job = a->job;
    const char *text = i ? NULL : sbatch_words_value(a->words, "partition", 'p');

    if (!text && !i)
        text = getenv("SBATCH_PARTITION");
    if (!text && !i)
        text = sbatch_words_value(job->slurm.extra, "partition", 'p');
    if (!text && i < job->slurm.n_components)
        text = job->slurm.component[i].partition;
    return text ? text : job->slurm.partition;
}

static int check_time(const struct sbatch_ask *a, struct eddis_error *err)
{
    int64_t warning_s = sbatch_script_warning_s(a->job);
    char where[240];

    if (sbatch_script_time_ns(a, where, sizeof where) > warning_s * CLOCK_S)
        return 0;
    return eddis_fail(err, -EINVAL,
                      "%s, of which the last %" PRId64 " s are for saving (timeouts.checkpoint and "
                      "timeouts.grace); give the job more time, or these less",
                      where, warning_s);
}

int sbatch_script_check(const struct sbatch_ask *a, struct eddis_error *err)
{
    const struct job *job = a->job;
    size_t parts = job->slurm.n_components ? job->slurm.n_components : 1;
    int rc = sbatch_words_check(job->slurm.extra, parts, err);

    if (rc < 0) {
        char origin[200];

        job_origin_text(job, "slurm.extra", origin, sizeof origin);
        return eddis_fail_prefix(err, rc, "%s", origin);
    }
    rc = sbatch_words_check(a->words, parts, err);
    if (rc == 0 && getenv("SBATCH_GPUS_PER_TASK")) /* Slurm reads options from there, too */
        rc = sbatch_words_no_gpus_per_task("the variable SBATCH_GPUS_PER_TASK", err);
    if (rc == 0)
        rc = check_nodes(job, err);
    if (rc == 0)
        rc = check_time(a, err);
    if (rc == 0 && strcmp(job->slurm.requeue, "on") == 0 && !job->checkpoint.dir)
        rc = wrong(job, "slurm.requeue", err,
                   "a job that is put back begins anew without its checkpoints; name a folder "
                   "that all nodes share as checkpoint.dir");
    return rc;
}

/* ---- the script ---- */

static void add_quoted(const char *word, struct strbuf *b)
{
    size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                            "/._-+=:,@%");

    if (n && !word[n]) {
        strbuf_add(b, word);
        return;
    }
    strbuf_add(b, "'");
    for (const char *c = word; *c; c++)
        strbuf_addf(b, *c == '\'' ? "'\\''" : "%c", *c);
    strbuf_add(b, "'");
}

static void add_text(const char *option, const char *value, struct strbuf *b)
{
    if (value && strcmp(value, "none") != 0)
        strbuf_addf(b, "#SBATCH --%s=%s\n", option, value);
}

static void add_time(int64_t ns, struct strbuf *b)
{
    int64_t s = ns / CLOCK_S + (ns % CLOCK_S > 0), days = s / 86400;

    if (ns == CLOCK_NEVER)
        return;
    strbuf_add(b, "#SBATCH --time=");
    if (days)
        strbuf_addf(b, "%" PRId64 "-", days);
    strbuf_addf(b, "%02d:%02d:%02d\n", (int)(s / 3600 % 24), (int)(s / 60 % 60), (int)(s % 60));
}

static void add_hosts(const struct job *job, struct strbuf *b)
{
    for (size_t i = 0; i < job->n_hosts; i++)
        strbuf_addf(b, "%s%s", i ? "," : "#SBATCH --nodelist=", job->host[i].host);
    strbuf_add(b, job->n_hosts ? "\n" : "");
}

/* Slurm's own default is one processor, which nobody wants of a node that trains. */
static void add_cpus(const struct sbatch_ask *a, const struct job_component *c, struct strbuf *b)
{
    bool gres = c->gres && strcmp(c->gres, "none") != 0;

    if (c->cpus > 0)
        strbuf_addf(b, "#SBATCH --cpus-per-task=%" PRId64 "\n", c->cpus);
    else if (c->cpus < 0 || (!gres && !sbatch_words_have_share(a->words) &&
                             !sbatch_words_have_share(a->job->slurm.extra)))
        strbuf_add(b, "#SBATCH --exclusive\n");
}

/* What the job says, where a component says nothing. */
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

static void add_component(const struct sbatch_ask *a, size_t i, struct strbuf *b)
{
    const struct job *job = a->job;
    struct job_component c = component(job, i);

    add_text("partition", c.partition, b);
    strbuf_addf(b, "#SBATCH --nodes=%" PRId64 "\n", c.nodes);
    strbuf_add(b, "#SBATCH --ntasks-per-node=1\n");
    add_text("gres", c.gres, b);
    add_text("constraint", c.constraint, b);
    add_cpus(a, &c, b);
    add_text("mem", c.memory, b);
    add_text("account", job->slurm.account, b);
    add_text("qos", job->slurm.qos, b);
    add_time(job->slurm.time_ns, b);
    if (strcmp(job->slurm.requeue, "on") == 0)
        strbuf_add(b, "#SBATCH --requeue\n#SBATCH --open-mode=append\n");
    else if (strcmp(job->slurm.requeue, "off") == 0)
        strbuf_add(b, "#SBATCH --no-requeue\n");
    strbuf_add(b, "#SBATCH --no-kill\n");
}

static void add_head(const struct job *job, struct strbuf *b)
{
    strbuf_addf(b, "#SBATCH --job-name=%s\n", job->name);
    strbuf_addf(b, "#SBATCH --signal=B:USR1@%" PRId64 "\n", sbatch_script_warning_s(job));
}

char *sbatch_script_text(const struct sbatch_ask *a)
{
    const struct job *job = a->job;
    size_t n = job->slurm.n_components ? job->slurm.n_components : 1;
    struct strbuf b = { 0 };

    strbuf_add(&b, "#!/bin/sh\n# Made by eddis-sbatch " EDDIS_VERSION
                   "; the job's file is read when the job starts.\n");
    add_head(job, &b);
    for (size_t i = 0; i < n; i++) {
        strbuf_add(&b, i ? "#SBATCH hetjob\n" : "");
        add_component(a, i, &b);
        add_hosts(job, &b); /* which have one component */
        sbatch_words_add(job->slurm.extra, i, &b);
        sbatch_words_add(a->words, i, &b);
    }
    strbuf_add(&b, "# Slurm tells this shell alone when time is nearly over: eddis-run takes its "
                   "place, and saves.\nexec ");
    add_quoted(a->program, &b);
    for (char *const *w = a->args; *w; w++) {
        strbuf_add(&b, " ");
        add_quoted(*w, &b);
    }
    strbuf_add(&b, "\n");
    return strbuf_steal(&b);
}
