/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.c - the list of layers and parameters, before eddis_commit and after */
#include "parameters.h"

#include "worker.h"

#include "lib/base/random.h"
#include "lib/sync/sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Check a parameter of this layer before it is registered, and store its number of elements in
 * *ret_n.  Return 0, or -EINVAL if not valid.
 */
static int parameter_check(const struct eddis *e, int layer, const struct eddis_parameter *p,
                           size_t *ret_n, struct eddis_error *err)
{
    const struct parameters *all = &e->parameters;
    size_t n = 1;

    if (layer < 0 || layer >= all->n_layers)
        return eddis_fail(err, -EINVAL, "there is no layer %d", layer);
    if (!p->name || !*p->name)
        return eddis_fail(err, -EINVAL, "a parameter of layer '%s' has no name",
                          all->layer[layer].name);
    if (p->dtype != EDDIS_FLOAT32 && p->dtype != EDDIS_FLOAT64 && p->dtype != EDDIS_FLOAT16 &&
        p->dtype != EDDIS_BFLOAT16)
        return eddis_fail(
            err, -EINVAL,
            "parameter '%s' must have type EDDIS_FLOAT32, _FLOAT64, _FLOAT16 or _BFLOAT16",
            p->name);
    if (p->n_dims < 0 || p->n_dims > EDDIS_MAX_DIMS || (p->factored && p->n_dims != 2))
        return eddis_fail(err, -EINVAL, "parameter '%s' cannot have %d dimensions", p->name,
                          p->n_dims);
    for (int i = 0; i < p->n_dims; i++)
        if (p->dims[i] < 0 || __builtin_mul_overflow(n, (size_t)p->dims[i], &n) ||
            n > SIZE_MAX / 64)
            return eddis_fail(err, -EINVAL, "parameter '%s' has an impossible dimension %lld",
                              p->name, (long long)p->dims[i]);
    if (p->result == EDDIS_ZERO)
        return eddis_fail(err, -EINVAL,
                          "parameter '%s' has EDDIS_ZERO as its result, but EDDIS_ZERO is only a "
                          "source for eddis_announce",
                          p->name);
    if (p->state && (p->factored || p->result))
        return eddis_fail(err, -EINVAL,
                          "parameter '%s' is state: it has no gradient that could be factored or "
                          "have a place for its result",
                          p->name);
    if (n && !p->value && !worker_is_external(e))
        return eddis_fail(err, -EINVAL, "parameter '%s' has no value", p->name);
    *ret_n = n;
    return 0;
}

uint64_t parameters_hash_text(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = random_mix(h, (unsigned char)*s);
    return random_mix(h, 256);
}

uint64_t parameters_hash(const struct parameters *all, uint64_t h)
{
    for (int i = 0; i < all->n_layers; i++) {
        h = random_mix(parameters_hash_text(h, all->layer[i].name), (uint64_t)all->layer[i].kind);
        h = random_mix(h, (uint64_t)all->layer[i].set);
    }
    for (int i = 0; i < all->n; i++) {
        const struct parameter *p = &all->item[i];

        h = random_mix(parameters_hash_text(h, p->name), (uint64_t)p->layer);
        h = random_mix(h, (uint64_t)p->dtype);
        h = random_mix(h, (uint64_t)p->factored);
        h = random_mix(h, (uint64_t)(p->slot < 0));
        h = random_mix(h, (uint64_t)(p->value != NULL));
        h = random_mix(h, (uint64_t)p->n_dims);
        for (int d = 0; d < p->n_dims; d++)
            h = random_mix(h, (uint64_t)p->dims[d]);
    }
    return h;
}

int parameters_sets(const struct parameters *all, struct eddis_error *err)
{
    int used[EDDIS_MAX_SETS] = { 0 }, n = 1;

    for (int i = 0; i < all->n_layers; i++)
        n = all->layer[i].set >= n ? all->layer[i].set + 1 : n;
    for (int i = 0; i < all->n; i++)
        used[all->item[i].set] += all->item[i].slot >= 0;
    for (int i = 0; i < n && n > 1; i++)
        if (!used[i])
            return eddis_fail(err, -EINVAL,
                              "set %d of %d has no parameter with a gradient: sets are numbered "
                              "from 0, and each needs one",
                              i, n);
    return n;
}

size_t parameter_bytes(const struct parameter *p)
{
    return p->n * comm_type_bytes((enum comm_type)p->dtype);
}

size_t parameters_bytes(const struct parameters *all)
{
    size_t bytes = 0;

    for (int i = 0; i < all->n; i++)
        bytes += parameter_bytes(&all->item[i]);
    return bytes;
}

struct program parameters_program(const struct parameters *all)
{
    struct program sum = { 0 };

