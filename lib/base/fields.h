/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - a struct to and from a JSON object, by a table of its members
 *
 * One row a member, used by the writer and by the strict reader alike, so that the two cannot
 * drift apart.  Every member of the table must be there, but for those marked `late`, and nothing
 * else may be: the reader returns how many it took, and fields_end compares that with what the
 * object holds.
 */
#ifndef EDDIS_BASE_FIELDS_H
#define EDDIS_BASE_FIELDS_H

#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
    FIELD_INT,     /* int, min .. max */
    FIELD_INT64,   /* int64_t, min .. max */
    FIELD_UINT64,  /* uint64_t, all of it */
    FIELD_DOUBLE,  /* finite, low .. high */
    FIELD_MEASURE, /* finite or NAN, which is null in JSON */
    FIELD_FIGURE,  /* finite, low .. high, or NAN, which is left out of the JSON */
    FIELD_BOOL,
    FIELD_FLAG,     /* int32_t, 0 or 1, which are false and true in JSON */
    FIELD_ENUM,     /* int, 0 .. max - 1, by names[] */
    FIELD_TEXT,     /* char [size] */
    FIELD_LINE,     /* char [size]: text for people; control characters become '?' when read */
    FIELD_NAME,     /* char [size]: letters, digits, '.', '_', '-' */
    FIELD_HOST,     /* char [size]: as FIELD_NAME, with ':' as well */
    FIELD_SENTENCE, /* char *: text for people; bytes that are no UTF-8 become '?' */
    FIELD_BYTES,    /* char *: any bytes but 0, kept exactly */
    FIELD_OPTIONAL, /* as FIELD_BYTES, or NULL */
    FIELD_LIST,     /* char **: NULL-ended, its items as FIELD_BYTES */
};

struct field {
    const char *key;
    enum field_kind kind;
    size_t offset, size;
    int64_t min, max;
    double low, high; /* both 0: any */
    const char *const *names;
};

/* A row for a struct's member of the same name. */
#define FIELD_ROW(type, member, kind_, ...)                                                        \
    {                                                                                              \
        .key = #member, .kind = FIELD_##kind_, .offset = offsetof(type, member),                   \
        .size = sizeof(((type *)0)->member), __VA_ARGS__                                           \
    }
#define FIELD(type, member, kind_, min_, max_)                                                     \
    FIELD_ROW(type, member, kind_, .min = min_, .max = max_)
#define FIELD_REAL(type, member, kind_, low_, high_)                                               \
    FIELD_ROW(type, member, kind_, .low = low_, .high = high_)
#define FIELD_WORD(type, member, words)                                                            \
    FIELD_ROW(type, member, ENUM, .max = sizeof(words) / sizeof *(words), .names = words)

/* A list of structs. */
struct field_rows {
    const struct field *field;
    size_t n;    /* fields */
    size_t size; /* of one struct */
    size_t most; /* rows */
};

#define FIELD_ROWS(fields, type, most_)                                                            \
    {                                                                                              \
        (fields), sizeof(fields) / sizeof *(fields), sizeof(type), (most_)                         \
    }

/* Add the members of s to object o.  Returns 0 or -ENOMEM. */
int fields_write(const struct field *f, size_t n, const void *s, json_t *o);

/* Fill s from o.  Returns how many of the n members o has.  -EINVAL: err names the member; strings
 * made so far stay in s, for the caller's free function.
 */
int fields_read(const struct field *f, size_t n, const json_t *o, void *s, struct eddis_error *err);

/* -EINVAL when member key of o, if there, is no whole number from min to max: bounds that depend on
 * other members, which a table cannot state.
 */
int fields_limit(const json_t *o, const char *key, int64_t min, int64_t max,
                 struct eddis_error *err);

/* Whether a row of f has this key. */
bool fields_have(const struct field *f, size_t n, const char *key);

/* Write an array of n structs of `size` bytes as the list `key` of objects. */
int fields_write_rows(json_t *o, const char *key, const struct field_rows *r, const void *row,
                      size_t n);

/* Read such a list of at most `most` rows into a new array that the caller frees, strings
 * included, also after a failure.  *ret is NULL for an empty list.
 */
int fields_read_rows(const json_t *o, const char *key, const struct field_rows *r, void **ret,
                     int *ret_n, struct eddis_error *err);

/* -EINVAL when o holds more than the n members that were read. */
int fields_end(const json_t *o, size_t n, struct eddis_error *err);

#endif
