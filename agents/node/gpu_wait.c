/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_wait.c - wait for the node's GPUs */
#include "gpu_wait.h"

#include "lib/base/clock.h"
#include "lib/model/trainer_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gpu_wait_list(struct gpu_wait *w, const struct agent_config *b)
{
    if (!w->list.pid && b->n_emulate == 0 && !trainer_is(b->command ? b->command[0] : NULL))
        (void)probe_list(&w->list, b, NULL);
}

void gpu_wait_listed(struct gpu_wait *w, int status)
{
    free(w->gpus);
    w->gpus = NULL;
    (void)probe_finish(&w->list, status, &w->gpus, NULL);
}

/* Check whether the order names the GPU with this CUDA ordinal. */
static bool is_wanted(const struct order *o, int index)
{
    for (int i = 0; i < o->n_device; i++)
        if (o->device[i] == index)
            return true;
    return o->n_device == 0;
}

/* Call gpu_lock_in_turn, or gpu_lock_queue if `queue`, for each GPU that the order names. Return 0
 * or the first error.
 */
static int each(struct gpu_wait *w, const struct order *o, const char *job_id, bool queue,
                struct eddis_error *err)
{
    int rc = 0;

    for (const char *at = w->gpus; at && *at && rc == 0;) {
        char id[64];
        int index, n = 0;

        if (sscanf(at, "%d %63s%n", &index, id, &n) != 2)
            break;
        if (is_wanted(o, index))
            rc = queue ? gpu_lock_queue(&w->queue, id, job_id, w->since_ms, err)
                       : gpu_lock_in_turn(&w->held, id, job_id, w->since_ms, err);
        at += n;
    }
    return rc;
}

int gpu_wait_try(struct gpu_wait *w, const struct order *o, const char *job_id,
                 struct eddis_error *err)
{
    int rc;

    if (w->list.pid)
        return eddis_fail(err, -EAGAIN, "the node's GPUs are being listed");
    if (!w->since_ms) {
        w->since_ms = clock_now_ns() / CLOCK_MS;
        rc = each(w, o, job_id, true, err);
        if (rc < 0)
            return rc;
    }
    rc = each(w, o, job_id, false, err);
    if (rc < 0)
        gpu_lock_release(&w->held);
    else
        gpu_lock_release(&w->queue);
    return rc;
}

void gpu_wait_end(struct gpu_wait *w)
{
    probe_kill(&w->list);
    gpu_lock_release(&w->held);
    gpu_lock_release(&w->queue);
    free(w->gpus);
    w->gpus = NULL;
}
