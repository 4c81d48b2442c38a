/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - convert structs to and from JSON objects by tables of their members */
#include "fields.h"

#include "cleanup.h"
#include "strbuf.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 65536 };

/* ---- writing ---- */

/* Return a string as JSON, or as the object {"hex": "2f746d70"} if it is not UTF-8, as JSON
 * requires but a path or an argument may not be.  NULL without memory.
 */
static json_t *write_bytes(const char *s)
{
    json_t *j = json_string(s);
    struct strbuf b = { 0 };
    cleanup_free char *hex = NULL;

    if (j)
        return j;
    for (; *s; s++)
        strbuf_addf(&b, "%02x", (unsigned char)*s);
    hex = strbuf_steal(&b);
    return hex ? json_pack("{s:s}", "hex", hex) : NULL;
}

/* Return the length in bytes of the UTF-8 character at s; 0: invalid. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    char one[5] = { 0 };
    json_t *j;

    if (n == 0 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if (n <= 2)
        return n;
    /* jansson rejects surrogates, overlong forms and numbers that are too large. */
    memcpy(one, s, n);
    j = json_stringn(one, n);
    json_decref(j);
    return j ? n : 0;
}

/* Return text for people as a JSON string, with '?' for every byte that is not UTF-8.  NULL without
 * memory.
 */
static json_t *write_sentence(const char *s)
{
    json_t *j = json_string(s);
    cleanup_free char *clean = NULL;

    if (j)
        return j;
    clean = strdup(s);
    if (!clean)
        return NULL;
    for (char *c = clean; *c;) {
        size_t n = utf8_length((const unsigned char *)c);

        if (n == 0)
            *c = '?';
        c += n ? n : 1;
    }
    return json_string(clean);
}

/* Return a NULL-ended list of strings (NULL: empty) as a JSON array, each by write_bytes.  NULL
 * without memory.
 */
static json_t *write_list(char *const *list)
{
    json_t *j = json_array();

    for (; list && *list; list++)
        if (json_array_append_new(j, write_bytes(*list)) < 0) {
            json_decref(j);
            return NULL;
        }
    return j;
}

/* Return the member at p as a JSON value, by the kind of its row.  NULL without memory. */
static json_t *write_one(const struct field *f, const void *p)
{
    switch (f->kind) {
    case FIELD_INT:
        return json_integer(*(const int *)p);
    case FIELD_INT64:
        return json_integer(*(const int64_t *)p);
    case FIELD_UINT64:
        return json_integer((json_int_t) * (const uint64_t *)p);
    case FIELD_DOUBLE:
    case FIELD_MEASURE:
    case FIELD_METRIC:
        return isfinite(*(const double *)p) ? json_real(*(const double *)p) : json_null();
    case FIELD_BOOL:
        return json_boolean(*(const bool *)p);
    case FIELD_FLAG:
        return json_boolean(*(const int32_t *)p);
    case FIELD_ENUM:
        return json_string(f->names[*(const int *)p]);
    case FIELD_TEXT:
    case FIELD_LINE:
    case FIELD_NAME:
    case FIELD_HOST:
        return write_sentence(p);
    case FIELD_SENTENCE:
        return write_sentence(*(char *const *)p ? *(char *const *)p : "");
    case FIELD_BYTES:
        return write_bytes(*(char *const *)p ? *(char *const *)p : "");
    case FIELD_OPTIONAL:
        return *(char *const *)p ? write_bytes(*(char *const *)p) : json_null();
    case FIELD_LIST:
        return write_list(*(char **const *)p);
    }
    return NULL;
}

