/* SPDX-License-Identifier: Apache-2.0 */
/* sync_options_json.c - the options of an algorithm as a field table, made from their rows */
#include "sync_options_json.h"

#include <math.h>

/* Rows for the options, made from sync_options_rows.h.  0 is valid for each option and means auto
 * or not applicable.
 */
#define WHOLE_OPTION(member, low, high, trait, help, otherwise)                                    \
    FIELD(struct sync_options, member, INT64, 0, high),
#define NUMBER_OPTION(member, low, high, trait, help, otherwise)                                   \
    FIELD_REAL(struct sync_options, member, DOUBLE, 0, high),
#define PLAIN_OPTION(member, high, trait, help, otherwise)                                         \
    FIELD_REAL(struct sync_options, member, DOUBLE, 0, high),
#define OFF_OPTION(member, high, trait, help, otherwise)                                           \
    FIELD(struct sync_options, member, INT64, 0, high),
#define GROUPS_OPTION(help)
#define WIRE_OPTION(member) FIELD_WORD(struct sync_options, member, sync_wire_names),
#define LATER_OPTION(name, type, initial, help, feature)

static const struct field fields[] = {
#include "sync_options_rows.h"
};

const struct fields sync_options_table = FIELDS(struct sync_options, fields);

/* Check whether two numbers are equal within a relative difference of 1e-9, which covers the
 * rounding of JSON.
 */
static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* Return the option in s that row f describes, as a number. */
static double value(const struct field *f, const struct sync_options *s)
{
    const void *p = (const char *)s + f->offset;

    switch (f->kind) {
    case FIELD_INT64:
        return (double)*(const int64_t *)p;
    case FIELD_ENUM:
        return *(const int *)p;
    default:
        return *(const double *)p;
    }
}

const char *sync_options_clash(const struct sync_options *wanted, const struct sync_options *has)
{
    for (size_t i = 0; i < sync_options_table.n; i++) {
        double wanted_value = value(&fields[i], wanted);

        if (wanted_value > 0 && !near(wanted_value, value(&fields[i], has)))
            return fields[i].key;
    }
    return NULL;
}
