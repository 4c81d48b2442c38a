/* SPDX-License-Identifier: Apache-2.0 */
/* algorithm.c - the table of synchronisation algorithms; the only file that compares their names */
#include "algorithm.h"

#include <math.h>
#include <string.h>

enum { WRITERS = 4, PERIODS = 5 }; /* largest number of rows; number of columns */

/* Progress per sample relative to sync: a row for 2, 4, 8 and, if there is a fourth row, 16
 * writers; a column for periods of 1, 4, 16, 64 and 256 steps.  Source: bench/accuracy --efficiency
 * --seeds 20: the number of samples with which one process classifies 97 % of the digits, divided
 * by the number for the row and column.  Async has one worker for each writer, hybrid has 16
 * workers.  By chance, and because two writers are slower than four, some measured values rise with
 * writers or period; the table has their mean instead.  Measured, in the same order:
 *
 *       easgd   .70 .72 .69 .68 .59     hsgd   .72 .74 .72 .69 .51
 *               .88 .82 .70 .57 .44            .85 .87 .77 .74 .66
 *               .82 .70 .36 .18 .07            .91 .82 .63 .53 .41
 *               .73 .59 .36 .24 .18
 */
struct efficiency {
    int rows; /* number of rows in `at` */
    double at[WRITERS][PERIODS];
};

static const struct efficiency easgd = { 4,
                                         { { 0.80, 0.77, 0.70, 0.68, 0.59 },
                                           { 0.80, 0.77, 0.70, 0.57, 0.44 },
                                           { 0.80, 0.70, 0.36, 0.21, 0.12 },
                                           { 0.73, 0.59, 0.36, 0.21, 0.12 } } };

static const struct efficiency hsgd = { 3,
                                        { { 0.83, 0.81, 0.75, 0.72, 0.58 },
                                          { 0.83, 0.81, 0.75, 0.72, 0.58 },
                                          { 0.83, 0.81, 0.63, 0.53, 0.41 } } };

/* Source: bench/accuracy --rounds --seeds 10: 16 workers, whose rounds do not end with epochs.
 * Values above 1 are 1 here: they are above it because groups make smaller steps than one process,
 * which is no merit of averaging. The 59 steps of one process are too few for the last column: it
 * is the lower one of the column before it and of 256 steps at a fifth of the learning rate (--rate
 * 0.02, 3 seeds). Measured, in the same order, and at --rate 0.02:
 *
 *       local  1.00 1.02  .96  .96   -              .96  .96 1.07
 *               .99 1.04  .99  .90   -              .95  .99  .86
 *              1.00 1.31 1.07  .92   -             1.23 1.32 1.31
 *               .99 1.37  .91  .62   -             1.26 1.24 1.34
 */
static const struct efficiency local = { 4,
                                         { { 1.00, 1.00, 0.98, 0.96, 0.96 },
                                           { 1.00, 1.00, 0.98, 0.91, 0.86 },
                                           { 1.00, 1.00, 0.98, 0.91, 0.86 },
                                           { 1.00, 1.00, 0.91, 0.62, 0.62 } } };

/* Source: bench/accuracy --rounds --seeds 3, limited to 128 epochs. With momentum 0.9 the outer
 * optimizer makes steps that are 7 times the mean difference in the long run, which short rounds do
 * not bear: 0.10 stands for no target within the limit. At a fifth of the learning rate (--rate
 * 0.02) the same factor makes up for small steps. The last two columns are not measured, but not
 * above local's. Measured, periods 1, 4 and 16, and at --rate 0.02, periods 16 and 64:
 *
 *       diloco .10 .10  .82         1.29 1.04
 *              .10 .10  .81         1.38 1.01
 *              .10 .14 1.16         1.68 1.35
 *              .10 .64  .80         1.70 1.27
 */
static const struct efficiency diloco = { 4,
                                          { { 0.10, 0.10, 0.81, 0.81, 0.81 },
                                            { 0.10, 0.10, 0.81, 0.81, 0.81 },
                                            { 0.10, 0.10, 0.81, 0.81, 0.81 },
                                            { 0.10, 0.10, 0.80, 0.62, 0.62 } } };

