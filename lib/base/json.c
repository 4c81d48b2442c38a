/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - check limits before jansson parses, and read single members strictly */
#include "json.h"

#include "cleanup.h"
#include "file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Check whether the text s [n] nests brackets deeper than JSON_MAX_NESTING; to be called before
 * jansson, which would recurse to 2048 levels.
 */
static bool too_deep(const char *s, size_t n)
{
    int depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < n; i++) {
        if (in_string) {
            if (s[i] == '\\')
                i++;
            else if (s[i] == '"')
                in_string = false;
        } else if (s[i] == '"') {
            in_string = true;
        } else if (s[i] == '{' || s[i] == '[') {
            if (++depth > JSON_MAX_NESTING)
                return true;
        } else if (s[i] == '}' || s[i] == ']') {
            depth--;
        }
    }
    return false;
}

int json_parse(const char *text, size_t n, const char *what, json_t **ret, struct eddis_error *err)
{
    json_error_t e;
    json_t *j;

    if (too_deep(text, n))
        return eddis_fail(err, -EINVAL, "%s: more than %d levels of brackets", what,
                          JSON_MAX_NESTING);
    j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!j && !*e.text)
        return eddis_fail(err, -ENOMEM, "no memory to read %s", what);
    if (!j)
        return eddis_fail(err, -EINVAL, "%s:%d:%d: %s", what, e.line, e.column, e.text);
    *ret = j;
    return 0;
}

int json_read_file(const char *path, json_t **ret, struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    size_t n;
    int rc = file_read(path, JSON_MAX_BYTES, &text, &n, err);

    return rc < 0 ? rc : json_parse(text, n, path, ret, err);
}

void json_wipe(const json_t *o, const char *key)
{
    const json_t *secret = json_object_get(o, key);

    if (json_is_string(secret))
        explicit_bzero((char *)(uintptr_t)json_string_value(secret), json_string_length(secret));
}

char *json_text(const json_t *j, bool indented)
{
    size_t flags = JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15);

    return json_dumps(j, flags | (indented ? JSON_INDENT(2) : JSON_COMPACT));
}

int json_write_file(const char *path, const json_t *j, struct eddis_error *err)
{
    cleanup_free char *text = json_text(j, true);
    size_t n;
    int rc;

    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory to write '%s'", path);
    n = strlen(text);
    text[n] = '\n'; /* replaces the final 0, which is not needed: the length is passed */
    rc = file_write_atomic(path, text, n + 1, 0600, err);
    explicit_bzero(text, n + 1);
    return rc;
}

/* Borrow member `key` of object o.  If it is missing, set err to -EINVAL and return NULL. */
static json_t *member(const json_t *o, const char *key, struct eddis_error *err)
{
    json_t *v = json_object_get(o, key);

    if (!v)
        eddis_fail(err, -EINVAL, "member \"%s\" is missing", key);
    return v;
}

int json_want_int(const json_t *o, const char *key, int64_t min, int64_t max, int64_t *ret,
                  struct eddis_error *err)
{
    json_t *v = member(o, key, err);

    if (!v)
        return -EINVAL;
    if (!json_is_integer(v) || json_integer_value(v) < min || json_integer_value(v) > max)
        return eddis_fail(err, -EINVAL, "member \"%s\" is not a whole number from %lld to %lld",
                          key, (long long)min, (long long)max);
    *ret = json_integer_value(v);
    return 0;
}

int json_want_number(const json_t *o, const char *key, double min, double max, double *ret,
                     struct eddis_error *err)
{
    json_t *v = member(o, key, err);
    double x;

    if (!v)
        return -EINVAL;
    x = json_is_number(v) ? json_number_value(v) : NAN;
    if (!(x >= min && x <= max))
        return eddis_fail(err, -EINVAL, "member \"%s\" is not a number from %g to %g", key, min,
                          max);
    *ret = x;
    return 0;
}

int json_want_bool(const json_t *o, const char *key, bool *ret, struct eddis_error *err)
{
    json_t *v = member(o, key, err);

    if (!v)
        return -EINVAL;
    if (!json_is_boolean(v))
        return eddis_fail(err, -EINVAL, "member \"%s\" is neither true nor false", key);
    *ret = json_is_true(v);
    return 0;
}

int json_want_string(const json_t *o, const char *key, const char **ret, struct eddis_error *err)
{
    json_t *v = member(o, key, err);

    if (!v)
        return -EINVAL;
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
        return eddis_fail(err, -EINVAL, "member \"%s\" is not a string", key);
    *ret = json_string_value(v);
    return 0;
}

int json_want_array(const json_t *o, const char *key, size_t max_items, json_t **ret,
                    struct eddis_error *err)
{
    json_t *v = member(o, key, err);

    if (!v)
        return -EINVAL;
    if (!json_is_array(v) || json_array_size(v) > max_items)
        return eddis_fail(err, -EINVAL, "member \"%s\" is not a list of at most %zu items", key,
                          max_items);
    *ret = v;
    return 0;
}

int json_want_object(const json_t *o, const char *key, json_t **ret, struct eddis_error *err)
{
    json_t *v = member(o, key, err);

    if (!v)
        return -EINVAL;
    if (!json_is_object(v))
        return eddis_fail(err, -EINVAL, "member \"%s\" is not an object", key);
    *ret = v;
    return 0;
}

int json_copy_string(const json_t *o, const char *key, char *ret, size_t size,
                     struct eddis_error *err)
{
    const char *s;
    int rc = json_want_string(o, key, &s, err);

    if (rc < 0)
        return rc;
    if (strlen(s) >= size)
        return eddis_fail(err, -EINVAL, "member \"%s\" is longer than %zu bytes", key, size - 1);
    memcpy(ret, s, strlen(s) + 1);
    return 0;
}

bool json_has(const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);

    return v && !json_is_null(v);
}
