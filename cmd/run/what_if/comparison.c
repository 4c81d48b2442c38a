/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - a table of two plans beside each other, and both as JSON */
#include "comparison.h"

#include "agents/job/status_json.h"
#include "cmd/shared/number.h"
#include "cmd/shared/table.h"
#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/base/json_bytes.h"
#include "simulated.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The figures of a plan; NAN: cannot be predicted */
struct figures {
    double speed; /* relative to other plans: samples per second, or if only ratios are known, in
                   * another unit */
    double samples_per_s, of_sum, efficiency, progress, seconds;
};

/* Return x, or NAN if it is not above 0. */
static double above_0(double x)
{
    return x > 0 ? x : NAN;
}

/* Return the figures of a plan for a job of so many samples (0: unknown). */
static struct figures figures_of(const struct comparison_case *c, int64_t samples)
{
    const struct plan *p = c->plan;
    struct figures f = { .speed = above_0(p->predicted_samples_per_s),
                         .of_sum = p->predicted_samples_per_s / above_0(p->ideal_samples_per_s),
                         .samples_per_s = NAN,
                         .efficiency = NAN,
                         .progress = NAN,
                         .seconds = NAN };

    if (p->relative)
        return f;
    f.samples_per_s = f.speed;
    for (int i = 0; i < p->n_candidates; i++)
        if (!p->candidate[i].lost[0]) {
            f.efficiency = above_0(p->candidate[i].efficiency);
            f.progress = above_0(p->candidate[i].predicted_progress);
        }
    if (samples > 0)
        f.seconds = (double)samples / f.samples_per_s;
    return f;
}

/* ---- the table ---- */

enum { COLUMN_THEN = 2, COLUMN_RATIO };

static const struct table_column columns[] = {
    { "", false },
    { "today", true },
    { "then", true },
    { "ratio", true },
};

/* Add a row of three texts; the last cell is the ratio of two figures. */
static void add_row(struct table *t, const char *name, const char *today, const char *then,
                    double ratio)
{
    table_add(t, "%s", name);
    table_add(t, "%s", today);
    table_add(t, "%s", then);
    if (isfinite(ratio))
        table_add(t, "%.2fx", ratio);
    else
        table_add(t, "%s", "");
}

/* Format the mode of a plan: "sync allreduce", "hybrid hsgd". */
static void mode_of(const struct plan *p, char ret[64])
{
    if (program_is_external(&p->program))
        (void)snprintf(ret, 64, "%s", p->mode);
    else
        (void)snprintf(ret, 64, "%s %s", p->mode, p->algorithm);
}

/* Check whether the plan's models are averaged or combined every `period` steps. */
static bool has_period(const struct plan *p)
{
    return algorithm_has(p->algorithm, ALGORITHM_ELASTIC | ALGORITHM_ROUNDS);
}

/* Format the plan's period in ret [NUMBER_SIZE]; "-" if all workers train one model. */
static char *period_of(const struct plan *p, char *ret)
{
    return has_period(p) ? number_of(p->options.period, "step", ret) : number_rate(NAN, ret);
}

/* Format the plan's overlap in ret [NUMBER_SIZE]; "-" if it has none. Return ret. */
static char *overlap_of(const struct plan *p, char *ret)
{
    return p->options.overlap ? number_of(p->options.overlap, "step", ret) : number_rate(NAN, ret);
}

/* Format a duration in ret [NUMBER_SIZE]. Return ret. */
static char *time_of(double s, char *ret)
{
    return isfinite(s) ? job_status_elapsed(s, ret, NUMBER_SIZE) : number_rate(s, ret);
}

/* Format an efficiency in ret [NUMBER_SIZE]. Return ret. */
static char *factor_of(double x, char *ret)
{
    if (!isfinite(x))
        return number_rate(x, ret);
    (void)snprintf(ret, NUMBER_SIZE, "%.2f", x);
    return ret;
}

/* Format a bandwidth in ret [NUMBER_SIZE]. Return ret. */
static char *bandwidth_of(double bytes_per_s, char *ret)
{
    static const char *const unit[] = { "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s" };
    double x = bytes_per_s * 8;
    size_t u = 0;

    if (!(x > 0))
        return number_rate(NAN, ret);
    for (; x >= 999.5 && u + 1 < sizeof unit / sizeof *unit; u++)
        x /= 1000;
    (void)snprintf(ret, NUMBER_SIZE, "%.3g %s", x, unit[u]);
    return ret;
}