/* All algorithms; of several that suit a job, the first is preferred. */
static const struct algorithm table[] = {
    { "allreduce", SYNC_MODE_SYNC, ALGORITHM_EXACT,
      "weighted all-reduce of the gradients at every step", "", NULL },
    { "easgd", SYNC_MODE_ASYNC, ALGORITHM_SEVERAL | ALGORITHM_ELASTIC,
      "each worker trains its own model, which is averaged with a center variable at intervals",
      "SEASGD of ShmCaffe (ICDCS 2018)", &easgd },
    { "hsgd", SYNC_MODE_HYBRID, ALGORITHM_SEVERAL | ALGORITHM_ELASTIC | ALGORITHM_GROUPED,
      "all-reduce within each group at every step; the groups' models are averaged with a center "
      "variable at intervals",
      "HSGD of ShmCaffe (ICDCS 2018)", &hsgd },
    { "local", SYNC_MODE_LOCAL, ALGORITHM_SEVERAL | ALGORITHM_GROUPED | ALGORITHM_ROUNDS,
      "each group takes steps by its speed; at the end of a round, the mean of the groups' models, "
      "weighted by samples, replaces them",
      "Local SGD (Stich, ICLR 2019)", &local },
    { "diloco", SYNC_MODE_LOCAL,
      ALGORITHM_SEVERAL | ALGORITHM_GROUPED | ALGORITHM_ROUNDS | ALGORITHM_OUTER | ALGORITHM_NAMED,
      "as local, but an outer optimizer takes a step with Nesterov momentum along the mean "
      "difference of the models",
      "DiLoCo (Douillard et al., 2023)", &diloco },
    /* last, so that the others have the numbers of algorithm_word */
    { "external", SYNC_MODE_SYNC, ALGORITHM_EXACT | ALGORITHM_EXTERNAL,
      "the program combines the gradients itself, weighted; workers agree on plans and samples at "
      "every step",
      "", NULL },
};

enum { N_ALGORITHMS = sizeof table / sizeof *table, N_CHOICES = N_ALGORITHMS - 1 };

static const char *const mode_names[SYNC_MODES] = { "sync", "async", "hybrid", "local" };

const char *const sync_wire_names[SYNC_WIRES] = { "auto", "float32", "bfloat16", "float16" };

/* Reserved names, which are rejected with the message that a later version will have them. */
static const char *const later_names[] = { "bsp", "asp", "ssp", "gosgd", "adpsgd", "local-ps" };

#define N(list) (sizeof list / sizeof *list)

const char *sync_mode_name(enum sync_mode mode)
{
    return mode_names[mode];
}

enum sync_mode sync_mode_find(const char *name, size_t n)
{
    int i = 0;

    while (i < SYNC_MODES && (strlen(mode_names[i]) != n || memcmp(mode_names[i], name, n) != 0))
        i++;
    return (enum sync_mode)i;
}

bool sync_options_are_valid(const struct sync_options *o)
{
    return o->period >= 0 && o->moving_rate >= 0 && o->moving_rate <= 1 && o->momentum >= 0 &&
           o->momentum < 1 && o->outer_rate >= 0 && o->outer_rate <= 2 && o->outer_momentum >= 0 &&
           o->outer_momentum < 1 && o->overlap >= 0 && (unsigned)o->wire < SYNC_WIRES;
}

const char *sync_wire_name(size_t i)
{
    return i < SYNC_WIRES ? sync_wire_names[i] : NULL;
}

enum sync_wire sync_wire_find(const char *name)
{
    size_t i = SYNC_WIRES - 1;

    while (i && strcmp(sync_wire_names[i], name) != 0)
        i--;
    return (enum sync_wire)i;
}

bool sync_wire_is_half(enum sync_wire w)
{
    return w == SYNC_WIRE_BFLOAT16 || w == SYNC_WIRE_FLOAT16;
}

size_t algorithms(const struct algorithm **ret)
{
    *ret = table;
    return N_ALGORITHMS;
}

