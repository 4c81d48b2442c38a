/* SPDX-License-Identifier: Apache-2.0 */
/* plan_table.c - prints the ranks of a plan as a table, and equal ones of a large job as groups */
#include "plan_table.h"

#include "cmd/shared/number.h"
#include "cmd/shared/table.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "plan_print.h"

#include <math.h>
#include <string.h>

/* Columns of the ranks' table. */
static const struct table_column rank_columns[] = {
    { "rank", true },    { "group", true }, { "node", false }, { "device", false },
    { "rate/s", true },  { "rate", true },  { "batch", true }, { "weight", true },
    { "step ms", true }, { "time", false },
};

/* Columns of the table of groups of equal workers, which ends in the same ones. */
static const struct table_column group_columns[] = {
    { "workers", true }, { "ranks", false }, { "nodes", true }, { "device", false },
    { "rate/s", true },  { "rate", true },   { "batch", true }, { "weight", true },
    { "step ms", true }, { "time", false },
};

/* Columns that some plans do not have. GROUP: of the ranks' table, for hybrid mode. RATIO: of a
 * plan without real seconds, instead of RATE and STEP_MS.
 */
enum { GROUP = 1, RATE = 4, RATIO, STEP_MS = 8, SOURCE };

/* About the most bytes of a list of ranks. */
enum { MAX_RANKS_TEXT = 24 };

/* Return the number of decimals for a column, from its smallest number. */
static int digits_for(double smallest)
{
    return smallest >= 1000 ? 0 : smallest >= 1 ? 1 : 3;
}

/* How the numbers of one table are written. */
struct style {
    const struct plan *p;
    double fastest; /* rate of the fastest worker in samples/s, without a step's fixed time */
    int rate_digits, step_digits, weight_digits;
    bool sources; /* show where the workers' times come from */
};

/* Return how to print the table of p: the fastest worker's rate, to which others are relative, the
 * decimals of rates, step times and weights, by the smallest number of a worker that gets samples,
 * and whether to show the times' sources.
 */
static struct style style_of(const struct plan *p)
{
    struct style s = { .p = p };
    double rate = INFINITY, step_ms = INFINITY, weight = 1;

    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];

        s.fastest = fmax(s.fastest, 1 / w->sample_s);
        s.sources |= w->time != TIME_GIVEN;
        if (w->batch > 0) {
            rate = fmin(rate, w->samples_per_s);
            step_ms = fmin(step_ms, w->step_s * 1e3);
            weight = fmin(weight, w->weight);
        }
    }
    s.rate_digits = digits_for(rate);
    s.step_digits = digits_for(step_ms);
    s.weight_digits = weight >= 0.01 ? 3 : weight >= 0.0001 ? 5 : 7;
    return s;
}

/* Append the last cells of a worker's row, from the rate on, to t; they are the same in all tables.
 */
static void add_numbers(struct table *t, const struct style *s, const struct plan_worker *w)
{
    if (w->batch > 0)
        table_add(t, "%.*f", s->rate_digits, w->samples_per_s);
    else
        table_add(t, "-");
    table_add(t, "%.2f", 1 / w->sample_s / s->fastest);
    table_add(t, "%lld", (long long)w->batch);
    table_add(t, "%.*f", s->weight_digits, w->weight);
    if (w->batch > 0)
        table_add(t, "%.*f", s->step_digits, w->step_s * 1e3);
    else
        table_add(t, "-");
    table_add(t, "%s", time_source_name(w->time));
}

/* Return the columns that do not apply, as bits: for a relative plan its rates and steps' times,
 * else the ratios; and the times' source if all are given.
 */
static unsigned hidden_columns(const struct style *s)
{
    unsigned hidden = s->p->relative ? 1U << RATE | 1U << STEP_MS : 1U << RATIO;

    return s->sources ? hidden : hidden | 1U << SOURCE;
}

/* Print the table with a row for each rank. */
static void print_ranks(const struct plan *p, struct strbuf *b)
{
    struct style s = style_of(p);
    cleanup_table struct table t = { .column = rank_columns,
                                     .n_columns = sizeof rank_columns / sizeof *rank_columns,
                                     .hidden = hidden_columns(&s) };

    if (!algorithm_has(p->algorithm, ALGORITHM_GROUPED))
        t.hidden |= 1U << GROUP;
    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];

        table_add(&t, "%d", w->rank);
        table_add(&t, "%d", w->group);
        table_add(&t, "%s", p->node[w->node]);
        table_add(&t, "%s", w->device);
        add_numbers(&t, &s, w);
    }
    table_print(&t, 2, b);
}

/* ---- groups of equal workers ---- */

/* Return the name of a worker's device in a group, borrowed from w or a string constant: all shares
 * of CPUs count as one device.
 */
static const char *group_name(const struct plan_worker *w)
{
    return w->kind == DEVICE_CPU ? "cpu" : w->device;
}

/* Compare two numbers. Return -1, 0 or 1, as for sorting. */
static int compare_double(double a, double b)
{
    return (a > b) - (a < b);
}

/* Compare workers by device, batch, times and the source of the times, but not by where they run.
 * Return 0 if they are equal, else a negative or positive number.
 */
static int compare_workers(const struct plan_worker *a, const struct plan_worker *b)
{
    int c = strcmp(group_name(a), group_name(b));

    if (c == 0)
        c = (a->batch > b->batch) - (a->batch < b->batch);
    if (c == 0)
        c = compare_double(a->step_s, b->step_s);
    if (c == 0)
        c = compare_double(a->sample_s, b->sample_s);
    return c != 0 ? c : (int)a->time - (int)b->time;
}

