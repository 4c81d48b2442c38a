/* SPDX-License-Identifier: Apache-2.0 */
/* half.c - nanoseconds per element to convert between float32 and 16-bit floating point, beside the
 * bound of 0.25 ns for each conversion
 *
 * Blocks stay in the first-level cache, as in a reduction.  Each conversion is measured with the
 * processor's own instructions and without.  The results are the shortest of interleaved rounds,
 * since other programs on the machine can only add time.
 */
#include "lib/comm/half.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, REPEAT = 200, ELEMENTS = 1024 };

static const double BOUND_NS = 0.25;

static float wide[ELEMENTS];
static uint16_t narrow[ELEMENTS];

struct row {
    const char *name;
    void (*widen)(float *to, const uint16_t *from,
                  size_t n); /* one of the two; the other is NULL */
    void (*narrow)(uint16_t *to, const float *from, size_t n);
    double ns; /* shortest time per element */
};

static struct row rows[] = {
    { "bfloat16_widen", bfloat16s_to_floats, NULL, 0 },
    { "bfloat16_narrow", NULL, bfloat16s_from_floats, 0 },
    { "float16_widen", float16s_to_floats, NULL, 0 },
    { "float16_narrow", NULL, float16s_from_floats, 0 },
    { "bfloat16_widen_portable", bfloat16s_to_floats_portable, NULL, 0 },
    { "bfloat16_narrow_portable", NULL, bfloat16s_from_floats_portable, 0 },
    { "float16_widen_portable", float16s_to_floats_portable, NULL, 0 },
    { "float16_narrow_portable", NULL, float16s_from_floats_portable, 0 },
};

enum { N_ROWS = sizeof rows / sizeof *rows, OWN = 4 /* rows with the processor's instructions */ };

/* Return the ns per element of one round. */
static double measure(const struct row *r)
{
    int64_t start = clock_now_ns();

    for (int i = 0; i < REPEAT; i++)
        if (r->widen)
            r->widen(wide, narrow, ELEMENTS);
        else
            r->narrow(narrow, wide, ELEMENTS);
    return (double)(clock_now_ns() - start) / REPEAT / ELEMENTS;
}

static int print_json(double slowest)
{
    cleanup_json json_t *o = json_pack("{s:i, s:s, s:f, s:f}", "schema_version", 1, "bench", "half",
                                       "bound_ns", BOUND_NS, "ratio_bound", BOUND_NS / slowest);
    char *text = NULL;

    for (int i = 0; o && i < N_ROWS; i++)
        json_object_set_new(o, rows[i].name, json_real(rows[i].ns));
    text = o ? json_text(o, false) : NULL;
    if (text)
        puts(text);
    free(text);
    return text ? 0 : 1;
}

int main(int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    double slowest = 0;

    if (argc > 2 || (argc == 2 && !json)) {
        fputs("usage: half [--json]\n", stderr);
        return 2;
    }
    for (int i = 0; i < ELEMENTS; i++)
        wide[i] = (float)(i - ELEMENTS / 2) / ELEMENTS;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < N_ROWS; i++) {
            double ns = measure(&rows[i]);

            rows[i].ns = round == 0 || ns < rows[i].ns ? ns : rows[i].ns;
        }
    for (int i = 0; i < OWN; i++)
        slowest = rows[i].ns > slowest ? rows[i].ns : slowest;
    if (json)
        return print_json(slowest);
    printf("converting blocks of %d elements, quickest of %d rounds; ns an element "
           "(wanted: %.2f at most by the processor's instructions)\n",
           ELEMENTS, ROUNDS, BOUND_NS);
    for (int i = 0; i < N_ROWS; i++)
        printf("  %-26s %.3f\n", rows[i].name, rows[i].ns);
    return 0;
}