/* Add the rows about how the plans train. */
static void add_plans(struct table *t, const struct comparison *c)
{
    const struct plan *today = c->today.plan, *then = c->then.plan;
    char a[64], b[64], m[NUMBER_SIZE], n[NUMBER_SIZE];

    mode_of(today, a);
    mode_of(then, b);
    add_row(t, "mode", a, b, NAN);
    if (has_period(today) || has_period(then))
        add_row(t, "period", period_of(today, m), period_of(then, n), NAN);
    if (today->options.overlap || then->options.overlap)
        add_row(t, "overlap", overlap_of(today, m), overlap_of(then, n), NAN);
    (void)snprintf(a, sizeof a, "%d", today->n_workers);
    (void)snprintf(b, sizeof b, "%d", then->n_workers);
    add_row(t, "workers", a, b, (double)then->n_workers / today->n_workers);
    if (today->n_nodes > 1 || then->n_nodes > 1)
        add_row(t, "network", bandwidth_of(c->today.bytes_per_s, m),
                bandwidth_of(c->then.bytes_per_s, n),
                c->then.bytes_per_s / above_0(c->today.bytes_per_s));
}

void comparison_print(const struct comparison *c, struct strbuf *b)
{
    cleanup_table struct table t = { .column = columns,
                                     .n_columns = sizeof columns / sizeof *columns };
    struct figures x = figures_of(&c->today, c->samples), y = figures_of(&c->then, c->samples);
    bool unlike = c->today.plan->relative != c->then.plan->relative;
    char m[NUMBER_SIZE], n[NUMBER_SIZE];

    add_plans(&t, c);
    add_row(&t, "samples/s", number_rate(x.samples_per_s, m), number_rate(y.samples_per_s, n),
            unlike ? NAN : y.speed / x.speed);
    add_row(&t, "of the devices' sum", number_percent(x.of_sum, 1, m),
            number_percent(y.of_sum, 1, n), NAN);
    add_row(&t, "efficiency", factor_of(x.efficiency, m), factor_of(y.efficiency, n),
            y.efficiency / x.efficiency);
    add_row(&t, "progress", number_rate(x.progress, m), number_rate(y.progress, n),
            y.progress / x.progress);
    if (c->samples > 0)
        add_row(&t, "time for its samples", time_of(x.seconds, m), time_of(y.seconds, n),
                y.seconds / x.seconds);
    if (c->today.reached)
        simulated_rows(&(struct simulated){ c->today.plan, c->today.reached },
                       &(struct simulated){ c->then.plan, c->then.reached }, &t);
    if (t.cell.failed)
        b->failed = true;
    if (c->only_today)
        t.hidden = 1 << COLUMN_THEN | 1 << COLUMN_RATIO;
    table_print(&t, 2, b);
}

/* ---- JSON ---- */

/* Return a number in JSON; null if it is not finite. NULL without memory. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* Return a plan with its figures in JSON; NULL without memory. */
static json_t *case_json(const struct comparison_case *c, int64_t samples)
{
    cleanup_free char *text = plan_text(c->plan);
    struct figures f = figures_of(c, samples);
    cleanup_json json_t *o = NULL;
    json_t *plan = NULL;

    if (!text || json_parse(text, strlen(text), "our own text", &plan, NULL) < 0)
        return NULL;
    o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "samples_per_s",
                  number(f.samples_per_s), "of_sum", number(f.of_sum), "efficiency",
                  number(f.efficiency), "progress", number(f.progress), "seconds",
                  number(f.seconds), "bytes_per_s", number(above_0(c->bytes_per_s)), "latency_s",
                  number(above_0(c->latency_s)), "plan", plan);
    if (o && c->reached &&
        json_object_set_new(o, "simulated",
                            simulated_json(&(struct simulated){ c->plan, c->reached })) < 0)
        return NULL;
    return json_incref(o);
}

/* Return a list of sentences in JSON; NULL without memory. */
static json_t *sentences(const struct strlist *l)
{
    cleanup_json json_t *list = json_array();

    for (size_t i = 0; i < l->n; i++)
        if (json_array_append_new(list, json_sentence(l->item[i])) < 0)
            return NULL;
    return json_incref(list);
}

int comparison_json(const struct comparison *c, const struct comparison_about *about, char **ret,
                    struct eddis_error *err)
{
    cleanup_json json_t *o =
        json_pack("{s:i, s:{s:o, s:I}, s:o, s:o}", "schema_version", WHAT_IF_SCHEMA_VERSION, "from",
                  "job", json_sentence(about->job), "measured_s", (json_int_t)about->measured_s,
                  "notes", sentences(about->note), "today", case_json(&c->today, c->samples));
    cleanup_free char *text = NULL;
    char *line = NULL;
    int rc = o ? 0 : -1;

    if (rc == 0 && !c->only_today)
        rc = json_object_set_new(o, "changes", json_sentence(about->changes)) < 0 ||
                     json_object_set_new(o, "then", case_json(&c->then, c->samples)) < 0
                 ? -1
                 : 0;
    if (rc == 0 && about->simulate_s > 0)
        rc = json_object_set_new(o, "simulate", simulate_json(about->simulate_s, about->seed));
    text = rc == 0 ? json_text(o, true) : NULL;

    if (!text || asprintf(&line, "%s\n", text) < 0)
        return eddis_fail(err, -ENOMEM, "no memory to describe the plans");
    *ret = line;
    return 0;
}
