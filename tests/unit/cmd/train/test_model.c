/* SPDX-License-Identifier: Apache-2.0 */
/* test_model.c - whole models: every gradient against differences of the loss (in double),
 * initialisation, and what a model refuses.
 */
#include "cmd/train/model/model.h"

#include "lib/base/random.h"
#include "suite.h"

#include <errno.h>
#include <string.h>

static const struct model_spec good_rows[] = {
    { .name = "softmax", .height = 3, .width = 2, .channels = 1, .n_classes = 4 },
    { .name = "mlp", .height = 5, .width = 1, .channels = 1, .n_classes = 3 },
    { .name = "mlp",
      .height = 5,
      .width = 1,
      .channels = 1,
      .n_classes = 3,
      .n_widths = 3,
      .widths = { 7, 1, 6 } },
    { .name = "cnn", .height = 8, .width = 8, .channels = 1, .n_classes = 10 },
    { .name = "cnn",
      .height = 7,
      .width = 5,
      .channels = 3,
      .n_classes = 4,
      .n_widths = 3,
      .widths = { 3, 5, 6 } },
    { .name = "cnn",
      .height = 1,
      .width = 6,
      .channels = 2,
      .n_classes = 2,
      .n_widths = 3,
      .widths = { 8, 2, 3 } },
};
enum { N_GOOD = sizeof good_rows / sizeof *good_rows };

static struct model *make(const struct model_spec *s, int64_t n, real **ret_gradients)
{
    struct model *m = NULL;

    ck_assert_int_eq(model_new(s, &m, NULL), 0);
    ck_assert_int_eq(model_reserve(m, n, NULL), 0);
    *ret_gradients = calloc((size_t)m->n_values, sizeof(real));
    model_set_gradients(m, *ret_gradients);
    model_init(m, 7);
    return m;
}

#ifdef EDDIS_TRAIN_FLOAT64
static double mean_loss(struct model *m, const int32_t *label, int backward)
{
    for (int i = 0; i < m->n_layers; i++)
        model_forward(m, i);
    return model_loss(m, label, backward).sum / (double)m->n;
}

enum { N = 5 };

static real *sample(const struct model *m, int32_t label[N], uint64_t seed)
{
    real *x = malloc((size_t)(N * m->n_features) * sizeof *x);

    for (int64_t i = 0; i < N * m->n_features; i++)
        x[i] = (real)random_unit(&seed);
    for (int i = 0; i < N; i++)
        label[i] = (int32_t)random_below(&seed, (uint64_t)m->n_classes);
    return x;
}

/* (loss(w + h) - loss(w - h)) / 2h; the kinks of ReLU and maximum are too far for this h. */
static double difference(struct model *m, const int32_t *label, real *w)
{
    const double h = 1e-6;
    double keep = *w, up, down;

    *w = keep + h;
    up = mean_loss(m, label, 0);
    *w = keep - h;
    down = mean_loss(m, label, 0);
    *w = keep;
    return (up - down) / (2 * h);
}

START_TEST(gradients)
{
    real *g;
    struct model *m = make(&good_rows[_i], N, &g);
    int32_t label[N];
    real *x = sample(m, label, 3);
    uint64_t seed = 11;

    /* A neuron behind dead ones would stand exactly on its ReLU's kink with a bias of 0. */
    for (int i = 0; i < m->n_layers; i++)
        for (int64_t j = 0; j < m->layer[i].bias.n; j++)
            m->layer[i].bias.value[j] = random_unit(&seed) - 0.4;
    model_begin(m, x, N);
    (void)mean_loss(m, label, 1);
    for (int i = m->n_layers - 1; i >= 0; i--)
        model_backward(m, i);
    for (int64_t i = 0; i < m->n_values; i++) {
        double want = difference(m, label, &m->values[i]);

        ck_assert_msg(fabs(g[i] - want) <= 1e-7 + 1e-5 * fabs(want), "value %lld: %g, not %g",
                      (long long)i, g[i], want);
    }
    free(x);
    free(g);
    model_free(m);
}
END_TEST
#endif

