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
#include <stdio.h>
#include <stdlib.h>

/* cuBLAS's headers are not needed for these few calls, and differ between versions in irrelevant
 * ways.  These values and types have been the same since 11.0.
 */
enum { BLAS_OP_N = 0, BLAS_R_16F = 2, BLAS_COMPUTE_32F = 68, BLAS_GEMM_DEFAULT = -1 };

/* Functions of cuBLAS and a handle */
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

/* Load the cuBLAS library of this name and create a handle. */
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

/* State of the search for a library */
struct search {
    struct blas *blas;
    int rc;
    bool found; /* a library exists but failed to load; err has the first failure */
    struct eddis_error *err;
};

/* Try to load a library.  Return true on success. */
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

/* Try the loader's path and the CUDA toolkit's folder, which the loader often does not search. */
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

/* Try the NVIDIA packages of the Python installations below a prefix.  Nodes that train with
 * PyTorch need no toolkit: its packages include cuBLAS.
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

/* Try the python3 in PATH, an active environment, and the user's own packages. */
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

/* Load the newest cuBLAS that this driver can run; one of a later CUDA would load and then fail. */
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

/* A product of n x n matrices in device memory */
struct product {
    const struct cuda_place *place;
    const struct blas *blas;
    bool half;
    CUdeviceptr a, c;
};

/* Start c = a * a on the stream.  Return a cuBLAS status. */
static int start_product(const struct product *p, int n)
{
    static const float one = 1.0F, zero = 0.0F;
    const void *a = (const void *)(uintptr_t)p->a; /* device memory: passed on, not accessed here */
    void *c = (void *)(uintptr_t)p->c;

    if (p->half)
        return p->blas->gemm(p->blas->handle, BLAS_OP_N, BLAS_OP_N, n, n, n, &one, a, BLAS_R_16F, n,
                             a, BLAS_R_16F, n, &zero, c, BLAS_R_16F, n, BLAS_COMPUTE_32F,
                             BLAS_GEMM_DEFAULT);
    return p->blas->sgemm(p->blas->handle, BLAS_OP_N, BLAS_OP_N, n, n, n, &one, a, n, a, n, &zero,
                          c, n);
}

/* Measure the seconds of one product, averaged over three to reduce the cost of the start. */
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

/* Fill matrix a with random values near 1.  Zeros would be multiplied faster, since they need less
 * power.
 */
static int fill(const struct product *p, size_t bytes, struct eddis_error *err)
{
    const struct cuda_place *l = p->place;
    uint64_t seed = 1;
    int rc = 0;

    for (size_t i = 0; i < l->host_bytes / 8; i++) {
        uint64_t r = random_next(&seed);

        ((uint64_t *)l->host)[i] = p->half ? (r & 0x83ff83ff83ff83ffU) | 0x3800380038003800U
                                           : (r & 0x807fffff807fffffU) | 0x3f0000003f000000U;
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

/* Write the best operations per second of the products that fit in 0.4 s, with larger matrices
 * while a product is too short.
 */
static int best_rate(const struct product *p, int most, double *ret, struct eddis_error *err)
{
    int64_t deadline = 0;
    double s, best = 0;
    int n = 1024, rc = time_product(p, n, &s, err); /* loads the kernels */

    deadline = clock_now_ns() + 400 * CLOCK_MS;
    while (rc == 0 && (best == 0 || clock_now_ns() < deadline)) {
        double rate;

        rc = time_product(p, n, &s, err);
        if (rc < 0)
            break;
        rate = 2.0 * n * n * n / s;
        best = rate > best ? rate : best;
        if (s < 0.01 && 2 * n <= most)
            n *= 2;
    }
    if (rc == 0)
        *ret = best;
    return rc;
}

/* Measure the operations per second for one precision.  Allocates and frees its matrices. */
static int measure(const struct cuda_place *place, const struct blas *b, bool half, double *ret,
                   struct eddis_error *err)
{
    struct product p = { .place = place, .blas = b, .half = half };
    size_t size = half ? 2 : 4, free_bytes = 0, total, bytes;
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

int cuda_blas_rates(const struct cuda_place *p, double *ret_fp32, double *ret_fp16,
                    struct eddis_error *err)
{
    struct blas b = { 0 };
    int rc = load_blas(p->driver_version, &b, err);

    if (rc < 0)
        return rc;
    if (b.set_stream(b.handle, p->stream))
        rc = eddis_fail(err, -EIO, "cuBLAS does not take a stream");
    if (rc == 0)
        rc = measure(p, &b, false, ret_fp32, err);
    if (rc == 0)
        rc = measure(p, &b, true, ret_fp16, err);
    (void)b.destroy(b.handle);
    return rc;
}
