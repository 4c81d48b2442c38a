/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - decide when models are compared, and report one that differs from the others */
#include "models.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

bool models_due(const struct models *m, int64_t step, bool last)
{
    int64_t done = step + 1;

    if (m->every <= 0)
        return false;
    return last || done % m->every == 0 || (done < m->every && (done & (done - 1)) == 0);
}

void models_keep(struct models *m, const double sum[MODEL_SUMS])
{
    m->pending = true;
    for (int i = 0; i < MODEL_SUMS; i++)
        m->sum[i] = sum[i];
}

void models_report(struct models *m, struct model_sums *ret)
{
    *ret = m->pending ? model_sums_of(m->rank, m->sum) : (struct model_sums){ .n_finite = 0 };
    m->pending = false;
}

/* Write to ret [size] what is wrong: "the model of rank 2 is not that of the other workers" */
static void describe(const struct models *m, const struct model_finding *f, char *ret, size_t size)
{
    if (f->verdict == MODELS_NOT_FINITE)
        (void)snprintf(ret, size, "the model holds NaN or infinity on all workers");
    else if (f->other >= 0)
        (void)snprintf(ret, size, "the models of ranks %d and %d are not the same", f->rank,
                       f->other);
    else if (f->rank == m->rank) /* last_words.c uses this to name the worker that failed */
        (void)snprintf(ret, size, "this worker's model, of rank %d, is not that of the others",
                       f->rank);
    else
        (void)snprintf(ret, size, "the model of rank %d is not that of the other workers", f->rank);
}

/* Write details of the finding to ret [size], "" if there are none: " (sums of the parameters
 * differ by 8.7 %; nothing was wrong after step 2)"
 */
static void explain(const struct models *m, const struct model_finding *f, char *ret, size_t size)
{
    char how[64] = "", before[64] = "";

    if (f->verdict == MODELS_DIFFER && f->odd)
        (void)snprintf(how, sizeof how, "NaN or infinity on one side");
    else if (f->verdict == MODELS_DIFFER)
        (void)snprintf(how, sizeof how, "sums of the parameters differ by %.2g %%",
                       100 * f->difference);
    if (m->shown.alike > 0)
        (void)snprintf(before, sizeof before, "nothing was wrong after step %" PRId64,
                       m->shown.alike);
    ret[0] = '\0';
    if (how[0] || before[0])
        (void)snprintf(ret, size, " (%s%s%s)", how, how[0] && before[0] ? "; " : "", before);
}

/* Return a constant text: what the user can do about the finding. */
static const char *advice(const struct model_finding *f)
{
    if (f->verdict == MODELS_NOT_FINITE)
        return "lower the learning rate, clip gradients, or have all workers leave out the steps "
               "whose loss is not finite";
    return "make every update in the same way on all workers; for random numbers that change the "
           "model or decide about a pass, use a generator (torch.Generator) with the same seed on "
           "all workers";
}

/* Set err to the finding after so many steps, with details and advice.  Return -EPROTO. */
static int fail(const struct models *m, const struct model_finding *f, int64_t steps,
                struct eddis_error *err)
{
    char what[96], more[160];

    describe(m, f, what, sizeof what);
    explain(m, f, more, sizeof more);
    return eddis_fail(err, -EPROTO,
                      "after step %" PRId64 " %s%s: the training from there on is wrong, so the "
                      "job ends; %s, or write checks: {models: off}",
                      steps, what, more, advice(f));
}

int models_agree(struct models *m, const struct model_sums *all, int64_t steps,
                 struct eddis_error *err)
{
    struct model_finding f = model_sums_judge(all);
    struct model_check *s = &m->shown;

    if (f.verdict == MODELS_NONE)
        return 0;
    s->compared++;
    if (f.verdict == MODELS_DIFFER || f.verdict == MODELS_NOT_FINITE) {
        s->found = f.verdict == MODELS_DIFFER ? MODEL_CHECK_DIFFER : MODEL_CHECK_NOT_FINITE;
        s->rank = f.verdict == MODELS_DIFFER ? f.rank : -1;
        s->other = f.other;
        s->step = steps;
        return fail(m, &f, steps, err);
    }
    s->alike = steps;
    s->unlike += f.verdict == MODELS_UNLIKE;
    if (f.verdict == MODELS_UNLIKE && f.difference > s->largest)
        s->largest = f.difference;
    return 0;
}
