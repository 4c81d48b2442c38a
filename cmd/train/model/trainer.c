/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - the training loop */
#include "trainer.h"

#include "cmd/train/data/prefetch.h"
#include "evaluation.h"
#include "lib/base/clock.h"
#include "model_file.h"
#include "pace.h"
#include "train_state.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* slice_ns: one wait for gradients; patience_ns: longest wait for the other workers. */
static const int64_t slice_ns = CLOCK_S, patience_ns = 600 * CLOCK_S;

/* The state of one run. */
struct run {
    const struct trainer *t;
    struct eddis *e;
    struct eddis_world world;
    struct optimizer optimizer;
    struct model *model;
    int layer_id[MODEL_MAX_LAYERS]; /* the layers' numbers in the library */
    struct train_state state;
    struct pace pace;

    struct prefetch *prefetch;
    /* The step that prefetch reads (-1: none), and the first of that step's samples that it reads.
     */
    int64_t ahead, ahead_from;
    int64_t *index;
    int64_t index_cap;
    /* [n_values of the model] sum of gradients over a step's micro-batches so far; NULL: not
     * allocated yet
     */
    float *sum;
    struct evaluation test;

    double loss_sum;    /* sum of the losses of this worker's samples in the epoch so far */
    int64_t loss_count; /* number of these samples */
    int64_t epoch_ns;   /* time spent in the epoch's steps */

    bool several;           /* several models, combined only at the end: async and hybrid mode */
    struct eddis_step last; /* the latest step that was done */
    bool unsaved;           /* the latest checkpoint could not be written */
};

