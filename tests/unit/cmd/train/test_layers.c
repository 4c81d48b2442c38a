/* SPDX-License-Identifier: Apache-2.0 */
/* test_layers.c - the fast layers against naive ones, for random shapes; built for float and
 * double. */
#include "cmd/train/model/conv.h"
#include "cmd/train/model/dense.h"
#include "cmd/train/model/loss.h"
#include "cmd/train/model/matmul.h"
#include "lib/base/random.h"
#include "suite.h"

#include <string.h>

#ifdef EDDIS_TRAIN_FLOAT64
static const double tolerance = 1e-12;
#else
static const double tolerance = 2e-4;
#endif

static real *numbers(int64_t n, uint64_t *seed)
{
    real *x = malloc((size_t)(n + 1) * sizeof *x);

    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (real)(2 * random_unit(seed) - 1);
    return x;
}

static void check_close(const real *got, const real *want, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)(got[i] - want[i])) <= tolerance, "%s[%lld]: %g, not %g", what,
                      (long long)i, (double)got[i], (double)want[i]);
}

static int64_t side(uint64_t *seed, int64_t max)
{
    return 1 + (int64_t)random_below(seed, (uint64_t)max);
}

/* ---- dense --------------------------------------------------------------------------------- */

static void naive_dense_forward(const struct dense *d, real *y, const real *x, const real *w,
                                const real *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t o = 0; o < d->out; o++) {
            double v = (double)b[o];

            for (int64_t k = 0; k < d->in; k++)
                v += (double)x[i * d->in + k] * (double)w[k * d->out + o];
            y[i * d->out + o] = d->relu && v < 0 ? 0 : (real)v;
        }
    }
}

struct gradients {
    real *dx, *dw, *db;
};

static void naive_dense_backward(const struct dense *d, struct gradients *g, const real *dy,
                                 const real *y, const real *x, const real *w, int64_t n)
{
    memset(g->dx, 0, (size_t)(n * d->in) * sizeof(real));
    memset(g->dw, 0, (size_t)(d->in * d->out) * sizeof(real));
    memset(g->db, 0, (size_t)d->out * sizeof(real));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t o = 0; o < d->out; o++) {
            real v = d->relu && !(y[i * d->out + o] > 0) ? 0 : dy[i * d->out + o];

            g->db[o] += v;
            for (int64_t k = 0; k < d->in; k++) {
                g->dw[k * d->out + o] += v * x[i * d->in + k];
                g->dx[i * d->in + k] += v * w[k * d->out + o];
            }
        }
    }
}

static const int64_t batch_rows[] = { 0, 1, 2, 3, 7, 16, 33, 64 };
enum { N_BATCHES = sizeof batch_rows / sizeof *batch_rows };

START_TEST(dense_layer)
{
    uint64_t seed = (uint64_t)_i;
    int64_t n = batch_rows[_i % N_BATCHES];
    struct dense d = { .in = side(&seed, 70), .out = side(&seed, 40), .relu = _i & 1 };
    real *x = numbers(n * d.in, &seed), *w = numbers(d.in * d.out, &seed);
    real *b = numbers(d.out, &seed), *dy = numbers(n * d.out, &seed);
    real *y = numbers(n * d.out, &seed), *want = numbers(n * d.out, &seed);
    struct gradients a = { numbers(n * d.in, &seed), numbers(d.in * d.out, &seed),
                           numbers(d.out, &seed) };
    struct gradients g = { numbers(n * d.in, &seed), numbers(d.in * d.out, &seed),
                           numbers(d.out, &seed) };

    dense_forward(&d, y, x, w, b, n);
    naive_dense_forward(&d, want, x, w, b, n);
    check_close(y, want, n * d.out, "y");
    naive_dense_backward(&d, &g, dy, y, x, w, n);
    dense_backward(&d, a.dx, a.dw, a.db, dy, y, x, w, n);
    check_close(a.dx, g.dx, n * d.in, "dx");
    check_close(a.dw, g.dw, d.in * d.out, "dw");
    check_close(a.db, g.db, d.out, "db");
    real *all[] = { x, w, b, dy, y, want, a.dx, a.dw, a.db, g.dx, g.dw, g.db };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}
