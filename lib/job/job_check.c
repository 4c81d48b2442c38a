/* SPDX-License-Identifier: Apache-2.0 */
/* job_check.c - check the values of a job against each other */
#include "job_read.h"

#include "job_keys.h"
#include "job_text.h"

#include "lib/model/job_lease.h"

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/model/algorithm.h"

#include <stdio.h>
#include <string.h>

static const int64_t every_ns = 300 * CLOCK_S; /* default of checkpoint.every */

/* Check whether the origin of the key's value is the default, neither the file nor a flag. */
static bool is_default(const struct job *job, const char *key)
{
    return job_origin(job, key).kind == JOB_DEFAULT;
}

void job_follow(struct job *job)
{
    int64_t lease = job->timeouts.lease_ns;

    if (is_default(job, "timeouts.node_lost"))
        job->timeouts.node_lost_ns = job_lease_node_lost_ns(lease);
    if (is_default(job, "timeouts.heartbeat"))
        job->timeouts.heartbeat_ns = job_lease_heartbeat_ns(lease);
    if (is_default(job, "checkpoint.every"))
        job->checkpoint.every.ns = job->n_hosts > 1 && !job->checkpoint.dir ? 0 : every_ns;
}

/* Return -EINVAL, and write to err that the values of keys a and b contradict each other, followed
 * by `what`.  The error's position is that of key a, or of b if a has its default.
 */
static int clash(const struct job *job, const char *a, const char *b, struct eddis_error *err,
                 const char *what)
{
    struct job_origin o = job_origin(job, a);
    struct job_reader r = { .file = job->file ? job->file : "the job" };
    char x[40], y[40];

    if (o.kind == JOB_DEFAULT)
        o = job_origin(job, b);
    r.flag = o.kind == JOB_FLAG ? o.flag : NULL;
    job_value_text(job, a, x, sizeof x);
    job_value_text(job, b, y, sizeof y);
    return job_wrong(&r, o.line, o.column, err, "\"%s\" is %s and \"%s\" is %s; %s", a, x, b, y,
                     what);
}

/* Return -EINVAL, and write `what` to err with the position of the key that names the hosts. */
static int wrong_hosts(const struct job *job, struct eddis_error *err, const char *what)
{
    struct job_origin o = job_origin(job, job->hostfile ? "hostfile" : "nodes");
    struct job_reader r = { .file = job->file ? job->file : "the job",
                            .flag = o.kind == JOB_FLAG ? o.flag : NULL };

    return job_wrong(&r, o.line, o.column, err, "%s", what);
}

/* Check timeouts.heartbeat and timeouts.node_lost against timeouts.lease.  Return 0 or -EINVAL. */
static int check_timeouts(const struct job *job, struct eddis_error *err)
{
    int64_t lease = job->timeouts.lease_ns;

    if (job->timeouts.heartbeat_ns > lease / JOB_LEASE_LEAST_HEARTBEATS)
        return clash(job, "timeouts.heartbeat", "timeouts.lease", err,
                     "the lease must be at least eight heartbeats");
    if (job->timeouts.node_lost_ns < job_lease_least_node_lost_ns(lease))
        return clash(
            job, "timeouts.node_lost", "timeouts.lease", err,
            "a node may count as lost only after its lease has surely expired; write at least the "
            "lease plus a quarter of it, and at least 500ms more than the lease");
    return 0;
}

/* Check a host's device numbers and number of workers against the devices emulated on it, if there
 * are any.  Return 0 or -EINVAL.
 */
static int check_host(const struct job *job, const struct job_host *h, struct eddis_error *err)
{
    size_t rows = h->n_emulate ? h->n_emulate : job->profile.n_emulate;
    size_t devices = h->device ? h->n_device : rows;
    char what[400];

    for (size_t i = 0; i < h->n_device && rows; i++)
        if ((size_t)h->device[i] >= rows) {
            (void)snprintf(what, sizeof what,
                           "node \"%.253s\" is set to use device %lld, but the number of devices "
                           "emulated on it is %zu, counted from 0",
                           h->host, (long long)h->device[i], rows);
            return wrong_hosts(job, err, what);
        }
    if (rows && h->workers > (int64_t)devices) {
        (void)snprintf(what, sizeof what,
                       "node \"%.253s\" is set to have %lld workers, but has %zu emulated "
                       "device%s, each for one worker",
                       h->host, (long long)h->workers, devices, devices == 1 ? "" : "s");
        return wrong_hosts(job, err, what);
    }
    return 0;
}

/* Check every host.  If there are several hosts and periodic checkpoints, check that checkpoint.dir
 * is set.  Return 0 or -EINVAL.
 */
static int check_hosts(const struct job *job, struct eddis_error *err)
{
    int rc = 0;

    for (size_t i = 0; i < job->n_hosts && rc == 0; i++)
        rc = check_host(job, &job->host[i], err);
    if (rc == 0 && job->n_hosts > 1 && !job_period_is_never(&job->checkpoint.every) &&
        !job->checkpoint.dir)
        rc = wrong_hosts(job, err,
                         "checkpoints on several hosts need a folder that all hosts share; set "
                         "\"checkpoint.dir\" to it");
    return rc;
}

/* ---- synchronisation ---- */