/* Format a sentence for the user and pass it to the trainer's on_note, on rank 0 only. */
static void note(const struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(const struct run *r, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    if (r->world.rank != 0 || !r->t->on_note)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    r->t->on_note(r->t->arg, text);
}

/* ---- setting up ---------------------------------------------------------------------------- */

/* Register parameter p of a layer with the library.  Return its id or a negative error. */
static int add_parameter(struct run *r, int layer, struct param *p, struct eddis_error *err)
{
    struct eddis_parameter q = { .size = sizeof q,
                                 .name = p->name,
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = p->n_dims,
                                 .dims = { p->dims[0], p->dims[1] },
                                 .value = p->value };

    return eddis_add_parameter(r->e, layer, &q, err);
}

/* Register all layers and parameters with the library, and point the model's gradients to the
 * library's memory.  Collective.  Return 0 or a negative error.
 */
static int register_model(struct run *r, struct eddis_error *err)
{
    struct model *m = r->model;
    int id[MODEL_MAX_LAYERS][2], rc;

    for (int i = 0; i < m->n_layers; i++) {
        struct layer *l = &m->layer[i];

        rc = eddis_add_layer(r->e, l->name,
                             l->is_conv ? EDDIS_LAYER_CONVOLUTION : EDDIS_LAYER_DENSE, err);
        if (rc < 0)
            return rc;
        r->layer_id[i] = rc;
        id[i][0] = add_parameter(r, rc, &l->weight, err);
        id[i][1] = id[i][0] < 0 ? id[i][0] : add_parameter(r, rc, &l->bias, err);
        if (id[i][1] < 0)
            return id[i][1];
    }
    rc = eddis_commit(r->e, err);
    for (int i = 0; rc >= 0 && i < m->n_layers; i++) {
        m->layer[i].weight.gradient = eddis_gradient(r->e, id[i][0]);
        m->layer[i].bias.gradient = eddis_gradient(r->e, id[i][1]);
    }
    return rc < 0 ? rc : 0;
}

/* Load the checkpoint to begin with, if there is one, and report damaged ones that were skipped.
 * Collective.  Return 0, also if there is none, or a negative error.
 */
static int restore(struct run *r, struct eddis_error *err)
{
    struct eddis_error passed = { 0 }, own = { 0 };
    int rc = train_state_restore(&r->state, r->e, r->t->resume, &passed, &own);

    if (rc < 0)
        return eddis_fail(err, rc, "%s", own.text);
    if (passed.text[0])
        note(r, "%s: %s", passed.text,
             rc > 0 ? "resuming from an older checkpoint"
                    : "there is no older one, starting from the beginning");
    return 0;
}

/* If the job sets a momentum (sync.momentum), use it with Nesterov instead of the trainer's own.
 * Return 0; -EINVAL: the optimiser is adam.
 */
static int take_momentum(struct run *r, struct eddis_error *err)
{
    if (!(r->world.momentum > 0))
        return 0;
    if (r->optimizer.kind == OPTIMIZER_ADAM)
        return eddis_fail(err, -EINVAL, "the job's sync.momentum is for --optimizer sgd, not adam");
    r->optimizer.kind = OPTIMIZER_NESTEROV;
    r->optimizer.momentum = r->world.momentum;
    return 0;
}

/* Read the job's settings that may change until eddis_commit, the mode and the momentum, into r.
 * Return 0 or -EINVAL.
 */
static int take_mode(struct run *r, struct eddis_error *err)
{
    if (eddis_world(r->e, &r->world) < 0)
        return eddis_fail(err, -EINVAL, "cannot read the job's mode");
    r->several = r->world.flags & EDDIS_WORLD_SEVERAL;
    return take_momentum(r, err);
}

/* Build the model, register it with the library, load the initial parameters or a checkpoint, and
 * start the thread that reads data.  Collective.  Return 0 or a negative error; tear_down is needed
 * in any case.
 */
static int set_up(struct run *r, struct eddis_error *err)
{
    const struct trainer *t = r->t;
    int rc = eddis_world(r->e, &r->world);

    if (rc < 0)
        return eddis_fail(err, rc, "cannot read the number of workers");
    rc = model_new(&t->model, &r->model, err);
    if (rc == 0)
        rc = evaluation_init(&r->test, r->model, t->data.test, t->data.first_test,
                             t->data.input.scale, err);
    if (rc == 0)
        rc = register_model(r, err);
    if (rc == 0)
        rc = take_mode(r, err);
    if (rc == 0)
        rc = train_state_init(&r->state, r->model, &r->optimizer, &t->data.input, err);
    if (rc < 0)
        return rc;
    model_init(r->model, r->world.seed);
    if (t->start)
        model_copy(r->model, t->start);
    if (r->world.emulated)
        r->pace.n_layers = r->model->n_layers;
    rc = eddis_broadcast_parameters(r->e, 0, err);
    if (rc >= 0)
        rc = restore(r, err);
    return rc < 0 ? rc : prefetch_new(t->data.train, t->data.input.scale, &r->prefetch, err);
}

/* Free everything that set_up has made, also after it failed. */
static void tear_down(struct run *r)
{
    prefetch_free(r->prefetch);
    train_state_fini(&r->state);
    model_free(r->model);
    free(r->index);
    free(r->sum);
    evaluation_fini(&r->test);
}

/* ---- input --------------------------------------------------------------------------------- */

/* Return the number of samples of the micro-batch that begins at the step's sample `from`. */
static int64_t piece_count(const struct eddis_step *s, int64_t from)
{
    return s->count - from < s->piece ? s->count - from : s->piece;
}

/* Let the prefetch thread read the micro-batch that begins at sample `from` of step s, and record
 * that in r->ahead.  Return 0 without waiting, or a negative error.
 */
static int start_reading(struct run *r, const struct eddis_step *s, int64_t from,
                         struct eddis_error *err)
{
    struct eddis_step piece = *s;
    int rc;

    piece.first += from;
    piece.count = piece_count(s, from);
    if (piece.count > r->index_cap) {
        int64_t *grown = realloc(r->index, (size_t)piece.count * sizeof *grown);

        if (!grown)
            return eddis_fail(err, -ENOMEM, "out of memory");
        r->index = grown;
        r->index_cap = piece.count;
    }
    rc = eddis_sample_indices(r->e, &piece, r->index, err);
    if (rc >= 0)
        rc = prefetch_start(r->prefetch, r->index, piece.count, err);
    if (rc >= 0) {
        r->ahead = s->step;
        r->ahead_from = from;
    }
    return rc < 0 ? rc : 0;
}

/* Let the prefetch thread read the micro-batch after the one that begins at sample `from` of step
 * s: of the same step, or the first of the next step.  Return 0, also if there is none, or a
 * negative error.  May block until the next step is planned.
 */
static int read_on(struct run *r, const struct eddis_step *s, int64_t from, struct eddis_error *err)
{
    struct eddis_step next = { .size = sizeof next };
    int rc;

    if (from + s->piece < s->count)
        return start_reading(r, s, from + s->piece, err);
    rc = s->flags & EDDIS_STEP_STOP ? 0
                                    : eddis_plan_step(r->e, s->step + 1, EDDIS_FOREVER, &next, err);
    return rc > 0 ? start_reading(r, &next, 0, err) : rc;
}

/* Block until the micro-batch that begins at sample `from` of step s is read, store it in *ret
 * (borrowed), and let the prefetch thread read the next one.  Return 0 or a negative error.
 */
static int get_piece(struct run *r, const struct eddis_step *s, int64_t from,
                     struct prefetch_batch *ret, struct eddis_error *err)
{
    int rc = 0;

    eddis_set_phase(r->e, EDDIS_PHASE_INPUT);
    if (r->ahead >= 0 && (r->ahead != s->step || r->ahead_from != from)) {
        r->ahead = -1; /* the library went on with another step: drop what was read */
        rc = prefetch_wait(r->prefetch, ret, err);
    }
    if (rc == 0 && r->ahead < 0)
        rc = start_reading(r, s, from, err);
    if (rc == 0)
        rc = prefetch_wait(r->prefetch, ret, err);
    if (rc < 0)
        return rc;
    r->ahead = -1;
    if (ret->n != piece_count(s, from))
        return eddis_fail(err, -EPROTO, "step %lld should have %lld samples, but has %lld",
                          (long long)s->step, (long long)piece_count(s, from), (long long)ret->n);
    rc = read_on(r, s, from, err);
    eddis_set_phase(r->e, EDDIS_PHASE_COMPUTE);
    return rc < 0 ? rc : 0;
}

/* ---- a step -------------------------------------------------------------------------------- */

/* Run the forward pass on a micro-batch and store its loss, the sum over its samples, in *ret_loss.
 * Return 0; -EDOM: the loss is not finite; or another negative error.
 */
static int forward(struct run *r, const struct prefetch_batch *b, double *ret_loss,
                   struct eddis_error *err)
{
    struct model *m = r->model;
    int rc = model_reserve(m, b->n, err);

    if (rc < 0)
        return rc;
    model_begin(m, b->x, b->n);
    for (int i = 0; i < m->n_layers; i++) {
        model_forward(m, i);
        pace_forward(&r->pace, i);
    }
    *ret_loss = model_loss(m, b->label, 1).sum;
    if (!isfinite(*ret_loss))
        return eddis_fail(err, -EDOM, "the loss is no longer a finite number; try a smaller --lr");
    return 0;
}

/* Add the parameter's gradient of a micro-batch to its sum in r->sum, weighted by `part`, the
 * micro-batch's share of the step's samples.  last: it is the step's last one: copy the sum to the
 * gradient, and clear it.
 */
static void add_up(struct run *r, struct param *p, double part, bool last)
{
    float *sum = r->sum + p->offset;

    for (int64_t i = 0; i < p->n; i++)
        sum[i] += (float)part * p->gradient[i];
    if (!last)
        return;
    memcpy(p->gradient, sum, (size_t)p->n * sizeof *sum);
    memset(sum, 0, (size_t)p->n * sizeof *sum);
}

/* Run the backward pass on a micro-batch, which has the share `part` of the step's samples.  last:
 * it is the step's last one: announce each layer's gradients to the library as they are ready.
 * Return 0 or a negative error.
 */
static int backward(struct run *r, double part, bool last, struct eddis_error *err)
{
    struct model *m = r->model;
    int rc = 0;

    for (int i = m->n_layers - 1; i >= 0 && rc >= 0; i--) {
        model_backward(m, i);
        if (part < 1) {
            add_up(r, &m->layer[i].weight, part, last);
            add_up(r, &m->layer[i].bias, part, last);
        }
        pace_backward(&r->pace, i);
        if (last)
            rc = eddis_announce_layer(r->e, r->layer_id[i], err);
    }
    return rc < 0 ? rc : 0;
}

/* Allocate r->sum, the sum of gradients, if it is not there yet.  Return 0 or -ENOMEM. */
static int make_sum(struct run *r, struct eddis_error *err)
{
    if (!r->sum)
        r->sum = calloc((size_t)r->model->n_values, sizeof *r->sum);
    return r->sum ? 0 : eddis_fail(err, -ENOMEM, "out of memory");
}

/* Run forward and backward passes over the step's samples, one micro-batch after another.  *first:
 * the first one, already read; its read_ns becomes the sum of all.  Store the sum of the samples'
 * losses in *ret_loss, which is 0 before.  Return 0 or a negative error.
 */
static int compute(struct run *r, const struct eddis_step *s, struct prefetch_batch *first,
                   double *ret_loss, struct eddis_error *err)
{
    struct prefetch_batch b = *first;
    int64_t from = 0;
    int rc = b.n < s->count ? make_sum(r, err) : 0;

    while (rc == 0) {
        double loss = 0;

        pace_piece(&r->pace, from, b.n, s->count);
        rc = forward(r, &b, &loss, err);
        *ret_loss += loss;
        if (rc == 0)
            rc = backward(r, (double)b.n / (double)s->count, from + b.n == s->count, err);
        from += b.n;
        if (rc < 0 || from == s->count)
            return rc;
        rc = get_piece(r, s, from, &b, err);
        first->read_ns += rc < 0 ? 0 : b.read_ns;
    }
    return rc;
}

/* Announce all layers in a step in which this worker has no samples, so that the other workers'
 * gradients arrive.  Return 0 or a negative error.
 */
static int compute_nothing(struct run *r, struct eddis_error *err)
{
    int rc = 0;

    pace_backward(&r->pace, 0);
    for (int i = r->model->n_layers - 1; rc >= 0 && i >= 0; i--)
        rc = eddis_announce_layer(r->e, r->layer_id[i], err);
    return rc;
}

/* Block until the combined gradients are there, in short waits, so that a signal is handled soon.
 * Return 0; -ETIMEDOUT after patience_ns; or another negative error.
 */
static int wait_gradients(struct run *r, struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), patience_ns);
    int rc;

    do
        rc = eddis_wait(r->e, slice_ns, err);
    while (rc == -ETIMEDOUT && clock_now_ns() < deadline);
    return rc;
}

