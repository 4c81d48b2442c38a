/* SPDX-License-Identifier: Apache-2.0 */
/* agent_config_make.c - collect the command, environment, limits and secrets of one agent */
#include "agent_config_make.h"

#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/job/host_program.h"
#include "lib/job/job_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *agent_config_data_path(const struct job *job)
{
    const char *value = NULL;
    char *path;

    for (char **a = job->command; *a; a++) {
        if (strncmp(*a, "--data=", 7) == 0)
            value = *a + 7;
        else if (strcmp(*a, "--data") == 0 && a[1])
            value = a[1];
    }
    if (!value)
        return NULL;
    path = value[0] == '/' ? strdup(value) : file_join(job->workdir, "%s", value);
    if (path && access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* Copy the devices that an agent must emulate into its configuration: the node's own list if it has
 * one, otherwise the job's.
 */
static void fill_emulate(const struct job *job, int agent, struct agent_config *b)
{
    const struct job_host *own = job->n_hosts ? &job->host[agent] : NULL;
    const struct job_emulated *list = own && own->emulate ? own->emulate : job->profile.emulate;

    b->n_emulate = (int)(own && own->emulate ? own->n_emulate : job->profile.n_emulate);
    memcpy(b->emulate, list, (size_t)b->n_emulate * sizeof *list);
}

/* Set in an agent's configuration how long a program may neither print nor compute before that is
 * reported, if the user set timeouts.hang.  A program that has loaded libeddis but not called it
 * yet has as long as its first step may take, if that is longer: it may wait for data.
 */
static void fill_quiet(const struct job *job, struct agent_config *b)
{
    int64_t hang_ns = job->timeouts.hang_ns, first_ns = job->timeouts.first_step_ns;

    if (job_origin(job, "timeouts.hang").kind == JOB_DEFAULT || hang_ns >= CLOCK_NEVER)
        return;
    b->quiet_ns = hang_ns;
    b->quiet_start_ns = first_ns <= 0 ? CLOCK_NEVER : first_ns > hang_ns ? first_ns : hang_ns;
}

int agent_config_make(const struct job_run *r, int agent, const struct listeners *l,
                      const char *log_marker, char **ret, struct eddis_error *err)
{
    const struct job *job = r->o->job;
    const struct job_folder *folder = r->o->folder;
    struct host_program p = { 0 };
    static char *empty[] = { NULL };
    char *url[HTTP_MAX_BASES + 1] = { NULL };
    struct agent_config b = {
        .agent = agent,
        .url = url,
        .workdir = job->workdir,
        .log_dir = r->log_dir,
        .checkpoint_dir = r->checkpoint_dir,
        .data_path = r->data_path,
        .step_pattern = job->progress.pattern,
        .step_samples = job->progress.samples,
        .mpi_args = job->mpi.args ? job->mpi.args : empty,
        .mpi_mca = job->mpi.mca ? job->mpi.mca : empty,
        .bind = strcmp(job->binding, "none") != 0,
        .restarts = job->restarts,
        .log_max_bytes = job->logs.max_mb * 1000000,
        .cache_ns = job->profile.cache_ns,
        .gpus_ns = r->state.o.gpus_ns,
        .lease_ns = job->timeouts.lease_ns,
        .heartbeat_ns = job->timeouts.heartbeat_ns,
    };
    int rc;

    rc = host_program_make(job, job->n_hosts ? &job->host[agent] : NULL, &r->o->caller, &p, err);
    if (rc < 0)
        return rc;
    b.command = p.command.item;
    b.setup = p.setup.item ? p.setup.item : empty;
    b.env = p.env.item ? p.env.item : empty;
    b.python_from = p.from[0] ? p.from : NULL;
    fill_quiet(job, &b);
    if (strcmp(job->checkpoint.resume, "auto") != 0)
        b.resume_from = job->checkpoint.resume;
    if (job->n_hosts)
        (void)snprintf(b.host, sizeof b.host, "%s", job->host[agent].host);
    fill_emulate(job, agent, &b);
    (void)snprintf(b.job_id, sizeof b.job_id, "%s", folder ? folder->id : job->name);
    if (r->o->batch) {
        (void)snprintf(b.fence_job, sizeof b.fence_job, "%s", r->o->batch->name);
        b.fence_before = r->o->batch->restarts * SLURM_GENERATIONS;
    }
    for (int i = 0; i < l->n_agent_listeners; i++)
        url[i] = (char *)(uintptr_t)l->url[i];
    (void)snprintf(b.pin, sizeof b.pin, "%s", l->pin);
    http_tokens_text(l->agent_tokens, agent, b.token);
    (void)snprintf(b.log_marker, sizeof b.log_marker, "%s", log_marker);
    (void)snprintf(b.mark, sizeof b.mark, "%s", r->agent[agent].identity.mark);
    *ret = agent_config_text(&b);
    explicit_bzero(b.token, sizeof b.token);
    host_program_fini(&p);
    return *ret ? 0 : eddis_fail(err, -ENOMEM, "no memory for an agent's configuration");
}
