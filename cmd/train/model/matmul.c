/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.c - matrix products through OpenBLAS, with as many threads as are worth it */
#include "matmul.h"

#include <cblas.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The allowed number of threads, and the number that was set last.  OpenBLAS has one number for the
 * whole process, so these are global, too.
 */
static atomic_int allowed = 1, current;

/* The least number of multiplications for which several threads are used; measured on two cores. */
#define WORTH_THREADS 8e6

void matmul_set_threads(int n)
{
    allowed = n > 0 ? n : 1;
}

int matmul_default_threads(void)
{
    return openblas_get_num_threads();
}

const char *matmul_core(void)
{
    return openblas_get_corename();
}

/* Set OpenBLAS's number of threads for the next product, of `work` multiplications: 1 for a small
 * one, else the allowed number.
 */
static void choose_threads(double work)
{
    int n = work < WORTH_THREADS ? 1 : allowed;

    if (n == current)
        return;
    openblas_set_num_threads(n);
    current = n;
}

/* Let OpenBLAS allocate its working memory.  Each of its threads does so in its first product, and
 * a product uses any threads that are free.  So first run a product on all threads that OpenBLAS
 * has started, then one on those it will use.
 */
int matmul_warm_up(struct eddis_error *err)
{
    enum { N = 256 }; /* for smaller products OpenBLAS may allocate nothing and wake no thread */
    float *a = calloc((size_t)N * N, 2 * sizeof *a);

    if (!a)
        return eddis_fail(err, -ENOMEM, "out of memory");
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, a, N, 0, a + N * N, N);
    matmul(a + N * N, a, a, N, N, N, 0);
    free(a);
    return 0;
}

/* If a product has an empty sum or no element, set c [rows, cols] to 0 unless add is set (BLAS
 * would leave c unchanged), and return 1.  Otherwise choose the number of threads and return 0: the
 * caller computes it.
 */
static int trivial(float *c, int64_t rows, int64_t terms, int64_t cols, int add)
{
    if (rows > 0 && terms > 0 && cols > 0) {
        choose_threads((double)rows * (double)terms * (double)cols);
        return 0;
    }
    if (!add && rows > 0 && cols > 0)
        memset(c, 0, (size_t)(rows * cols) * sizeof *c);
    return 1;
}

void matmul(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int add)
{
    if (!trivial(c, n, k, m, add))
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)m, (int)k, 1, a, (int)k,
                    b, (int)m, add ? 1 : 0, c, (int)m);
}

void matmul_ta(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int add)
{
    if (!trivial(c, k, n, m, add))
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)k, (int)m, (int)n, 1, a, (int)k,
                    b, (int)m, add ? 1 : 0, c, (int)m);
}

void matmul_tb(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int add)
{
    if (!trivial(c, n, m, k, add))
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)k, (int)m, 1, a, (int)m,
                    b, (int)m, add ? 1 : 0, c, (int)k);
}
