/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_blas.c - time matrix products */
#include "cuda_blas.h"

#include "blas.h"
#include "maker.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

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

/* Start the product c = a * a of n x n matrices on the stream, without waiting.  Return a status
 * of the library, 0 on success.
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
 * mean of three products, which reduces the share of the start.  Blocks.  Return 0, -ENOTSUP (the
 * GPU lacks the precision) or -EIO.
 */
static int time_product(const struct product *p, int n, double *ret_s, struct eddis_error *err)
{
    int64_t start = clock_now_ns();
    int rc;

    for (int i = 0; i < 3; i++) {
        int e = start_product(p, n);

        if (e)
            return eddis_fail(err, e == BLAS_NOT_SUPPORTED ? -ENOTSUP : -EIO,
                              "the matrix product fails (%s status %d)", p->place->api->maker->blas,
                              e);
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
 * that use at most half of the free device memory, and free them.  Return 0, -ENOMEM, or as
 * time_product.
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
    int rc = p->api->maker->load_blas(p->api, p->driver_version, &b, err);

    if (rc < 0)
        return rc;
    if (b.set_stream(b.handle, p->stream))
        rc = eddis_fail(err, -EIO, "%s does not take a stream", p->api->maker->blas);
    for (size_t i = 0, failed = rc < 0; !failed && i < sizeof kinds / sizeof *kinds; i++) {
        double *rate = (double *)((char *)ret + kinds[i].at);
        int one = 0;

        if (p->major < kinds[i].major)
            *rate = 0;
        else
            one = measure(p, &b, &kinds[i], rate, rc < 0 ? NULL : err);
        if (one == -ENOTSUP && i > 0) { /* float32 is on every GPU */
            *rate = 0;
            one = 0;
        }
        rc = rc < 0 ? rc : one; /* the first error; other precisions may work */
    }
    (void)b.destroy(b.handle);
    return rc;
}
