/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_config.c - converts the agent configuration to and from JSON */
#include "protocol.h"

#include "timing.h"

#include "lib/base/fields.h"

#include "lib/base/clock.h"
#include "lib/slurm/slurm_batch.h"

#include <errno.h>
#include <string.h>

static const struct field emulated_fields[] = {
    FIELD_REAL(struct job_emulated, rate, DOUBLE, 0, 1000000),
    FIELD_REAL(struct job_emulated, fixed_s, DOUBLE, 0, 1000000),
    FIELD_REAL(struct job_emulated, sample_s, DOUBLE, 0, 1000000),
    FIELD_REAL(struct job_emulated, jitter, DOUBLE, 0, 1),
};

/* Check that the rate of an emulated device is positive (fields.check).  Return 0 or -EINVAL. */
static int check_emulated(const void *emulated, struct eddis_error *err)
{
    return ((const struct job_emulated *)emulated)->rate > 0
               ? 0
               : eddis_fail(err, -EINVAL, "an emulated device has the rate 0");
}

static const struct fields emulated_table =
    FIELDS(struct job_emulated, emulated_fields, .check = check_emulated);

/* Check what the field table cannot (fields.check): that required members are not empty, and that
 * mark, URLs, key hash, environment, MCA parameters and paths are well formed.  Return 0 or
 * -EINVAL.
 */
static int check_agent_config(const void *config, struct eddis_error *err)
{
    const struct agent_config *b = config;
    const char *const paths[][2] = { { "workdir", b->workdir },
                                     { "log_dir", *b->log_dir ? b->log_dir : NULL },
                                     { "checkpoint_dir", b->checkpoint_dir },
                                     { "resume_from", b->resume_from },
                                     { "data_path", b->data_path } };
    size_t n = 0;

    if (!b->job_id[0] || !b->token[0])
        return eddis_fail(err, -EINVAL, "\"job_id\" or \"token\" is empty");
    if (!node_identity_is_mark(b->mark))
        return eddis_fail(err, -EINVAL, "\"mark\" is not %d hexadecimal digits",
                          NODE_IDENTITY_DIGITS);
    if (!b->url[0])
        return eddis_fail(err, -EINVAL, "\"url\" is empty");
    for (char **u = b->url; *u; u++)
        if (strncmp(*u, "https://", 8) != 0)
            return eddis_fail(err, -EINVAL,
                              "\"url\" has an item that does not begin with https://");
    if (strncmp(b->pin, "sha256//", 8) != 0)
        return eddis_fail(err, -EINVAL, "\"pin\" is not a hash of a key");
    if (!b->command[0] || !b->command[0][0])
        return eddis_fail(err, -EINVAL, "\"command\" is empty");
    for (char **e = b->env; *e; e++)
        if (!strchr(*e, '=') || **e == '=')
            return eddis_fail(err, -EINVAL, "an item of \"env\" is not NAME=VALUE");
    while (b->mpi_mca[n])
        n++;
    if (n % 2)
        return eddis_fail(err, -EINVAL, "\"mpi_mca\" has a name without a value");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i][1] && paths[i][1][0] != '/')
            return eddis_fail(err, -EINVAL, "\"%s\" is not an absolute path", paths[i][0]);
    return 0;
}

static const struct field agent_config_fields[] = {
    FIELD(struct agent_config, agent, INT, 0, PROTOCOL_MAX_AGENTS - 1),
    FIELD(struct agent_config, job_id, NAME, 0, 0),
    FIELD(struct agent_config, host, TEXT, 0, 0),
    FIELD(struct agent_config, url, LIST, 0, 0),
    FIELD(struct agent_config, pin, TEXT, 0, 0),
    FIELD(struct agent_config, token, NAME, 0, 0),
    FIELD(struct agent_config, mark, NAME, 0, 0),
    FIELD(struct agent_config, command, LIST, 0, 0),
    FIELD(struct agent_config, setup, LIST, 0, 0),
    FIELD(struct agent_config, python_from, OPTIONAL, 0, 0),
    FIELD(struct agent_config, workdir, BYTES, 0, 0),
    FIELD(struct agent_config, env, LIST, 0, 0),
    FIELD(struct agent_config, log_dir, BYTES, 0, 0),
    FIELD(struct agent_config, log_marker, NAME, 0, 0),
    FIELD(struct agent_config, checkpoint_dir, OPTIONAL, 0, 0),
    FIELD(struct agent_config, fence_job, NAME, 0, 0),
    FIELD(struct agent_config, fence_before, INT64, 0,
          SLURM_MOST_STARTS *(int64_t)SLURM_GENERATIONS),
    FIELD(struct agent_config, resume_from, OPTIONAL, 0, 0),
    FIELD(struct agent_config, data_path, OPTIONAL, 0, 0),
    FIELD(struct agent_config, step_pattern, OPTIONAL, 0, 0),
    FIELD(struct agent_config, step_samples, INT64, 0, INT32_MAX),
    FIELD(struct agent_config, quiet_ns, INT64, 0, INT64_MAX),
    FIELD(struct agent_config, quiet_start_ns, INT64, 0, INT64_MAX),
    FIELD(struct agent_config, mpi_args, LIST, 0, 0),
    FIELD(struct agent_config, mpi_mca, LIST, 0, 0),
    FIELD(struct agent_config, bind, BOOL, 0, 0),
    FIELD(struct agent_config, restarts, INT64, 0, INT32_MAX),
    FIELD(struct agent_config, log_max_bytes, INT64, 1, INT64_MAX),
    FIELD(struct agent_config, cache_ns, INT64, 0, INT64_MAX),
    FIELD(struct agent_config, gpus_ns, INT64, 0, INT64_MAX),
    FIELD(struct agent_config, lease_ns, INT64, TIMING_LEAST_LEASE_NS, TIMING_MOST_LEASE_NS),
    FIELD(struct agent_config, heartbeat_ns, INT64, CLOCK_MS, TIMING_MOST_LEASE_NS),
    FIELD_ARRAY("emulate", struct agent_config, emulate, n_emulate, emulated_table),
};
static const struct fields agent_config_table = FIELDS(
    struct agent_config, agent_config_fields, .check = check_agent_config, .secret = "token");

char *agent_config_text(const struct agent_config *b)
{
    return fields_text(&agent_config_table, b);
}

int agent_config_parse(const char *text, size_t n, struct agent_config **ret,
                       struct eddis_error *err)
{
    return fields_parse_new(&agent_config_table, text, n, "agent configuration", ret, err);
}

void agent_config_free(struct agent_config *b)
{
    fields_delete(&agent_config_table, b);
}
