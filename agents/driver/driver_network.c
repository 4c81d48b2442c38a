/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_impl.h"

#include "lib/base/clock.h"

void driver_network(struct driver *d)
{
    state_network_known(&d->state, false, clock_now_ns());
}

void driver_forget_network(struct driver *d)
{
    d->network[0] = '\0';
}
