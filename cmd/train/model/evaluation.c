/* SPDX-License-Identifier: Apache-2.0 */
/* evaluation.c - runs the test set through the model in chunks */
#include "evaluation.h"

#include <errno.h>
#include <stdlib.h>

enum { CHUNK = 256 }; /* most samples of one pass */

int evaluation_init(struct evaluation *e, struct model *m, struct dataset *data, int64_t first_row,
                    float scale, struct eddis_error *err)
{
    *e = (struct evaluation){ .model = m, .data = data, .first_row = first_row, .scale = scale };
    e->x = malloc(CHUNK * (size_t)m->n_features * sizeof *e->x);
    e->label = malloc(CHUNK * sizeof *e->label);
    if (!e->x || !e->label)
        return eddis_fail(err, -ENOMEM, "out of memory");
    return 0;
}

/* Evaluate n samples (at most CHUNK) of the test set from sample `first` on, and add their loss and
 * hits to *sum.  Return 0 or a negative error.
 */
static int run_chunk(struct evaluation *e, int64_t first, int64_t n, struct loss *sum,
                     struct eddis_error *err)
{
    int64_t index[CHUNK];
    struct loss l;
    int rc;

    for (int64_t i = 0; i < n; i++)
        index[i] = e->first_row + first + i;
    rc = dataset_read(e->data, index, n, e->scale, e->x, e->label, err);
    if (rc < 0)
        return rc;
    model_begin(e->model, e->x, n);
    for (int i = 0; i < e->model->n_layers; i++)
        model_forward(e->model, i);
    l = model_loss(e->model, e->label, 0);
    sum->sum += l.sum;
    sum->hits += l.hits;
    return 0;
}

/* Evaluate samples first .. end - 1 of the test set and add their loss and hits to *sum.  Chunks
 * have at most the model's capacity, if it has one: a worker limited to few samples at the same
 * time has trained with that capacity.
 */
int evaluation_run(struct evaluation *e, int64_t first, int64_t end, struct loss *sum,
                   struct eddis_error *err)
{
    int rc = e->model->capacity > 0 ? 0 : model_reserve(e->model, CHUNK, err);
    int64_t n = e->model->capacity < CHUNK ? e->model->capacity : CHUNK;

    for (int64_t i = first; i < end && rc == 0; i += n)
        rc = run_chunk(e, i, end - i < n ? end - i : n, sum, err);
    return rc;
}

void evaluation_fini(struct evaluation *e)
{
    free(e->x);
    free(e->label);
    *e = (struct evaluation){ 0 };
}
