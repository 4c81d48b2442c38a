/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - strict reading and stable writing of JSON, over jansson
 *
 * Reading: what comes from a file or a socket is untrusted.  Size and depth are limited before
 * anything is built, duplicate keys are refused, and each json_want_ function checks the type and
 * range of one member and says in one sentence which member was wrong.
 * Writing: keys sorted, so that equal values are equal bytes.
 */
#ifndef EDDIS_BASE_JSON_H
#define EDDIS_BASE_JSON_H

#include "error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JSON_MAX_BYTES = 16 << 20, /* a file of ours; HTTP bodies have a limit of their own */
    JSON_MAX_NESTING = 32,
};

static inline void cleanup_json_(json_t **j)
{
    json_decref(*j);
}

#define cleanup_json __attribute__((cleanup(cleanup_json_)))

/* Parse n bytes that `what` names in errors ("plan.json", "report of agent 3").
 * Returns a new reference.  -EINVAL: not JSON, twice the same key, or nested too deep.
 */
int json_parse(const char *text, size_t n, const char *what, json_t **ret, struct eddis_error *err);

/* Read and parse a file of at most JSON_MAX_BYTES.  Returns a new reference. */
int json_read_file(const char *path, json_t **ret, struct eddis_error *err);

/* Returns the text with sorted keys: on one line, or indented for people; NULL without memory. */
char *json_text(const json_t *j, bool indented);

/* Replace the file by the indented text and a newline, atomically, mode 0600. */
int json_write_file(const char *path, const json_t *j, struct eddis_error *err);

/* Members of object o.  A missing member or one of the wrong type or range is -EINVAL; nothing is
 * written then.  Strings, arrays and objects are borrowed from o.
 */
int json_want_int(const json_t *o, const char *key, int64_t min, int64_t max, int64_t *ret,
                  struct eddis_error *err);
int json_want_number(const json_t *o, const char *key, double min, double max, double *ret,
                     struct eddis_error *err);
int json_want_bool(const json_t *o, const char *key, bool *ret, struct eddis_error *err);
int json_want_string(const json_t *o, const char *key, const char **ret, struct eddis_error *err);
int json_want_array(const json_t *o, const char *key, size_t max_items, json_t **ret,
                    struct eddis_error *err);
int json_want_object(const json_t *o, const char *key, json_t **ret, struct eddis_error *err);

/* Copy a string member into ret [size]; -EINVAL when it is longer. */
int json_copy_string(const json_t *o, const char *key, char *ret, size_t size,
                     struct eddis_error *err);

/* Whether o has the member and it is not null. */
bool json_has(const json_t *o, const char *key);

#endif
