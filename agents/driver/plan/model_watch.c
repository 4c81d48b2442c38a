/* SPDX-License-Identifier: Apache-2.0 */
/* model_watch.c - detect models that differ and losses that are not finite */
#include "model_watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Write "rank 2 (node b)" to ret, or "rank 2" if the job has no such rank. Return ret. */
static const char *rank_text(const struct job_run *r, int64_t rank, char *ret, size_t size)
{
    const struct state *s = &r->state;

    if (rank < s->n_ranks)
        (void)snprintf(ret, size, "rank %" PRId64 " (node %.48s)", rank,
                       s->agent[s->rank[rank].agent].host);
    else
        (void)snprintf(ret, size, "rank %" PRId64, rank);
    return ret;
}

/* Return the result of a failed model comparison, borrowed from the first worker that reported one,
 * since all workers find the same; NULL: none failed.
 */
static const struct model_check *found(const struct metrics *f)
{
    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].seen && f->worker[i].last.models.found != MODEL_CHECK_ALIKE)
            return &f->worker[i].last.models;
    return NULL;
}

/* Describe a failed model comparison in a sentence, in ret. */
static void describe(const struct job_run *r, const struct model_check *m, char *ret, size_t size)
{
    char one[88], other[88], before[64] = "";

    if (m->alike > 0)
        (void)snprintf(before, sizeof before, " (nothing was wrong after step %" PRId64 ")",
                       m->alike);
    if (m->found == MODEL_CHECK_NOT_FINITE)
        (void)snprintf(ret, size,
                       "after step %" PRId64 " the model holds NaN or infinity on all workers%s",
                       m->step, before);
    else if (m->other >= 0)
        (void)snprintf(ret, size,
                       "after step %" PRId64 " the models of %s and %s are not the same%s", m->step,
                       rank_text(r, m->rank, one, sizeof one),
                       rank_text(r, m->other, other, sizeof other), before);
    else
        (void)snprintf(ret, size,
                       "after step %" PRId64 " the model of %s is not that of the other workers%s",
                       m->step, rank_text(r, m->rank, one, sizeof one), before);
}

/* Report a failed model comparison, once per generation, and store the sentence in the status. */
static void look_at_models(struct model_watch *w, struct job_run *r)
{
    const struct model_check *m = found(&r->metrics);
    struct job_status *s = &r->status;

    if (!m || w->generation == r->state.generation)
        return;
    w->generation = r->state.generation;
    describe(r, m, s->models_say, sizeof s->models_say);
    job_run_say(r, JOB_EVENT_SAY, -1, -1, s->models_say);
}

/* Return the last report of the worker whose loss became NaN or infinite at the earliest step;
 * NULL: none.
 */
static const struct progress *first_loss(const struct metrics *f)
{
    const struct progress *first = NULL;

    for (int i = 0; i < f->n_workers; i++) {
        const struct progress *p = &f->worker[i].last;

        if (f->worker[i].seen && p->loss_step > 0 && (!first || p->loss_step < first->loss_step))
            first = p;
    }
    return first;
}

/* Report the first loss that is not finite, once per job, and store the sentence in the status.
 * Wait two heartbeats for reports of other workers, unless end is true.
 */
static void look_at_losses(struct model_watch *w, struct job_run *r, int64_t now_ns, bool end)
{
    const struct progress *p = w->said ? NULL : first_loss(&r->metrics);
    struct job_status *s = &r->status;
    char rank[88];

    if (!p)
        return;
    if (!w->loss_ns)
        w->loss_ns = now_ns;
    if (!end && now_ns - w->loss_ns < 2 * r->o->job->timeouts.heartbeat_ns)
        return;
    w->said = true;
    (void)snprintf(s->loss_says, sizeof s->loss_says,
                   "the loss of %s at step %" PRId64 " was not finite",
                   rank_text(r, p->rank, rank, sizeof rank), p->loss_step);
    job_run_say(r, JOB_EVENT_SAY, -1, -1, s->loss_says);
}

void model_watch_look(struct model_watch *w, struct job_run *r, int64_t now_ns, bool end)
{
    look_at_models(w, r);
    look_at_losses(w, r, now_ns, end || w->generation == r->state.generation);
}

void model_watch_fill(const struct job_run *r, struct job_status *s)
{
    const struct metrics *f = &r->metrics;

    s->models_compared = s->models_unlike = 0;
    s->models_largest = NAN;
    for (int i = 0; i < f->n_workers; i++) {
        const struct model_check *m = &f->worker[i].last.models;

        if (!f->worker[i].seen || m->compared < s->models_compared)
            continue;
        s->models_compared = m->compared;
        s->models_unlike = m->unlike;
        s->models_largest = m->unlike ? m->largest : NAN;
    }
}

void model_watch_end(const struct model_watch *w, struct job_run *r)
{
    struct job_status *s = &r->status;
    size_t n = strlen(s->message);

    if (w->generation && w->generation == r->state.generation && s->exit_code != 0)
        (void)snprintf(s->message + n, sizeof s->message - n, "%s%s", n ? "; " : "", s->models_say);
}