int fields_write(const struct field *f, size_t n, const void *s, json_t *o)
{
    for (size_t i = 0; i < n; i++) {
        const void *p = (const char *)s + f[i].offset;

        if (f[i].kind == FIELD_METRIC && !isfinite(*(const double *)p))
            continue;
        if (json_object_set_new(o, f[i].key, write_one(&f[i], p)) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* ---- reading ---- */

/* Return the value of a lower-case hexadecimal digit; -1: it is none. */
static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Return a new string from the JSON that write_bytes made, for the caller to free.  NULL if j is
 * not such a value, or without memory.
 */
static char *read_bytes(const json_t *j)
{
    const char *hex;
    size_t n;
    char *s;

    if (json_is_string(j))
        return strdup(json_string_value(j));
    hex = json_string_value(json_object_get(j, "hex"));
    if (!hex || json_object_size(j) != 1 || strlen(hex) % 2)
        return NULL;
    n = strlen(hex) / 2;
    s = calloc(1, n + 1);
    for (size_t i = 0; s && i < n; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

        if (high < 0 || low < 0 || high + low == 0) {
            free(s);
            return NULL;
        }
        s[i] = (char)(high * 16 + low);
    }
    return s;
}

/* Read a string member into *p, newly allocated; null gives NULL if the row is FIELD_OPTIONAL.
 * -EINVAL: missing or not a string.
 */
static int read_string(const struct field *f, const json_t *o, char **p, struct eddis_error *err)
{
    json_t *j = json_object_get(o, f->key);
    char *s;

    if (!j)
        return eddis_fail(err, -EINVAL, "member \"%s\" is missing", f->key);
    if (f->kind == FIELD_OPTIONAL && json_is_null(j)) {
        *p = NULL;
        return 0;
    }
    s = read_bytes(j);
    if (!s)
        return eddis_fail(err, -EINVAL, "member \"%s\" is not a string", f->key);
    *p = s;
    return 0;
}

/* Read a list of strings into a new NULL-ended array *p.  After a failure *p holds the strings read
 * so far, for the caller to free.
 */
static int read_list(const struct field *f, const json_t *o, char ***p, struct eddis_error *err)
{
    json_t *j;
    int rc = json_want_array(o, f->key, MAX_LIST, &j, err);

    if (rc < 0)
        return rc;
    *p = calloc(json_array_size(j) + 1, sizeof **p);
    if (!*p)
        return eddis_fail(err, -ENOMEM, "no memory for \"%s\"", f->key);
    for (size_t i = 0; i < json_array_size(j); i++) {
        (*p)[i] = read_bytes(json_array_get(j, i));
        if (!(*p)[i])
            return eddis_fail(err, -EINVAL, "item %zu of \"%s\" is not a string", i, f->key);
    }
    return 0;
}

/* Read a string member into *p as its index in the row's names. */
static int read_enum(const struct field *f, const json_t *o, int *p, struct eddis_error *err)
{
    const char *s;
    int rc = json_want_string(o, f->key, &s, err);

    if (rc < 0)
        return rc;
    for (int i = 0; i < (int)f->max; i++)
        if (strcmp(s, f->names[i]) == 0) {
            *p = i;
            return 0;
        }
    return eddis_fail(err, -EINVAL, "member \"%s\" is not one of its allowed values", f->key);
}

/* Read a number within the row's bounds.  A FIELD_MEASURE that is null or a FIELD_OPTIONAL that is
 * absent gives NAN.
 */
static int read_double(const struct field *f, const json_t *o, double *p, struct eddis_error *err)
{
    bool any = f->low == f->high;

    if ((f->kind == FIELD_MEASURE && json_is_null(json_object_get(o, f->key))) ||
        (f->kind == FIELD_METRIC && !json_has(o, f->key))) {
        *p = NAN;
        return 0;
    }
    return json_want_number(o, f->key, any ? -HUGE_VAL : f->low, any ? HUGE_VAL : f->high, p, err);
}

/* Read a whole number within the row's bounds into the int, int64_t or uint64_t at p. */
static int read_whole(const struct field *f, const json_t *o, void *p, struct eddis_error *err)
{
    bool any = f->kind == FIELD_UINT64;
    int64_t whole;
    int rc =
        json_want_int(o, f->key, any ? INT64_MIN : f->min, any ? INT64_MAX : f->max, &whole, err);

    if (rc < 0)
        return rc;
    if (f->kind == FIELD_INT)
        *(int *)p = (int)whole;
    else
        *(int64_t *)p = whole;
    return 0;
}

/* Read a boolean member into *p as 0 or 1. */
static int read_flag(const struct field *f, const json_t *o, int32_t *p, struct eddis_error *err)
{
    bool set;
    int rc = json_want_bool(o, f->key, &set, err);

    if (rc == 0)
        *p = set;
    return rc;
}

/* Read a string into the char array p [f->size].  Control characters of a FIELD_LINE become '?'.
 * -EINVAL if a FIELD_NAME or FIELD_HOST is not empty and has other characters than its kind allows.
 */
static int read_text(const struct field *f, const json_t *o, char *p, struct eddis_error *err)
{
    int rc = json_copy_string(o, f->key, p, f->size, err);

    if (rc == 0 && f->kind == FIELD_LINE)
        text_strip_control(p);
    if (rc == 0 && f->kind == FIELD_NAME && *p && !text_is_name(p, f->size))
        rc = eddis_fail(err, -EINVAL, "member \"%s\" is not a name", f->key);
    if (rc == 0 && f->kind == FIELD_HOST && *p && !text_is_host(p, f->size))
        rc = eddis_fail(err, -EINVAL, "member \"%s\" is not a host", f->key);
    return rc;
}

/* Read the member of row f from object o into p. */
static int read_one(const struct field *f, const json_t *o, void *p, struct eddis_error *err)
{
    switch (f->kind) {
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_UINT64:
        return read_whole(f, o, p, err);
    case FIELD_DOUBLE:
    case FIELD_MEASURE:
    case FIELD_METRIC:
        return read_double(f, o, p, err);
    case FIELD_BOOL:
        return json_want_bool(o, f->key, p, err);
    case FIELD_FLAG:
        return read_flag(f, o, p, err);
    case FIELD_ENUM:
        return read_enum(f, o, p, err);
    case FIELD_TEXT:
    case FIELD_LINE:
    case FIELD_NAME:
    case FIELD_HOST:
        return read_text(f, o, p, err);
    case FIELD_SENTENCE:
    case FIELD_BYTES:
    case FIELD_OPTIONAL:
        return read_string(f, o, p, err);
    case FIELD_LIST:
        return read_list(f, o, p, err);
    }
    return -EINVAL;
}

int fields_read(const struct field *f, size_t n, const json_t *o, void *s, struct eddis_error *err)
{
    int taken = 0;

    for (size_t i = 0; i < n; i++) {
        int rc = read_one(&f[i], o, (char *)s + f[i].offset, err);

        if (rc < 0)
            return rc;
        taken += json_object_get(o, f[i].key) != NULL;
    }
    return taken;
}

int fields_limit(const json_t *o, const char *key, int64_t min, int64_t max,
                 struct eddis_error *err)
{
    int64_t value;

    return json_has(o, key) ? json_want_int(o, key, min, max, &value, err) : 0;
}

bool fields_have(const struct field *f, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].key, key) == 0)
            return true;
    return false;
}

