/* SPDX-License-Identifier: Apache-2.0 */
/* algorithm.c - the table of synchronisation algorithms; the only file that compares their names */
#include "algorithm.h"

#include <math.h>
#include <string.h>

enum { WRITERS = 4, PERIODS = 5 };

/* Progress per sample beside sync for 2, 4, 8 and, with a fourth row, 16 writers, at periods of 1,
 * 4, 16, 64, 256 steps.  Source: bench/accuracy --efficiency --seeds 20: samples that one process
 * needs for 97 % of the digits, divided by those of the row. async uses as many workers, hybrid
 * uses 16.  By chance, and because two writers are slower than four, some measured values rise with
 * writers or period; they are replaced by their mean.  Measured, in the same order:
 *
 *       easgd   .70 .72 .69 .68 .59     hsgd   .72 .74 .72 .69 .51
 *               .88 .82 .70 .57 .44            .85 .87 .77 .74 .66
 *               .82 .70 .36 .18 .07            .91 .82 .63 .53 .41
 *               .73 .59 .36 .24 .18
 */
struct efficiency {
    int rows;
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
};

enum { N_ALGORITHMS = sizeof table / sizeof *table };

static const char *const mode_names[SYNC_MODES] = { "sync", "async", "hybrid" };

const char *const sync_wire_names[SYNC_WIRES] = { "auto", "float32", "bfloat16", "float16" };

/* Reserved names: rejected with the message that a later version will have them */
static const char *const later_modes[] = { "local" };
static const char *const later_names[] = { "bsp",    "asp",      "ssp",   "gosgd",
                                           "adpsgd", "local-ps", "local", "diloco" };

#define N(list) (sizeof list / sizeof *list)

const char *sync_mode_name(enum sync_mode mode)
{
    return mode_names[mode];
}

bool sync_options_are_valid(const struct sync_options *o)
{
    return o->period >= 0 && o->moving_rate >= 0 && o->moving_rate <= 1 && o->momentum >= 0 &&
           o->momentum < 1 && (unsigned)o->wire < SYNC_WIRES;
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

/* ---- what a job asks for ---- */

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
    return (is_auto(mode) || strcmp(mode, mode_names[a->mode]) == 0) &&
           (is_auto(name) || strcmp(name, a->name) == 0);
}

const struct algorithm *algorithm_asked(const char *mode, const char *name)
{
    for (size_t i = 0; i < N_ALGORITHMS; i++)
        if (algorithm_suits(&table[i], mode, name))
            return &table[i];
    return NULL;
}

bool algorithm_may_have(const char *mode, const char *name, enum algorithm_trait trait)
{
    for (size_t i = 0; i < N_ALGORITHMS; i++)
        if (algorithm_suits(&table[i], mode, name) && table[i].traits & trait)
            return true;
    return false;
}

const char *sync_mode_name_at(size_t i)
{
    return i == 0 ? "auto" : i <= SYNC_MODES ? mode_names[i - 1] : NULL;
}

const char *sync_mode_later(size_t i)
{
    return i < N(later_modes) ? later_modes[i] : NULL;
}

const char *algorithm_word(size_t i)
{
    return i == 0 ? "auto" : i <= N_ALGORITHMS ? table[i - 1].name : NULL;
}

const char *algorithm_later(size_t i)
{
    return i < N(later_names) ? later_names[i] : NULL;
}

/* ---- efficiency ---- */

/* Position between two points of a table: index of the point before, of the one after, and the
 * fraction in between (0 to 1)
 */
struct place {
    int before, after;
    double part;
};

/* Locate x in a table of n points at 0 .. n - 1; x beyond the last one gives the last one. */
static struct place place_of(double x, int n)
{
    int before = (int)fmin(x, n - 1);
    int after = before + 1 < n ? before + 1 : before;

    return (struct place){ before, after, fmin(x, n - 1) - before };
}

/* Interpolate linearly from a (part 0) to b (part 1). */
static double between(double a, double b, double part)
{
    return a + (b - a) * part;
}

/* Interpolate linearly in the logarithms of writers and period.  Beyond the measured points,
 * extrapolate as 1 / writers and 1 / period, as for a training that needs a fixed number of
 * averages.
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
