/* SPDX-License-Identifier: Apache-2.0 */
/* network_effect.c - what a network that has changed does to a plan, and whether a run agrees with
 * it
 */
#include "network_effect.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "scheduler/mode_choice.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same plan, predicted with what is known now; period 0: left open.  NULL: it cannot be. */
static struct plan *predict_anew(const struct job_run *r, const struct planner_known *known,
                                 const struct plan *p, int64_t period, struct eddis_error *err)
{
    cleanup_free char *text = plan_text(p);
    struct planner_known begun = *known;
    struct job job = *r->o->job;
    struct plan *now = NULL;
    int rc = text ? plan_parse(text, strlen(text), "plan", &now, err)
                  : eddis_fail(err, -ENOMEM, "no memory for a plan");

    if (rc < 0)
        return NULL;
    begun.algorithm = p->algorithm;
    if (period)
        job.sync.options.period = period;
    rc = mode_choose(&job, &begun, now, err);
    if (rc == 0)
        return now;
    plan_free(now);
    return NULL;
}

/* The plan's figures, not what it has everybody do: that is under way. */
static void take_prediction(struct plan *p, const struct plan *now, int64_t period)
{
    p->predicted_samples_per_s = now->predicted_samples_per_s;
    p->equal_samples_per_s = now->equal_samples_per_s;
    p->model_bytes = now->model_bytes;
    p->n_candidates = now->n_candidates;
    memcpy(p->candidate, now->candidate, sizeof p->candidate);
    if (period)
        p->options.period = period;
}

static const char *host_of(const struct job_run *r, int rank)
{
    const struct state *s = &r->state;

    return rank < s->n_ranks ? s->agent[s->rank[rank].agent].host : "a node";
}

/* "from node1 to node2 24 MB/s, then 118; predicted 1 218 samples/s instead of 1 707" */
static void changed_text(const struct job_run *r, const struct network_check *c,
                         const struct plan *was, const struct plan *now, char ret[600])
{
    char a[48], b[48], rates[128] = "", period[96] = "";

    if (now && !now->relative && now->model_bytes > 0)
        (void)snprintf(rates, sizeof rates, "; predicted %s samples/s instead of %s",
                       text_grouped(round(now->predicted_samples_per_s), a, sizeof a),
                       text_grouped(round(was->predicted_samples_per_s), b, sizeof b));
    if (c->period && c->period != was->options.period)
        (void)snprintf(period, sizeof period, "; period %lld instead of %lld", (long long)c->period,
                       (long long)was->options.period);
    (void)snprintf(ret, 600,
                   "the network is not what an earlier job has measured: from %.60s to %.60s %.3g "
                   "MB/s, then %.3g%s%s; the next job measures it anew",
                   host_of(r, c->from), host_of(r, c->to), c->bytes_per_s / 1e6,
                   c->was_bytes_per_s / 1e6, rates, period);
}

/* Whether people want to know: what hardly counts for this job they need not. */
static bool matters(const struct network_check *c, const struct plan *was, const struct plan *now)
{
    double gain = now ? now->predicted_samples_per_s / was->predicted_samples_per_s : 1;

    return (c->period && c->period != was->options.period) || fabs(gain - 1) > 0.05;
}

void network_effect_take(struct job_run *r, const struct run_network *net,
                         const struct planner_known *known, struct plan *p)
{
    const struct network_check *c = &net->check;
    struct eddis_error err = { 0 };
    struct plan *now = predict_anew(r, known, p, c->period, &err);
    char text[600];

    if (!now)
        job_run_say(r, JOB_EVENT_NOTE, -1, -1, err.text);
    changed_text(r, c, p, now, text);
    job_run_say(r, matters(c, p, now) ? JOB_EVENT_SAY : JOB_EVENT_NETWORK, -1, -1, text);
    if (now)
        take_prediction(p, now, c->period);
    plan_free(now);
}

/* So much more, or less, of the steps' time than predicted is no accident. */
#define EXPOSED_OFF 0.2

void network_effect_compare(struct job_run *r, const struct planner_known *known,
                            const struct plan *p)
{
    double is = figures_exposed(&r->figures), expected;
    struct plan *now;
    char text[320];

    if (p->relative || !isfinite(is))
        return;
    now = predict_anew(r, known, p, p->options.period, NULL);
    expected = now ? fmax(0, 1 - now->predicted_samples_per_s / now->ideal_samples_per_s) : is;
    plan_free(now);
    if (fabs(is - expected) <= EXPOSED_OFF)
        return;
    (void)snprintf(text, sizeof text,
                   "communication that compute did not hide took %.0f %% of the steps' time, where "
                   "the network as it was measured explains %.0f %%: it has changed since, or the "
                   "nodes are busy; --set profile.cache=0s measures again",
                   100 * is, 100 * expected);
    job_run_say(r, JOB_EVENT_SAY, -1, -1, text);
}
