/* SPDX-License-Identifier: Apache-2.0 */
/* test_layers.c - the fast layers against naive ones in double, for random shapes */
#include "cmd/train/model/conv.h"
#include "cmd/train/model/dense.h"
#include "cmd/train/model/loss.h"
#include "cmd/train/model/matmul.h"
#include "lib/base/random.h"
#include "naive.h"
#include "suite.h"

#include <string.h>

static const double tolerance = 2e-5;

static float *numbers(int64_t n, uint64_t *seed)
{
    float *x = malloc((size_t)(n + 1) * sizeof *x);

    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(2 * random_unit(seed) - 1);
    return x;
}

static double *zeros(int64_t n)
{
    return calloc((size_t)n + 1, sizeof(double));
}

static void check_close(const float *got, const double *want, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)got[i] - want[i]) <= tolerance, "%s[%lld]: %g, not %g", what,
                      (long long)i, (double)got[i], want[i]);
}

static int64_t side(uint64_t *seed, int64_t max)
{
    return 1 + (int64_t)random_below(seed, (uint64_t)max);
}

/* A layer's arrays, the gradients it computes, and what the naive one makes of the same numbers. */
struct layer_case {
    int64_t n, in, out, n_w, n_b; /* samples, and lengths */
    float *x, *w, *b, *y, *dy, *dx, *dw, *db;
    double *naive_x, *naive_w, *naive_b, *naive_y, *naive_dy;
    struct naive_gradients want;
};

static void layer_case_init(struct layer_case *k, uint64_t *seed)
{
    k->x = numbers(k->n * k->in, seed);
    k->w = numbers(k->n_w, seed);
    k->b = numbers(k->n_b, seed);
    k->y = numbers(k->n * k->out, seed);
    k->dy = numbers(k->n * k->out, seed);
    k->dx = numbers(k->n * k->in, seed);
    k->dw = numbers(k->n_w, seed);
    k->db = numbers(k->n_b, seed);
    k->naive_x = naive_copy(k->x, k->n * k->in);
    k->naive_w = naive_copy(k->w, k->n_w);
    k->naive_b = naive_copy(k->b, k->n_b);
    k->naive_y = zeros(k->n * k->out);
    k->naive_dy = naive_copy(k->dy, k->n * k->out);
    k->want = (struct naive_gradients){ zeros(k->n * k->in), zeros(k->n_w), zeros(k->n_b) };
}

