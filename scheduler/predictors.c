/* SPDX-License-Identifier: Apache-2.0 */
/* predictors.c - the table of predictors, and the choice of the wire format */
#include "predictors.h"

#include <errno.h>
#include <string.h>

/* Sum of the moving rates of all writers; a larger sum is unstable if they write in lock step. */
static const double ALL_WRITERS_RATE = 0.9;

/* Store the samples per second of synchronous training in *ret. Return 0. */
static int predict_sync(const struct predictor_input *in, struct prediction *ret,
                        struct eddis_error *err)
{
    (void)err;
    ret->samples_per_s = modes_sync(&in->setup);
    return 0;
}

/* Fill in ret->options.period, and ret->free_period if a job without end would have a longer period
 * (otherwise 0). Return 0 or -ENOMEM.
 */
static int choose_period(const struct modes_setup *s, struct prediction *ret,
                         struct eddis_error *err)
{
    struct modes_setup endless = *s;
    int64_t free = 0;
    int rc = modes_period(s, ret->group, &ret->options.period, err);

    endless.steps = 0;
    if (rc == 0 && s->steps > 0)
        rc = modes_period(&endless, ret->group, &free, err);
    ret->free_period = free > ret->options.period ? free : 0;
    return rc;
}

/* Predict elastic averaging; ret->group and ret->writers must be set. Fill in ret->options: the
 * job's, with a period and a moving rate chosen if the job leaves them open. Return 0 or -ENOMEM.
 */
static int predict_elastic(const struct predictor_input *in, struct prediction *ret,
                           struct eddis_error *err)
{
    int rc = 0;

    ret->options = *in->wanted;
    if (!ret->options.period)
        rc = choose_period(&in->setup, ret, err);
    if (!(ret->options.moving_rate > 0))
        ret->options.moving_rate = ALL_WRITERS_RATE / ret->writers;
    return rc < 0 ? rc
                  : modes_elastic(&in->setup, ret->group, ret->options.period, &ret->samples_per_s,
                                  err);
}

/* Predict elastic averaging with each worker a writer, in *ret. Return 0 or -ENOMEM. */
static int predict_workers(const struct predictor_input *in, struct prediction *ret,
                           struct eddis_error *err)
{
    ret->writers = in->setup.n;
    return predict_elastic(in, ret, err);
}

/* Predict elastic averaging with each group a writer, in *ret. Return 0 or -ENOMEM. */
static int predict_groups(const struct predictor_input *in, struct prediction *ret,
                          struct eddis_error *err)
{
    ret->group = in->group;
    ret->writers = in->n_groups;
    return predict_elastic(in, ret, err);
}

static const struct predictor table[] = {
    { "allreduce", predict_sync },
    { "easgd", predict_workers },
    { "hsgd", predict_groups },
};

size_t predictors(const struct predictor **ret)
{
    *ret = table;
    return sizeof table / sizeof *table;
}

/* Predict an algorithm that sends gradients in this wire format, in *ret. Return 0; -ENOTSUP: it
 * has no predictor; -ENOMEM. *ret is overwritten in each case.
 */
static int predict_wire(const struct algorithm *a, const struct predictor_input *in,
                        enum sync_wire wire, struct prediction *ret, struct eddis_error *err)
{
    struct predictor_input with = *in;

    with.setup.wire = wire;
    *ret = (struct prediction){ 0 };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, a->name) == 0) {
            int rc = table[i].predict(&with, ret, err);

            ret->options.wire = wire;
            return rc;
        }
    return eddis_fail(err, -ENOTSUP, "there is no prediction for the algorithm '%s'", a->name);
}

int predictors_run(const struct algorithm *a, const struct predictor_input *in,
                   struct prediction *ret, struct eddis_error *err)
{
    enum sync_wire asked = in->wanted->wire;
    struct prediction half;
    int rc = predict_wire(a, in, asked ? asked : SYNC_WIRE_FLOAT32, ret, err);

    if (rc < 0 || asked)
        return rc;
    /* Never float16 unasked: its range is not that of gradients. */
    rc = predict_wire(a, in, SYNC_WIRE_BFLOAT16, &half, err);
    if (rc == 0 && half.samples_per_s >= ret->samples_per_s * ALGORITHM_MARGIN) {
        half.wire_gain = half.samples_per_s / ret->samples_per_s;
        *ret = half;
    }
    return rc;
}