/* Do step s: compute, wait for the combined gradients, update the parameters, and report the step
 * to the library.  Collective.  Return 0 or a negative error.
 */
static int one_step(struct run *r, const struct eddis_step *s, struct eddis_error *err)
{
    struct eddis_report report = { .size = sizeof report, .has_loss = s->count > 0 };
    struct prefetch_batch batch;
    int64_t begun = clock_now_ns(), updating;
    double loss = 0;
    int rc = get_piece(r, s, 0, &batch, err);

    if (rc < 0)
        return rc;
    pace_begin(&r->pace, begun, clock_of_seconds(s->emulated_s));
    if (r->t->weigh_equally)
        rc = eddis_set_weight(r->e, s->count > 0, err);
    if (rc < 0)
        return rc;
    if (s->batch)
        train_state_look_ahead(&r->state);
    rc = s->count > 0 ? compute(r, s, &batch, &loss, err) : compute_nothing(r, err);
    report.overrun_ns = pace_overrun_ns(&r->pace);
    report.read_ns = batch.read_ns;
    if (rc >= 0)
        rc = wait_gradients(r, err);
    if (rc < 0)
        return rc;
    updating = clock_now_ns();
    if (s->batch)
        train_state_update(&r->state, s->lr_factor);
    train_state_report(&r->state, s, &report);
    pace_credit(&r->pace, clock_now_ns() - updating);
    report.loss = s->count > 0 ? loss / (double)s->count : 0;
    r->loss_sum += loss;
    r->loss_count += s->count;
    rc = eddis_step_end(r->e, &report, err);
    r->epoch_ns += clock_now_ns() - begun;
    return rc;
}