/* Compare workers by compare_workers, then by rank; for qsort of pointers. */
static int by_group(const void *a, const void *b)
{
    const struct plan_worker *x = *(const struct plan_worker *const *)a;
    const struct plan_worker *y = *(const struct plan_worker *const *)b;
    int c = compare_workers(x, y);

    return c != 0 ? c : x->rank - y->rank;
}

/* A group of equal workers: w[0] to w[n - 1], within the sorted list of all workers. */
struct group {
    const struct plan_worker **w;
    int n;
};

/* Compare groups by their first rank; for qsort. */
static int by_first_rank(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return x->w[0]->rank - y->w[0]->rank;
}

/* Store all workers of the plan in w [n_workers], equal ones next to each other, and the groups of
 * equal ones, which point into w, in ret [n_workers], in the order of their first ranks. Return the
 * number of groups.
 */
static int find_groups(const struct plan *p, const struct plan_worker **w, struct group *ret)
{
    int n = 0;

    for (int i = 0; i < p->n_workers; i++)
        w[i] = &p->worker[i];
    qsort(w, (size_t)p->n_workers, sizeof *w, by_group);
    for (int i = 0; i < p->n_workers; i++) {
        if (i == 0 || compare_workers(w[i - 1], w[i]) != 0)
            ret[n++] = (struct group){ .w = &w[i] };
        ret[n - 1].n++;
    }
    qsort(ret, (size_t)n, sizeof *ret, by_first_rank);
    return n;
}

/* Append a cell with the group's ranks to t, "0-15,32-47", cut with "..." if it is too long. */
static void add_rank_list(struct table *t, const struct group *g)
{
    char text[MAX_RANKS_TEXT + 64] = "";
    size_t len = 0;

    for (int i = 0, end; i < g->n; i = end) {
        for (end = i + 1; end < g->n && g->w[end]->rank == g->w[end - 1]->rank + 1;)
            end++;
        if (len > MAX_RANKS_TEXT - 6) {
            snprintf(text + len, sizeof text - len, ",...");
            break;
        }
        len += (size_t)snprintf(text + len, sizeof text - len, end > i + 1 ? "%s%d-%d" : "%s%d",
                                i ? "," : "", g->w[i]->rank, g->w[end - 1]->rank);
    }
    table_add(t, "%s", text);
}

/* Return about how many nodes the group's workers are on: a worker's node counts if it differs from
 * that of the worker before, since ranks are nearly in the order of nodes.
 */
static int count_nodes(const struct group *g)
{
    int n = 0;

    for (int i = 0; i < g->n; i++)
        n += i == 0 || g->w[i]->node != g->w[i - 1]->node;
    return n;
}

/* Print the table with a row for each of the n groups, but at most PLAN_PRINT_MAX_ROWS lines: the
 * last one then counts the workers without a row.
 */
static void print_groups(const struct plan *p, const struct group *g, int n, struct strbuf *b)
{
    struct style s = style_of(p);
    cleanup_table struct table t = { .column = group_columns,
                                     .n_columns = sizeof group_columns / sizeof *group_columns,
                                     .hidden = hidden_columns(&s) };
    int shown = n <= PLAN_PRINT_MAX_ROWS ? n : PLAN_PRINT_MAX_ROWS - 1, left = 0;
    char text[NUMBER_SIZE];

    for (int i = 0; i < shown; i++) {
        table_add(&t, "%d", g[i].n);
        add_rank_list(&t, &g[i]);
        table_add(&t, "%d", count_nodes(&g[i]));
        table_add(&t, "%s", group_name(g[i].w[0]));
        add_numbers(&t, &s, g[i].w[0]);
    }
    table_print(&t, 2, b);
    for (int i = shown; i < n; i++)
        left += g[i].n;
    if (left > 0)
        strbuf_addf(b, "  ... and %s more workers\n",
                    text_grouped((double)left, text, sizeof text));
}

/* ---- micro-batches ---- */

enum { MAX_PIECES = 4 }; /* most ranks that are named */

/* Print the ranks whose memory cannot hold their whole batch, so that they split it into
 * micro-batches. Print nothing if the program does not support micro-batches: the plan's batches
 * then fit the memory.
 */
static void print_pieces(const struct plan *p, struct strbuf *b)
{
    int n = 0;

    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];

        if (!p->takes_pieces || w->piece <= 0 || w->piece >= w->batch)
            continue;
        if (n++ < MAX_PIECES)
            strbuf_addf(
                b,
                "  rank %d computes its %lld samples in micro-batches of at most %lld, to fit "
                "its memory\n",
                w->rank, (long long)w->batch, (long long)w->piece);
    }
    if (n > MAX_PIECES)
        strbuf_addf(b, "  ... and %d more ranks use micro-batches\n", n - MAX_PIECES);
}

/* Print a row for each rank, or for each group of equal workers if there are many. */
static void print_rows(const struct plan *p, struct strbuf *b)
{
    cleanup_free const struct plan_worker **w = NULL;
    cleanup_free struct group *g = NULL;

    if (p->n_workers <= PLAN_PRINT_MAX_ROWS) {
        print_ranks(p, b);
        return;
    }
    w = calloc((size_t)p->n_workers, sizeof *w);
    g = calloc((size_t)p->n_workers, sizeof *g);
    if (w && g)
        print_groups(p, g, find_groups(p, w, g), b);
    else
        print_ranks(p, b); /* longer, but it needs no memory */
}

void plan_table_print(const struct plan *p, struct strbuf *b)
{
    print_rows(p, b);
    print_pieces(p, b);
}
