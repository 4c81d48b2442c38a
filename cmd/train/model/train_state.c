/* SPDX-License-Identifier: Apache-2.0 */
/* train_state.c - writes and reads parameters and optimiser through eddis.h */
#include "train_state.h"

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HEAD: elements of `numbers` that are reserved for the number of updates; so many that the state
 * after them is aligned.
 */
enum { HEAD = 16, KEEP_AS_THE_JOB_SAYS = 0, DESCRIPTION = 1024 };

/* Return the number of elements of s->numbers, the optimiser's state with its header. */
static int64_t n_numbers(const struct train_state *s)
{
    return HEAD + optimizer_states(s->optimizer) * s->model->n_values;
}

int train_state_init(struct train_state *s, struct model *m, struct optimizer *o,
                     const struct model_input *input, struct eddis_error *err)
{
    *s = (struct train_state){ .model = m, .optimizer = o, .input = input };
    s->numbers = calloc((size_t)n_numbers(s), sizeof *s->numbers);
    return s->numbers ? 0 : eddis_fail(err, -ENOMEM, "out of memory");
}

void train_state_fini(struct train_state *s)
{
    free(s->numbers);
    s->numbers = NULL;
}

/* Borrow the optimiser's state of parameter p within s->numbers. */
static float *numbers_of(const struct train_state *s, const struct param *p)
{
    return s->numbers + HEAD + optimizer_states(s->optimizer) * p->offset;
}

/* Move one parameter to the point at which Nesterov computes the gradient. */
static void look_ahead_param(struct train_state *s, const struct param *p)
{
    optimizer_look_ahead(s->optimizer, p->value, numbers_of(s, p), p->n);
}

void train_state_look_ahead(struct train_state *s)
{
    for (int i = 0; i < s->model->n_layers; i++) {
        look_ahead_param(s, &s->model->layer[i].weight);
        look_ahead_param(s, &s->model->layer[i].bias);
    }
}

/* Update one parameter by its combined gradient; factor multiplies the learning rate. */
static void update_param(struct train_state *s, const struct param *p, double factor)
{
    optimizer_update(s->optimizer, factor, p->value, p->gradient, numbers_of(s, p), p->n);
}

void train_state_update(struct train_state *s, double factor)
{
    s->optimizer->updates++;
    for (int i = 0; i < s->model->n_layers; i++) {
        update_param(s, &s->model->layer[i].weight, factor);
        update_param(s, &s->model->layer[i].bias, factor);
    }
}

void train_state_report(const struct train_state *s, const struct eddis_step *step,
                        struct eddis_report *report)
{
    if (!(step->flags & EDDIS_STEP_SUMS))
        return;
    report->has_sums = 1;
    for (int64_t i = 0; i < s->model->n_values; i++) {
        double value = s->model->values[i];

        report->sum += value;
        report->squares += value * value;
    }
}

static const char *const optimizer_name[] = { "sgd", "adam", "nesterov" };

/* Write the description of model and optimiser, like "float32 adam 2; conv1 9x16; dense2 64x10".
 * Equal texts mean that the numbers have equal meanings.
 */
static void describe(const struct train_state *s, char text[DESCRIPTION])
{
    int at;

    memset(text, 0, DESCRIPTION);
    at = snprintf(text, DESCRIPTION, "float32 %s %d%s%s", optimizer_name[s->optimizer->kind],
                  optimizer_states(s->optimizer), s->input->factor ? ", --scale column" : "",
                  s->input->class_names ? ", labels of text" : "");
    for (int i = 0; i < s->model->n_layers && at < DESCRIPTION; i++) {
        const struct layer *l = &s->model->layer[i];

        at += snprintf(text + at, (size_t)(DESCRIPTION - at), "; %s %lldx%lld", l->name,
                       (long long)l->weight.dims[0], (long long)l->weight.dims[1]);
    }
}

/* Return the size of the model's values, in bytes. */
static size_t values_bytes(const struct train_state *s)
{
    return (size_t)s->model->n_values * sizeof(float);
}

/* Return the size of s->numbers, in bytes. */
static size_t numbers_bytes(const struct train_state *s)
{
    return (size_t)n_numbers(s) * sizeof(float);
}

/* Return the classes' names as one text, one name per line, as names have no newline; its length in
 * *ret_n.  The caller frees it.  NULL: no memory.
 */
static char *label_lines(const struct train_state *s, size_t *ret_n)
{
    struct strbuf b = { 0 };

    for (int32_t i = 0; i < s->model->n_classes; i++)
        strbuf_addf(&b, "%s\n", s->input->class_names[i]);
    *ret_n = b.len;
    return strbuf_steal(&b);
}

/* Put the features' factors ("scale") and the classes' names ("labels") into the checkpoint, if
 * there are any.  Return 0 or a negative error.
 */
