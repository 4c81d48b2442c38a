/* SPDX-License-Identifier: Apache-2.0 */
/* test_model.c - whole models: gradients against differences of a naive model's loss in double,
 * initialisation, and what a model refuses.
 */
#include "cmd/train/model/model.h"

#include "lib/base/random.h"
#include "naive.h"
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

static struct model *make(const struct model_spec *s, int64_t n, float **ret_gradients)
{
    struct model *m = NULL;

    ck_assert_int_eq(model_new(s, &m, NULL), 0);
    ck_assert_int_eq(model_reserve(m, n, NULL), 0);
    *ret_gradients = calloc((size_t)m->n_values, sizeof(float));
    model_set_gradients(m, *ret_gradients);
    model_init(m, 7);
    return m;
}

enum { N = 5, MAX_OUT = 1024 };

static float *sample(const struct model *m, int32_t label[N], uint64_t seed)
{
    float *x = malloc((size_t)(N * m->n_features) * sizeof *x);

    for (int64_t i = 0; i < N * m->n_features; i++)
        x[i] = (float)random_unit(&seed);
    for (int i = 0; i < N; i++)
        label[i] = (int32_t)random_below(&seed, (uint64_t)m->n_classes);
    return x;
}

/* A model's parameters and input in double. */
struct naive_model {
    const struct model *m;
    double *values, *x;
    const int32_t *label;
};

/* The output of a layer for one sample. */
static void naive_layer(const struct naive_model *k, const struct layer *l, const double *x,
                        double *y)
{
    const double *w = k->values + l->weight.offset, *b = k->values + l->bias.offset;

    if (!l->is_conv)
        naive_dense(&l->dense, y, x, w, b, 1);
    for (int64_t i = 0; l->is_conv && i < l->out; i++) {
        struct naive_pixel at = { .p = i / l->conv.c_out, .o = i % l->conv.c_out };

        y[i] = naive_conv(&l->conv, &at, x, w, b);
    }
}

static double naive_mean_loss(const struct naive_model *k)
{
    static double layer[2][MAX_OUT];
    const struct model *m = k->m;
    double loss = 0;

    for (int i = 0; i < N; i++) {
        const double *y = k->x + i * m->n_features;
        double sum = 0;

        for (int j = 0; j < m->n_layers; j++) {
            naive_layer(k, &m->layer[j], y, layer[j % 2]);
            y = layer[j % 2];
        }
        for (int j = 0; j < m->n_classes; j++)
            sum += exp(y[j]);
        loss += log(sum) - y[k->label[i]];
    }
    return loss / N;
}

/* (loss(w + h) - loss(w - h)) / 2h; the kinks of ReLU and maximum are too far for this h. */
static double difference(const struct naive_model *k, int64_t i)
{
    const double h = 1e-6, keep = k->values[i];
    double up, down;

    k->values[i] = keep + h;
    up = naive_mean_loss(k);
    k->values[i] = keep - h;
    down = naive_mean_loss(k);
    k->values[i] = keep;
    return (up - down) / (2 * h);
}

/* Compare every gradient of a small model, and a thousand of a large one. */
static void check_gradients(const struct naive_model *k, const float *g)
{
    int64_t step = 1 + k->m->n_values / SUITE_SEEDS(1000);

    for (int64_t i = 0; i < k->m->n_values; i += step) {
        double want = difference(k, i);

        ck_assert_msg(fabs((double)g[i] - want) <= 1e-7 + 1e-5 * fabs(want),
                      "value %lld: %g, not %g", (long long)i, (double)g[i], want);
    }
}

START_TEST(gradients)
{
    float *g;
    struct model *m = make(&good_rows[_i], N, &g);
    int32_t label[N];
    float *x = sample(m, label, 3);
    struct naive_model k = { .m = m, .label = label, .x = naive_copy(x, N * m->n_features) };
    uint64_t seed = 11;

    /* A neuron behind dead ones would stand exactly on its ReLU's kink with a bias of 0. */
    for (int i = 0; i < m->n_layers; i++) {
        ck_assert_int_le(m->layer[i].out, MAX_OUT);
        for (int64_t j = 0; j < m->layer[i].bias.n; j++)
            m->layer[i].bias.value[j] = (float)random_unit(&seed) - 0.4f;
    }
    k.values = naive_copy(m->values, m->n_values);
    model_begin(m, x, N);
    for (int i = 0; i < m->n_layers; i++)
        model_forward(m, i);
    ck_assert_double_eq_tol(model_loss(m, label, 1).sum / N, naive_mean_loss(&k), 1e-6);
    for (int i = m->n_layers - 1; i >= 0; i--)
        model_backward(m, i);
    check_gradients(&k, g);
    free(k.values);
    free(k.x);
    free(x);
    free(g);
    model_free(m);
}
END_TEST

START_TEST(empty_batch)
{
    float *g, nothing[1] = { 0 };
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
    float *g;
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
    ck_assert_mem_eq(a->values, b->values, (size_t)a->n_values * sizeof(float));
    model_init(b, 8);
    ck_assert_mem_ne(a->values, b->values, (size_t)a->n_values * sizeof(float));
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
    tcase_add_loop_test(tc, gradients, 0, N_GOOD);
    tcase_add_loop_test(tc, empty_batch, 0, N_GOOD);
    tcase_add_test(tc, initial_values);
    tcase_add_loop_test(tc, refused, 0, sizeof bad_rows / sizeof *bad_rows);
}

SUITE_MAIN("model", add_tests)
