/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_blas.c - load cuBLAS and time matrix products */
#include "cuda_blas.h"

#include "lib/base/clock.h"
#include "lib/base/dlopen.h"
#include "lib/base/random.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Constants of cuBLAS.  They and the types of the functions below are written out here, because
 * they have been the same since cuBLAS 11.0, while its headers differ between versions.
 */
enum {
    BLAS_OP_N = 0,
    BLAS_R_32F = 0,
    BLAS_R_16F = 2,
    BLAS_R_16BF = 14,
    BLAS_COMPUTE_32F = 68,
    BLAS_COMPUTE_32F_FAST_TF32 = 77,
    BLAS_GEMM_DEFAULT = -1
};

/* The functions of a loaded cuBLAS library, and a handle of it. */
struct blas {
    int (*create)(void **ret);
    int (*destroy)(void *h);
    int (*set_stream)(void *h, CUstream s);
    int (*sgemm)(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
                 int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
    int (*gemm)(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                int type_c, int ldc, int compute, int algorithm);
    void *handle;
};

/* Load the cuBLAS library of this name, store its functions in *b and create a handle.  Return 0;
 * -ENOENT: it cannot be loaded; -ENOTSUP: it lacks a function; -EIO: it does not start.
 */
static int load_one(const char *name, struct blas *b, struct eddis_error *err)
{
    const struct dlopen_symbol symbols[] = {
        { "cublasCreate_v2", &b->create, false },
        { "cublasDestroy_v2", &b->destroy, false },
        { "cublasSetStream_v2", &b->set_stream, false },
        { "cublasSgemm_v2", &b->sgemm, false },
        { "cublasGemmEx", &b->gemm, false },
    };
    const char *const names[] = { name, NULL };
    int rc = dlopen_library(names, symbols, sizeof symbols / sizeof *symbols, err);
    int e = rc < 0 ? 0 : b->create(&b->handle);

    if (rc == 0 && e)
        rc = eddis_fail(err, -EIO, "'%s' does not start (cuBLAS status %d)", name, e);
    return rc;
}

/* The state of the search for a cuBLAS library. */
struct search {
    struct blas *blas; /* the library, once one has been loaded */
    int rc;            /* result so far: 0, or the failure to return */
    bool found;        /* some library exists but could not be used; err has the first failure */
    struct eddis_error *err;
};

/* Try to load the library `name`.  Return true, with s->rc 0, on success.  Of failures other than
 * -ENOENT keep the first one in s->rc and s->err.
 */
static bool try_one(struct search *s, const char *name)
{
    struct eddis_error e = { 0 };
    int rc = load_one(name, s->blas, &e);

    if (rc == 0)
        s->rc = 0;
    else if (rc != -ENOENT && !s->found) {
        s->rc = eddis_fail(s->err, rc, "%s", e.text);
        s->found = true;
    }
    return rc == 0;
}

/* Try to load cuBLAS of this major version from the loader's search path, then from the CUDA
 * toolkit's folders, which the loader often does not search.  Return true on success.
 */
static bool try_toolkit(struct search *s, int major)
{
    static const char *const folders[] = { "", "/usr/local/cuda/lib64/", CUDA_LIBDIR "/" };
    char name[512];
    bool is = false;

    for (size_t i = 0; i < sizeof folders / sizeof *folders && !is; i++) {
        (void)snprintf(name, sizeof name, "%slibcublas.so.%d", folders[i], major);
        is = try_one(s, name);
    }
    return is;
}

/* Try to load cuBLAS of this major version from the NVIDIA packages of the Python installations
 * below a prefix.  Nodes that train with PyTorch need no CUDA toolkit, because PyTorch's packages
 * include cuBLAS.  Return true on success.
 */
static bool try_python(struct search *s, const char *prefix, int major)
{
    char pattern[PATH_MAX + 128];
    glob_t g = { 0 };
    bool is = false;

    (void)snprintf(pattern, sizeof pattern,
                   "%.*s/{lib,local/lib}/python3*/{site,dist}-packages/nvidia/*/lib/"
                   "libcublas.so.%d",
                   PATH_MAX, prefix, major);
    if (glob(pattern, GLOB_BRACE, NULL, &g) == 0)
        for (size_t i = 0; i < g.gl_pathc && !is; i++)
            is = try_one(s, g.gl_pathv[i]);
    globfree(&g);
    return is;
}

/* Try to load cuBLAS of this major version from the packages of the python3 in PATH, of an active
 * virtual or Conda environment, and of the user's ~/.local.  Return true on success.
 */
static bool try_pythons(struct search *s, int major)
{
    const char *home = getenv("HOME");
    const char *const active[] = { getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX") };
    char path[PATH_MAX];
    bool is = false;

    if (spawn_find("python3", path, sizeof path, NULL) == 0)
        is = try_python(s, dirname(dirname(path)), major);
    for (size_t i = 0; i < sizeof active / sizeof *active && !is; i++)
        is = active[i] && *active[i] && try_python(s, active[i], major);
    if (!is && home && snprintf(path, sizeof path, "%s/.local", home) < (int)sizeof path)
        is = try_python(s, path, major);
    return is;
}

/* Load into *b the newest installed cuBLAS, 11 to 13, of a CUDA version that this driver can run;
 * one for a later CUDA could be loaded, but would fail.  Return 0; -ENOENT: none is installed;
 * otherwise the failure of the first library found, if none can be loaded.
 */
static int load_blas(int driver_version, struct blas *b, struct eddis_error *err)
{
    struct search s = { .blas = b, .err = err };
    int newest = driver_version / 1000;

    s.rc = eddis_fail(err, -ENOENT, "no cuBLAS for CUDA %d is installed", newest);
    for (int major = 13; major >= 11; major--)
        if (major <= newest && (try_toolkit(&s, major) || try_pythons(&s, major)))
            break;
    return s.rc;
}

#define ROUNDS_NS (CLOCK_S / 4) /* time for products of one size */

/* A precision of products */
struct kind {
    int type, compute; /* of the elements, and of the computation, as cublasGemmEx has them */
    size_t size;       /* bytes of an element */
    int major;         /* least compute capability */
    /* The elements' bits that are kept of a random number, and those that are set: two of 16 bits
     * or one of 32.
     */
    uint32_t keep, set;
    size_t at; /* offset of the rate in struct cuda_rates */
};

/* In the order in which they are measured. */
static const struct kind kinds[] = {
    { BLAS_R_32F, BLAS_COMPUTE_32F, 4, 0, 0x807fffffU, 0x3f000000U,
      offsetof(struct cuda_rates, fp32) },
    { BLAS_R_32F, BLAS_COMPUTE_32F_FAST_TF32, 4, 8, 0x807fffffU, 0x3f000000U,
      offsetof(struct cuda_rates, tf32) },
    { BLAS_R_16BF, BLAS_COMPUTE_32F, 2, 8, 0x807f807fU, 0x3f003f00U,
      offsetof(struct cuda_rates, bf16) },
    { BLAS_R_16F, BLAS_COMPUTE_32F, 2, 0, 0x83ff83ffU, 0x38003800U,
      offsetof(struct cuda_rates, fp16) },
};

/* A product of square matrices in device memory. */
struct product {
    const struct cuda_place *place;
    const struct blas *blas;
    const struct kind *kind;
    CUdeviceptr a, c; /* factor and product, which is a * a */
};

/* Start the product c = a * a of n x n matrices on the stream, without waiting.  Return a cuBLAS
 * status, 0 on success.
 */
static int start_product(const struct product *p, int n)
{
    static const float one = 1.0F, zero = 0.0F;
    const void *a = (const void *)(uintptr_t)p->a; /* device memory, not accessed by the host */
    void *c = (void *)(uintptr_t)p->c;

    const struct kind *k = p->kind;

    if (k->type != BLAS_R_32F || k->compute != BLAS_COMPUTE_32F)
        return p->blas->gemm(p->blas->handle, BLAS_OP_N, BLAS_OP_N, n, n, n, &one, a, k->type, n, a,
                             k->type, n, &zero, c, k->type, n, k->compute, BLAS_GEMM_DEFAULT);
    return p->blas->sgemm(p->blas->handle, BLAS_OP_N, BLAS_OP_N, n, n, n, &one, a, n, a, n, &zero,
                          c, n);
}

/* Measure the duration of one product of n x n matrices and store it in *ret_s, in seconds: the
 * mean of three products, which reduces the share of the start.  Blocks.  Return 0 or -EIO.
 */
static int time_product(const struct product *p, int n, double *ret_s, struct eddis_error *err)
{
    int64_t start = clock_now_ns();
    int rc;

    for (int i = 0; i < 3; i++) {
        int e = start_product(p, n);

        if (e)
            return eddis_fail(err, -EIO, "the matrix product fails (cuBLAS status %d)", e);
    }
    rc = cuda_check(p->place->api, p->place->api->stream_wait(p->place->stream),
                    "the matrix product fails", err);
    if (rc == 0)
        *ret_s = (double)(clock_now_ns() - start + 1) / 3.0 / (double)CLOCK_S;
    return rc;
}

/* Fill the first `bytes` bytes of matrix a with random numbers of both signs and absolute values
 * from 0.5 to 1; zeros would be multiplied faster, since they need less power.  Overwrite the
 * pinned memory.  Blocks.  Return 0, -ENOMEM or -EIO.
 */
static int fill(const struct product *p, size_t bytes, struct eddis_error *err)
{
    const struct cuda_place *l = p->place;
    uint64_t keep = p->kind->keep | (uint64_t)p->kind->keep << 32;
    uint64_t set = p->kind->set | (uint64_t)p->kind->set << 32;
    uint64_t seed = 1;
    int rc = 0;

    for (size_t i = 0; i < l->host_bytes / 8; i++) {
        ((uint64_t *)l->host)[i] = (random_next(&seed) & keep) | set;
    }
    for (size_t at = 0; rc == 0 && at < bytes; at += l->host_bytes) {
        size_t n = bytes - at < l->host_bytes ? bytes - at : l->host_bytes;

        rc = cuda_check(l->api, l->api->to_device(p->a + at, l->host, n, l->stream),
                        "a copy to the GPU fails", err);
    }
    return rc < 0
               ? rc
               : cuda_check(l->api, l->api->stream_wait(l->stream), "a copy to the GPU fails", err);
}

/* Time products and store the largest rate in *ret, in operations per second.  Double the matrices'
 * size, up to most x most, while a product takes less than 10 ms, and then go on for 0.25 s: a busy
 * host has to delay all products of a size to end this early.  Return 0 or a negative errno, and
 * then *ret is unchanged.
 */
static int best_rate(const struct product *p, int most, double *ret, struct eddis_error *err)
{
    int64_t deadline = 0;
    double s, best = 0;
    int n = 1024, rc = time_product(p, n, &s, err); /* not counted: it loads the kernels */

    deadline = clock_now_ns() + ROUNDS_NS;
    while (rc == 0 && (best == 0 || clock_now_ns() < deadline)) {
        double rate;

        rc = time_product(p, n, &s, err);
        if (rc < 0)
            break;
        rate = 2.0 * n * n * n / s;
        best = rate > best ? rate : best;
        if (s < 0.01 && 2 * n <= most) {
            n *= 2;
            deadline = clock_now_ns() + ROUNDS_NS;
        }
    }
    if (rc == 0)
        *ret = best;
    return rc;
}

/* Measure products in one precision and store the operations per second in *ret.  Allocate matrices
 * that use at most half of the free device memory, and free them.  Return 0, -ENOMEM or -EIO.
 */
static int measure(const struct cuda_place *place, const struct blas *b, const struct kind *k,
                   double *ret, struct eddis_error *err)
{
    struct product p = { .place = place, .blas = b, .kind = k };
    size_t size = k->size, free_bytes = 0, total, bytes;
    int most = 8192, rc;

    rc = cuda_check(place->api, place->api->memory_info(&free_bytes, &total),
                    "the GPU's memory is unknown", err);
    while (most > 1024 && 4 * size * most * most > free_bytes)
        most /= 2;
    bytes = size * most * most;
    if (rc == 0)
        rc =
            cuda_check(place->api, place->api->alloc(&p.a, bytes), "no GPU memory to measure", err);
    if (rc == 0)
        rc =
            cuda_check(place->api, place->api->alloc(&p.c, bytes), "no GPU memory to measure", err);
    if (rc == 0)
        rc = fill(&p, bytes, err);
    if (rc == 0)
        rc = best_rate(&p, most, ret, err);
    if (p.a)
        (void)place->api->release(p.a);
    if (p.c)
        (void)place->api->release(p.c);
    return rc;
}

int cuda_blas_rates(const struct cuda_place *p, struct cuda_rates *ret, struct eddis_error *err)
{
    struct blas b = { 0 };
    int rc = load_blas(p->driver_version, &b, err);

    if (rc < 0)
        return rc;
    if (b.set_stream(b.handle, p->stream))
        rc = eddis_fail(err, -EIO, "cuBLAS does not take a stream");
    for (size_t i = 0, failed = rc < 0; !failed && i < sizeof kinds / sizeof *kinds; i++) {
        double *rate = (double *)((char *)ret + kinds[i].at);
        int one = 0;

        if (p->major < kinds[i].major)
            *rate = 0;
        else
            one = measure(p, &b, &kinds[i], rate, rc < 0 ? NULL : err);
        rc = rc < 0 ? rc : one; /* the first error; other precisions may work */
    }
    (void)b.destroy(b.handle);
    return rc;
}