END_TEST

/* ---- convolution ----------------------------------------------------------------------------- */

/* Value of the convolution before bias at one place. */
static double naive_conv(const struct conv *c, const real *x, const real *w, int64_t row,
                         int64_t col, int64_t o)
{
    double v = 0;

    for (int64_t ky = 0; ky < 3; ky++) {
        for (int64_t kx = 0; kx < 3; kx++) {
            int64_t sy = row + ky - 1, sx = col + kx - 1;

            if (sy < 0 || sx < 0 || sy >= c->height || sx >= c->width)
                continue;
            for (int64_t i = 0; i < c->c_in; i++)
                v += (double)x[(sy * c->width + sx) * c->c_in + i] *
                     (double)w[((ky * 3 + kx) * c->c_in + i) * c->c_out + o];
        }
    }
    return v;
}

/* Find the maximum of one window; returns its value and writes where it is. */
static double naive_pool(const struct conv *c, const real *x, const real *w, int64_t oy, int64_t ox,
                         int64_t o, int64_t *row, int64_t *col)
{
    int64_t wy = c->height > 1 ? 2 : 1, wx = c->width > 1 ? 2 : 1;
    double best = -INFINITY;

    for (int64_t y = oy * wy; y < oy * wy + wy; y++) {
        for (int64_t z = ox * wx; z < ox * wx + wx; z++) {
            double v = naive_conv(c, x, w, y, z, o);

            if (v > best) {
                best = v;
                *row = y;
                *col = z;
            }
        }
    }
    return best;
}

/* Add one output's gradient v to those of everything that it came from. */
static void naive_spread(const struct conv *c, struct gradients *g, const real *x, const real *w,
                         int64_t row, int64_t col, int64_t o, real v)
{
    g->db[o] += v;
    for (int64_t ky = 0; ky < 3; ky++) {
        for (int64_t kx = 0; kx < 3; kx++) {
            int64_t sy = row + ky - 1, sx = col + kx - 1;

            if (sy < 0 || sx < 0 || sy >= c->height || sx >= c->width)
                continue;
            for (int64_t i = 0; i < c->c_in; i++) {
                int64_t at = (sy * c->width + sx) * c->c_in + i;
                int64_t wi = ((ky * 3 + kx) * c->c_in + i) * c->c_out + o;

                g->dw[wi] += v * x[at];
                g->dx[at] += v * w[wi];
            }
        }
    }
}

struct conv_case {
    struct conv c;
    int64_t n, in, out;
    real *x, *w, *b, *y, *dy;
    real_index *which;
    struct gradients got, want;
};

static struct conv_case conv_case(uint64_t seed, int64_t n)
{
    struct conv_case k = { .n = n };
    int64_t n_w;

    k.c = (struct conv){ side(&seed, 9), side(&seed, 9), side(&seed, 4), side(&seed, 9) };
    if (seed % 3 == 0)
        k.c.c_in = 8 << seed % 2;
    n_w = 9 * k.c.c_in * k.c.c_out;
    k.in = k.c.height * k.c.width * k.c.c_in;
    k.out = conv_out_height(&k.c) * conv_out_width(&k.c) * k.c.c_out;
    k.x = numbers(n * k.in, &seed);
    k.w = numbers(n_w, &seed);
    k.b = numbers(k.c.c_out, &seed);
    k.y = numbers(n * k.out, &seed);
    k.dy = numbers(n * k.out, &seed);
    k.which = calloc((size_t)(n * k.out) + 1, sizeof *k.which);
    k.got = (struct gradients){ numbers(n * k.in, &seed), numbers(n_w, &seed),
                                numbers(k.c.c_out, &seed) };
    k.want = (struct gradients){ calloc((size_t)(n * k.in) + 1, sizeof(real)),
                                 calloc((size_t)n_w, sizeof(real)),
                                 calloc((size_t)k.c.c_out, sizeof(real)) };
    return k;
}

