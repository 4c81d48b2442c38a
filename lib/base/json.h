/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - strict reading and stable writing of JSON, over jansson
 *
 * Reading: data from a file or socket is untrusted.  Size and depth are limited before anything is
 * allocated, and duplicate keys are rejected.  Each json_want_ function checks the type and range
 * of one member and reports a wrong one by name.
 *
 * Writing: keys are sorted, so that equal values give equal bytes.
 */
#ifndef EDDIS_BASE_JSON_H
#define EDDIS_BASE_JSON_H

#include "error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JSON_MAX_BYTES = 16 << 20, /* limit of eddis's files; HTTP bodies have their own limit */
    JSON_MAX_NESTING = 32,
};

/* Drop the reference *j; NULL is allowed. */
static inline void cleanup_json_(json_t **j)
{
    json_decref(*j);
}

#define cleanup_json __attribute__((cleanup(cleanup_json_)))

/* Parse n bytes of text; errors call it `what` ("plan.json", "report of agent 3").  Store a new
 * reference in *ret.  Return 0 or a negative errno.  -EINVAL: not JSON, a duplicate key, or nested
 * too deep.
 */
int json_parse(const char *text, size_t n, const char *what, json_t **ret, struct eddis_error *err);

/* Read and parse a file of at most JSON_MAX_BYTES.  Store a new reference in *ret.  Return 0 or a
 * negative errno.
 */
int json_read_file(const char *path, json_t **ret, struct eddis_error *err);

/* Overwrite the text of the string member `key` of object o: jansson keeps a copy of this secret.
 * o may be NULL, and the member missing.
 */
void json_wipe(const json_t *o, const char *key);

/* Return the JSON text with sorted keys, on one line or indented for people.  The caller frees the
 * text.  NULL without memory.
 */
char *json_text(const json_t *j, bool indented);

/* Replace the file atomically by the indented text and a newline, mode 0600.  The text, which may
 * hold a secret, is overwritten before it is freed.  Return 0 or a negative errno; the old file is
 * then unchanged.
 */
int json_write_file(const char *path, const json_t *j, struct eddis_error *err);

/* Read member `key` of object o, a whole number from min to max, into *ret.  Return 0 or -EINVAL:
 * missing, of another type, or out of range; *ret is unchanged, and err names the member.  This
 * holds for all functions json_want_*.
 */
int json_want_int(const json_t *o, const char *key, int64_t min, int64_t max, int64_t *ret,
                  struct eddis_error *err);

/* Read member `key` of object o, a number from min to max, into *ret.  Return 0 or -EINVAL as
 * json_want_int.
 */
int json_want_number(const json_t *o, const char *key, double min, double max, double *ret,
                     struct eddis_error *err);

/* Read the boolean member `key` of object o into *ret.  Return 0 or -EINVAL as json_want_int. */
int json_want_bool(const json_t *o, const char *key, bool *ret, struct eddis_error *err);

/* Borrow from o its string member `key`, which has no 0 byte inside, in *ret.  Return 0 or -EINVAL
 * as json_want_int.
 */
int json_want_string(const json_t *o, const char *key, const char **ret, struct eddis_error *err);

/* Borrow from o its array member `key`, of at most max_items, in *ret.  Return 0 or -EINVAL as
 * json_want_int.
 */
int json_want_array(const json_t *o, const char *key, size_t max_items, json_t **ret,
                    struct eddis_error *err);

/* Borrow from o its object member `key` in *ret.  Return 0 or -EINVAL as json_want_int. */
int json_want_object(const json_t *o, const char *key, json_t **ret, struct eddis_error *err);

/* Copy the string member `key` of object o into ret [size].  Return 0 or -EINVAL: missing, not a
 * string, or too long; ret is then unchanged.
 */
int json_copy_string(const json_t *o, const char *key, char *ret, size_t size,
                     struct eddis_error *err);

/* Check whether object o has the member and it is not null. */
bool json_has(const json_t *o, const char *key);

#endif
