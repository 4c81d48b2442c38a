/* SPDX-License-Identifier: Apache-2.0 */
/* predictors.c - the table of predictors: from an algorithm's name to its prediction */
#include "predictors.h"

#include <errno.h>
#include <string.h>

/* Of the centre, all writers together; a larger one is unstable when they write in lock step. */
static const double ALL_WRITERS_RATE = 0.9;

static int predict_sync(const struct predictor_input *in, struct prediction *ret,
                        struct eddis_error *err)
{
    return modes_sync(&in->setup, &ret->samples_per_s, err);
}

static int predict_elastic(const struct predictor_input *in, struct prediction *ret,
                           struct eddis_error *err)
{
    int rc = 0;

    ret->options = *in->wish;
    if (!ret->options.period)
        rc = modes_period(&in->setup, ret->group, &ret->options.period, err);
    if (!(ret->options.moving_rate > 0))
        ret->options.moving_rate = ALL_WRITERS_RATE / ret->writers;
    return rc < 0 ? rc
                  : modes_elastic(&in->setup, ret->group, ret->options.period, &ret->samples_per_s,
                                  err);
}

static int predict_workers(const struct predictor_input *in, struct prediction *ret,
                           struct eddis_error *err)
{
    ret->writers = in->setup.n;
    return predict_elastic(in, ret, err);
}

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

int predictors_run(const struct algorithm *a, const struct predictor_input *in,
                   struct prediction *ret, struct eddis_error *err)
{
    *ret = (struct prediction){ 0 };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, a->name) == 0)
            return table[i].predict(in, ret, err);
    return eddis_fail(err, -ENOTSUP, "nothing predicts the algorithm '%s'", a->name);
}