/* ---- the test after an epoch --------------------------------------------------------------- */

/* Test this worker's share of the test set and add its loss and hits to *ret.  Return 0 or a
 * negative error.
 */
static int test_share(struct run *r, struct loss *ret, struct eddis_error *err)
{
    int64_t n = r->t->data.n_test;
    int64_t first = n * r->world.rank / r->world.n_ranks;
    int64_t end = n * (r->world.rank + 1) / r->world.n_ranks;

    eddis_set_phase(r->e, EDDIS_PHASE_EVALUATE);
    return evaluation_run(&r->test, first, end, ret, err);
}

/* Report the epoch's results: test metrics to the library, and on rank 0 all to the trainer's
 * on_epoch.  Return 0 or a negative error.
 */
static int publish(struct run *r, const struct trainer_epoch *epoch, struct eddis_error *err)
{
    int rc = 0;

    if (epoch->tested)
        rc = eddis_set_metric(r->e, "test_accuracy", epoch->accuracy, err);
    if (rc >= 0 && epoch->tested)
        rc = eddis_set_metric(r->e, "test_loss", epoch->test_loss, err);
    if (rc >= 0 && r->world.rank == 0 && r->t->on_epoch)
        r->t->on_epoch(r->t->arg, epoch);
    return rc < 0 ? rc : 0;
}

