/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - convert a struct to and from a JSON object by a table of its members
 *
 * One row per member serves both the writer and the strict reader, so that the two cannot diverge.
 * Every member of the table must be present, except FIELD_OPTIONAL, and no other may be.  To check
 * the latter, the reader returns how many members it read, and fields_end compares that with the
 * size of the object.
 */
#ifndef EDDIS_BASE_FIELDS_H
#define EDDIS_BASE_FIELDS_H

#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of members */
enum field_kind {
    FIELD_INT,     /* int, min .. max */
    FIELD_INT64,   /* int64_t, min .. max */
    FIELD_UINT64,  /* uint64_t, full range */
    FIELD_DOUBLE,  /* finite, low .. high */
    FIELD_MEASURE, /* finite, low .. high, or NAN, written as null */
    FIELD_METRIC,  /* finite, low .. high, or NAN, omitted from the JSON */
    FIELD_BOOL,
    FIELD_FLAG,     /* int32_t, 0 or 1, written as false or true */
    FIELD_ENUM,     /* int, 0 .. max - 1, written as names[] */
    FIELD_TEXT,     /* char [size] */
    FIELD_LINE,     /* char [size]: text for people; control characters are read as '?' */
    FIELD_NAME,     /* char [size]: letters, digits, '.', '_', '-' */
    FIELD_HOST,     /* char [size]: as FIELD_NAME, with ':' as well */
    FIELD_SENTENCE, /* char *: text for people; bytes that are not UTF-8 are written as '?' */
    FIELD_BYTES,    /* char *: any bytes except 0, preserved exactly */
    FIELD_OPTIONAL, /* as FIELD_BYTES, or NULL */
    FIELD_LIST,     /* char **: NULL-ended, its items as FIELD_BYTES */
};

/* One row: how one member of a struct is stored in JSON. */
struct field {
    const char *key;
    enum field_kind kind;
    size_t offset, size;
    int64_t min, max;
    double low, high; /* bounds; both equal: none */
    const char *const *names;
};

/* Make a row for a struct member; its JSON key is the member's name. */
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

/* Description of an array of structs, stored as a list of objects */
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

/* Add the n members of struct s to object o.  Return 0 or -ENOMEM. */
int fields_write(const struct field *f, size_t n, const void *s, json_t *o);

/* Fill struct s from object o.  Return how many of the n members are present in o.  -EINVAL: err
 * names the member.  Strings allocated so far stay in s, for the caller to free.
 */
int fields_read(const struct field *f, size_t n, const json_t *o, void *s, struct eddis_error *err);

/* Check that member `key` of o, if present and not null, is a whole number from min to max.  For
 * bounds that depend on other members, which a table cannot state.  Return 0 or -EINVAL.
 */
int fields_limit(const json_t *o, const char *key, int64_t min, int64_t max,
                 struct eddis_error *err);

/* Check whether a row of f has this key. */
bool fields_have(const struct field *f, size_t n, const char *key);

/* Add n structs, an array at `row`, to object o as the list `key` of objects.  Return 0 or -ENOMEM.
 */
int fields_write_rows(json_t *o, const char *key, const struct field_rows *r, const void *row,
                      size_t n);

/* Read the list `key` of at most r->most objects into a new array *ret of *ret_n structs.  The
 * caller frees it and its strings, also after a failure.  Both stay unchanged if the list is empty.
 */
int fields_read_rows(const json_t *o, const char *key, const struct field_rows *r, void **ret,
                     int *ret_n, struct eddis_error *err);

/* Check that object o has exactly n members, the number that was read.  Return 0 or -EINVAL. */
int fields_end(const json_t *o, size_t n, struct eddis_error *err);

#endif
