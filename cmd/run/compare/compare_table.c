/* SPDX-License-Identifier: Apache-2.0 */
/* compare_table.c - a comparison as text for people */
#include "compare_table.h"

#include "agents/job/status_json.h"
#include "cmd/run/compare/compare_rows.h"
#include "cmd/shared/number.h"
#include "cmd/shared/table.h"
#include "lib/base/text.h"
#include "lib/model/algorithm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DURATION = 32 };

/* Modes whose figures differ by less than this factor are called alike. */
#define ALIKE 1.03

/* Append a cell of the time or the samples until the target: "> " before a lower limit, "-" for a
 * run that came to its end without the target.
 */
static void add_until(struct table *t, const struct compare_row *r, double x, const char *text)
{
    if (!isfinite(x))
        table_add(t, "-");
    else
        table_add(t, "%s%s", r->above ? "> " : "", text);
}

/* Append the final value with half of its interval, "0.974 +- 0.004". */
static void add_final(struct table *t, const struct compare_row *r)
{
    if (!isfinite(r->final))
        table_add(t, "-");
    else if (isfinite(r->interval))
        table_add(t, "%.4g +- %.2g", r->final, r->interval);
    else
        table_add(t, "%.4g", r->final);
}

/* Append the cells of a mode. */
static void add_row(struct table *t, const struct compare_row *r)
{
    char rate[NUMBER_SIZE], seconds[DURATION] = "", samples[32] = "";

    if (!r->rounds) {
        table_add(t, "%s", r->mode);
        for (size_t i = 1; i < t->n_columns; i++)
            table_add(t, "%s", i == 3 ? compare_state_names[r->state] : "-");
        return;
    }
    if (isfinite(r->seconds))
        (void)job_status_elapsed(r->seconds, seconds, sizeof seconds);
    if (isfinite(r->samples))
        (void)text_grouped(r->samples, samples, sizeof samples);
    table_add(t, "%s", r->mode);
    if (r->period)
        table_add(t, "%lld", (long long)r->period);
    else
        table_add(t, "-");
    table_add(t, "%s", number_rate(r->samples_per_s, rate));
    add_until(t, r, r->seconds, seconds);
    add_until(t, r, r->samples, samples);
    if (isfinite(r->efficiency))
        table_add(t, "%.2f", r->efficiency);
    else
        table_add(t, "-");
    add_final(t, r);
}

/* Append which mode was best and by how much. */
static void add_best(const struct compare *c, struct strbuf *b)
{
    const struct compare_row *other, *best = compare_rows_best(c, &other);
    bool is_time = c->target.goal == COMPARE_ACCURACY || c->target.goal == COMPARE_LOSS;
    char target[64], times[NUMBER_SIZE];

    compare_target_text(&c->target, target, sizeof target);
    if (!best && is_time)
        strbuf_addf(b, "no mode has reached %s in all its runs\n", target);
    else if (!best)
        strbuf_add(b, "no mode can be called best: the efficiency needs sync among the modes, and "
                      "a program that reports its loss\n");
    else if (!other && is_time && c->n_rows > 1)
        strbuf_addf(b, "%s is best: no other mode has reached %s in all its runs\n", best->mode,
                    target);
    else if (!other)
        strbuf_addf(b, "%s is best: there is no other mode to compare\n", best->mode);
    else if (compare_rows_gain(c, best, other) < ALIKE)
        strbuf_addf(b, "%s is best, but %s is less than %.0f %% behind\n", best->mode, other->mode,
                    (ALIKE - 1) * 100);
    else if (is_time)
        strbuf_addf(b, "%s is best: %s as fast to %s as %s\n", best->mode,
                    number_times(compare_rows_gain(c, best, other), 1, times), target, other->mode);
    else
        strbuf_addf(b, "%s is best: %s the progress of %s, samples/s times efficiency\n",
                    best->mode, number_times(compare_rows_gain(c, best, other), 1, times),
                    other->mode);
    if (best && algorithm_has(best->algorithm, ALGORITHM_NAMED))
        strbuf_addf(b, "sync.mode: auto does not choose %s; keep sync.algorithm to train by it\n",
                    best->algorithm);
}

void compare_table(const struct compare *c, struct strbuf *b)
{
    const struct table_column column[] = {
        { "mode", false },   { "period", true },     { "samples/s", true }, { "time", true },
        { "samples", true }, { "efficiency", true }, { c->final_is, true },
    };
    struct table t = { .column = column, .n_columns = sizeof column / sizeof *column };

    for (int i = 0; i < c->n_rows; i++)
        add_row(&t, &c->row[i]);
    table_print(&t, 0, b);
    table_fini(&t);
    for (int i = 0; i < c->n_rows; i++) {
        const struct compare_row *r = &c->row[i];

        if (!r->why[0])
            continue;
        if (r->rounds)
            strbuf_addf(b, "%d of %d runs of ", c->rounds - r->rounds, c->rounds);
        text_add_clean(b, "%s %s: %s", r->mode,
                       r->state == COMPARE_NOT_RUN ? "was not run" : "failed", r->why);
        strbuf_add(b, "\n");
    }
    if (c->finished)
        add_best(c, b);
}

void compare_run_line(const struct compare *c, const struct compare_run *r, struct strbuf *b)
{
    char target[64], seconds[DURATION], samples[32];
    bool reached, has_time;

    compare_target_text(&c->target, target, sizeof target);
    strbuf_addf(b, "%s, seed %llu: ", r->mode, (unsigned long long)r->seed);
    if (r->state == COMPARE_FAILED || r->state == COMPARE_NOT_RUN) {
        text_add_clean(b, "%s: %s", compare_state_names[r->state], r->why);
        return;
    }
    reached = r->state == COMPARE_REACHED;
    has_time = !reached || c->target.goal != COMPARE_TIME;
    strbuf_addf(b, "%s%s after", reached ? "" : "not ", target);
    if (has_time)
        strbuf_addf(b, " %s", job_status_elapsed(r->seconds, seconds, sizeof seconds));
    if (!reached || c->target.goal != COMPARE_SAMPLES)
        strbuf_addf(b, "%s %s samples", has_time ? " and" : "",
                    text_grouped((double)r->samples, samples, sizeof samples));
    if (r->state == COMPARE_LATE)
        strbuf_addf(b, ", ended at %d times the best time", COMPARE_LATE_TIMES);
}