START_TEST(empty_batch)
{
    real *g, nothing[1] = { 0 };
    struct model *m = make(&good_rows[_i], 2, &g);

    for (int64_t i = 0; i < m->n_values; i++)
        g[i] = 1;
    model_begin(m, nothing, 0);
    for (int i = 0; i < m->n_layers; i++)
        model_forward(m, i);
    ck_assert(model_loss(m, NULL, 1).sum == 0);
    for (int i = m->n_layers - 1; i >= 0; i--) {
        model_backward(m, i);
        for (int64_t j = 0; j < m->layer[i].weight.n; j++)
            ck_assert(m->layer[i].weight.gradient[j] == 0);
        for (int64_t j = 0; j < m->layer[i].bias.n; j++)
            ck_assert(m->layer[i].bias.gradient[j] == 0);
    }
    free(g);
    model_free(m);
}
END_TEST

START_TEST(initial_values)
{
    struct model_spec s = { .name = "mlp",
                            .height = 100,
                            .width = 1,
                            .channels = 1,
                            .n_classes = 2,
                            .n_widths = 1,
                            .widths = { 200 } };
    real *g;
    struct model *a = make(&s, 1, &g), *b = NULL;
    double sum = 0, squares = 0;

    for (int64_t i = 0; i < a->layer[0].weight.n; i++) {
        sum += (double)a->layer[0].weight.value[i];
        squares += (double)(a->layer[0].weight.value[i] * a->layer[0].weight.value[i]);
    }
    ck_assert_double_eq_tol(sum / 20000, 0, 0.005);
    ck_assert_double_eq_tol(squares / 20000, 2.0 / 100, 0.001);
    ck_assert_int_eq(model_new(&s, &b, NULL), 0);
    model_init(b, 7);
    ck_assert_mem_eq(a->values, b->values, (size_t)a->n_values * sizeof(real));
    model_init(b, 8);
    ck_assert_mem_ne(a->values, b->values, (size_t)a->n_values * sizeof(real));
    free(g);
    model_free(a);
    model_free(b);
}
END_TEST

static const struct {
    struct model_spec s;
    const char *sentence;
} bad_rows[] = {
    { { .name = "rnn", .height = 1, .width = 1, .channels = 1, .n_classes = 2 }, "no model 'rnn'" },
    { { .name = "mlp", .height = 0, .width = 1, .channels = 1, .n_classes = 2 }, "shape" },
    { { .name = "mlp", .height = 1, .width = 1, .channels = 1, .n_classes = 1 }, "classes" },
    { { .name = "cnn",
        .height = 8,
        .width = 8,
        .channels = 1,
        .n_classes = 2,
        .n_widths = 2,
        .widths = { 1, 2 } },
      "takes 3 to 3" },
    { { .name = "softmax",
        .height = 8,
        .width = 8,
        .channels = 1,
        .n_classes = 2,
        .n_widths = 1,
        .widths = { 1 } },
      "takes 0 to 0" },
    { { .name = "mlp",
        .height = 8,
        .width = 8,
        .channels = 1,
        .n_classes = 2,
        .n_widths = 1,
        .widths = { -4 } },
      "width 1 is -4" },
};

START_TEST(refused)
{
    struct model *m = NULL;
    struct eddis_error err = { 0 };

    ck_assert_int_eq(model_new(&bad_rows[_i].s, &m, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, bad_rows[_i].sentence));
    ck_assert_ptr_null(m);
}
END_TEST

static void add_tests(TCase *tc)
{
#ifdef EDDIS_TRAIN_FLOAT64
    tcase_add_loop_test(tc, gradients, 0, N_GOOD);
#endif
    tcase_add_loop_test(tc, empty_batch, 0, N_GOOD);
    tcase_add_test(tc, initial_values);
    tcase_add_loop_test(tc, refused, 0, sizeof bad_rows / sizeof *bad_rows);
}

SUITE_MAIN("model", add_tests)