static int put_input(const struct train_state *s, struct eddis_checkpoint *c,
                     struct eddis_error *err)
{
    cleanup_free char *lines = NULL;
    size_t n = 0;
    int rc = 0;

    if (s->input->factor)
        rc = eddis_checkpoint_put(c, "scale", s->input->factor,
                                  (size_t)s->model->n_features * sizeof *s->input->factor, err);
    if (rc < 0 || !s->input->class_names)
        return rc;
    lines = label_lines(s, &n);
    return lines ? eddis_checkpoint_put(c, "labels", lines, n, err)
                 : eddis_fail(err, -ENOMEM, "out of memory");
}

/* Put all files into the checkpoint, on rank 0.  Return 0 or a negative error. */
static int put(const struct train_state *s, struct eddis_checkpoint *c, struct eddis_error *err)
{
    char text[DESCRIPTION];
    int rc;

    describe(s, text);
    memcpy(s->numbers, &s->optimizer->updates, sizeof s->optimizer->updates);
    rc = eddis_checkpoint_put(c, "model", text, sizeof text, err);
    if (rc >= 0)
        rc = eddis_checkpoint_put(c, "parameters", s->model->values, values_bytes(s), err);
    if (rc >= 0)
        rc = eddis_checkpoint_put(c, "optimizer", s->numbers, numbers_bytes(s), err);
    return rc < 0 ? rc : put_input(s, c, err);
}

int train_state_save(const struct train_state *s, struct eddis *e, const char *folder, int rank,
                     struct eddis_error *err)
{
    struct eddis_checkpoint *c = NULL;
    int rc = eddis_checkpoint_begin(e, folder, &c, err);

    if (rc < 0)
        return rc;
    if (rank == 0)
        (void)put(s, c, NULL); /* the commit reports a failure to all workers */
    return eddis_checkpoint_commit(c, KEEP_AS_THE_JOB_SAYS, err);
}

/* Check that the checkpoint has the same class names as the data, so that each class keeps its
 * meaning.  Return 0, -EINVAL or -ENOMEM.
 */
static int check_labels(const struct train_state *s, struct eddis_checkpoint *c,
                        struct eddis_error *err)
{
    size_t n = 0;
    cleanup_free char *mine = label_lines(s, &n);
    cleanup_free char *text = malloc(n + 1);
    int rc;

    if (!mine || !text)
        return eddis_fail(err, -ENOMEM, "out of memory");
    rc = eddis_checkpoint_size(c, 0, "labels", err) == (int64_t)n
             ? eddis_checkpoint_get(c, "labels", text, n, err)
             : -EINVAL;
    if (rc < 0 || memcmp(mine, text, n) != 0)
        return eddis_fail(err, -EINVAL,
                          "the labels of the checkpoint differ from those of the data");
    return 0;
}

/* Check the checkpoint's labels if the data have text labels, and read its factors if the features
 * have factors.  Return 0 or a negative error.
 */
static int get_input(struct train_state *s, struct eddis_checkpoint *c, struct eddis_error *err)
{
    int rc = s->input->class_names ? check_labels(s, c, err) : 0;

    if (rc < 0 || !s->input->factor)
        return rc;
    return eddis_checkpoint_get(c, "scale", s->input->factor,
                                (size_t)s->model->n_features * sizeof *s->input->factor, err);
}

/* Check that the checkpoint is of this model and these labels, and read its parameters, optimiser
 * and factors into s.  Return 0; -EINVAL: it is of another training; or another negative error.
 */
static int get(struct train_state *s, struct eddis_checkpoint *c, struct eddis_error *err)
{
    char mine[DESCRIPTION], text[DESCRIPTION];
    int rc = eddis_checkpoint_get(c, "model", text, sizeof text, err);

    if (rc < 0)
        return rc;
    describe(s, mine);
    text[DESCRIPTION - 1] = 0;
    if (strcmp(text, mine) != 0)
        return eddis_fail(err, -EINVAL,
                          "the checkpoint is of a training '%.200s', but this training is '%.200s'",
                          text, mine);
    rc = eddis_checkpoint_get(c, "parameters", s->model->values, values_bytes(s), err);
    if (rc >= 0)
        rc = eddis_checkpoint_get(c, "optimizer", s->numbers, numbers_bytes(s), err);
    if (rc >= 0)
        rc = get_input(s, c, err);
    if (rc >= 0)
        memcpy(&s->optimizer->updates, s->numbers, sizeof s->optimizer->updates);
    return rc;
}

int train_state_restore(struct train_state *s, struct eddis *e, const char *path,
                        struct eddis_error *passed, struct eddis_error *err)
{
    struct eddis_checkpoint *c = NULL;
    int rc = eddis_restore_begin(e, path, &c, err);

    if (rc >= 0)
        *passed = *err;
    if (rc <= 0)
        return rc;
    rc = get(s, c, err);
    if (rc < 0)
        return rc;
    rc = eddis_restore_end(c, err);
    return rc < 0 ? rc : 1;
}
