/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - calls of eddis.h about the memory of parameters: values, gradients, results */
#include "worker.h"

#include <errno.h>

/* Return the engine's number of a parameter's gradient; -1: the parameter does not exist or has no
 * gradient, eddis_commit has not been called, or the worker may not be used.
 */
static int values_slot(const struct eddis *e, int parameter)
{
    if (worker_check(e, NULL) < 0 || !e->engine || parameter < 0 || parameter >= e->parameters.n)
        return -1;
    return e->parameters.item[parameter].slot;
}

const void *eddis_result(const struct eddis *e, int parameter)
{
    int slot = values_slot(e, parameter);

    return slot < 0 ? NULL : engine_result(e->engine, slot);
}

void *eddis_gradient(struct eddis *e, int parameter)
{
    int slot = values_slot(e, parameter);

    return slot < 0 ? NULL : engine_slot(e->engine, slot);
}

void *eddis_gradient_block(struct eddis *e, size_t *ret_bytes)
{
    if (worker_check(e, NULL) < 0 || !e->engine || !ret_bytes)
        return NULL;
    return engine_memory(e->engine, ret_bytes);
}

void *eddis_result_block(struct eddis *e, size_t *ret_bytes)
{
    void *results = NULL;
    size_t bytes = 0;

    if (worker_check(e, NULL) < 0 || !e->engine || !ret_bytes)
        return NULL;
    results = engine_results(e->engine);
    (void)engine_memory(e->engine, &bytes);
    if (results)
        *ret_bytes = bytes;
    return results;
}

int eddis_set_value(struct eddis *e, int parameter, void *value, struct eddis_error *err)
{
    struct parameter *p;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (parameter < 0 || parameter >= e->parameters.n)
        return eddis_fail(err, -EINVAL, "there is no parameter %d", parameter);
    p = &e->parameters.item[parameter];
    if (p->n && !value)
        return eddis_fail(err, -EINVAL, "the new value of parameter '%s' is NULL", p->name);
    rc = centre_move(&e->centre, parameter, value, err);
    if (rc == 0)
        p->value = value;
    return rc;
}

int eddis_broadcast_parameters(struct eddis *e, int root, struct eddis_error *err)
{
    /* Only a few requests at a time: otherwise the root would send the whole model to ranks that
     * have not made this call yet.
     */
    enum { WINDOW = 32 };
    struct eddis_request *r[WINDOW];
    int rc = worker_check(e, err);

    if (rc == 0 && e->all.place.n_ranks == 1 && root == 0)
        return 0;
    for (int begun = 0, done = 0; rc == 0 && done < e->parameters.n;) {
        const struct parameter *p = &e->parameters.item[begun];

        if (begun < e->parameters.n && begun - done < WINDOW) {
            rc = collectives_start(
                &e->all,
                &(struct eddis_collective){ .kind = EDDIS_BROADCAST,
                                            .buffer = p->value,
                                            .n = p->value ? parameter_bytes(p) : 0,
                                            .root = root },
                &r[begun % WINDOW], err);
            begun++;
            continue;
        }
        rc = collectives_request_wait(&e->all, r[done % WINDOW], err);
        if (rc < 0)
            eddis_fail_prefix(err, rc, "parameter '%s'", e->parameters.item[done].name);
        done++;
    }
    return rc;
}
