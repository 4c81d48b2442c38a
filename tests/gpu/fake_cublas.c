/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublas.c - a libcublas.so.12 whose products last as long as those of the cards of
 * fake_cards.h
 */
#include "fake_cards.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { NOT_INITIALIZED = 1, INVALID = 7, NOT_SUPPORTED = 15 };
enum { R_32F = 0, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, COMPUTE_32F_FAST_TF32 = 77 };

EXPORT int cublasCreate_v2(void **ret);
int cublasCreate_v2(void **ret)
{
    if (fake_current()->noblas)
        return NOT_INITIALIZED;
    *ret = malloc(1);
    return 0;
}

EXPORT int cublasDestroy_v2(void *h);
int cublasDestroy_v2(void *h)
{
    free(h);
    return 0;
}

EXPORT int cublasSetStream_v2(void *h, void *s);
int cublasSetStream_v2(void *h, void *s)
{
    return h && s ? 0 : INVALID;
}

/* Add an m x n x k product at this rate to the stream; its last element is written, so that a
 * sanitizer sees a wrong size.  Return a cuBLAS status.
 */
static int multiply(double rate, int m, int n, int k, const void *a, void *c, size_t size)
{
    if (rate <= 0)
        return NOT_SUPPORTED;
    fake_queue(2.0 * m * n * k / rate);
    memcpy((char *)c + size * ((size_t)m * (size_t)n - 1),
           (const char *)a + size * ((size_t)m * (size_t)k - 1), size);
    return 0;
}

EXPORT int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, const float *alpha,
                          const float *a, int lda, const float *b, int ldb, const float *beta,
                          float *c, int ldc);
int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
                   int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    if (lda != m || ldb != k || ldc != m || b != a || *alpha != 1.0F || *beta != 0.0F)
        return INVALID;
    return multiply(fake_current()->fp32, m, n, k, a, c, sizeof *a);
}

/* Return the current card's rate for matrices of this type; 0: it lacks them; -1: unknown. */
static double rate_of(int type, int compute)
{
    const struct fake_card *card = fake_current();

    if (type == R_16F && compute == COMPUTE_32F)
        return card->fp16;
    if (type == R_16BF && compute == COMPUTE_32F)
        return card->bf16;
    if (type == R_32F && compute == COMPUTE_32F)
        return card->fp32;
    if (type == R_32F && compute == COMPUTE_32F_FAST_TF32) /* cards without it do as with fp32 */
        return card->tf32 > 0 ? card->tf32 : card->fp32;
    return -1;
}

EXPORT int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha,
                        const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                        const void *beta, void *c, int type_c, int ldc, int compute, int algorithm);
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                 int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                 int type_c, int ldc, int compute, int algorithm)
{
    double rate = rate_of(type_a, compute);

    if (rate < 0 || type_b != type_a || type_c != type_a || algorithm != -1)
        return INVALID;
    return multiply(rate, m, n, k, a, c, type_a == R_32F ? 4 : 2);
}