int fields_end(const json_t *o, size_t n, struct eddis_error *err)
{
    if (json_object_size(o) != n)
        return eddis_fail(err, -EINVAL, "there are %zu members, but only %zu are known",
                          json_object_size(o), n);
    return 0;
}

int fields_write_rows(json_t *o, const char *key, const struct field_rows *r, const void *row,
                      size_t n)
{
    json_t *list = json_array();

    if (json_object_set_new(o, key, list) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        json_t *one = json_object();

        if (json_array_append_new(list, one) < 0 ||
            fields_write(r->field, r->n, (const char *)row + i * r->size, one) < 0)
            return -ENOMEM;
    }
    return 0;
}

int fields_read_rows(const json_t *o, const char *key, const struct field_rows *r, void **ret,
                     int *ret_n, struct eddis_error *err)
{
    json_t *list;
    int rc = json_want_array(o, key, r->most, &list, err);
    size_t n;

    if (rc < 0 || (n = json_array_size(list)) == 0)
        return rc;
    *ret = calloc(n, r->size);
    if (!*ret)
        return eddis_fail(err, -ENOMEM, "no memory for \"%s\"", key);
    *ret_n = (int)n;
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        const json_t *one = json_array_get(list, i);

        rc = fields_read(r->field, r->n, one, (char *)*ret + i * r->size, err);
        if (rc >= 0)
            rc = fields_end(one, (size_t)rc, err);
    }
    return rc < 0 ? rc : 0;
}
