/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - time matrix products on the cores of a NUMA node */
#include "cpu.h"

#include "lib/base/blas_core.h"
#include "lib/base/clock.h"
#include "lib/base/dlopen.h"
#include "lib/topo/topo.h"

#include <cblas.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Functions of OpenBLAS. The child loads the library itself, after it was bound to its cores: when
 * loaded, OpenBLAS inspects the machine and starts its threads, a cost that a cached profile
 * avoids.
 */
struct blas {
    __typeof__(cblas_sgemm) *sgemm;
    __typeof__(openblas_set_num_threads) *set_threads;
    __typeof__(openblas_get_corename) *core;
};

/* Load OpenBLAS and fill the table. Return 0, or the error of dlopen_library. */
static int load_blas(struct blas *b, struct eddis_error *err)
{
    static const char *const names[] = { OPENBLAS_LIBDIR "/libopenblas.so.0", "libopenblas.so.0",
                                         "libopenblas.so", NULL };
    const struct dlopen_symbol symbols[] = {
        { "cblas_sgemm", &b->sgemm, false },
        { "openblas_set_num_threads", &b->set_threads, false },
        { "openblas_get_corename", &b->core, false },
    };

    return dlopen_library(names, symbols, sizeof symbols / sizeof *symbols, err);
}

int cpu_core(const void *task, void *result, struct eddis_error *err)
{
    struct blas b;
    int rc;

    (void)setenv("OPENBLAS_NUM_THREADS", "1", 1);
    rc = load_blas(&b, err);
    if (rc == 0)
        (void)snprintf(result, CPU_CORE_NAME, "%s", b.core());
    return rc;
}

/* Largest and smallest size of the matrices; number of different elements. */
enum { MOST = 4096, LEAST = 512, PERIOD = 1021 };

/* Set elements `from` to `to` - 1 of a. The caller fills only the part that a product needs, so
 * small products need little memory.
 */
static void fill(float *a, int from, int to)
{
    for (int i = from; i < to; i++)
        a[i] = 1.0F / (float)(i % PERIOD + 1);
}

/* Return the seconds of one product of n x n matrices, c = a * a^T. */
static double seconds_of_product(const struct blas *b, int n, const float *a, float *c)
{
    int64_t start = clock_now_ns();

    b->sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1.0F, a, n, a, n, 0.0F, c, n);
    return (double)(clock_now_ns() - start + 1) / (double)CLOCK_S;
}

/* Return the most operations per second of any product within 0.3 s. The matrices are made larger
 * as long as a product is too short to measure.
 */
static double best_rate(const struct blas *b, float *a, float *c)
{
    int64_t deadline = clock_now_ns() + 300 * CLOCK_MS;
    double best = 0;
    int n = LEAST;

    fill(a, 0, n * n);
    (void)seconds_of_product(b, n / 2, a, c); /* starts the threads */
    do {
        double s = seconds_of_product(b, n, a, c);
        double rate = 2.0 * n * n * n / s;

        best = rate > best ? rate : best;
        if (s < 0.01 && 2 * n <= MOST) {
            fill(a, n * n, 4 * n * n);
            n *= 2;
        }
    } while (clock_now_ns() < deadline);
    return best;
}

int cpu_matrix(const void *task, void *result, struct eddis_error *err)
{
    const struct cpu_task *t = task;
    struct blas b;
    float *a, *c;
    int rc = t->cpus[0] ? topo_bind(t->cpus, err) : 0;

    if (t->kernels)
        (void)setenv(BLAS_CORE_VARIABLE, t->kernels, 1);
    if (rc == 0)
        rc = load_blas(&b, err);
    if (rc < 0)
        return rc;
    b.set_threads(t->threads);
    a = malloc(sizeof *a * MOST * MOST);
    c = malloc(sizeof *c * MOST * MOST);
    if (a && c)
        *(double *)result = best_rate(&b, a, c);
    else
        rc = eddis_fail(err, -ENOMEM, "no memory for a matrix product");
    free(a);
    free(c);
    return rc;
}
