/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - convert a struct to and from a JSON object by a table of its members
 *
 * One row per member serves both the writer and the strict reader, so that the two cannot diverge.
 * Every member of the table must be in the object, except FIELD_METRIC, FIELD_STRUCT_IF and
 * FIELD_ARRAY_IF, and the object may have no other member.  To check the latter, the reader returns
 * how many members it read, and fields_end compares that with the size of the object.
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
    FIELD_ENUM,     /* int, 0 .. max - 1, written as names[value] */
    FIELD_TEXT,     /* char [size] */
    FIELD_LINE,     /* char [size]: text for people; control characters are read as '?' */
    FIELD_NAME,     /* char [size]: letters, digits, '.', '_', '-' */
    FIELD_HOST,     /* char [size]: as FIELD_NAME, with ':' as well */
    FIELD_SENTENCE, /* char *: text for people; bytes that are not UTF-8 are written as '?' */
    FIELD_BYTES,    /* char *: any bytes except 0, preserved exactly */
    FIELD_OPTIONAL, /* as FIELD_BYTES, or NULL */
    FIELD_LIST,     /* char **: NULL-ended, its items as FIELD_BYTES */

    FIELD_STRUCT,    /* struct: an object */
    FIELD_STRUCT_IF, /* struct: an object; absent if the int64_t at offset `count` is 0 */
    FIELD_POINTER,   /* struct *, allocated: an object; NULL: null */
    FIELD_INLINE,    /* struct: its members in this object, their keys preceded by `key` */
    FIELD_UNION,     /* enum, 0 .. max - 1: the members of table of[value]; no C union */
    FIELD_ALL,       /* struct [max]: a list of all elements */
    FIELD_SLOTS,     /* struct [max]: a list of the elements that do not begin with a 0 byte */
    FIELD_ARRAY,     /* struct or uint16_t [max]: a list of the first elements, as many as the int
                      * at offset `count` says */
    FIELD_ARRAY_IF,  /* as FIELD_ARRAY; absent if there are none */
    FIELD_OWNED,     /* struct * or int *, allocated: a list of at most max elements; their number
                      * as of FIELD_ARRAY */
};

struct fields;

/* One row: how one member of a struct is stored in JSON. */
struct field {
    const char *key;
    enum field_kind kind;
    size_t offset, size;
    int64_t min, max;
    double low, high; /* bounds; both equal: none */
    const char *const *names;
    const char *wrong; /* message about a wrong word or item, for which # stands; NULL: the general
                        * message */
    const struct fields *of; /* table of the struct or structs; NULL: numbers of `size` bytes, at
                              * least 0 */
    size_t count;            /* offset of the int that is the number of items */
};

/* Description of a struct */
struct fields {
    const struct field *field;
    size_t n;           /* fields */
    size_t size;        /* of the struct */
    const char *name;   /* what messages call it ("worker" in "worker 3: ..."); NULL: nothing */
    bool open;          /* a newer writer may add members, which are ignored */
    const char *more;   /* the message about more members, instead of that of fields_end; or NULL */
    const char *secret; /* key of a member; fields_text and fields_parse leave no copy of it */
    int (*check)(const void *s, struct eddis_error *err); /* of what was read; NULL: none */
};

#define FIELD_ITEMS(array) (sizeof(array) / sizeof *(array))

/* Describe a struct by an array of rows; further arguments set further members of struct fields. */
#define FIELDS(type, rows, ...)                                                                    \
    {                                                                                              \
        .field = (rows), .n = FIELD_ITEMS(rows), .size = sizeof(type), __VA_ARGS__                 \
    }

/* Make a row for a struct member. */
#define FIELD_AS(key_, type, member, kind_, ...)                                                   \
    {                                                                                              \
        .key = (key_), .kind = FIELD_##kind_, .offset = offsetof(type, member),                    \
        .size = sizeof(((type *)0)->member), __VA_ARGS__                                           \
    }
/* Make a row whose JSON key is the member's name. */
#define FIELD_ROW(type, member, kind_, ...) FIELD_AS(#member, type, member, kind_, __VA_ARGS__)
#define FIELD(type, member, kind_, min_, max_)                                                     \
    FIELD_ROW(type, member, kind_, .min = min_, .max = max_)
#define FIELD_REAL(type, member, kind_, low_, high_)                                               \
    FIELD_ROW(type, member, kind_, .low = low_, .high = high_)
#define FIELD_WORD(type, member, words)                                                            \
    FIELD_ROW(type, member, ENUM, .max = FIELD_ITEMS(words), .names = words)

/* Make a row for a member that is a struct or an array of structs.  table: a struct fields; tables:
 * an array of struct fields, indexed by the enum.
 */
#define FIELD_STRUCT(key, type, member, table) FIELD_AS(key, type, member, STRUCT, .of = &(table))
#define FIELD_STRUCT_IF(key, type, member, present, table)                                         \
    FIELD_AS(key, type, member, STRUCT_IF, .of = &(table), .count = offsetof(type, present))
