/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - convert structs to and from JSON objects by tables of their members */
#include "fields.h"

#include "cleanup.h"
#include "json_bytes.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 65536 }; /* limit of the items of a FIELD_LIST */

enum { MAX_KEY = 64 }; /* size of a key with what precedes it */

/* Return a copy of row f whose key is preceded by `before`.  The new key is stored in *key and
 * borrowed by the copy; if `before` is "", the key is that of f.
 */
static struct field row_after(const char *before, const struct field *f, char (*key)[MAX_KEY])
{
    struct field row = *f;

    if (*before) {
        (void)snprintf(*key, sizeof *key, "%s%s", before, f->key);
        row.key = *key;
    }
    return row;
}

/* Borrow the member of struct s that holds the number of items of the list of row f. */
static int *count_at(const struct field *f, const void *s)
{
    return (int *)((uintptr_t)s + f->count);
}

/* ---- writing ---- */

/* Return a NULL-ended list of strings as a new JSON array, each string converted by json_bytes.
 * list NULL: an empty array.  NULL without memory.
 */
static json_t *write_list(char *const *list)
{
    json_t *j = json_array();

    for (; list && *list; list++)
        if (json_array_append_new(j, json_bytes(*list)) < 0) {
            json_decref(j);
            return NULL;
        }
    return j;
}

/* Return the size in bytes of one item of the list of row f. */
static size_t item_size(const struct field *f)
{
    return f->of ? f->of->size : f->size;
}

/* Return an item of the list of row f as a new JSON value.  NULL without memory. */
static json_t *write_item(const struct field *f, const void *item)
{
    if (f->of)
        return fields_json(f->of, item);
    return json_integer(f->size == sizeof(uint16_t) ? *(const uint16_t *)item : *(const int *)item);
}

/* Return the n items of the list of row f as a new JSON array; of FIELD_SLOTS only those that do
 * not begin with a 0 byte.  NULL without memory.
 */
static json_t *write_array(const struct field *f, const char *item, int n)
{
    cleanup_json json_t *list = json_array();

    for (int i = 0; i < n; i++, item += item_size(f))
        if ((f->kind != FIELD_SLOTS || *item) &&
            json_array_append_new(list, write_item(f, item)) < 0)
            return NULL;
    return cleanup_keep(list);
}

/* Return the member of struct s that row f describes as a new JSON value.  NULL without memory, and
 * for FIELD_INLINE and FIELD_UNION, which have no value of their own.
 */
static json_t *write_one(const struct field *f, const void *s)
{
    const void *p = (const char *)s + f->offset;

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
        return json_sentence(p);
    case FIELD_SENTENCE:
        return json_sentence(*(char *const *)p ? *(char *const *)p : "");
    case FIELD_BYTES:
        return json_bytes(*(char *const *)p ? *(char *const *)p : "");
    case FIELD_OPTIONAL:
        return *(char *const *)p ? json_bytes(*(char *const *)p) : json_null();
    case FIELD_LIST:
        return write_list(*(char **const *)p);
    case FIELD_STRUCT:
    case FIELD_STRUCT_IF:
        return fields_json(f->of, p);
    case FIELD_POINTER:
        return *(void *const *)p ? fields_json(f->of, *(void *const *)p) : json_null();
    case FIELD_ALL:
    case FIELD_SLOTS:
        return write_array(f, p, (int)f->max);
    case FIELD_ARRAY:
    case FIELD_ARRAY_IF:
        return write_array(f, p, *count_at(f, s));
    case FIELD_OWNED:
        return write_array(f, *(char *const *)p, *count_at(f, s));
    case FIELD_INLINE:
    case FIELD_UNION:
        break;
    }
    return NULL;
}

/* Check whether write_rows leaves the member of row f out of the JSON object because of its value
 * in struct s: a FIELD_METRIC that is not finite, or a FIELD_STRUCT_IF or FIELD_ARRAY_IF whose
 * `count` member is 0.
 */