#define WHOLE_OPTION(member, low, high, trait, help, otherwise)                                    \
    { "sync." #member, trait, otherwise },
#define NUMBER_OPTION(member, low, high, trait, help, otherwise)                                   \
    { "sync." #member, trait, otherwise },
#define PLAIN_OPTION(member, high, trait, help, otherwise) { "sync." #member, trait, otherwise },
#define OFF_OPTION(member, high, trait, help, otherwise)   { "sync." #member, trait, otherwise },
#define GROUPS_OPTION(help)
#define WIRE_OPTION(member)
#define LATER_OPTION(name, type, initial, help, feature)

/* The keys that apply only to algorithms with a trait, and the message for other algorithms. */
static const struct {
    const char *key;
    enum algorithm_trait trait;
    const char *otherwise;
} option[] = {
#include "lib/model/sync_options_rows.h"
    { "sync.groups", ALGORITHM_GROUPED, "only hybrid and local training have groups" },
};

/* Check whether the key's value is its default value, even if the file or a flag sets it. */
static bool is_unset(const struct job *job, const char *key)
{
    char value[32];

    if (job_origin(job, key).kind == JOB_DEFAULT)
        return true;
    job_value_text(job, key, value, sizeof value);
    return strcmp(value, job_key_find(&job_table, key)->initial) == 0;
}

/* Check whether the file sets `key`, but a flag sets the key `said_by`, which excludes `key`.  This
 * happens if a job is resumed in another mode, for which the user should not have to edit the file.
 */
static bool is_overruled(const struct job *job, const char *key, const char *said_by)
{
    return job_origin(job, key).kind == JOB_FILE && job_origin(job, said_by).kind == JOB_FLAG;
}

/* Append the remedy for `key`, which `said_by` excludes, to b: remove the key.  If is_overruled,
 * the remedy is to add the flags that reset all keys that do not apply to the mode and algorithm.
 */
static void add_advice(const struct job *job, const char *key, const char *said_by,
                       struct strbuf *b)
{
    const char *mode = job->sync.mode, *name = job->sync.algorithm;

    if (!is_overruled(job, key, said_by)) {
        strbuf_add(b, "; remove it");
        return;
    }
    strbuf_add(b, "; add");
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        if (!algorithm_may_have(mode, name, option[i].trait) && !is_unset(job, option[i].key))
            strbuf_addf(b, " --set %s=%s", option[i].key,
                        job_key_find(&job_table, option[i].key)->initial);
}

/* Check that the algorithm is one of the mode's, and that no option is set that does not apply to
 * them.  Return 0 or -EINVAL.
 */
static int check_sync(const struct job *job, struct eddis_error *err)
{
    const char *mode = job->sync.mode, *name = job->sync.algorithm;
    const char *said_by = algorithm_find(name) ? "sync.algorithm" : "sync.mode";

    if (!algorithm_asked(mode, name))
        return clash(job, "sync.algorithm", "sync.mode", err,
                     is_overruled(job, "sync.algorithm", "sync.mode")
                         ? "this algorithm is not one of this mode; add --set sync.algorithm=auto"
                         : "this algorithm is not one of this mode; remove one of the two keys");
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        if (!algorithm_may_have(mode, name, option[i].trait) && !is_unset(job, option[i].key)) {
            cleanup_strbuf struct strbuf b = { 0 };

            strbuf_add(&b, option[i].otherwise);
            add_advice(job, option[i].key, said_by, &b);
            return clash(job, option[i].key, said_by, err, strbuf_text(&b));
        }
    if (job->sync.options.period && job->sync.options.overlap >= job->sync.options.period)
        return clash(job, "sync.overlap", "sync.period", err,
                     "the overlap must be less than the period; write a smaller \"sync.overlap\"");
    return 0;
}

int job_check(const struct job *job, struct eddis_error *err)
{
    int rc;

    if (job->batch.min > job->batch.global)
        return clash(job, "batch.min", "batch.global", err,
                     "the minimum of one worker must not exceed the global batch; write a smaller "
                     "\"batch.min\"");
    if (job->batch.max && job->batch.max < job->batch.min)
        return clash(job, "batch.max", "batch.min", err,
                     "the maximum must not be less than the minimum");
    if (job->batch.global % job->batch.grain)
        return clash(job, "batch.grain", "batch.global", err,
                     "the global batch must be a multiple of \"batch.grain\"");
    if (job->batch.max && job->batch.max - job->batch.max % job->batch.grain < job->batch.min)
        return clash(
            job, "batch.grain", "batch.max", err,
            "a multiple of \"batch.grain\" must lie between \"batch.min\" and \"batch.max\"");
    if ((rc = check_sync(job, err)) < 0)
        return rc;
    if (job->sync.groups.of && job->drop && strcmp(job->drop, "auto") == 0)
        return clash(job, "nodes.drop", "sync.groups", err,
                     "workers that are left out have no rank, so a list of ranks would name "
                     "others; write the number of groups, or remove \"nodes.drop\"");
    if (job->slurm.nodes && job->slurm.n_components)
        return clash(job, "slurm.nodes", "slurm.components", err,
                     "each component has its own number of nodes; remove \"slurm.nodes\"");
    rc = check_timeouts(job, err);
    return rc ? rc : check_hosts(job, err);
}
