/* SPDX-License-Identifier: Apache-2.0 */
#include "mode_choice.h"

#include "groups.h"
#include "modes.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/model/algorithm.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the centre, all writers together; a larger one is unstable when they write in lock step. */
static const double ALL_WRITERS_RATE = 0.9;

/* ---- what the modes are predicted to be ---- */

/* One mode that could be taken. */
struct candidate {
    const struct algorithm *algorithm;
    const int *group; /* [n_workers], NULL: each worker is one */
    int64_t period;   /* 0: it has none */
    int writers;      /* of models: the groups */
    double samples_per_s;
};

struct field {
    struct modes_setup setup;
    struct candidate sync, async, hybrid;
};

static void fill_setup(const struct plan *p, const struct planner_known *known,
                       struct modes_worker *w, struct modes_setup *ret)
{
    for (int i = 0; i < p->n_workers; i++)
        w[i] = (struct modes_worker){
            .t = { .fixed_s = p->worker[i].fixed_s, .sample_s = p->worker[i].sample_s },
            .batch = p->worker[i].batch,
            .node = p->worker[i].node,
        };
    *ret = (struct modes_setup){
        .worker = w, .n = p->n_workers, .n_nodes = p->n_nodes, .bucket_bytes = p->bucket_bytes
    };
    /* Ratios of devices cannot be set against the seconds of a wire. */
    if (p->relative)
        return;
    ret->model_bytes = known->model_bytes;
    ret->latency_s = known->latency_s;
    ret->bytes_per_s = known->bytes_per_s;
}

static int predict(const struct job *job, const struct modes_setup *s, struct candidate *c,
                   struct eddis_error *err)
{
    int rc = 0;

    c->period = job->sync.options.period;
    if (!c->period)
        rc = modes_period(s, c->group, &c->period, err);
    return rc < 0 ? rc : modes_elastic(s, c->group, c->period, &c->samples_per_s, err);
}

/* What an equal split would give, in synchronous training; w [n] is scratch. */
static int predict_equal(const struct field *f, struct modes_worker *w, struct plan *p,
                         struct eddis_error *err)
{
    struct modes_setup s = f->setup;

    for (int i = 0; i < p->n_workers; i++) {
        w[i] = f->setup.worker[i];
        w[i].batch = p->worker[i].equal_batch;
    }
    s.worker = w;
    return modes_sync(&s, &p->equal_samples_per_s, err);
}

static int predict_all(const struct job *job, struct field *f, struct eddis_error *err)
{
    int rc = modes_sync(&f->setup, &f->sync.samples_per_s, err);

    if (rc < 0 || (rc = predict(job, &f->setup, &f->async, err)) < 0)
        return rc;
    return predict(job, &f->setup, &f->hybrid, err);
}

/* ---- the choice and its reason ---- */

static double efficiency(const struct candidate *c)
{
    return algorithm_efficiency(c->algorithm, c->writers, c->period);
}

static double progress(const struct candidate *c)
{
    return c->samples_per_s * efficiency(c);
}

/* "22 600", three digits of it; of a relative plan "1.02 times sync". */
static const char *rate_text(const struct plan *p, const struct field *f, double x, char *ret,
                             size_t size)
{
    double unit = pow(10, floor(log10(fmax(x, 1))) - 2);

    if (!p->relative)
        return text_grouped(unit > 1 ? round(x / unit) * unit : x, ret, size);
    snprintf(ret, size, "%.2f times sync", x / f->sync.samples_per_s);
    return ret;
}

static void say_sync(const struct field *f, const struct candidate *best, bool known,
                     struct plan *p)
{
    char rate[48], at[64] = "";

    rate_text(p, f, best->samples_per_s, rate, sizeof rate);
    if (best->samples_per_s > f->sync.samples_per_s * ALGORITHM_MARGIN)
        snprintf(at, sizeof at, " at %.2f of its progress a sample", efficiency(best));
    if (at[0] && !known)
        snprintf(p->reason, sizeof p->reason,
                 "sync because it is exact; other modes (%s %s%s) are weighed once a run has told "
                 "how large the model is",
                 sync_mode_name(best->algorithm->mode), rate, at);
    else
        snprintf(p->reason, sizeof p->reason,
                 "sync because no other mode is predicted to be %.0f %% faster (%s %s%s), and it "
                 "is exact",
                 100 * (ALGORITHM_MARGIN - 1), sync_mode_name(best->algorithm->mode), rate, at);
}

static void say_other(const struct field *f, const struct candidate *best, struct plan *p)
{
    char rate[48], sync[48];

    rate_text(p, f, best->samples_per_s, rate, sizeof rate);
    rate_text(p, f, f->sync.samples_per_s, sync, sizeof sync);
    snprintf(p->reason, sizeof p->reason,
             "%s because it is predicted to be %.2f times as fast as sync (%s against %s), at %.2f "
             "of its progress a sample",
             sync_mode_name(best->algorithm->mode), best->samples_per_s / f->sync.samples_per_s,
             rate, sync, efficiency(best));
}

/* The job's wish, or what it has begun with; NULL: it is open. */
static const struct algorithm *settled(const struct job *job, const struct planner_known *known,
                                       struct plan *p)
{
    const struct algorithm *a;

    if (!algorithm_is_open(job->sync.mode, job->sync.algorithm)) {
        a = algorithm_asked(job->sync.mode, job->sync.algorithm);
        snprintf(p->reason, sizeof p->reason, "%s because the job asks for it",
                 sync_mode_name(a->mode));
        return a;
    }
    a = known->algorithm ? algorithm_find(known->algorithm) : NULL;
    if (a)
        snprintf(p->reason, sizeof p->reason, "%s because the job has begun with it",
                 sync_mode_name(a->mode));
    return a;
}