/* Compare the gradients, and free all. */
static void layer_case_end(struct layer_case *k)
{
    void *all[] = { k->x,        k->w,       k->b,       k->y,       k->dy,      k->dx,
                    k->dw,       k->db,      k->naive_x, k->naive_w, k->naive_b, k->naive_y,
                    k->naive_dy, k->want.dx, k->want.dw, k->want.db };

    check_close(k->y, k->naive_y, k->n * k->out, "y");
    check_close(k->dx, k->want.dx, k->n * k->in, "dx");
    check_close(k->dw, k->want.dw, k->n_w, "dw");
    check_close(k->db, k->want.db, k->n_b, "db");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* ---- dense --------------------------------------------------------------------------------- */

static const int64_t batch_rows[] = { 0, 1, 2, 3, 7, 16, 33, 64 };
enum { N_BATCHES = sizeof batch_rows / sizeof *batch_rows };

START_TEST(dense_layer)
{
    uint64_t seed = (uint64_t)_i;
    struct dense d = { .in = side(&seed, 70), .out = side(&seed, 40), .relu = _i & 1 };
    struct layer_case k = {
        .n = batch_rows[_i % N_BATCHES], .in = d.in, .out = d.out, .n_w = d.in * d.out, .n_b = d.out
    };

    layer_case_init(&k, &seed);
    dense_forward(&d, k.y, k.x, k.w, k.b, k.n);
    dense_backward(&d, k.dx, k.dw, k.db, k.dy, k.y, k.x, k.w, k.n);
    naive_dense(&d, k.naive_y, k.naive_x, k.naive_w, k.naive_b, k.n);
    naive_dense_backward(&d, &k.want, k.naive_dy, k.y, k.naive_x, k.naive_w, k.n);
    layer_case_end(&k);
}
END_TEST

/* ---- convolution ----------------------------------------------------------------------------- */

/* Compute all outputs and gradients of one image the slow way. */
static void naive_image(const struct conv *c, struct layer_case *k, int64_t image)
{
    const double *x = k->naive_x + image * k->in, *dy = k->naive_dy + image * k->out;
    struct naive_gradients g = { k->want.dx + image * k->in, k->want.dw, k->want.db };
    double *y = k->naive_y + image * k->out;

    for (int64_t i = 0; i < k->out; i++) {
        struct naive_pixel at = { .p = i / c->c_out, .o = i % c->c_out };

        y[i] = naive_conv(c, &at, x, k->naive_w, k->naive_b);
        if (k->y[image * k->out + i] > 0)
            naive_conv_backward(c, &at, &g, dy[i], x, k->naive_w);
    }
}

START_TEST(conv_layer)
{
    uint64_t seed = (uint64_t)_i;
    struct conv c = { side(&seed, 9), side(&seed, 9), side(&seed, 4), side(&seed, 9) };
    struct layer_case k = { .n = batch_rows[_i % 6], .n_b = c.c_out };
    float *scratch;
    int32_t *which;

    if (seed % 3 == 0)
        c.c_in = 8 << seed % 2;
    k.n_w = 9 * c.c_in * c.c_out;
    k.in = c.height * c.width * c.c_in;
    k.out = conv_out_height(&c) * conv_out_width(&c) * c.c_out;
    layer_case_init(&k, &seed);
    scratch = malloc((size_t)conv_scratch(&c) * sizeof *scratch);
    which = calloc((size_t)(k.n * k.out) + 1, sizeof *which);
    conv_forward(&c, k.y, which, k.x, k.w, k.b, k.n, scratch);
    conv_backward(
        &c,
        &(struct conv_backward){
            .dx = k.dx, .dw = k.dw, .db = k.db, .dy = k.dy, .x = k.x, .w = k.w, .which = which },
        k.n, scratch);
    for (int64_t i = 0; i < k.n; i++)
        naive_image(&c, &k, i);
    layer_case_end(&k);
    free(scratch);
    free(which);
}
END_TEST

/* A batch of several groups of images equals its images one by one. */
START_TEST(conv_groups)
{
    struct conv c = { 32, 32, 8, 4 };
    int64_t n = 9, in = 32 * 32 * 8, out = 16 * 16 * 4;
    uint64_t seed = 5;
    float *x = numbers(n * in, &seed), *w = numbers(72 * 4, &seed), *b = numbers(4, &seed);
    float *y = numbers(n * out, &seed), *one = numbers(out, &seed);
    float *scratch = malloc((size_t)conv_scratch(&c) * sizeof *scratch);
    int32_t *which = malloc((size_t)(n * out) * sizeof *which);

    conv_forward(&c, y, which, x, w, b, n, scratch);
    for (int64_t i = 0; i < n; i++) {
        double *want = naive_copy(y + i * out, out);

        conv_forward(&c, one, which, x + i * in, w, b, 1, scratch);
        check_close(one, want, out, "y");
        free(want);
    }
    free(x), free(w), free(b), free(y), free(one), free(scratch), free(which);
}
END_TEST

/* ---- loss ------------------------------------------------------------------------------------ */

START_TEST(softmax_loss)
{
    uint64_t seed = (uint64_t)_i;
    int64_t n = batch_rows[_i % N_BATCHES], k = 1 + side(&seed, 20);
    float *z = numbers(n * k, &seed), *d = numbers(n * k, &seed);
    int32_t label[64];
    double sum = 0;
    struct loss l;

    for (int64_t i = 0; i < n; i++)
        label[i] = (int32_t)random_below(&seed, (uint64_t)k);
    l = loss_softmax(d, z, label, n, k);
    for (int64_t i = 0; i < n; i++) {
        double total = 0;

        for (int64_t j = 0; j < k; j++)
            total += exp((double)z[i * k + j]);
        for (int64_t j = 0; j < k; j++) {
            double p = exp((double)z[i * k + j]) / total;

            ck_assert_double_eq_tol((double)d[i * k + j], (p - (j == label[i])) / (double)n,
                                    tolerance);
        }
        sum += log(total) - (double)z[i * k + label[i]];
    }
    ck_assert_double_eq_tol(l.sum, sum, 64 * tolerance);
    ck_assert(loss_softmax(NULL, z, label, n, k).sum == l.sum);
    free(z);
    free(d);
}
END_TEST

START_TEST(loss_of_large_logits)
{
    float z[4] = { 1000, -1000, -1000, 1000 }, d[4];
    int32_t label[2] = { 0, 0 };
    struct loss l = loss_softmax(d, z, label, 2, 2);

    ck_assert_int_eq(l.hits, 1);
    ck_assert_double_eq_tol(l.sum, 2000, 1e-3);
    for (int i = 0; i < 4; i++)
        ck_assert(isfinite(d[i]));
}
END_TEST

START_TEST(products_of_nothing)
{
    float c[4] = { 1, 2, 3, 4 }, a[1] = { 0 };

    matmul(c, a, a, 2, 0, 2, 1);
    ck_assert(c[0] == 1 && c[3] == 4);
    matmul_ta(c, a, a, 0, 2, 2, 0);
    ck_assert(c[0] == 0 && c[3] == 0);
    matmul_tb(c, a, a, 0, 2, 2, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, dense_layer, 0, 48);
    tcase_add_loop_test(tc, conv_layer, 0, 72);
    tcase_add_test(tc, conv_groups);
    tcase_add_loop_test(tc, softmax_loss, 0, 24);
    tcase_add_test(tc, loss_of_large_logits);
    tcase_add_test(tc, products_of_nothing);
}

SUITE_MAIN("layers", add_tests)
