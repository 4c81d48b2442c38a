/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - collect why nodes cannot be used, and report the table at the check's end */
#include "check.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>

void check_trouble(struct job_run *r, int agent, const char *text)
{
    struct run_agent *a = &r->agent[agent];

    if (!r->o->check_only || a->trouble[0])
        return;
    (void)snprintf(a->trouble, sizeof a->trouble, "%s", text);
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

/* In a check, store the text of a node's failure event, unless the event only follows from an
 * earlier failure. Return HEARD: other modules get the event too (subject_ops.on_event).
 */
static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    struct job_run *r = self;

    (void)now_ns;
    if (!state_is_echo(&r->state))
        check_trouble(r, agent, e->text);
    return HEARD;
}

const struct subject_ops check_ops = { .on_event = on_event };
