/* SPDX-License-Identifier: Apache-2.0 */
/* emulated.c - replace a profile's devices by those that a job emulates */
#include "emulated.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* Check the number and the values of n emulated devices. Return 0, or -EINVAL: one is out of range.
 */
static int check(const struct job_emulated *list, int n, struct eddis_error *err)
{
    if (n > PROFILE_MAX_DEVICES)
        return eddis_fail(err, -EINVAL, "%d emulated devices are too many; the most is %d", n,
                          PROFILE_MAX_DEVICES);
    for (int i = 0; i < n; i++)
        if (!(list[i].rate > 0 && isfinite(list[i].rate) && list[i].fixed_s >= 0 &&
              isfinite(list[i].fixed_s) && list[i].sample_s > 0 && isfinite(list[i].sample_s)))
            return eddis_fail(err, -EINVAL,
                              "emulated device %d: its rate and its time per sample must be above "
                              "0, and its fixed time must not be negative",
                              i);
    return 0;
}

int emulated_apply(const struct job_emulated *list, int n, struct node_profile *p,
                   struct eddis_error *err)
{
    int rc = check(list, n, err);

    if (rc < 0 || n == 0)
        return rc;
    for (int i = 0; i < n; i++) {
        struct device *d = &p->device[i];

        *d = device_unmeasured(DEVICE_EMULATED, i, -1);
        d->rate = list[i].rate;
        d->fixed_s = list[i].fixed_s;
        d->sample_s = list[i].sample_s;
        (void)snprintf(d->id, sizeof d->id, "emulated:%d", i);
        (void)snprintf(d->name, sizeof d->name, d->rate < 0.01 ? "emulated %.3g" : "emulated %.2f",
                       d->rate);
    }
    p->n_devices = n;
    return 0;
}