static bool is_absent(const struct field *f, const void *s)
{
    if (f->kind == FIELD_METRIC)
        return !isfinite(*(const double *)((const char *)s + f->offset));
    if (f->kind == FIELD_ARRAY_IF)
        return *count_at(f, s) == 0;
    return f->kind == FIELD_STRUCT_IF && !*(const int64_t *)((const char *)s + f->count);
}

/* Add the members of struct s that the n rows f describe to object o, each key preceded by
 * `before`.  Return 0 or -ENOMEM.
 */
static int write_rows(const char *before, const struct field *f, size_t n, const void *s, json_t *o)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        char key[MAX_KEY];
        struct field row = row_after(before, &f[i], &key);
        const char *p = (const char *)s + row.offset;
        const struct fields *t = row.of;

        if (row.kind == FIELD_INLINE)
            rc = write_rows(row.key, t->field, t->n, p, o);
        else if (row.kind == FIELD_UNION)
            rc = write_rows(row.key, t[*(const int *)p].field, t[*(const int *)p].n, s, o);
        else if (!is_absent(&row, s))
            rc = json_object_set_new(o, row.key, write_one(&row, s)) < 0 ? -ENOMEM : 0;
    }
    return rc;
}

int fields_write(const struct field *f, size_t n, const void *s, json_t *o)
{
    return write_rows("", f, n, s, o);
}

json_t *fields_json(const struct fields *t, const void *s)
{
    cleanup_json json_t *o = json_object();

    return o && fields_write(t->field, t->n, s, o) == 0 ? cleanup_keep(o) : NULL;
}

char *fields_text(const struct fields *t, const void *s)
{
    cleanup_json json_t *o = fields_json(t, s);
    char *text = o ? json_text(o, false) : NULL;

    if (t->secret)
        json_wipe(o, t->secret);
    return text;
}

/* ---- reading ---- */

/* Read the string member of row f from o and store a copy, allocated, in *p.  If the member is null
 * and the row FIELD_OPTIONAL, store NULL.  Return 0 or -EINVAL: the member is missing or not a
 * string.
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
    s = json_bytes_copy(j);
    if (!s)
        return eddis_fail(err, -EINVAL, "member \"%s\" is not a string", f->key);
    *p = s;
    return 0;
}

/* Read a list of strings and store it in *p as a NULL-ended array, allocated.  After a failure *p
 * holds the strings read so far, for the caller to free.
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
        (*p)[i] = json_bytes_copy(json_array_get(j, i));
        if (!(*p)[i])
            return eddis_fail(err, -EINVAL, "item %zu of \"%s\" is not a string", i, f->key);
    }
    return 0;
}

/* Return -EINVAL, and describe in err that the value of row f is wrong: by the row's own message,
 * if it has one, with `what` in place of its '#'.
 */
static int fail_wrong(const struct field *f, const char *what, struct eddis_error *err)
{
    size_t n = f->wrong ? strcspn(f->wrong, "#") : 0;

    if (!f->wrong)
        return eddis_fail(err, -EINVAL, "member \"%s\" is not one of its allowed values", f->key);
    if (!f->wrong[n])
        return eddis_fail(err, -EINVAL, "%s", f->wrong);
    return eddis_fail(err, -EINVAL, "%.*s%.20s%s", (int)n, f->wrong, what, f->wrong + n + 1);
}

/* Read the string member of row f from o and store its index in the row's names in *p.  Return 0 or
 * -EINVAL: the member is missing, not a string, or not one of the names.
 */
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
    return fail_wrong(f, s, err);
}

/* Read the number member of row f from o and store it in *p.  Store NAN if the member is null and
 * the row FIELD_MEASURE, or if the member is null or absent and the row FIELD_METRIC.  Return 0 or
 * -EINVAL: the member is not a number within the row's bounds.
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

/* Read the member of row f from o and store it in the int, int64_t or uint64_t at p, according to
 * the row's kind.  Return 0 or -EINVAL: the member is not a whole number within the row's bounds.
 */
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

