/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_check.c - look at the GPUs of a kept profile */
#include "gpu_check.h"

#include "note.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/gpu/gpu.h"
#include "lib/model/gpu_share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS  (5 * CLOCK_S)    /* time limit of NVML */
#define AGAIN_NS (500 * CLOCK_MS) /* its time limit if it was late at an earlier start */

/* What the child gets and returns: the measured GPUs, in the order of the profile */
struct look {
    struct gpu_device gpu[PROFILE_MAX_DEVICES];
    int n;
    bool answered; /* NVML did */
};

/* Check whether the device is a GPU of NVIDIA, by the form of its UUID, and was measured. */
static bool is_checked(const struct device *d)
{
    return d->kind == DEVICE_CUDA && !(isnan(d->fp32_flops) && isnan(d->memory_bytes_per_s)) &&
           (strncmp(d->id, "MIG-", 4) == 0 ||
            (strncmp(d->id, "GPU-", 4) == 0 && strchr(d->id + 4, '-')));
}

/* Look at the GPUs (isolate_fn, in the child; task and result: struct look). Return 0. */
static int look_task(const void *task, void *result, struct eddis_error *err)
{
    struct look *l = result;

    (void)err;
    memcpy(l, task, sizeof *l);
    l->answered = gpu_look(l->gpu, l->n);
    return 0;
}

void gpu_check_start(struct gpu_check *c, const struct node_profile *p, bool late)
{
    cleanup_free struct look *l = calloc(1, sizeof *l);

    *c = (struct gpu_check){ .deadline_ns = clock_now_ns() + (late ? AGAIN_NS : LOOK_NS),
                             .late = late };
    for (int i = 0; l && i < p->n_devices; i++) {
        const struct device *d = &p->device[i];
        struct gpu_device *g = &l->gpu[l->n];

        if (!is_checked(d))
            continue;
        *g = (struct gpu_device){ .maker = GPU_NVIDIA, .ordinal = d->index };
        (void)snprintf(g->uuid, sizeof g->uuid, "%.*s", (int)sizeof g->uuid - 1, d->id);
        l->n++;
    }
    c->n = l ? l->n : 0;
    if (c->n > 0)
        isolate_start(&c->child, "look at the GPUs", look_task, l, sizeof *l);
}

/* Check whether NVML answered when the profile was measured. */
static bool has_answered(const struct node_profile *p)
{
    for (int i = 0; i < p->n_devices; i++)
        if (p->device[i].gpu.known)
            return true;
    return false;
}

/* Check whether another process leaves too little of the GPU for a worker. */
static bool is_in_use(const struct gpu_device *g, const char *job_id)
{
    return !gpu_share_is_meant() && (g->taken || g->busy_percent >= GPU_BUSY_PERCENT) &&
           !gpu_share_is_locked(g->uuid, job_id);
}

/* Take the speeds from a GPU, and note who uses it. */
static void leave_out(const struct gpu_device *g, struct device *d, struct node_profile *p)
{
    struct device bare = device_unmeasured(d->kind, d->index, d->numa);

    d->fp32_flops = bare.fp32_flops;
    d->tf32_flops = bare.tf32_flops;
    d->bf16_flops = bare.bf16_flops;
    d->fp16_flops = bare.fp16_flops;
    d->memory_bytes_per_s = bare.memory_bytes_per_s;
    if (g->taken)
        note_add(p, "GPU %d: %s has it in exclusive mode", g->ordinal, g->user);
    else
        note_add(p, "GPU %d: %s keeps it %d %% busy", g->ordinal, g->user, g->busy_percent);
}

/* Note who uses a GPU that gets a worker. */
static void note_user(const struct gpu_device *g, struct node_profile *p)
{
    if (g->busy_percent >= GPU_BUSY_PERCENT)
        note_add(p, "GPU %d: %s keeps it %d %% busy, so steps may be slower than planned",
                 g->ordinal, g->user, g->busy_percent);
    else if (g->user[0])
        note_add(p, "GPU %d is also used by %s", g->ordinal, g->user);
}

/* Apply what was seen to the profile, as gpu_check_finish describes. Return 0 or -ESTALE. */
static int apply(const struct look *l, const char *job_id, struct node_profile *p,
                 struct eddis_error *err)
{
    bool in_use[PROFILE_MAX_DEVICES];
    int n = 0, k = 0;

    for (int i = 0; i < l->n; i++) {
        if (l->gpu[i].lost)
            return eddis_fail(err, -ESTALE, "GPU %d does not answer any more", l->gpu[i].ordinal);
        in_use[i] = is_in_use(&l->gpu[i], job_id);
        n += in_use[i];
    }
    for (int i = 0; i < p->n_devices && k < l->n; i++) {
        if (!is_checked(&p->device[i]))
            continue;
        if (in_use[k] && n < l->n)
            leave_out(&l->gpu[k], &p->device[i], p);
        else
            note_user(&l->gpu[k], p);
        k++;
    }
    return 0;
}

int gpu_check_finish(struct gpu_check *c, const char *job_id, struct node_profile *p,
                     struct eddis_error *err)
{
    cleanup_free struct look *l = calloc(1, sizeof *l);
    struct eddis_error why = { 0 };
    bool before = c->late;
    int rc;

    if (c->n == 0 || !l)
        return 0;
    rc = isolate_wait(&c->child, c->deadline_ns, l, &why);
    c->late = rc == -ETIMEDOUT;
    if (rc < 0) {
        /* A driver that starts anew for each process is late each time: that is no failure. */
        if (rc != -ETIMEDOUT && has_answered(p))
            return eddis_fail(err, -ESTALE, "%s", why.text);
        note_add(p, "%s%s, so who uses them is unknown", why.text, before ? " again" : "");
        return 0;
    }
    if (l->answered)
        return apply(l, job_id, p, err);
    return has_answered(p) ? eddis_fail(err, -ESTALE, "NVML does not answer any more") : 0;
}
