/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_parameters.h - a part of eddis.h, which includes it: layers, parameters and their values */
#ifndef EDDIS_PARAMETERS_H
#define EDDIS_PARAMETERS_H

#ifndef EDDIS_H
#error "include eddis.h, of which this is a part"
#endif

/* Limit of the name in eddis_options.gradients with its 0: a letter or digit, then letters, digits,
 * '.', '_' or '-'; the same on all workers.  The program then combines the gradients itself, each
 * worker's by its eddis_step.weight.  A step makes the workers agree on plans, samples, checkpoints
 * and the end, from eddis_step_begin to eddis_wait.  No gradient may be announced and no weight set
 * (-EINVAL).  A parameter may have no value (NULL): only its size is used.  The mode is sync or
 * local: eddis_commit fails with -EINVAL in a job of another mode.
 */
#define EDDIS_GRADIENTS_SIZE 16

/* Result of eddis_step_begin, eddis_finish and eddis_checkpoint_begin in local mode if the program
 * combines gradients itself: a round has ended on all workers.  The program combines the models of
 * all groups, weighted by the groups' samples in the round, and makes the same call again.  It gets
 * this result once for each round, also for one in which its group has made no step, so all workers
 * combine equally often.
 */
#define EDDIS_ROUND_ENDED 2

/* Register a layer in set 0, in the order of the forward pass.  name is copied.  Return the layer's
 * number.
 */
int eddis_add_layer(struct eddis *e, const char *name, enum eddis_layer_kind kind,
                    struct eddis_error *err);

/* Limit of sets.  A set is a group of parameters that are combined apart from the rest, such as a
 * GAN's discriminator and its generator.  Sets are numbered from 0 without gaps; each needs a
 * parameter with a gradient.  See eddis_wait_set.
 */
#define EDDIS_MAX_SETS 64

/* Register a layer in this set, as eddis_add_layer does in set 0.  Return the layer's number. */
int eddis_add_layer_to(struct eddis *e, int set, const char *name, enum eddis_layer_kind kind,
                       struct eddis_error *err);

struct eddis_parameter {
    size_t size;                  /* sizeof (struct eddis_parameter) */
    const char *name;             /* copied */
    enum eddis_dtype dtype;       /* type of value, gradient and factors; a floating-point type */
    int n_dims;                   /* 0 to EDDIS_MAX_DIMS; 0: one element */
    int64_t dims[EDDIS_MAX_DIMS]; /* each >= 0; if one is 0 the parameter is empty and value may be
                                   * NULL */
    void *value;  /* the parameter's elements, contiguous, borrowed until eddis_close; used only in
                   * the calls listed at the top of eddis.h; see eddis_set_value */
    int factored; /* 1: dims are { m, n } and the gradient is u' v with u [k, m], v [k, n]; see
                   * eddis_announce_factors */
    void *result; /* memory of as many elements, borrowed until eddis_close and never moved.  Every
                   * step's combined gradient goes there, even if this worker announces no gradient,
                   * unless an announcement names another place.  EDDIS_IN_PLACE: read it through
                   * eddis_result; NULL: each announcement names the place */
    int state;    /* 1: the parameter has no gradient, such as the running statistics of batch
                   * normalisation.  It is broadcast with the other parameters.  In async and hybrid
                   * mode it is drawn to the centre, from its group's group_rank 0.  At the end of a
                   * round of local mode it is the mean over all ranks, weighted by samples.  It is
                   * never announced or reduced; factored and result must be 0 */
};

/* Register a parameter of a layer; *p is copied.  Return the parameter's number.
 *
 * A 16-bit gradient is rounded when it is weighted, and again each time a worker adds to it; sums
 * are made in float32.  float16 has a small range, so each of its rounds begins with a message that
 * adds up the workers' weights, and gradients are packed after it.  If 16-bit models are drawn to a
 * centre, the centre is float32, and the library keeps a float32 copy of the values.  The copy
 * follows the program's updates and is rounded to the values after an exchange, so small changes
 * are not lost.  In local mode each rank has a float32 common model of its 16-bit parameters.
 */
