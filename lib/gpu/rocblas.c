/* SPDX-License-Identifier: Apache-2.0 */
/* rocblas.c - load rocBLAS, and translate calls of cuBLAS */
#include "rocblas.h"

#include "lib/base/dlopen.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constants of rocBLAS */
enum {
    NOT_IMPLEMENTED = 2,
    OPERATION_NONE = 111,
    TYPE_F16 = 150,
    TYPE_F32 = 151,
    TYPE_BF16 = 168,
    ALGORITHM_STANDARD = 0,
};

/* What the handle of struct blas points to */
struct rocblas {
    void *handle;
    int (*create)(void **ret);
    int (*destroy)(void *h);
    int (*set_stream)(void *h, CUstream s);
    int (*sgemm)(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
                 int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
    int (*gemm)(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                const void *c, int type_c, int ldc, void *d, int type_d, int ldd, int compute,
                int algorithm, int32_t solution, uint32_t flags);
};

static int destroy(void *h)
{
    struct rocblas *r = h;
    int e = r->destroy(r->handle);

    free(r);
    return e;
}

static int set_stream(void *h, CUstream s)
{
    const struct rocblas *r = h;

    return r->set_stream(r->handle, s);
}

/* Multiply, as cublasSgemm; only without transposition. */
static int sgemm(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
                 int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    const struct rocblas *r = h;

    if (ta != BLAS_OP_N || tb != BLAS_OP_N)
        return NOT_IMPLEMENTED;
    return r->sgemm(r->handle, OPERATION_NONE, OPERATION_NONE, m, n, k, alpha, a, lda, b, ldb, beta,
                    c, ldc);
}

/* Return rocBLAS's constant for a type of elements; 0: it has none. */
static int type_of(int type)
{
    return type == BLAS_R_32F    ? TYPE_F32
           : type == BLAS_R_16F  ? TYPE_F16
           : type == BLAS_R_16BF ? TYPE_BF16
                                 : 0;
}

/* Multiply, as cublasGemmEx; only without transposition, and with sums in float32.  Where TF32 is
 * allowed, float32 is used, as by cuBLAS on GPUs without TF32.
 */
static int gemm(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                int type_c, int ldc, int compute, int algorithm)
{
    const struct rocblas *r = h;
    bool is_f32 = compute == BLAS_COMPUTE_32F || compute == BLAS_COMPUTE_32F_FAST_TF32;
    int ra = type_of(type_a), rb = type_of(type_b), rc = type_of(type_c), e;

    if (ta != BLAS_OP_N || tb != BLAS_OP_N || !ra || !rb || !rc || !is_f32 ||
        algorithm != BLAS_GEMM_DEFAULT)
        return NOT_IMPLEMENTED;
    e = r->gemm(r->handle, OPERATION_NONE, OPERATION_NONE, m, n, k, alpha, a, ra, lda, b, rb, ldb,
                beta, c, rc, ldc, c, rc, ldc, TYPE_F32, ALGORITHM_STANDARD, 0, 0);
    return e == NOT_IMPLEMENTED ? BLAS_NOT_SUPPORTED : e;
}

/* Load the first rocBLAS of these names and create a handle in *r.  Return 0; -ENOENT: there is
 * none; otherwise why it cannot be loaded.
 */
static int load_one(const char *const *names, struct rocblas *r, struct eddis_error *err)
{
    const struct dlopen_symbol symbols[] = {
        { "rocblas_create_handle", &r->create, false },
        { "rocblas_destroy_handle", &r->destroy, false },
        { "rocblas_set_stream", &r->set_stream, false },
        { "rocblas_sgemm", &r->sgemm, false },
        { "rocblas_gemm_ex", &r->gemm, false },
    };
    int rc = dlopen_library(names, symbols, sizeof symbols / sizeof *symbols, err);
    int e = rc < 0 ? 0 : r->create(&r->handle);

    return e ? eddis_fail(err, -EIO, "rocBLAS does not start (rocBLAS status %d)", e) : rc;
}

/* Load the rocBLAS in the folder of the loaded HIP.  Return as load_one. */
static int load_beside(const struct cuda_api *a, struct rocblas *r, struct eddis_error *err)
{
    char pattern[PATH_MAX + 32];
    Dl_info hip = { 0 };
    glob_t g = { 0 };
    const char *end;
    int rc = -ENOENT;

    if (!dladdr((void *)(uintptr_t)a->init, &hip) || !hip.dli_fname)
        return -ENOENT;
    end = strrchr(hip.dli_fname, '/');
    (void)snprintf(pattern, sizeof pattern, "%.*s/librocblas.so*",
                   end ? (int)(end - hip.dli_fname) : 0, hip.dli_fname);
    if (end && glob(pattern, 0, NULL, &g) == 0)
        rc = load_one((const char *const *)g.gl_pathv, r, err);
    globfree(&g);
    return rc;
}

int rocblas_load(const struct cuda_api *a, int driver_version, struct blas *ret,
                 struct eddis_error *err)
{
    static const char *const names[] = { "librocblas.so.5", "librocblas.so.4", "librocblas.so.3",
                                         "librocblas.so", NULL };
    struct rocblas *r = calloc(1, sizeof *r);
    int rc;

    (void)driver_version;
    if (!r)
        return eddis_fail(err, -ENOMEM, "no memory for rocBLAS");
    rc = load_beside(a, r, err);
    if (rc == -ENOENT)
        rc = load_one(names, r, err);
    if (rc == -ENOENT)
        rc = eddis_fail(err, -ENOENT, "no rocBLAS is installed");
    if (rc < 0) {
        free(r);
        return rc;
    }
    *ret = (struct blas){ destroy, set_stream, sgemm, gemm, r };
    return 0;
}
