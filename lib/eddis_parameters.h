/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_parameters.h - a part of eddis.h, which includes it: layers, parameters and their values */
#ifndef EDDIS_PARAMETERS_H
#define EDDIS_PARAMETERS_H

#ifndef EDDIS_H
#error "include eddis.h, of which this is a part"
#endif

/* Register a layer, in the order of the forward pass.  name is copied.  Returns its number. */
int eddis_add_layer(struct eddis *e, const char *name, enum eddis_layer_kind kind,
                    struct eddis_error *err);

/* The same for a layer of another set than set 0: parameters that are combined apart from the rest,
 * such as a GAN's discriminator beside its generator.  Sets are counted from 0 on, below
 * EDDIS_MAX_SETS, and each has a parameter; see eddis_wait_set.
 */
#define EDDIS_MAX_SETS 64
int eddis_add_layer_to(struct eddis *e, int set, const char *name, enum eddis_layer_kind kind,
                       struct eddis_error *err);

struct eddis_parameter {
    size_t size;                  /* sizeof (struct eddis_parameter) */
    const char *name;             /* copied */
    enum eddis_dtype dtype;       /* of value, gradient and factors; no integers or bytes */
    int n_dims;                   /* 0 to EDDIS_MAX_DIMS; 0: one element */
    int64_t dims[EDDIS_MAX_DIMS]; /* from 0 on; 0: it is empty, and value may be NULL */
    void *value;  /* its elements, contiguous; borrowed until eddis_close; the library
                   * reads and writes them in the calls that are listed at the top
                   * only; see eddis_set_value */
    int factored; /* 1: dims are { m, n } and the gradient is u' v with u [k, m] and
                   * v [k, n]; see eddis_announce_factors */
    void *result; /* as many elements, borrowed until eddis_close and never moved: where every
                   * step's combined gradient goes unless eddis_announce says otherwise, also
                   * when this worker announces none; EDDIS_IN_PLACE: eddis_result tells where
                   * it is; NULL: each announcement says */
    int state;    /* 1: it has no gradient, as the running statistics of batch normalisation: it is
                   * broadcast with the others and, in async and hybrid mode, drawn to the centre,
                   * where a group's is that of its group_rank 0; it is never announced nor reduced,
                   * and factored and result are 0 */
};

/* Register a parameter of a layer.  Returns its number.
 *
 * A gradient of 16 bits travels so: it is rounded when it is weighted, and what a worker adds to it
 * once more; sums are made in float32.  With float16, whose range is small, each round begins with
 * a message that adds up the workers' weights, and gradients are packed behind it.  Where models of
 * 16 bits are drawn to a centre this is of float32, and the library keeps a float32 copy of the
 * values, which follows the program's updates and is rounded to them after an exchange: small moves
 * are not lost.
 */
int eddis_add_parameter(struct eddis *e, int layer, const struct eddis_parameter *p,
                        struct eddis_error *err);

/* End of registration: fix the buckets and make the gradient slots.  A network that an earlier job
 * has measured is looked at, too, by a message over a link of each node; and a mode that is "auto"
 * is chosen now that the model's size is known (-ETIMEDOUT: not within timeouts.launch; call it
 * again).  Collective: all workers must have registered the same, with the same options and data
 * (-EPROTO otherwise, on all, which says where they differ; -EINVAL: a worker has no data, or
 * a set no parameter with a gradient).
 */
int eddis_commit(struct eddis *e, struct eddis_error *err);

/* Borrows the library's own memory for this parameter's gradient, 64-byte aligned, valid until
 * eddis_close.  A program that lets its gradients live there spares one copy.  NULL: it is state.
 */
void *eddis_gradient(struct eddis *e, int parameter);

/* Borrows all the memory that eddis_gradient tells places in, *ret_bytes long, until eddis_close:
 * to register it with a GPU's driver, which then copies from and to it sooner.  NULL before
 * eddis_commit.
 */
void *eddis_gradient_block(struct eddis *e, size_t *ret_bytes);

/* The parameter's value is in another place from now on, as a tensor that was made anew; what is
 * there counts, the old place is not looked at any more.  Not beside another call; -EBUSY: after an
 * eddis_step_begin, _finish or _checkpoint_begin that ended with -ETIMEDOUT, before it has
 * succeeded.
 */
int eddis_set_value(struct eddis *e, int parameter, void *value, struct eddis_error *err);

/* Copy every parameter's value from root to all.  Collective, blocks. */
int eddis_broadcast_parameters(struct eddis *e, int root, struct eddis_error *err);

#endif
