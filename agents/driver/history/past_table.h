/* SPDX-License-Identifier: Apache-2.0 */
/* past_table.h - tables of what earlier jobs of a program measured, in the cache
 *
 * A table is an array of rows that each begin with a key, in an entry of the cache of its own. Rows
 * that are older than a cached profile may be (profile.cache) are dropped when a table is loaded.
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_PAST_TABLE_H
#define EDDIS_AGENTS_DRIVER_HISTORY_PAST_TABLE_H

#include "lib/base/error.h"
#include "lib/base/fields.h"
#include "lib/base/file_thread.h"
#include "lib/base/key_index.h"
#include "lib/model/job.h"

enum { PAST_ROWS_MOST = 16384 }; /* most rows of a table */

/* An array of rows; each row begins with its key, a planner_key. A zeroed struct is an empty array.
 */
struct past_rows {
    void *row; /* [n] rows */
    int n, room;
    struct key_index index;
};

/* One kind of table: the workers' times, their memory limits, efficiencies, ... */
struct past_kind {
    const char *name;        /* kind of the cache entry */
    const struct field *row; /* description of the array of rows in struct past_rows */
    size_t learnt_at;        /* offset of the row's member for its time of measurement (Unix time in
                              * seconds) */
};

/* Return the key of a program in the cache, for the caller to free:
 * "/home/ann/mnist\npython3\ntrain.py".  NULL: no memory.
 */
char *past_key(const struct job *job);

/* Load the table *l, which is empty, from the cache. Set *ret, if ret is not NULL, to the entry's
 * JSON object, which the caller releases. Return 0; -ENOENT: there is no usable entry, or one for a
 * model of another size; or another negative errno: the cache is off or does not answer, so that an
 * entry that is there must not be replaced. On failure *l stays empty and *ret is NULL.
 */
int past_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
              const struct past_kind *kind, struct past_rows *l, json_t **ret);

/* Store a table in the cache, as a part of object o, which may have other members. A NULL o counts
 * as no memory. Return 0 or a negative error.
 */
int past_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
              const struct past_kind *kind, json_t *o, const struct past_rows *l,
              struct eddis_error *err);

/* Add a row to a table, or replace the row with the same key. The row's time of measurement becomes
 * the present time. Return 0, or -ENOMEM without memory or room.
 */
int past_put(const struct past_kind *kind, struct past_rows *l, const void *row);

/* Give row i of a table the present time as its time of measurement. */
void past_renew(const struct past_kind *kind, struct past_rows *l, int i);

/* Free a table's rows and clear it. */
void past_rows_fini(struct past_rows *l);

#endif
