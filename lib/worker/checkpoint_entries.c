/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_entries.c - the calls that read an opened checkpoint: its description and its entries
 */
#include "worker.h"

int eddis_checkpoint_info(const struct eddis_checkpoint *c, struct eddis_checkpoint_info *ret,
                          struct eddis_error *err)
{
    struct eddis_checkpoint_info info = { 0 };
    const struct checkpoint_meta *m;
    int rc = checkpoint_save_check(c, true, err);

    if (rc == 0)
        rc = sized_check(ret, "checkpoint's description", err);
    if (rc == 0)
        rc = checkpoint_models_own(&c->e->centre, c->files, err);
    if (rc < 0)
        return rc;
    m = checkpoint_meta(c->files);
    info.step = m->step;
    info.n_ranks = m->n_ranks;
    info.generation = m->generation;
    info.own = rc;
    sized_copy_out(ret, &info, sizeof info);
    return 0;
}

/* Check that c is a checkpoint opened for reading, and that the call's other arguments are
 * `complete`: none that is needed is NULL.  Return 0 or -EINVAL.
 */
static int check_call(const struct eddis_checkpoint *c, bool complete, struct eddis_error *err)
{
    if (c && !complete)
        return eddis_fail(err, -EINVAL, "the name or the place for the data is NULL");
    return checkpoint_save_check(c, true, err);
}

int64_t eddis_checkpoint_size(const struct eddis_checkpoint *c, int rank, const char *name,
                              struct eddis_error *err)
{
    int rc = check_call(c, name, err);
    int64_t bytes = rc < 0 ? rc : checkpoint_size(c->files, rank, name);

    if (rc == 0 && bytes < 0)
        return eddis_fail(err, -ENOENT, "checkpoint '%s' has no '%s' of rank %d",
                          checkpoint_folder(c->files), name, rank);
    return bytes;
}

int eddis_checkpoint_get_from(const struct eddis_checkpoint *c, int rank, const char *name,
                              void *data, size_t n, struct eddis_error *err)
{
    int rc = check_call(c, name && (data || !n), err);

    return rc < 0 ? rc : checkpoint_get(c->files, rank, name, data, n, err);
}

int eddis_checkpoint_get(struct eddis_checkpoint *c, const char *name, void *data, size_t n,
                         struct eddis_error *err)
{
    return eddis_checkpoint_get_from(c, 0, name, data, n, err);
}
