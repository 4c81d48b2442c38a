/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - make, free, read and write plans; plan_json.c converts their members */
#include "plan.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Limit of a plan file.  It is large enough for the longest texts of PLAN_MAX_WORKERS workers, so
 * that only the number of workers is a limit for plans.
 */
enum { PLAN_MAX_BYTES = PLAN_MAX_WORKERS * 1024 };

struct plan *plan_new(int n_nodes, int n_workers)
{
    struct plan *p;

    if (n_nodes < 0 || n_workers < 0)
        return NULL;
    p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->node = calloc((size_t)n_nodes + 1, sizeof *p->node);
    p->worker = calloc((size_t)n_workers + 1, sizeof *p->worker);
    p->n_nodes = n_nodes;
    p->n_workers = n_workers;
    if (p->node && p->worker)
        return p;
    plan_free(p);
    return NULL;
}

struct plan *plan_copy(const struct plan *p)
{
    struct plan *c = plan_new(p->n_nodes, p->n_workers), own;

    if (!c)
        return NULL;
    own = *c;
    *c = *p;
    c->node = own.node;
    c->worker = own.worker;
    c->choice = NULL;
    memcpy(c->node, p->node, (size_t)p->n_nodes * sizeof *c->node);
    memcpy(c->worker, p->worker, (size_t)p->n_workers * sizeof *c->worker);
    if (!p->choice)
        return c;
    c->choice = malloc(sizeof *c->choice);
    if (!c->choice) {
        plan_free(c);
        return NULL;
    }
    *c->choice = *p->choice;
    return c;
}

double plan_progress(const struct plan *p)
{
    for (int i = 0; i < p->n_candidates; i++)
        if (!p->candidate[i].lost[0])
            return p->candidate[i].predicted_progress;
    return 0;
}

int plan_models(const struct plan *p)
{
    return algorithm_has(p->algorithm, ALGORITHM_SEVERAL) ? p->n_groups : 1;
}

/* Return the samples per second of a worker that alone does `total` samples in a step. Beyond twice
 * the largest batch measured, time is assumed to be at least proportional, since a constant from
 * smaller batches is uncertain.
 */
static double alone_per_s(const struct plan_worker *w, int64_t total)
{
    int64_t part = w->piece > 0 && w->piece < total ? w->piece : total;
    double s = w->fixed_s + w->sample_s * (double)part;

    if (w->largest > 0 && part / 2 > w->largest)
        s = fmax(s, (w->fixed_s / (double)w->largest + w->sample_s) * (double)part);
    return w->max > 0 && w->max < total ? 0 : (double)part / s;
}

int plan_alone(const struct plan *p, double *ret_samples_per_s)
{
    int best = 0;

    *ret_samples_per_s = 0;
    for (int i = 0; i < p->n_workers; i++) {
        double rate = alone_per_s(&p->worker[i], p->global_batch);

        if (rate > *ret_samples_per_s) {
            *ret_samples_per_s = rate;
            best = i;
        }
    }
    return best;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    free(p->node);
    free(p->worker);
    free(p->choice);
    free(p);
}

int plan_read(const char *path, struct plan **ret, struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    size_t n;
    int rc = file_read(path, PLAN_MAX_BYTES, &text, &n, err);

    return rc < 0 ? rc : plan_parse(text, n, path, ret, err);
}