const struct algorithm *algorithm_find(const char *name)
{
    for (size_t i = 0; i < N_ALGORITHMS; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

bool algorithm_has(const char *name, enum algorithm_trait trait)
{
    const struct algorithm *a = algorithm_find(name);

    return a && a->traits & trait;
}

const struct algorithm *algorithm_external(void)
{
    return &table[N_ALGORITHMS - 1];
}

/* ---- mode and algorithm as a job's keys name them ---- */

/* Check whether the word is "auto". */
static bool is_auto(const char *word)
{
    return strcmp(word, "auto") == 0;
}

bool algorithm_is_open(const char *mode, const char *name)
{
    return is_auto(mode) && is_auto(name);
}

bool algorithm_suits(const struct algorithm *a, const char *mode, const char *name)
{
    return !(a->traits & ALGORITHM_EXTERNAL) &&
           (is_auto(mode) || strcmp(mode, mode_names[a->mode]) == 0) &&
           (is_auto(name) || strcmp(name, a->name) == 0);
}

bool algorithm_is_choice(const struct algorithm *a, const char *mode, const char *name)
{
    return algorithm_suits(a, mode, name) &&
           !(a->traits & ALGORITHM_NAMED && algorithm_is_open(mode, name));
}

const struct algorithm *algorithm_asked(const char *mode, const char *name)
{
    for (size_t i = 0; i < N_ALGORITHMS; i++)
        if (algorithm_is_choice(&table[i], mode, name))
            return &table[i];
    return NULL;
}

bool algorithm_may_have(const char *mode, const char *name, enum algorithm_trait trait)
{
    const struct algorithm *asked = algorithm_asked(mode, name);

    if (!algorithm_is_open(mode, name))
        return asked && asked->traits & trait;
    for (size_t i = 0; i < N_ALGORITHMS; i++)
        if (algorithm_is_choice(&table[i], mode, name) && table[i].traits & trait)
            return true;
    return false;
}

const char *sync_mode_name_at(size_t i)
{
    return i == 0 ? "auto" : i <= SYNC_MODES ? mode_names[i - 1] : NULL;
}

const char *algorithm_word(size_t i)
{
    return i == 0 ? "auto" : i <= N_CHOICES ? table[i - 1].name : NULL;
}

const char *algorithm_later(size_t i)
{
    return i < N(later_names) ? later_names[i] : NULL;
}

/* ---- efficiency ---- */

/* A position between two points of a table. */
struct place {
    int before, after; /* indices of the points; equal at the last point */
    double part;       /* distance from the first point, as a fraction of the interval: 0 to 1 */
};

/* Return the position of x, at least 0, in a table of n points at 0, 1, 2 and so on.  If x is
 * beyond the last point, return the position of the last point.
 */
static struct place place_of(double x, int n)
{
    int before = (int)fmin(x, n - 1);
    int after = before + 1 < n ? before + 1 : before;

    return (struct place){ before, after, fmin(x, n - 1) - before };
}

/* Return the linear interpolation between a (part 0) and b (part 1). */
static double between(double a, double b, double part)
{
    return a + (b - a) * part;
}

/* Interpolate linearly in the logarithms of writers and period.  Above the largest measured values,
 * let the efficiency fall as 1 / writers and as 1 / period, as for a training that needs a fixed
 * number of averages.
 */
double algorithm_efficiency(const struct algorithm *a, int writers, int64_t period)
{
    const struct efficiency *e = a->efficiency;
    double w, t, beyond;
    struct place row, column;

    if (!e || writers < 2 || period < 1)
        return 1;
    w = log2(writers) - 1;
    t = log2((double)period) / 2;
    row = place_of(w, e->rows);
    column = place_of(t, PERIODS);
    beyond = exp2(fmax(w - (e->rows - 1), 0) + 2 * fmax(t - (PERIODS - 1), 0));
    return between(between(e->at[row.before][column.before], e->at[row.before][column.after],
                           column.part),
                   between(e->at[row.after][column.before], e->at[row.after][column.after],
                           column.part),
                   row.part) /
           beyond;
}
