/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - the functions of a BLAS library of GPUs, as cuBLAS has them */
#ifndef EDDIS_GPU_BLAS_H
#define EDDIS_GPU_BLAS_H

#include "cuda_api.h"

/* Constants of cuBLAS.  They and the types of the functions below are written out here, because
 * they have been the same since cuBLAS 11.0, while its headers differ between versions.
 */
enum {
    BLAS_OP_N = 0,
    BLAS_R_32F = 0,
    BLAS_R_16F = 2,
    BLAS_R_16BF = 14,
    BLAS_COMPUTE_32F = 68,
    BLAS_COMPUTE_32F_FAST_TF32 = 77, /* TF32 is allowed */
    BLAS_GEMM_DEFAULT = -1,
    BLAS_NOT_SUPPORTED = 15, /* result: the GPU lacks the precision */
};

/* The functions of a loaded library, which return 0 on success, and a handle of it. */
struct blas {
    int (*destroy)(void *h);
    int (*set_stream)(void *h, CUstream s);
    int (*sgemm)(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
                 int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
    int (*gemm)(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                int type_c, int ldc, int compute, int algorithm);
    void *handle;
};

#endif