/* Read the boolean member of row f from o and store 0 or 1 in *p.  Return 0 or -EINVAL: the member
 * is neither true nor false.
 */
static int read_flag(const struct field *f, const json_t *o, int32_t *p, struct eddis_error *err)
{
    bool set;
    int rc = json_want_bool(o, f->key, &set, err);

    if (rc == 0)
        *p = set;
    return rc;
}

/* Read the string member of row f from o into the char array p [f->size].  Replace control
 * characters of a FIELD_LINE by '?'.  Return 0 or -EINVAL: the member is not a string, too long, or
 * a FIELD_NAME or FIELD_HOST with characters that its kind does not allow; an empty string is
 * allowed.
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

/* Read the object member of row f from o into the struct at p; for FIELD_POINTER into a new struct,
 * whose address is stored in the pointer at p.  If a FIELD_STRUCT_IF is absent or a FIELD_POINTER
 * is null, return 0 and leave what is at p.
 */
static int read_struct(const struct field *f, const json_t *o, void *p, struct eddis_error *err)
{
    json_t *j = json_object_get(o, f->key);
    int rc;

    if (f->kind == FIELD_STRUCT_IF ? !j : f->kind == FIELD_POINTER && json_is_null(j))
        return 0;
    if (f->kind == FIELD_POINTER && !json_is_object(j))
        return eddis_fail(err, -EINVAL, "%s is not a JSON object", f->of->name);
    rc = json_want_object(o, f->key, &j, err);
    if (rc >= 0 && f->kind == FIELD_POINTER) {
        p = *(void **)p = calloc(1, f->of->size);
        if (!p)
            return eddis_fail(err, -ENOMEM, "no memory for \"%s\"", f->key);
    }
    if (rc >= 0)
        rc = fields_fill(f->of, j, p, err);
    return rc < 0 && f->of->name ? eddis_fail_prefix(err, rc, "%s", f->of->name) : rc;
}

/* Read item i of `list`, the list of row f, into the struct or number at `item`.  Return 0;
 * -EINVAL: a number that does not fit; or the failure of fields_fill.  A struct may then be partly
 * filled.
 */
static int read_item(const struct field *f, const json_t *list, size_t i, void *item,
                     struct eddis_error *err)
{
    const json_t *j = json_array_get(list, i);
    json_int_t number = json_integer_value(j), most;
    char at[24];
    int rc;

    if (f->of) {
        rc = fields_fill(f->of, j, item, err);
        return rc < 0 && f->of->name ? eddis_fail_prefix(err, rc, "%s %zu", f->of->name, i) : rc;
    }
    most = f->size == sizeof(uint16_t) ? UINT16_MAX : INT_MAX;
    (void)snprintf(at, sizeof at, "%zu", i);
    if (!json_is_integer(j) || number < 0 || number > most)
        return fail_wrong(f, at, err);
    if (f->size == sizeof(uint16_t))
        *(uint16_t *)item = (uint16_t)number;
    else
        *(int *)item = (int)number;
    return 0;
}

/* Read the list of row f from o into its array in struct s, which is allocated for FIELD_OWNED.
 * For those with a `count` also store the number of items in s.  Return 0 or a negative
 * errno; what was allocated remains in s for fields_free.  -EINVAL: an item is wrong, there are
 * more than f->max items, or for FIELD_ALL not exactly f->max.
 */
