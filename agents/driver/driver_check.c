/* SPDX-License-Identifier: Apache-2.0 */
/* driver_check.c - eddis-run --check: what was found out about every node
 *
 * A job ends with the first node that fails; a check goes on until each has answered, since whoever
 * mends one wants to know of the others, too.
 */
#include "driver_impl.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void driver_check_trouble(struct driver *d, int agent, const char *text)
{
    struct run_agent *a = &d->run.agent[agent];

    if (!d->run.o->check_only || a->trouble[0])
        return;
    (void)snprintf(a->trouble, sizeof a->trouble, "%s", text);
    text_strip_control(a->trouble);
}

bool driver_check_waits(const struct driver *d)
{
    if (!d->run.o->check_only || d->run.state.phase != PHASE_REGISTER)
        return false;
    for (int i = 0; i < d->run.n_agents; i++)
        if (!d->run.state.agent[i].registered && !d->run.agent[i].trouble[0])
            return true;
    return false;
}

void driver_check_heard(struct driver *d, int64_t now_ns)
{
    if (!d->run.o->check_only || d->run.state.phase != PHASE_REGISTER || driver_check_waits(d))
        return;
    for (int i = 0; i < d->run.n_agents; i++)
        if (d->run.agent[i].trouble[0])
            state_not_started(&d->run.state, i, d->run.agent[i].trouble, now_ns);
}

void driver_check_tell(struct driver *d)
{
    struct driver_check *row = calloc((size_t)d->run.n_agents, sizeof *row);

    for (int i = 0; row && i < d->run.n_agents; i++) {
        const struct run_agent *a = &d->run.agent[i];
        const struct state_agent *s = &d->run.state.agent[i];

        row[i] = (struct driver_check){
            .host = s->host,
            .address = a->address,
            .eddis = s->registered ? EDDIS_VERSION : "", /* no other may register */
            .mpi = a->mpi_version,
            .devices = a->profile.n_devices,
            .reached = s->registered,
            .ready = d->run.status.exit_code == 0,
            .trouble = a->trouble,
        };
    }
    if (row)
        d->run.o->view.checked(d->run.o->view.ctx, row, d->run.n_agents);
    free(row);
}