#define FIELD_POINTER(key, type, member, table) FIELD_AS(key, type, member, POINTER, .of = &(table))
#define FIELD_INLINE(before, type, member, table)                                                  \
    FIELD_AS(before, type, member, INLINE, .of = &(table))
#define FIELD_UNION(type, member, tables)                                                          \
    FIELD_AS("", type, member, UNION, .of = (tables), .max = FIELD_ITEMS(tables))
#define FIELD_ALL(key, type, member, table)                                                        \
    FIELD_AS(key, type, member, ALL, .of = &(table), .max = FIELD_ITEMS(((type *)0)->member))
#define FIELD_SLOTS(key, type, member, table)                                                      \
    FIELD_AS(key, type, member, SLOTS, .of = &(table), .max = FIELD_ITEMS(((type *)0)->member))
#define FIELD_ARRAY(key, type, member, number, table)                                              \
    FIELD_AS(key, type, member, ARRAY, .of = &(table), .count = offsetof(type, number),            \
             .max = FIELD_ITEMS(((type *)0)->member))
#define FIELD_ARRAY_IF(key, type, member, number, table)                                           \
    FIELD_AS(key, type, member, ARRAY_IF, .of = &(table), .count = offsetof(type, number),         \
             .max = FIELD_ITEMS(((type *)0)->member))
#define FIELD_OWNED(key, type, member, number, most, table)                                        \
    FIELD_AS(key, type, member, OWNED, .of = &(table), .count = offsetof(type, number),            \
             .max = (most))

/* Make a row for an array of numbers; kind_ is ARRAY or OWNED. */
#define FIELD_NUMBERS(type, member, kind_, key_, number, most, wrong_)                             \
    {                                                                                              \
        .key = (key_), .kind = FIELD_##kind_, .offset = offsetof(type, member),                    \
        .size = sizeof *((type *)0)->member, .count = offsetof(type, number), .max = (most),       \
        .wrong = (wrong_)                                                                          \
    }

/* Make a row for further members of the same struct, which `table` describes: GROUP puts them into
 * an object of their own, INCLUDE into the same object.
 */
#define FIELD_GROUP(key_, table)                                                                   \
    {                                                                                              \
        .key = (key_), .kind = FIELD_STRUCT, .of = &(table)                                        \
    }
#define FIELD_INCLUDE(table)                                                                       \
    {                                                                                              \
        .key = "", .kind = FIELD_INLINE, .of = &(table)                                            \
    }

/* Add the n members of struct s to object o.  Return 0 or -ENOMEM. */
int fields_write(const struct field *f, size_t n, const void *s, json_t *o);

/* Fill struct s from object o.  Return how many of the n members are present in o.  -EINVAL: err
 * names the member.  What was allocated so far stays in s, for the caller to free.
 */
int fields_read(const struct field *f, size_t n, const json_t *o, void *s, struct eddis_error *err);

/* Check that member `key` of o, if present and not null, is a whole number from min to max.  For
 * bounds that depend on other members, which a table cannot state.  Return 0 or -EINVAL.
 */
int fields_limit(const json_t *o, const char *key, int64_t min, int64_t max,
                 struct eddis_error *err);

/* Check whether a row of f, or of a struct whose members are inline, has this key. */
bool fields_have(const struct field *f, size_t n, const char *key);

/* Check that object o has exactly n members, the number that fields_read returned.  Return 0 or
 * -EINVAL.
 */
int fields_end(const json_t *o, size_t n, struct eddis_error *err);

/* Return struct s as a new JSON object; NULL without memory. */
json_t *fields_json(const struct fields *t, const void *s);

/* Return struct s as JSON text on one line, for the caller to free; NULL without memory. */
char *fields_text(const struct fields *t, const void *s);

/* Fill struct s, which must be all zeros, from object o.  Reject unknown members unless t->open,
 * and call t->check.  Return 0 or a negative errno.  The caller calls fields_free in either case.
 */
int fields_fill(const struct fields *t, const json_t *o, void *s, struct eddis_error *err);

/* Parse n bytes of JSON into the struct *ret; err names the text as `what`.  Return 0 or a negative
 * errno; the struct is written only on success.
 */
int fields_parse(const struct fields *t, const char *text, size_t n, const char *what, void *ret,
                 struct eddis_error *err);

/* Parse n bytes of JSON into a new struct, for the caller to free with fields_delete, and write its
 * address to *ret, which is a pointer to such a struct.  err names the text as `what`.  Return 0 or
 * a negative errno; *ret is written only on success.
 */
int fields_parse_new(const struct fields *t, const char *text, size_t n, const char *what,
                     void *ret, struct eddis_error *err);

/* Free all strings and arrays that struct s owns, and set them to NULL and 0. */
void fields_free(const struct fields *t, void *s);

/* Free an allocated struct with all that it owns, and leave no copy of a secret.  NULL: nothing. */
void fields_delete(const struct fields *t, void *s);

#endif