static int read_array(const struct field *f, const json_t *o, void *s, struct eddis_error *err)
{
    void *p = (char *)s + f->offset;
    char *item = p;
    json_t *list;
    int rc;
    size_t n;

    if (f->kind == FIELD_ARRAY_IF && !json_has(o, f->key)) {
        *count_at(f, s) = 0;
        return 0;
    }
    rc = json_want_array(o, f->key, (size_t)f->max, &list, err);
    n = rc < 0 ? 0 : json_array_size(list);

    if (n && f->kind == FIELD_OWNED) {
        item = calloc(n, item_size(f));
        if (!item)
            return eddis_fail(err, -ENOMEM, "no memory for \"%s\"", f->key);
        *(void **)p = item;
    }
    if (n && (f->kind == FIELD_ARRAY || f->kind == FIELD_ARRAY_IF || f->kind == FIELD_OWNED))
        *count_at(f, s) = (int)n;
    for (size_t i = 0; rc >= 0 && i < n; i++)
        rc = read_item(f, list, i, item + i * item_size(f), err);
    if (rc >= 0 && f->kind == FIELD_ALL && n != (size_t)f->max)
        return eddis_fail(err, -EINVAL, "there are %zu rows instead of %d", n, (int)f->max);
    return rc;
}

/* Read the member of row f from object o into struct s.  Return at least 0, or a negative errno. */
static int read_one(const struct field *f, const json_t *o, void *s, struct eddis_error *err)
{
    void *p = (char *)s + f->offset;

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
    case FIELD_STRUCT:
    case FIELD_STRUCT_IF:
    case FIELD_POINTER:
        return read_struct(f, o, p, err);
    case FIELD_ALL:
    case FIELD_SLOTS:
    case FIELD_ARRAY:
    case FIELD_ARRAY_IF:
    case FIELD_OWNED:
        return read_array(f, o, s, err);
    case FIELD_INLINE:
    case FIELD_UNION:
        break;
    }
    return -EINVAL;
}

static int read_inline(const char *before, const struct fields *t, const json_t *o, void *s,
                       struct eddis_error *err);

/* Fill the members of struct s that the n rows f describe from object o, each key preceded by
 * `before`.  Return how many of them are present in o, or a negative errno.
 */
static int read_rows(const char *before, const struct field *f, size_t n, const json_t *o, void *s,
                     struct eddis_error *err)
{
    int taken = 0;

    for (size_t i = 0; i < n; i++) {
        char key[MAX_KEY];
        struct field row = row_after(before, &f[i], &key);
        void *p = (char *)s + row.offset;
        int rc;

        if (row.kind == FIELD_INLINE)
            rc = read_inline(row.key, row.of, o, p, err);
        else if (row.kind == FIELD_UNION)
            rc = read_inline(row.key, &row.of[*(const int *)p], o, s, err);
        else if ((rc = read_one(&row, o, s, err)) >= 0)
            rc = json_object_get(o, row.key) != NULL;
        if (rc < 0)
            return rc;
        taken += rc;
    }
    return taken;
}

/* Fill struct s, whose keys are preceded by `before`, from members of object o, and call the check
 * of t.  Return how many of its members are present in o, or a negative errno.
 */
static int read_inline(const char *before, const struct fields *t, const json_t *o, void *s,
                       struct eddis_error *err)
{
    int rc = read_rows(before, t->field, t->n, o, s, err), checked = 0;

    if (rc >= 0 && t->check)
        checked = t->check(s, err);
    return checked < 0 ? checked : rc;
}

int fields_read(const struct field *f, size_t n, const json_t *o, void *s, struct eddis_error *err)
{
    return read_rows("", f, n, o, s, err);
}

int fields_limit(const json_t *o, const char *key, int64_t min, int64_t max,
                 struct eddis_error *err)
{
    int64_t value;

    return json_has(o, key) ? json_want_int(o, key, min, max, &value, err) : 0;
}

bool fields_have(const struct field *f, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        size_t before = f[i].kind == FIELD_INLINE ? strlen(f[i].key) : 0;

        if (f[i].kind == FIELD_INLINE ? strncmp(f[i].key, key, before) == 0 &&
                                            fields_have(f[i].of->field, f[i].of->n, key + before)
                                      : strcmp(f[i].key, key) == 0)
            return true;
    }
    return false;
}