    for (int i = 0; i < all->n; i++) {
        const struct parameter *p = &all->item[i];
        enum comm_type type = (enum comm_type)p->dtype;
        int64_t bytes = (int64_t)parameter_bytes(p);

        sum.centre_bytes += (int64_t)(p->n * comm_type_bytes(sync_centre_type(type)));
        if (p->slot < 0)
            continue;
        if (bytes > sum.largest_bytes) { /* the backward pass goes from the last one to the first */
            sum.largest_bytes = bytes;
            sum.largest_behind = sum.gradient_bytes;
        }
        sum.gradient_bytes += bytes;
        sum.float32_bytes += type == COMM_FLOAT32 ? bytes : 0;
    }
    return sum;
}

void parameters_free(struct parameters *all)
{
    for (int i = 0; i < all->n_layers; i++)
        free(all->layer[i].name);
    for (int i = 0; i < all->n; i++)
        free(all->item[i].name);
    free(all->layer);
    free(all->item);
}

/* ---- eddis.h ---- */

/* Check that layers and parameters may still be registered.  -EINVAL: eddis_commit has been called;
 * otherwise fails as worker_check.
 */
static int register_check(const struct eddis *e, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    return e->engine ? eddis_fail(err, -EINVAL, "layers cannot be added after eddis_commit") : 0;
}

int eddis_add_layer(struct eddis *e, const char *name, enum eddis_layer_kind kind,
                    struct eddis_error *err)
{
    return eddis_add_layer_to(e, 0, name, kind, err);
}

int eddis_add_layer_to(struct eddis *e, int set, const char *name, enum eddis_layer_kind kind,
                       struct eddis_error *err)
{
    struct parameters *all;
    struct parameter_layer *bigger;
    char *copy;
    int rc = register_check(e, err);

    if (rc < 0)
        return rc;
    all = &e->parameters;
    if (!name || !*name)
        return eddis_fail(err, -EINVAL, "a layer needs a name");
    if (kind < EDDIS_LAYER_OTHER || kind > EDDIS_LAYER_EMBEDDING)
        return eddis_fail(err, -EINVAL, "layer '%s' has the unknown kind %d", name, (int)kind);
    if (set < 0 || set >= EDDIS_MAX_SETS)
        return eddis_fail(err, -EINVAL, "layer '%s' cannot be in set %d: the sets are 0 to %d",
                          name, set, EDDIS_MAX_SETS - 1);
    if (set > 0 && worker_is_external(e))
        return eddis_fail(err, -EINVAL,
                          "layer '%s' is in set %d, but %s combines the gradients: leave sets out",
                          name, set, e->gradients);
    bigger = realloc(all->layer, (size_t)(all->n_layers + 1) * sizeof *bigger);
    if (bigger)
        all->layer = bigger;
    copy = strdup(name);
    if (!bigger || !copy) {
        free(copy);
        return eddis_fail(err, -ENOMEM, "no memory for layer '%s'", name);
    }
    all->layer[all->n_layers] =
        (struct parameter_layer){ .name = copy, .kind = kind, .set = set, .newest = -1 };
    return all->n_layers++;
}

int eddis_add_parameter(struct eddis *e, int layer, const struct eddis_parameter *in,
                        struct eddis_error *err)
{
    struct parameters *all;
    struct eddis_parameter p;
    struct parameter *bigger, *q;
    char *copy;
    size_t n = 0;
    int rc = register_check(e, err);

    if (rc < 0)
        return rc;
    rc = sized_check(in, "parameter", err);
    if (rc < 0)
        return rc;
    sized_copy_in(&p, sizeof p, in);
    all = &e->parameters;
    rc = parameter_check(e, layer, &p, &n, err);
    if (rc < 0)
        return rc;
    bigger = realloc(all->item, (size_t)(all->n + 1) * sizeof *bigger);
    if (bigger)
        all->item = bigger;
    copy = strdup(p.name);
    if (!bigger || !copy) {
        free(copy);
        return eddis_fail(err, -ENOMEM, "no memory for parameter '%s'", p.name);
    }
    q = &all->item[all->n];
    *q = (struct parameter){ .name = copy,
                             .layer = layer,
                             .set = all->layer[layer].set,
                             .older = all->layer[layer].newest,
                             .dtype = p.dtype,
                             .n_dims = p.n_dims,
                             .n = n,
                             .value = p.value,
                             .result = p.result,
                             .slot = p.state || worker_is_external(e) ? -1 : all->n_slots++,
                             .factored = p.factored != 0 };
    memcpy(q->dims, p.dims, sizeof q->dims);
    all->layer[layer].newest = all->n;
    return all->n++;
}
