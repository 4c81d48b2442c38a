/* SPDX-License-Identifier: Apache-2.0 */
/* network_effect.c - describe the effect of a changed network on a plan */
#include "network_effect.h"

#include "network_result.h"

#include "lib/base/text.h"
#include "scheduler/mode_choice.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 640 }; /* size of a sentence for the user */

/* Return a copy of p, predicted with the present history, for the caller to free; NULL, with the
 * reason in err: this is not possible. under_way: keep p's algorithm, period and wire format;
 * otherwise choose them as for a new job.
 */
static struct plan *predict_anew(const struct job_run *r, const struct planner_history *history,
                                 const struct plan *p, bool under_way, struct eddis_error *err)
{
    struct planner_history begun = *history;
    struct sync_options kept = p->options;
    struct plan *now = plan_copy(p);

    if (!now) {
        eddis_fail(err, -ENOMEM, "no memory for a plan");
        return NULL;
    }
    begun.algorithm = under_way ? p->algorithm : NULL;
    begun.kept = under_way ? &kept : NULL;
    if (mode_choose(r->o->job, &begun, now, err) == 0)
        return now;
    plan_free(now);
    return NULL;
}

/* Copy the prediction of `now` into p.  What the workers do stays as it is, since p is in use. */
static void take_prediction(struct plan *p, const struct plan *now)
{
    p->predicted_samples_per_s = now->predicted_samples_per_s;
    p->equal_samples_per_s = now->equal_samples_per_s;
    p->model_bytes = now->model_bytes;
    p->program = now->program;
    p->n_candidates = now->n_candidates;
    memcpy(p->candidate, now->candidate, sizeof p->candidate);
}

/* Append the rates that `now` and `was` predict to the sentence, if both are known. */
static void add_rates(const struct plan *was, const struct plan *now, char text[SENTENCE])
{
    char a[48], b[48];

    if (!now->relative && now->model_bytes > 0)
        text_append(text, SENTENCE, "; predicted %s samples/s instead of %s",
                    text_grouped(round(now->predicted_samples_per_s), a, sizeof a),
                    text_grouped(round(was->predicted_samples_per_s), b, sizeof b));
}

/* Append the mode that a new job would get to the sentence, if it differs from that of p. */
static void add_mode(const struct job_run *r, const struct planner_history *history,
                     const struct plan *p, char text[SENTENCE])
{
    struct plan *begun = predict_anew(r, history, p, false, NULL);

    if (begun && algorithm_find(begun->algorithm) != algorithm_find(p->algorithm))
        text_append(text, SENTENCE, "; a job that starts now would use mode %s (%s)", begun->mode,
                    begun->algorithm);
    plan_free(begun);
}

/* Predict p again, set its predictions to the result, and append the effect to the sentence.
 * Return the relative change of the predicted rate; 0: no prediction, and p is unchanged.
 */
static double report_effect(struct job_run *r, const struct planner_history *history,
                            struct plan *p, char text[SENTENCE])
{
    struct eddis_error err = { 0 };
    struct plan *now = predict_anew(r, history, p, true, &err);
    double change = now ? now->predicted_samples_per_s / p->predicted_samples_per_s - 1 : 0;

    if (now) {
        add_rates(p, now, text);
        add_mode(r, history, p, text);
        take_prediction(p, now);
    } else {
        job_run_say(r, JOB_EVENT_NOTE, -1, -1, err.text);
    }
    text_append(text, SENTENCE, "; the next job measures it again");
    plan_free(now);
    return change;
}

/* Predict p again and report a change of the network, to the user only if it matters for this job.
 */
void network_effect_checked(struct job_run *r, const struct network_check *c,
                            const struct planner_history *history, struct plan *p)
{
    char text[SENTENCE];
    double change;

    (void)snprintf(text, sizeof text,
                   "the network has changed since an earlier job measured it: from %.60s to %.60s "
                   "it carries %.3g MB/s now, %.3g MB/s before",
                   network_result_node(r, c->from), network_result_node(r, c->to),
                   c->bytes_per_s / 1e6, c->was_bytes_per_s / 1e6);
    change = report_effect(r, history, p, text);
    job_run_say(r, fabs(change) > 0.05 ? JOB_EVENT_SAY : JOB_EVENT_NETWORK, -1, -1, text);
}

void network_effect_contradicted(struct job_run *r, const struct replan_contradiction *c,
                                 const struct planner_history *history, bool news, struct plan *p)
{
    const char *cause = c->times > 1 ? ", or the nodes are busy" : "";
    char text[SENTENCE];

    (void)snprintf(text, sizeof text,
                   "communication that does not overlap with computing takes %.3g ms of a step, "
                   "where the measured network speed predicts %.3g ms: the network has changed "
                   "since it was measured%s; it is now assumed to carry %.3g MB/s, not %.3g",
                   1e3 * c->measured_s, 1e3 * c->predicted_s, cause, c->network.bytes_per_s / 1e6,
                   c->network.bytes_per_s * c->times / 1e6);
    (void)report_effect(r, history, p, text);
    job_run_say(r, news ? JOB_EVENT_SAY : JOB_EVENT_NETWORK, -1, -1, text);
}
