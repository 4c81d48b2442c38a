/* SPDX-License-Identifier: Apache-2.0 */
/* open_options.c - read, check and compare the options of eddis_open */
#include "open_options.h"

#include "sized.h"

#include "lib/base/text.h"

#include <errno.h>

/* Limit and default of eddis_options.read_ahead. */
enum { READ_AHEAD_MOST = 64, READ_AHEAD_DEFAULT = 2 };

int open_options_ahead(const struct eddis_options *o)
{
    if (o->read_ahead == EDDIS_READ_NONE)
        return 0;
    return o->read_ahead ? o->read_ahead : READ_AHEAD_DEFAULT;
}

/* Check that eddis_options.gradients is NULL, "", or a name.  -EINVAL if not. */
static int check_gradients(const char *name, struct eddis_error *err)
{
    if (name && *name && !text_is_name(name, EDDIS_GRADIENTS_SIZE - 1))
        return eddis_fail(err, -EINVAL,
                          "gradients of the options names what combines them: at most %d letters, "
                          "digits, '.', '_' or '-'",
                          EDDIS_GRADIENTS_SIZE - 1);
    return 0;
}

int open_options_read(const struct eddis_options *in, struct eddis_options *ret,
                      struct eddis_error *err)
{
    int rc = sized_check(in, "struct of options", err);

    if (rc < 0)
        return rc;
    sized_copy_in(ret, sizeof *ret, in);
    if (ret->samples < 0 || ret->epochs < 0 || ret->batch < 0 || ret->bucket_bytes < 0 ||
        ret->min_count < 0)
        return eddis_fail(
            err, -EINVAL,
            "samples, epochs, batch, bucket_bytes and min_count must not be negative");
    if (ret->read_ahead < EDDIS_READ_NONE || ret->read_ahead > READ_AHEAD_MOST)
        return eddis_fail(err, -EINVAL, "read_ahead is %d: 1 to %d, or 0, or EDDIS_READ_NONE",
                          ret->read_ahead, READ_AHEAD_MOST);
    if (ret->close_at_exit < 0 || ret->close_at_exit > EDDIS_EXIT_FINISH)
        return eddis_fail(err, -EINVAL,
                          "close_at_exit is %d: 0, EDDIS_EXIT_CLOSE or EDDIS_EXIT_FINISH",
                          ret->close_at_exit);
    return check_gradients(ret->gradients, err);
}

/* ---- options that must be equal on all workers ---- */

/* Name and value of an option, for comparing workers. */
struct row {
    const char *name;
    int64_t value;
};

enum { ROWS = 9 };

/* Find the first row whose value differs between workers, or that of samples if one has 0, and
 * store its index in *ret_row; -1: none.  ret: the least and greatest value of that row.
 * Collective.  Return 0 or a negative errno.
 */
static int rows_compare(struct collectives *all, const struct row *row, int64_t ret[2],
                        int *ret_row, struct eddis_error *err)
{
    int64_t both[2 * ROWS];
    int rc;

    for (int i = 0; i < ROWS; i++) {
        both[2 * i] = row[i].value;
        both[2 * i + 1] = ~row[i].value; /* its minimum is the complement of the greatest value */
    }
    rc = collectives_least(all, both, 2 * ROWS, err);
    *ret_row = -1;
    for (int i = 0; rc == 0 && *ret_row < 0 && i < ROWS; i++) {
        ret[0] = both[2 * i];
        ret[1] = ~both[2 * i + 1];
        if (ret[0] != ret[1] || (i == 0 && ret[0] == 0))
            *ret_row = i;
    }
    return rc;
}

int open_options_compare(struct collectives *all, const struct eddis_options *o,
                         struct eddis_error *err)
{
    /* the options that must be equal on all workers; samples first */
    const struct row row[ROWS] = {
        { "samples", o->samples },
        { "epochs", o->epochs },
        { "batch", o->batch },
        { "bucket_bytes", o->bucket_bytes },
        { "measure", o->measure },
        { "pieces", o->pieces != 0 },
        { "read_ahead", open_options_ahead(o) },
        { "drop_last", o->drop_last != 0 },
        { "min_count", o->min_count },
    };
    int64_t value[2], rank[2];
    int at, rc;

    rc = rows_compare(all, row, value, &at, err);
    if (rc < 0 || at < 0)
        return rc;
    for (int i = 0; i < 2; i++)
        rank[i] = row[at].value == value[i] ? all->place.rank : INT64_MAX;
    rc = collectives_least(all, rank, 2, err);
    if (rc < 0)
        return rc;
    if (at == 0 && value[0] == 0)
        return eddis_fail(err, -EINVAL,
                          "rank %lld has not set the number of samples of an epoch: call "
                          "eddis_set_data before eddis_commit, or set samples of eddis_options",
                          (long long)rank[0]);
    return eddis_fail(err, -EPROTO,
                      "%s is %lld on rank %lld but %lld on rank %lld: options and data must be the "
                      "same on all workers",
                      row[at].name, (long long)value[0], (long long)rank[0], (long long)value[1],
                      (long long)rank[1]);
}