/* Check whether a test is due after this step's epoch, by eval_every. */
static bool test_is_due(const struct run *r, const struct eddis_step *s)
{
    return r->t->eval_every > 0 && (s->epoch + 1) % r->t->eval_every == 0;
}

/* Sum the epoch's losses of all workers and, if a test is due or no later epoch follows, test and
 * sum the results.  Report the sums, and reset this worker's.  Collective.  Return 0 or a negative
 * error.
 */
static int end_epoch(struct run *r, const struct eddis_step *s, struct eddis_error *err)
{
    const struct trainer *t = r->t;
    bool last = s->epoch + 1 == t->epochs || s->flags & EDDIS_STEP_STOP;
    bool due = test_is_due(r, s);
    struct trainer_epoch epoch = { .epoch = s->epoch + 1,
                                   .tested = t->data.n_test && (last || due) };
    struct loss test = { 0 };
    double sums[5] = { r->loss_sum, (double)r->loss_count };
    int rc = epoch.tested ? test_share(r, &test, err) : 0;

    if (rc < 0)
        return rc;
    sums[2] = test.sum;
    sums[3] = (double)test.hits;
    /* samples/s of each worker by its own clock, as with several models it does not know the
     * others' times
     */
    if (r->epoch_ns > 0)
        sums[4] = 1e9 * (double)r->loss_count / (double)r->epoch_ns;
    rc = eddis_allreduce(r->e, sums, 5, EDDIS_FLOAT64, EDDIS_SUM, patience_ns, err);
    if (rc < 0)
        return rc;
    epoch.loss = sums[1] > 0 ? sums[0] / sums[1] : 0;
    if (epoch.tested) {
        epoch.test_loss = sums[2] / (double)t->data.n_test;
        epoch.accuracy = sums[3] / (double)t->data.n_test;
    }
    epoch.samples_per_s = sums[4];
    r->loss_sum = 0;
    r->loss_count = r->epoch_ns = 0;
    return publish(r, &epoch, err);
}

/* Test the whole test set with this worker's own model, and store the results in *epoch.  Return 0
 * or a negative error.
 */
static int test_own(struct run *r, struct trainer_epoch *epoch, struct eddis_error *err)
{
    int64_t n = r->t->data.n_test;
    struct loss test = { 0 };
    int rc;

    eddis_set_phase(r->e, EDDIS_PHASE_EVALUATE);
    rc = evaluation_run(&r->test, 0, n, &test, err);
    epoch->tested = rc == 0;
    epoch->test_loss = test.sum / (double)n;
    epoch->accuracy = (double)test.hits / (double)n;
    return rc;
}

/* Report an epoch in a mode with several models: this worker's mean loss, and on rank 0 a test of
 * its own model if one is due, since the other workers are at other steps.  Reset this worker's
 * sums.  Return 0 or a negative error.
 */
static int own_epoch(struct run *r, const struct eddis_step *s, struct eddis_error *err)
{
    struct trainer_epoch epoch = { .epoch = s->epoch + 1 };
    bool tests = r->world.rank == 0 && r->t->data.n_test && test_is_due(r, s);
    int rc = tests ? test_own(r, &epoch, err) : 0;

    if (rc < 0)
        return rc;
    if (r->loss_count)
        epoch.loss = r->loss_sum / (double)r->loss_count;
    r->loss_sum = 0;
    r->loss_count = r->epoch_ns = 0;
    return publish(r, &epoch, err);
}

/* ---- the run ------------------------------------------------------------------------------- */

/* Check whether rc, a failure to write a checkpoint, must end the run: no later checkpoint follows
 * (last), or the workers can no longer communicate or were replaced.
 */
