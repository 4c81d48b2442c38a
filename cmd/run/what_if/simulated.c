/* SPDX-License-Identifier: Apache-2.0 */
/* simulated.c - what the simulations of --simulate reached, in the table and in JSON */
#include "simulated.h"

#include "agents/job/status_json.h"
#include "cmd/shared/number.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <math.h>

enum { SHOWN = 8 }; /* most slow-downs that are described */

/* Return the samples per second; NAN if only ratios were measured. */
static double samples_per_s(const struct simulated *s)
{
    return s->plan->relative ? NAN : s->reached->samples_per_s;
}

/* Return the part of the plan's prediction that was reached. */
static double of_predicted(const struct simulated *s)
{
    return s->reached->samples_per_s / s->plan->predicted_samples_per_s;
}

/* Return the part of the devices' sum that was reached; NAN: the sum is unknown. */
static double of_sum(const struct simulated *s)
{
    return s->plan->ideal_samples_per_s > 0
               ? s->reached->samples_per_s / s->plan->ideal_samples_per_s
               : NAN;
}

/* Return the number of slow-downs in which the worker was reported as slow. */
static int found(const struct simulated *s)
{
    int n = 0;

    for (int i = 0; i < s->reached->n_slow; i++)
        n += s->reached->slow[i].found;
    return n;
}

/* ---- the table ---- */

/* Add a row of two counts. */
static void add_counts(struct table *t, const char *name, int64_t today, int64_t then)
{
    table_add(t, "%s", name);
    table_add(t, "%lld", (long long)today);
    table_add(t, "%lld", (long long)then);
    table_add(t, "%s", "");
}

/* Add a row of two parts as percentages. */
static void add_parts(struct table *t, const char *name, double today, double then)
{
    char m[NUMBER_SIZE], n[NUMBER_SIZE];

    table_add(t, "%s", name);
    table_add(t, "%s", number_percent(today, 1, m));
    table_add(t, "%s", number_percent(then, 1, n));
    table_add(t, "%s", "");
}

void simulated_rows(const struct simulated *today, const struct simulated *then, struct table *t)
{
    char m[NUMBER_SIZE], n[NUMBER_SIZE];

    table_add(t, "%s", "simulated samples/s");
    table_add(t, "%s", number_rate(samples_per_s(today), m));
    table_add(t, "%s", number_rate(samples_per_s(then), n));
    if (today->plan->relative == then->plan->relative)
        table_add(t, "%.2fx", then->reached->samples_per_s / today->reached->samples_per_s);
    else
        table_add(t, "%s", "");
    add_parts(t, "  of the prediction", of_predicted(today), of_predicted(then));
    add_parts(t, "  of the devices' sum", of_sum(today), of_sum(then));
    add_counts(t, "re-plans", today->reached->replans, then->reached->replans);
    if (today->reached->period > 0 || then->reached->period > 0)
        add_counts(t, "  with another period", today->reached->period_changes,
                   then->reached->period_changes);
    add_counts(t, "slow-downs", today->reached->n_slow, then->reached->n_slow);
    add_counts(t, "  found", found(today), found(then));
}

/* ---- sentences ---- */

void simulate_print(double seconds, uint64_t seed, struct strbuf *b)
{
    const struct sim_disturbance d = sim_disturbance_usual();

    strbuf_addf(b,
                "%g s with seed %llu: steps vary by %g %%, and every %g s a worker takes %g times "
                "as long for %g to %g s\n",
                seconds, (unsigned long long)seed, 100 * d.jitter, d.every_s, d.times, d.least_s,
                d.most_s);
}

void simulated_print_slow(const struct simulated *s, struct strbuf *b)
{
    const struct sim_reached *r = s->reached;
    char from[NUMBER_SIZE], until[NUMBER_SIZE];

    for (int i = 0; i < r->n_slow && i < SHOWN; i++) {
        const struct sim_slow_down *x = &r->slow[i];
        const struct plan_worker *w = &s->plan->worker[x->rank];

        strbuf_add(b, i ? "  " : "\n  ");
        text_add_clean(b, "rank %d on %.60s is slow from %s to %s", x->rank, s->plan->node[w->node],
                       job_status_elapsed(x->begin_s, from, sizeof from),
                       job_status_elapsed(x->end_s, until, sizeof until));
        if (isfinite(x->followed_s))
            strbuf_addf(b, "; a plan follows after %s\n",
                        job_status_elapsed(x->followed_s - x->begin_s, from, sizeof from));
        else
            strbuf_add(b, "; no plan follows\n");
    }
    if (r->n_slow > SHOWN)
        strbuf_addf(b, "  and %d more slow-downs\n", r->n_slow - SHOWN);
}

/* ---- JSON ---- */

/* Return a number in JSON; null if it is not finite. NULL without memory. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* Return all slow-downs in JSON; NULL without memory. */
static json_t *slow_downs(const struct sim_reached *r)
{
    cleanup_json json_t *list = json_array();

    for (int i = 0; i < r->n_slow; i++) {
        const struct sim_slow_down *x = &r->slow[i];

        if (json_array_append_new(list,
                                  json_pack("{s:i, s:f, s:f, s:o, s:b}", "rank", x->rank, "begin_s",
                                            x->begin_s, "end_s", x->end_s, "followed_s",
                                            number(x->followed_s), "found", x->found)) < 0)
            return NULL;
    }
    return json_incref(list);
}

json_t *simulated_json(const struct simulated *s)
{
    const struct sim_reached *r = s->reached;

    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:o}", "samples_per_s",
                     number(samples_per_s(s)), "of_predicted", number(of_predicted(s)), "of_sum",
                     number(of_sum(s)), "replans", (json_int_t)r->replans, "period_changes",
                     (json_int_t)r->period_changes, "period", (json_int_t)r->period, "slow_downs",
                     slow_downs(r));
}

json_t *simulate_json(double seconds, uint64_t seed)
{
    const struct sim_disturbance d = sim_disturbance_usual();

    return json_pack("{s:f, s:I, s:f, s:f, s:f, s:f, s:f}", "seconds", seconds, "seed",
                     (json_int_t)seed, "jitter", d.jitter, "slow_down_every_s", d.every_s,
                     "slow_down_times", d.times, "slow_down_least_s", d.least_s, "slow_down_most_s",
                     d.most_s);
}
