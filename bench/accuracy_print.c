/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy_print.c - prints what bench/accuracy has measured, as a table and as JSON */
#include "accuracy.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"

#include <math.h>
#include <stdio.h>

/* Check whether the row's algorithm has groups. */
static bool is_hybrid(const struct row *r)
{
    return algorithm_has(r->algorithm, ALGORITHM_GROUPED);
}

/* Check whether each of the row's workers has a model of its own. */
static bool is_async(const struct row *r)
{
    return algorithm_has(r->algorithm, ALGORITHM_SEVERAL) && !is_hybrid(r);
}

/* Check non-inferiority: the lower end of the difference's interval is within MARGIN. A noisy row
 * fails more easily than a quiet one.
 */
static bool is_as_good(const struct row *r)
{
    return r->difference - r->difference_half_width > -MARGIN;
}

/* Return the loss of accuracy at the lower end of the difference's interval, 0 for a gain. */
static double most_lost(const struct row *r)
{
    return fmax(r->difference_half_width - r->difference, 0);
}

/* Add the row's ratios of accuracy and of samples, beside one process, to the JSON object. */
static void add_ratios(json_t *all, const struct row *r, const struct row *one,
                       const struct options *o)
{
    char name[64], key[96];

    (void)snprintf(name, sizeof name, "%s_%d_%d_groups_period_%lld%s%s%s", r->name, r->n, r->groups,
                   (long long)r->period, r->alike ? "_alike" : "", r->wire ? "_" : "",
                   r->wire ? sync_wire_name(r->wire) : "");
    (void)snprintf(key, sizeof key, "ratio_samples_%s", name);
    if (!o->small)
        json_object_set_new(all, key, json_real(one->epochs / r->epochs));
    if (o->efficiency)
        return;
    (void)snprintf(key, sizeof key, "ratio_accuracy_%s", name);
    json_object_set_new(all, key, json_real(r->mean / one->mean));
}

/* Return one row as a new JSON object. */
static json_t *row_json(const struct row *r, const struct row *one, const struct options *o)
{
    json_t *j = json_pack("{s:s, s:i, s:i, s:b, s:I}", "mode", r->name, "workers", r->n, "groups",
                          r->groups, "alike", r->alike, "period", (json_int_t)r->period);

    if (j && r->wire)
        json_object_set_new(j, "wire", json_string(sync_wire_name(r->wire)));
    if (j && !o->small)
        json_object_set_new(j, "efficiency", json_real(one->epochs / r->epochs));
    if (j && !o->efficiency)
        json_object_update_new(j, json_pack("{s:f, s:f, s:f, s:f, s:b}", "accuracy", r->mean,
                                            "half_width", r->half_width, "difference",
                                            r->difference, "difference_half_width",
                                            r->difference_half_width, "as_good", is_as_good(r)));
    return j;
}

int accuracy_print_json(const struct row *row, int n, const struct options *o)
{
    cleanup_json json_t *list = json_array(), *all = NULL;
    cleanup_free char *text = NULL;

    all = json_pack("{s:i, s:s, s:i, s:i, s:O}", "schema_version", 1, "bench", "accuracy", "seeds",
                    o->seeds, "epochs", o->epochs, "rows", list);
    for (int i = 0; i < n; i++) {
        json_array_append_new(list, row_json(&row[i], &row[0], o));
        if (i > 0)
            add_ratios(all, &row[i], &row[0], o);
    }
    text = all ? json_text(all, false) : NULL;
    if (!text)
        return 1;
    puts(text);
    return 0;
}

/* Print the table's title, and the heads of its columns. */
static void print_head(const struct row *row, const struct options *o)
{
    printf("digits, mlp 64-64-10, ");
    if (!o->efficiency)
        printf("%d epochs, ", o->epochs);
    printf("batch %d of all workers, speeds 1 : 0.6 : 0.35 : 0.15; %d seeds\n", BATCH, o->seeds);
    if (!o->small)
        printf("efficiency: the %.1f epochs of one process until %.0f %%, over the row's\n",
               row[0].epochs, 100 * TARGET);
    printf("%-8s %7s %14s %6s", "mode", "workers", "groups", "period");
    if (!o->efficiency)
        printf(" %18s %21s %18s", "test accuracy, %", "beside one", "costs at most");
    puts(o->small ? "" : "  efficiency");
}

/* Print one row of the table, beside the row `one` of one process. */
static void print_row(const struct row *r, const struct row *one, const struct options *o)
{
    const char *kind = !is_hybrid(r) || r->n == SPEEDS ? "" : r->alike ? " alike" : " unlike";
    char groups[32];

    (void)snprintf(groups, sizeof groups, "%d%s%s%s", r->groups, kind, r->wire ? " " : "",
                   r->wire ? sync_wire_name(r->wire) : "");
    printf("%-8s %7d %14s %6lld", r->name, r->n, groups, (long long)r->period);
    if (!o->efficiency)
        printf(" %10.2f +- %.2f %12.2f +- %.2f %13.2f%5s", 100 * r->mean, 100 * r->half_width,
               100 * r->difference, 100 * r->difference_half_width, 100 * most_lost(r),
               is_as_good(r) ? "" : " (!)");
    if (!o->small)
        printf(" %11.2f", one->epochs / r->epochs);
    putchar('\n');
}

/* Print how many rows do not lose more than MARGIN; the others are marked in the table. */
static void print_verdict(const struct row *row, int n)
{
    int good[2] = { 0 }, of[2] = { 0 };

    for (int i = 1; i < n; i++)
        if (is_hybrid(&row[i]) || is_async(&row[i])) {
            of[is_async(&row[i])]++;
            good[is_async(&row[i])] += is_as_good(&row[i]);
        }
    printf("costs at most: the lower end of the 95 %% interval of the difference to one process, "
           "seed by seed;\n(!): more than %.1f points, so a loss of that size is not ruled out\n",
           100 * MARGIN);
    printf("not worse than one process by %.1f points: hybrid %d of %d rows, async %d of %d\n",
           100 * MARGIN, good[0], of[0], good[1], of[1]);
}

/* Print how many rows with gradients in half precision do not lose more than MARGIN beside the same
 * row in float32.
 */
static void print_wired(const struct row *row, int n, const struct options *o)
{
    int good = 0, of = 0;

    for (int i = 1; i < n; i++) {
        of += row[i].wire != 0;
        good += row[i].wire && is_as_good(&row[i]);
    }
    printf(
        "rows of %s are beside those of float32 above them, seed by seed; costs at most: the "
        "lower end of the 95 %% interval\nnot worse than float32 by %.1f points: %d of %d rows\n",
        sync_wire_name(o->wire), 100 * MARGIN, good, of);
}

void accuracy_print_table(const struct row *row, int n, const struct options *o)
{
    print_head(row, o);
    for (int i = 0; i < n; i++)
        print_row(&row[i], &row[0], o);
    if (o->wired)
        print_wired(row, n, o);
    else if (!o->efficiency)
        print_verdict(row, n);
}
