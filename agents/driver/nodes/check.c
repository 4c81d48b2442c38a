/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - collect why nodes cannot be used, and report the table at the check's end */
#include "check.h"

#include "agents/driver/history/past.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_trouble(struct job_run *r, int agent, const char *text)
{
    struct run_agent *a = &r->agent[agent];

    if (!r->o->check_only || a->trouble[0])
        return;
    (void)snprintf(a->trouble, sizeof a->trouble, "%.*s", (int)sizeof a->trouble - 1, text);
    text_strip_control(a->trouble);
}

bool check_waits(const struct job_run *r)
{
    if (!r->o->check_only || r->state.phase != STATE_PHASE_REGISTER)
        return false;
    for (int i = 0; i < r->n_agents; i++)
        if (!r->state.agent[i].registered && !r->agent[i].trouble[0])
            return true;
    return false;
}

void check_heard(struct job_run *r, int64_t now_ns)
{
    if (!r->o->check_only || r->state.phase != STATE_PHASE_REGISTER || check_waits(r))
        return;
    for (int i = 0; i < r->n_agents; i++)
        if (r->agent[i].trouble[0])
            state_not_started(&r->state, i, r->agent[i].trouble, now_ns);
}

void check_report(struct job_run *r)
{
    struct driver_check *row = calloc((size_t)r->n_agents, sizeof *row);

    for (int i = 0; row && i < r->n_agents; i++) {
        const struct run_agent *a = &r->agent[i];
        const struct state_agent *s = &r->state.agent[i];

        row[i] = (struct driver_check){
            .host = s->host,
            .address = a->address,
            .eddis = s->registered ? EDDIS_VERSION : "", /* other versions cannot register */
            .mpi = a->mpi_version,
            .versions = &a->versions,
            .devices = a->profile.n_devices,
            .reached = s->registered,
            .ready = r->status.exit_code == 0,
            .trouble = a->trouble,
        };
    }
    if (row)
        r->o->view.checked(r->o->view.ctx, row, r->n_agents);
    free(row);
}

/* Check whether a node with ranks, other than this agent's, has not answered the check. */
static bool others_check(const struct job_run *r, int agent)
{
    for (int i = 0; i < r->n_agents; i++)
        if (i != agent && r->state.agent[i].part && !r->state.agent[i].checked)
            return true;
    return false;
}

/* Check whether libeddis combines the gradients of the job's program, which the nodes' versions of
 * torch and NCCL do not change: an earlier job of the same command did so, or the job's mode leaves
 * no other way. Otherwise torch.distributed does, or it is unknown what does.
 */
static bool libeddis_combines(const struct job_run *r)
{
    const struct job *job = r->o->job;
    struct past_model m = past_model(r->reader, job);

    return !algorithm_may_have(job->sync.mode, job->sync.algorithm, ALGORITHM_EXACT) ||
           (m.bytes > 0 && !program_is_external(&m.program));
}

/* Compare the versions of a library on agent b's node with those on a's. If they differ so that
 * torch.distributed cannot combine gradients, end the check with this as b's trouble; or only tell
 * the user, if libeddis combines them. Return true if they differ so.
 */
static bool compare(struct job_run *r, int a, int b, int64_t now_ns)
{
    const char *name, *of_a, *of_b;
    char text[512], sentence[768];
    bool ours;

    if (!program_versions_differ(&r->agent[a].versions, &r->agent[b].versions, &name, &of_a, &of_b))
        return false;
    ours = libeddis_combines(r);
    (void)snprintf(text, sizeof text,
                   "its Python has %s %s, but that of node %.100s has %s %s, with which "
                   "torch.distributed cannot combine gradients; %s",
                   name, of_b, r->state.agent[a].host, name, of_a,
                   ours ? "this job needs no equal versions, since libeddis combines them"
                        : "install one version on both, unless the program combines them by "
                          "eddis.DistributedOptimizer");
    (void)snprintf(sentence, sizeof sentence, "node %.200s: %s", r->state.agent[b].host, text);
    if (ours) {
        job_run_sayf(r, JOB_EVENT_SAY, b, -1, "%s", sentence);
        return true;
    }
    check_trouble(r, b, text);
    state_fail(&r->state, "start", 3, sentence, now_ns);
    return true;
}

/* Store the versions that a node reports, tell the user if torch cannot be imported there and,
 * after the last node, compare the versions of all.
 */
static void take_versions(struct job_run *r, int agent, const char *text, int64_t now_ns)
{
    struct program_versions *v = &r->agent[agent].versions;
    int first = -1;

    if (*text && program_versions_parse(text, strlen(text), v, NULL) == 0 && v->trouble[0])
        job_run_sayf(r, JOB_EVENT_SAY, agent, -1, "node %.120s: torch cannot be imported: %s",
                     r->state.agent[agent].host, v->trouble);
    if (others_check(r, agent))
        return;
    for (int i = 0; i < r->n_agents; i++) {
        if (!r->agent[i].versions.torch[0])
            continue;
        if (first >= 0 && compare(r, first, i, now_ns))
            return;
        if (first < 0 || (!r->agent[first].versions.nccl[0] && r->agent[i].versions.nccl[0]))
            first = i;
    }
}

/* In a check, store the text of a node's failure event, unless the event only follows from an
 * earlier failure, or the versions of a node that was checked. Return HEARD: other modules get the
 * event too (subject_ops.on_event).
 */
static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    struct job_run *r = self;

    if (e->type == EVENT_CHECKED && r->o->check_only && r->state.phase == STATE_PHASE_CHECK)
        take_versions(r, agent, e->text, now_ns);
    else if (e->type == EVENT_FAILED && !state_is_echo(&r->state))
        check_trouble(r, agent, e->text);
    return HEARD;
}

const struct subject_ops check_ops = { .on_event = on_event };