int fields_end(const json_t *o, size_t n, struct eddis_error *err)
{
    if (json_object_size(o) != n)
        return eddis_fail(err, -EINVAL, "there are %zu members, but only %zu are known",
                          json_object_size(o), n);
    return 0;
}

int fields_fill(const struct fields *t, const json_t *o, void *s, struct eddis_error *err)
{
    int rc = fields_read(t->field, t->n, o, s, err);

    if (rc >= 0 && t->more && json_object_size(o) != (size_t)rc)
        rc = eddis_fail(err, -EINVAL, "%s", t->more);
    else if (rc >= 0 && !t->open)
        rc = fields_end(o, (size_t)rc, err);
    if (rc >= 0 && t->check)
        rc = t->check(s, err);
    return rc < 0 ? rc : 0;
}

int fields_parse(const struct fields *t, const char *text, size_t n, const char *what, void *ret,
                 struct eddis_error *err)
{
    void *s = NULL;
    int rc = fields_parse_new(t, text, n, what, &s, err);

    if (rc < 0)
        return rc;
    memcpy(ret, s, t->size);
    if (t->secret)
        explicit_bzero(s, t->size);
    free(s);
    return 0;
}

int fields_parse_new(const struct fields *t, const char *text, size_t n, const char *what,
                     void *ret, struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    void *s = calloc(1, t->size);
    int rc = s ? json_parse(text, n, what, &o, err)
               : eddis_fail(err, -ENOMEM, "no memory for the %s", what);

    if (rc == 0) {
        rc = fields_fill(t, o, s, err);
        if (t->secret)
            json_wipe(o, t->secret);
        if (rc < 0)
            rc = eddis_fail_prefix(err, rc, "%s", what);
    }
    if (rc == 0)
        memcpy(ret, &s, sizeof s);
    else
        fields_delete(t, s);
    return rc;
}

/* ---- freeing ---- */

/* Free all strings and arrays that the n structs at s own, and set them to NULL; not the memory at
 * s itself.  t or s NULL: do nothing.
 */
static void free_structs(const struct fields *t, char *s, size_t n)
{
    for (size_t i = 0; t && s && i < n; i++)
        fields_free(t, s + i * t->size);
}

/* Free what the member of row f in struct s owns, and set its pointer to NULL and its number of
 * items to 0.
 */
static void free_one(const struct field *f, void *s)
{
    void *p = (char *)s + f->offset, **owned = p;

    switch (f->kind) {
    case FIELD_LIST:
        for (char **item = *owned; item && *item; item++)
            free(*item);
        break;
    case FIELD_OWNED:
        free_structs(f->of, *owned, (size_t)*count_at(f, s));
        *count_at(f, s) = 0;
        break;
    case FIELD_POINTER:
        free_structs(f->of, *owned, 1);
        break;
    case FIELD_SENTENCE:
    case FIELD_BYTES:
    case FIELD_OPTIONAL:
        break;
    case FIELD_ALL:
    case FIELD_SLOTS:
    case FIELD_ARRAY:
    case FIELD_ARRAY_IF:
        free_structs(f->of, p, (size_t)f->max);
        return;
    case FIELD_STRUCT:
    case FIELD_STRUCT_IF:
    case FIELD_INLINE:
        fields_free(f->of, p);
        return;
    case FIELD_UNION:
        for (int64_t i = 0; i < f->max; i++)
            fields_free(&f->of[i], s);
        return;
    default:
        return;
    }
    free(*owned);
    *owned = NULL;
}

void fields_free(const struct fields *t, void *s)
{
    for (size_t i = 0; i < t->n; i++)
        free_one(&t->field[i], s);
}

void fields_delete(const struct fields *t, void *s)
{
    if (!s)
        return;
    fields_free(t, s);
    if (t->secret)
        explicit_bzero(s, t->size);
    free(s);
}
