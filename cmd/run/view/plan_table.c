/* SPDX-License-Identifier: Apache-2.0 */
/* plan_table.c - prints the ranks of a plan as a table, equal ones of a large job as groups */
#include "plan_table.h"

#include "cmd/shared/number.h"
#include "cmd/shared/table.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "plan_print.h"

#include <math.h>
#include <string.h>

static const struct table_column rank_columns[] = {
    { "rank", true },  { "node", false },  { "device", false }, { "rate/s", true },
    { "batch", true }, { "weight", true }, { "step ms", true }, { "time", false },
};

/* Of hybrid mode. */
static const struct table_column grouped_columns[] = {
    { "rank", true },    { "group", true },   { "node", false },
    { "device", false }, { "rate/s", true },  { "batch", true },
    { "weight", true },  { "step ms", true }, { "time", false },
};

static const struct table_column group_columns[] = {
    { "workers", true }, { "ranks", false },  { "nodes", true },
    { "device", false }, { "rate/s", true },  { "batch", true },
    { "weight", true },  { "step ms", true }, { "time", false },
};

/* Columns that only a plan with real seconds has, at the same places of both tables' ends. */
static const struct table_column ratio_column = { "rate", true };

enum { MAX_RANKS_TEXT = 24 };

/* Digits behind the point, for the smallest number of a column. */
static int digits_for(double smallest)
{
    return smallest >= 1000 ? 0 : smallest >= 1 ? 1 : 3;
}

/* How the numbers of one table are written. */
struct style {
    const struct plan *p;
    double fastest; /* samples per second at any batch, of the fastest worker */
    int rate_digits, step_digits, weight_digits;
    bool sources; /* where the workers' times are from is shown */
};

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

/* The cells from the rate on, equal for both tables. */
static void add_numbers(struct table *t, const struct style *s, const struct plan_worker *w)
{
    if (s->p->relative)
        table_add(t, "%.2f", 1 / w->sample_s / s->fastest);
    else if (w->batch > 0)
        table_add(t, "%.*f", s->rate_digits, w->samples_per_s);
    else
        table_add(t, "-");
    table_add(t, "%lld", (long long)w->batch);
    table_add(t, "%.*f", s->weight_digits, w->weight);
    if (!s->p->relative && w->batch > 0)
        table_add(t, "%.*f", s->step_digits, w->step_s * 1e3);
    else if (!s->p->relative)
        table_add(t, "-");
    if (s->sources)
        table_add(t, "%s", time_source_name(w->time));
}

/* The columns, with those of a relative plan in their places and without those that say nothing;
 * returns their number.
 */
static size_t choose_columns(const struct style *s, const struct table_column *from, size_t n,
                             struct table_column *ret)
{
    memcpy(ret, from, n * sizeof *ret);
    if (s->p->relative) {
        ret[n - 5] = ratio_column;
        ret[n - 2] = ret[n - 1];
        n--;
    }
    return s->sources ? n : n - 1;
}

static void print_ranks(const struct plan *p, FILE *out)
{
    struct table_column column[TABLE_MAX_COLUMNS];
    struct style s = style_of(p);
    struct table t = { .column = column };
    bool grouped = algorithm_has(p->algorithm, ALGORITHM_GROUPED);

    if (grouped)
        t.n_columns = choose_columns(&s, grouped_columns,
                                     sizeof grouped_columns / sizeof *grouped_columns, column);
    else
        t.n_columns =
            choose_columns(&s, rank_columns, sizeof rank_columns / sizeof *rank_columns, column);
    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];

        table_add(&t, "%d", w->rank);
        if (grouped)
            table_add(&t, "%d", w->group);
        table_add(&t, "%s", p->node[w->node]);
        table_add(&t, "%s", w->device);
        add_numbers(&t, &s, w);
    }
    table_print(&t, 2, out);
    table_fini(&t);
}

/* ---- groups of equal workers ---- */

/* What a worker's device is called in a group: all shares of CPUs are alike. */
static const char *group_name(const struct plan_worker *w)
{
    return w->kind == DEVICE_CPU ? "cpu" : w->device;
}

static int compare_double(double a, double b)
{
    return (a > b) - (a < b);
}

/* Order of workers that ignores where they are: 0 is equal. */
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

static int by_group(const void *a, const void *b)
{
    const struct plan_worker *x = *(const struct plan_worker *const *)a;
    const struct plan_worker *y = *(const struct plan_worker *const *)b;
    int c = compare_workers(x, y);

    return c != 0 ? c : x->rank - y->rank;
}

/* Workers [first, first + n) of the sorted list. */
struct group {
    const struct plan_worker **w;
    int n;
};

static int by_first_rank(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return x->w[0]->rank - y->w[0]->rank;
}

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

/* "0-15,32-47", or its beginning and "..." */
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

/* Ranks are in order of nodes, or nearly so: a node counts when it differs from the one before. */
static int count_nodes(const struct group *g)
{
    int n = 0;

    for (int i = 0; i < g->n; i++)
        n += i == 0 || g->w[i]->node != g->w[i - 1]->node;
    return n;
}

static void print_groups(const struct plan *p, const struct group *g, int n, FILE *out)
{
    struct table_column column[TABLE_MAX_COLUMNS];
    struct style s = style_of(p);
    struct table t = { .column = column };
    int shown = n <= PLAN_PRINT_MAX_ROWS ? n : PLAN_PRINT_MAX_ROWS - 1, left = 0;
    char text[NUMBER_SIZE];

    t.n_columns =
        choose_columns(&s, group_columns, sizeof group_columns / sizeof *group_columns, column);
    for (int i = 0; i < shown; i++) {
        table_add(&t, "%d", g[i].n);
        add_rank_list(&t, &g[i]);
        table_add(&t, "%d", count_nodes(&g[i]));
        table_add(&t, "%s", group_name(g[i].w[0]));
        add_numbers(&t, &s, g[i].w[0]);
    }
    table_print(&t, 2, out);
    table_fini(&t);
    for (int i = shown; i < n; i++)
        left += g[i].n;
    if (left > 0)
        fprintf(out, "  ... and %s more workers\n", text_grouped((double)left, text, sizeof text));
}

/* ---- pieces ---- */

enum { MAX_PIECES = 4 };

/* Who does not hold all of its samples at once; where the program does not promise to take pieces,
 * its batch itself is no larger.
 */
static void print_pieces(const struct plan *p, FILE *out)
{
    int n = 0;

    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];

        if (!p->takes_pieces || w->piece <= 0 || w->piece >= w->batch)
            continue;
        if (n++ < MAX_PIECES)
            fprintf(out, "  rank %d takes its %lld samples at most %lld at once, by its memory\n",
                    w->rank, (long long)w->batch, (long long)w->piece);
    }
    if (n > MAX_PIECES)
        fprintf(out, "  ... and %d more take theirs in pieces\n", n - MAX_PIECES);
}

static void print_rows(const struct plan *p, FILE *out)
{
    cleanup_free const struct plan_worker **w = NULL;
    cleanup_free struct group *g = NULL;

    if (p->n_workers <= PLAN_PRINT_MAX_ROWS) {
        print_ranks(p, out);
        return;
    }
    w = calloc((size_t)p->n_workers, sizeof *w);
    g = calloc((size_t)p->n_workers, sizeof *g);
    if (w && g)
        print_groups(p, g, find_groups(p, w, g), out);
    else
        print_ranks(p, out); /* long, but it needs no memory for groups */
}

void plan_table_print(const struct plan *p, FILE *out)
{
    print_rows(p, out);
    print_pieces(p, out);
}