static bool is_fatal(int rc, bool last)
{
    return last || rc == -ESTALE || rc == -ETIMEDOUT || rc == -ECONNABORTED;
}

/* Write a checkpoint after step s to `folder`; NULL: the job's folder.  last: no later checkpoint
 * replaces it.  Collective.  Return 0, also if it failed and training may continue: then report
 * that, once until a checkpoint is written again.  Return a negative error if the failure must end
 * the run.
 */
static int save(struct run *r, const struct eddis_step *s, const char *folder, bool last,
                struct eddis_error *err)
{
    struct eddis_error own = { 0 };
    long long step = (long long)s->step + 1;
    int rc = train_state_save(&r->state, r->e, folder, r->world.rank, &own);

    if (rc < 0 && is_fatal(rc, last))
        return eddis_fail(err, rc, "the checkpoint of step %lld was not written: %s", step,
                          own.text);
    if (rc < 0 && !r->unsaved)
        note(r, "no checkpoint of step %lld was written, training continues: %s", step, own.text);
    else if (rc >= 0 && r->unsaved)
        note(r, "checkpoints are written again from step %lld on", step);
    r->unsaved = rc < 0;
    return 0;
}

/* After step s, report the epoch if it is finished or the job stops, and write the checkpoints that
 * are due.  Return 0 or a negative error.
 */
static int after_step(struct run *r, const struct eddis_step *s, struct eddis_error *err)
{
    bool stop = s->flags & EDDIS_STEP_STOP;
    bool end_of_epoch = stop || s->flags & EDDIS_STEP_END_OF_EPOCH;
    int rc = 0;

    if (end_of_epoch && !r->several)
        rc = end_epoch(r, s, err);
    else if (end_of_epoch && s->epoch + 1 < r->t->epochs && !stop)
        rc = own_epoch(r, s, err);
    if (rc < 0)
        return rc;
    if (s->flags & EDDIS_STEP_CHECKPOINT)
        rc = save(r, s, NULL, stop, err);
    if (rc >= 0 && end_of_epoch && r->t->checkpoint_folder && !r->several)
        rc = save(r, s, r->t->checkpoint_folder, stop || s->epoch + 1 == r->t->epochs, err);
    return rc;
}

/* Do all steps of the job, until its epochs are over or it is asked to stop.  Collective.  Return 0
 * or a negative error.
 */
static int all_steps(struct run *r, struct eddis_error *err)
{
    struct eddis_step s = { .size = sizeof s };
    int rc;

    while ((rc = eddis_step_begin(r->e, &s, err)) > 0) {
        rc = one_step(r, &s, err);
        if (rc >= 0)
            rc = after_step(r, &s, err);
        if (rc < 0)
            break;
        r->last = s;
    }
    return rc < 0 ? rc : 0;
}

/* Finish a run with several models, after which all workers have the centre as their model: test
 * it, report the last epoch and write the last checkpoint.  Collective.  Return 0 or a negative
 * error.
 */
static int all_met(struct run *r, struct eddis_error *err)
{
    int rc;

    r->last.epoch = r->t->epochs ? r->t->epochs - 1 : r->last.epoch;
    rc = end_epoch(r, &r->last, err);
    if (rc < 0 || !r->t->checkpoint_folder)
        return rc;
    return save(r, &r->last, r->t->checkpoint_folder, true, err);
}

/* Write the final parameters to the trainer's `save` file, on rank 0 only.  Return 0, also if no
 * file is wanted, or a negative error.
 */
static int save_parameters(const struct run *r, struct eddis_error *err)
{
    if (!r->t->save || r->world.rank != 0)
        return 0;
    return model_file_write(r->t->save, &r->t->model, r->model, &r->t->data.input, err);
}

int trainer_run(const struct trainer *t, struct eddis *e, struct eddis_error *err)
{
    struct run r = {
        .t = t, .e = e, .optimizer = t->optimizer, .ahead = -1, .world = { .size = sizeof r.world }
    };
    int rc = set_up(&r, err);

    if (rc >= 0)
        rc = all_steps(&r, err);
    if (rc >= 0 && r.several)
        rc = all_met(&r, err);
    if (rc >= 0)
        rc = save_parameters(&r, err);
    /* The library borrows the parameters until it is closed. */
    if (rc >= 0)
        rc = eddis_close(e, err);
    tear_down(&r);
    return rc < 0 ? rc : 0;
}
