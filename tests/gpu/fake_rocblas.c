/* SPDX-License-Identifier: Apache-2.0 */
/* fake_rocblas.c - a librocblas.so.4 of the cards of fake_cards.h: fake_cublas.c by rocBLAS's names
 */
#define cublasCreate_v2    rocblas_create_handle
#define cublasDestroy_v2   rocblas_destroy_handle
#define cublasSetStream_v2 rocblas_set_stream
#define cublasSgemm_v2     rocblas_sgemm
#include "fake_cublas.c"

#include <stdint.h>

enum { NOT_IMPLEMENTED = 2 };
enum { OPERATION_NONE = 111, F16 = 150, F32 = 151, BF16 = 168 };

EXPORT int rocblas_gemm_ex(void *h, int ta, int tb, int m, int n, int k, const void *alpha,
                           const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                           const void *beta, const void *c, int type_c, int ldc, void *d,
                           int type_d, int ldd, int compute, int algorithm, int32_t solution,
                           uint32_t flags);
int rocblas_gemm_ex(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                    int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                    const void *c, int type_c, int ldc, void *d, int type_d, int ldd, int compute,
                    int algorithm, int32_t solution, uint32_t flags)
{
    int type = type_a == F16 ? R_16F : type_a == BF16 ? R_16BF : type_a == F32 ? R_32F : -1, e;

    if (ta != OPERATION_NONE || tb != OPERATION_NONE || type_b != type_a || type_c != type_a ||
        type_d != type_a || d != c || ldd != ldc || compute != F32 || algorithm || solution ||
        flags)
        return INVALID;
    e = cublasGemmEx(h, 0, 0, m, n, k, alpha, a, type, lda, b, type, ldb, beta, d, type, ldd,
                     COMPUTE_32F, -1);
    return e == NOT_SUPPORTED ? NOT_IMPLEMENTED : e;
}