int eddis_add_parameter(struct eddis *e, int layer, const struct eddis_parameter *p,
                        struct eddis_error *err);

/* End registration: fix the buckets and make the gradient slots.  If an earlier job has measured
 * the network, also send a message over a link of each node to check whether that measurement is
 * still valid.  In the first run of a program, choose the mode and options that the job leaves
 * open, now that the model's size is known (-ETIMEDOUT: not within timeouts.launch; call it again).
 * Return 0 or a negative errno.  Collective: all workers must have registered the same layers and
 * parameters, with the same options and data.  Otherwise -EPROTO on all, with the first difference;
 * -EINVAL: a worker has not set its number of samples, or a set has no parameter with a gradient.
 */
int eddis_commit(struct eddis *e, struct eddis_error *err);

/* Borrow the library's own memory for this parameter's gradient, 64-byte aligned, valid until
 * eddis_close.  A program that keeps its gradients there saves one copy.  Return NULL if the
 * parameter is state.
 */
void *eddis_gradient(struct eddis *e, int parameter);

/* Borrow the block that contains all memory of eddis_gradient, *ret_bytes long, until eddis_close.
 * It is page-aligned: register it with a GPU's driver for faster copies.  A program may write to a
 * parameter's part and zeros to the gaps between parts, before it announces the parameters beside
 * the gaps.  Return NULL before eddis_commit.
 */
void *eddis_gradient_block(struct eddis *e, size_t *ret_bytes);

/* Borrow the block of the node's results, *ret_bytes long, until eddis_close; do not write to it.
 * A result that eddis_result does not find in the block of eddis_gradient is in this block, too, at
 * the offset of the parameter's part in that block.  Register it with a GPU's driver, which cannot
 * register the memory of eddis_result.  NULL: all results are in the block of eddis_gradient.
 */
void *eddis_result_block(struct eddis *e, size_t *ret_bytes);

/* A source of an announcement: the gradient is in eddis_gradient, and the program has multiplied it
 * by eddis_factor.  With the result EDDIS_IN_PLACE the library then copies nothing, unless the
 * workers' weights do not add up to the batch.
 */
#define EDDIS_WEIGHTED ((const void *)3)

/* Return the factor by which the library multiplies this worker's gradients in the set's next round
 * of this step: the worker's weight divided by the batch, or 1 in a group of one worker.  Ask for
 * it between eddis_set_weight and the round's first announcement.  The product has the bits of the
 * library's own if it is computed in the gradient's type, or for 16 bits in float32 and rounded.
 * 0: the weight is 0, and the gradient is not read.  Also 0: gradients are or travel as float16,
 * and eddis_set_weight or eddis_set_count has changed the weight; EDDIS_WEIGHTED is then refused
 * (-EINVAL).
 */
double eddis_factor(struct eddis *e, int set);

/* Wait until the combined gradients of n parameters of one set, which must have been announced, are
 * in place.  parameter [n]: their numbers.  Return as eddis_wait.
 */
int eddis_wait_parameters(struct eddis *e, int n, const int *parameter, int64_t timeout_ns,
                          struct eddis_error *err);

/* Set the address of the parameter's value, for example of a tensor that was reallocated.  From now
 * on the library uses the elements at this address and not the old memory.  No other call of the
 * handle may run at the same time.  Return 0, -EINVAL, or -EBUSY: an eddis_step_begin, _finish or
 * _checkpoint_begin ended with -ETIMEDOUT and has not been repeated successfully.
 */
int eddis_set_value(struct eddis *e, int parameter, void *value, struct eddis_error *err);

/* Copy every parameter's value from rank root to all workers.  Collective; blocks.  Return 0 or a
 * negative errno: some values may have been copied.
 */
int eddis_broadcast_parameters(struct eddis *e, int root, struct eddis_error *err);

#endif
