/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_config.c - converts the agent configuration to and from JSON */
#include "protocol.h"

#include "timing.h"

#include "lib/base/fields.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/slurm/slurm_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N(table) (sizeof(table) / sizeof *(table))

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
    FIELD(struct agent_config, lease_ns, INT64, TIMING_LEAST_LEASE_NS, TIMING_MOST_LEASE_NS),
    FIELD(struct agent_config, heartbeat_ns, INT64, CLOCK_MS, TIMING_MOST_LEASE_NS),
};

static const struct field emulated_fields[] = {
    FIELD_REAL(struct job_emulated, rate, DOUBLE, 0, 1000000),
    FIELD_REAL(struct job_emulated, fixed_s, DOUBLE, 0, 1000000),
    FIELD_REAL(struct job_emulated, sample_s, DOUBLE, 0, 1000000),
    FIELD_REAL(struct job_emulated, jitter, DOUBLE, 0, 1),
};

static const struct field_rows emulated_rows =
    FIELD_ROWS(emulated_fields, struct job_emulated, JOB_MAX_EMULATED);

char *agent_config_text(const struct agent_config *b)
{
    cleanup_json json_t *o = json_object();
    char *text = NULL;

    if (o && fields_write(agent_config_fields, N(agent_config_fields), b, o) == 0 &&
        fields_write_rows(o, "emulate", &emulated_rows, b->emulate, (size_t)b->n_emulate) == 0)
        text = json_text(o, false);
    json_wipe(o, "token");
    return text;
}

/* Read the list "emulate" of o into b and check that each rate is positive.  Return the number of
 * members read or a negative errno.
 */
static int read_emulate(struct agent_config *b, const json_t *o, struct eddis_error *err)
{
    cleanup_free struct job_emulated *e = NULL;
    int rc = fields_read_rows(o, "emulate", &emulated_rows, (void **)&e, &b->n_emulate, err);

    for (int i = 0; rc >= 0 && i < b->n_emulate; i++) {
        b->emulate[i] = e[i];
        if (e[i].rate <= 0)
            return eddis_fail(err, -EINVAL, "an emulated device has the rate 0");
    }
    return rc;
}

/* Check that path, the value of JSON key `name`, is NULL or absolute.  Return 0 or -EINVAL. */
static int check_path(const char *name, const char *path, struct eddis_error *err)
{
    if (path && path[0] != '/')
        return eddis_fail(err, -EINVAL, "\"%s\" is not an absolute path", name);
    return 0;
}

/* Check what the field table cannot: that required members are not empty, and that mark, URLs, key
 * hash, environment, MCA parameters and paths are well formed.  Return 0 or -EINVAL.
 */
static int check_agent_config(const struct agent_config *b, struct eddis_error *err)
{
    size_t n = 0;
    int rc;

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
    if ((rc = check_path("workdir", b->workdir, err)) < 0 ||
        (rc = check_path("log_dir", *b->log_dir ? b->log_dir : NULL, err)) < 0 ||
        (rc = check_path("checkpoint_dir", b->checkpoint_dir, err)) < 0)
        return rc;
    if ((rc = check_path("resume_from", b->resume_from, err)) < 0)
        return rc;
    return check_path("data_path", b->data_path, err);
}

int agent_config_parse(const char *text, size_t n, struct agent_config **ret,
                       struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct agent_config *b;
    int rc = json_parse(text, n, "agent configuration", &o, err);

    if (rc < 0)
        return rc;
    b = calloc(1, sizeof *b);
    if (!b)
        return eddis_fail(err, -ENOMEM, "no memory for the agent configuration");
    rc = fields_read(agent_config_fields, N(agent_config_fields), o, b, err);
    if (rc >= 0)
        rc = read_emulate(b, o, err);
    if (rc >= 0)
        rc = fields_end(o, N(agent_config_fields) + 1, err);
    if (rc >= 0)
        rc = check_agent_config(b, err);
    json_wipe(o, "token");
    if (rc < 0) {
        agent_config_free(b);
        return eddis_fail_prefix(err, rc, "agent configuration");
    }
    *ret = b;
    return 0;
}

/* Free a NULL-ended list of strings; accept NULL. */
static void free_list(char **list)
{
    for (char **s = list; s && *s; s++)
        free(*s);
    free(list);
}

void agent_config_free(struct agent_config *b)
{
    if (!b)
        return;
    explicit_bzero(b->token, sizeof b->token);
    free_list(b->url);
    free_list(b->command);
    free_list(b->setup);
    free_list(b->env);
    free_list(b->mpi_args);
    free_list(b->mpi_mca);
    free(b->workdir);
    free(b->log_dir);
    free(b->checkpoint_dir);
    free(b->resume_from);
    free(b->data_path);
    free(b->step_pattern);
    free(b);
}
