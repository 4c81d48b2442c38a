/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublas.c - a libcublas.so.12 whose products of half precision take a tenth of the time;
 * FAKE_CUDA=noblas: it does not start
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cublasCreate_v2(void **ret);
int cublasCreate_v2(void **ret)
{
    const char *mode = getenv("FAKE_CUDA");

    if (mode && strcmp(mode, "noblas") == 0)
        return 1;
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
    return h && s ? 0 : 7;
}

EXPORT int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, const float *alpha,
                          const float *a, int lda, const float *b, int ldb, const float *beta,
                          float *c, int ldc);
int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
                   int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    usleep(10000);
    c[(size_t)m * (size_t)n - 1] = *alpha * a[(size_t)m * (size_t)k - 1] + *beta;
    return lda == m && ldb == k && ldc == m && b == a ? 0 : 7;
}

EXPORT int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha,
                        const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                        const void *beta, void *c, int type_c, int ldc, int compute, int algorithm);
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                 int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                 int type_c, int ldc, int compute, int algorithm)
{
    usleep(1000);
    ((short *)c)[(size_t)m * (size_t)n - 1] = ((const short *)a)[(size_t)m * (size_t)k - 1];
    return type_a == 2 && type_b == 2 && type_c == 2 && compute == 68 && algorithm == -1 ? 0 : 7;
}