static const struct candidate *choose(const struct job *job, const struct field *f,
                                      const struct planner_known *past, struct plan *p)
{
    const struct algorithm *wish = settled(job, past, p);
    const struct candidate *all[] = { &f->sync, &f->async, &f->hybrid }, *best;
    bool known = past->model_bytes > 0;

    for (size_t i = 0; wish && i < sizeof all / sizeof *all; i++)
        if (all[i]->algorithm == wish)
            return all[i];
    best = progress(&f->hybrid) > progress(&f->async) ? &f->hybrid : &f->async;
    if (p->n_workers == 1)
        snprintf(p->reason, sizeof p->reason, "sync because there is one worker");
    else if (known && progress(best) > progress(&f->sync) * ALGORITHM_MARGIN) {
        say_other(f, best, p);
        return best;
    } else
        say_sync(f, f->async.samples_per_s >= f->hybrid.samples_per_s ? &f->async : &f->hybrid,
                 known, p);
    return &f->sync;
}

/* ---- filling it in ---- */

static void take(const struct job *job, const struct field *f, const struct candidate *c,
                 struct plan *p)
{
    int writers = 0;

    snprintf(p->mode, sizeof p->mode, "%s", sync_mode_name(c->algorithm->mode));
    snprintf(p->algorithm, sizeof p->algorithm, "%s", c->algorithm->name);
    p->sync_samples_per_s = f->sync.samples_per_s;
    p->async_samples_per_s = f->async.samples_per_s;
    p->hybrid_samples_per_s = f->hybrid.samples_per_s;
    p->predicted_samples_per_s = c->samples_per_s;
    p->options.period = c->period;
    for (int i = 0; i < p->n_workers; i++) {
        p->worker[i].group = c->period == 0 ? 0 : c->group ? c->group[i] : i;
        writers = p->worker[i].group >= writers ? p->worker[i].group + 1 : writers;
    }
    p->n_groups = writers;
    if (!c->period)
        return;
    p->options.moving_rate = job->sync.options.moving_rate > 0 ? job->sync.options.moving_rate
                                                               : ALL_WRITERS_RATE / writers;
    p->options.momentum = job->sync.options.momentum;
}

static int form_groups(const struct job *job, const struct planner_known *known,
                       const struct plan *p, int *group, struct eddis_error *err)
{
    cleanup_free struct group_worker *w = calloc((size_t)p->n_workers, sizeof *w);
    cleanup_free int *began_as = calloc((size_t)p->n_workers, sizeof *began_as);

    if (!w || !began_as)
        return eddis_fail(err, -ENOMEM, "no memory for groups");
    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *x = &p->worker[i];

        w[i] = (struct group_worker){ x->node, 1 / x->sample_s };
        if (known->began_as)
            began_as[i] = known->began_as[x->node] + x->local_rank;
    }
    return groups_form(w, p->n_workers, &job->sync.groups, known->began_as ? began_as : NULL, group,
                       err);
}

/* Groups that the job has given, and that are not as given any more. */
static void say_groups(const struct job *job, struct plan *p)
{
    const struct job_groups *g = &job->sync.groups;
    size_t used = strlen(p->reason);

    if (!algorithm_has(p->algorithm, ALGORITHM_GROUPED))
        return;
    if (g->of && (size_t)p->n_workers < g->n_of)
        snprintf(p->reason + used, sizeof p->reason - used,
                 "; sync.groups without the %zu workers that are gone: %d groups of %lld",
                 g->n_of - (size_t)p->n_workers, p->n_groups, (long long)g->n);
    else if (!g->of && g->n > p->n_groups)
        snprintf(p->reason + used, sizeof p->reason - used,
                 "; %d groups, for there are no more workers left for the %lld of sync.groups",
                 p->n_groups, (long long)g->n);
}

int mode_choose(const struct job *job, const struct planner_known *known, struct plan *p,
                struct eddis_error *err)
{
    cleanup_free struct modes_worker *w = calloc((size_t)p->n_workers, sizeof *w);
    cleanup_free struct modes_worker *even = calloc((size_t)p->n_workers, sizeof *even);
    cleanup_free int *group = calloc((size_t)p->n_workers, sizeof *group);
    struct field f = { .sync = { .algorithm = algorithm_find("allreduce") },
                       .async = { .algorithm = algorithm_find("easgd") },
                       .hybrid = { .algorithm = algorithm_find("hsgd"), .group = group } };
    int rc;

    if (!algorithm_asked(job->sync.mode, job->sync.algorithm))
        return eddis_fail(err, -EINVAL, "no algorithm '%s' of mode '%s' in this version",
                          job->sync.algorithm, job->sync.mode);
    if (!w || !even || !group)
        return eddis_fail(err, -ENOMEM, "no memory to choose a mode");
    if ((rc = form_groups(job, known, p, group, err)) < 0)
        return rc;
    f.async.writers = p->n_workers;
    f.hybrid.writers = rc;
    fill_setup(p, known, w, &f.setup);
    p->model_bytes = known->model_bytes;
    rc = predict_all(job, &f, err);
    if (rc == 0)
        rc = predict_equal(&f, even, p, err);
    if (rc < 0)
        return rc;
    take(job, &f, choose(job, &f, known, p), p);
    say_groups(job, p);
    return 0;
}
