/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_blas.h - measure how fast a GPU multiplies matrices */
#ifndef EDDIS_GPU_CUDA_BLAS_H
#define EDDIS_GPU_CUDA_BLAS_H

#include "cuda_api.h"

#include <stdint.h>

/* Device to measure; its context is current */
struct cuda_place {
    const struct cuda_api *api;
    CUstream stream;
    int driver_version;
    int major;  /* compute capability, 8 for 8.6; from 8 on the GPU has TF32 and bfloat16 */
    void *host; /* pinned host memory of host_bytes bytes */
    size_t host_bytes;
};

/* Rates of matrix products in operations per second; 0: the GPU has no such products */
struct cuda_rates {
    double fp32, tf32, bf16, fp16;
};

/* Measure square products in each precision that the GPU has, with single precision sums, each as
 * the fastest product within about 0.25 s.  Write the rates to *ret; a rate that could not be
 * measured is unchanged.  -ENOENT: no BLAS library that this
 * driver can run.  Blocks.
 */
int cuda_blas_rates(const struct cuda_place *p, struct cuda_rates *ret, struct eddis_error *err);

#endif
