/* SPDX-License-Identifier: Apache-2.0 */
/* step_samples.c - calls of eddis.h about the data set, a step's samples and new plans */
#include "worker.h"

#include "lib/base/clock.h"

#include <errno.h>

#define SAMPLES_MOST (INT64_C(1) << 53) /* counts and their sums are exact as double weights */

int eddis_set_data(struct eddis *e, int64_t samples, int64_t epochs, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc == 0)
        rc = sampler_check_data(samples, epochs, err);
    if (rc < 0)
        return rc;
    if (samples_given(&e->samples))
        return eddis_fail(
            err, -EBUSY, "the data set is already known, from eddis_options or since eddis_commit");
    e->options.samples = samples;
    e->options.epochs = epochs;
    return 0;
}

int eddis_plan_step(struct eddis *e, int64_t step, int64_t timeout_ns, struct eddis_step *ret,
                    struct eddis_error *err)
{
    struct sampler_step s;
    struct eddis_step p;
    int rc = worker_check(e, err);

    if (rc == 0)
        rc = sized_check(ret, "step", err);
    if (rc < 0)
        return rc;
    rc = samples_peek(&e->samples, step, timeout_ns, &s, err);
    if (rc <= 0)
        return rc;
    p = step_public(e, &s);
    sized_copy_out(ret, &p, sizeof p);
    return rc;
}

int eddis_sample_indices(struct eddis *e, const struct eddis_step *step, int64_t *ret,
                         struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!step || (!ret && step->count))
        return eddis_fail(err, -EINVAL, "the step or the place for the numbers is NULL");
    if (!samples_given(&e->samples))
        return eddis_fail(err, -EINVAL,
                          "the samples are not known: call eddis_set_data and eddis_commit before "
                          "asking for their numbers");
    rc = samples_use(&e->samples, SAMPLES_BY_INDEX, err);
    if (rc < 0)
        return rc;
    /* No lock is needed: nothing is read that another thread may still change. */
    return sampler_indices(e->samples.sampler, step->epoch, step->first, step->count, ret, err);
}

int eddis_counts(struct eddis *e, int64_t step, int64_t *ret, struct eddis_error *err)
{
    int rc = worker_check_ret(e, ret, "counts", err);

    return rc < 0 ? rc : samples_counts(&e->samples, step, ret, err);
}

/* Set the step's number of samples, which is also its weight; an emulated device takes the time of
 * so many samples.  Sends the weight to the communication thread.  With announce_lock held.
 */
static void count_locked(struct eddis *e, int64_t count)
{
    e->step.current.count = count;
    e->step.weight_fixed = true; /* nothing may change the weight after this */
    e->step.weight =
        (struct command_weight){ .command.kind = MAIL_WEIGHT, .set = -1, .weight = (double)count };
    e->step.own_weight = (double)count;
    comm_thread_send(e->comm_thread, &e->step.weight.command);
    emulate_begin(&e->emulation, e->step.current.step, count, e->step.begun_ns);
}

/* Check that the number of samples of this step may still be set.  Return 0, or -EINVAL if not.
 * With announce_lock held.
 */
static int count_check_locked(const struct step *s, struct eddis_error *err)
{
    if (s->begun && !s->finished && !s->weight_fixed)
        return 0;
    return eddis_fail(err, -EINVAL,
                      "the number of samples can be set only once, between eddis_step_begin and "
                      "the first announcement, and is then the weight");
}

int eddis_set_count(struct eddis *e, int64_t count, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc == 0 && (count < 0 || count > SAMPLES_MOST))
        rc = eddis_fail(err, -EINVAL, "a step of %lld samples is not possible", (long long)count);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&e->step.announce_lock);
    rc = count_check_locked(&e->step, err);
    if (rc == 0) /* a rejected call does not fix how this program counts */
        rc = samples_use(&e->samples, SAMPLES_BY_COUNT, err);
    if (rc == 0)
        count_locked(e, count);
    pthread_mutex_unlock(&e->step.announce_lock);
    if (rc == 0)
        phase_show_held(&e->phase, count);
    return rc;
}

int eddis_plan_fd(struct eddis *e, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    return rc < 0 ? rc : plan_switch_fd(&e->plan_switch, err);
}