static void conv_case_free(struct conv_case *k)
{
    real *all[] = { k->x,      k->w,      k->b,       k->y,       k->dy,     k->got.dx,
                    k->got.dw, k->got.db, k->want.dx, k->want.dw, k->want.db };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(k->which);
}

/* Check every output and collect the gradients the slow way. */
static void naive_conv_layer(struct conv_case *k)
{
    int64_t ow = conv_out_width(&k->c), at = 0;

    for (int64_t i = 0; i < k->n; i++) {
        const real *x = k->x + i * k->in;
        struct gradients g = { k->want.dx + i * k->in, k->want.dw, k->want.db };

        for (int64_t p = 0; p < k->out / k->c.c_out; p++) {
            for (int64_t o = 0; o < k->c.c_out; o++, at++) {
                int64_t row = 0, col = 0;
                double v = naive_pool(&k->c, x, k->w, p / ow, p % ow, o, &row, &col);

                v = fmax(v + (double)k->b[o], 0);
                ck_assert_double_eq_tol((double)k->y[at], v, tolerance);
                if (k->y[at] > 0)
                    naive_spread(&k->c, &g, x, k->w, row, col, o, k->dy[at]);
            }
        }
    }
}

START_TEST(conv_layer)
{
    struct conv_case k = conv_case((uint64_t)_i, batch_rows[_i % 6]);
    real *scratch = malloc((size_t)conv_scratch(&k.c) * sizeof *scratch);
    struct conv_backward a = { .dx = k.got.dx,
                               .dw = k.got.dw,
                               .db = k.got.db,
                               .dy = k.dy,
                               .x = k.x,
                               .w = k.w,
                               .which = k.which };

    conv_forward(&k.c, k.y, k.which, k.x, k.w, k.b, k.n, scratch);
    naive_conv_layer(&k);
    conv_backward(&k.c, &a, k.n, scratch);
    check_close(k.got.dx, k.want.dx, k.n * k.in, "dx");
    check_close(k.got.dw, k.want.dw, 9 * k.c.c_in * k.c.c_out, "dw");
    check_close(k.got.db, k.want.db, k.c.c_out, "db");
    free(scratch);
    conv_case_free(&k);
}
END_TEST

/* A batch of several groups of images equals its images one by one. */
START_TEST(conv_groups)
{
    struct conv c = { 32, 32, 8, 4 };
    int64_t n = 9, in = 32 * 32 * 8, out = 16 * 16 * 4;
    uint64_t seed = 5;
    real *x = numbers(n * in, &seed), *w = numbers(72 * 4, &seed), *b = numbers(4, &seed);
    real *y = numbers(n * out, &seed), *one = numbers(out, &seed);
    real *scratch = malloc((size_t)conv_scratch(&c) * sizeof *scratch);
    real_index *which = malloc((size_t)(n * out) * sizeof *which);

    conv_forward(&c, y, which, x, w, b, n, scratch);
    for (int64_t i = 0; i < n; i++) {
        conv_forward(&c, one, which, x + i * in, w, b, 1, scratch);
        check_close(one, y + i * out, out, "y");
    }
    free(x), free(w), free(b), free(y), free(one), free(scratch), free(which);
}
END_TEST

/* ---- loss ------------------------------------------------------------------------------------ */

START_TEST(softmax_loss)
{
    uint64_t seed = (uint64_t)_i;
    int64_t n = batch_rows[_i % N_BATCHES], k = 1 + side(&seed, 20);
    real *z = numbers(n * k, &seed), *d = numbers(n * k, &seed);
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
    real z[4] = { 1000, -1000, -1000, 1000 }, d[4];
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
    real c[4] = { 1, 2, 3, 4 }, a[1] = { 0 };

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
