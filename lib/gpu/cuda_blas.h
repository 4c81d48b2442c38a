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
    void *host; /* pinned host memory of host_bytes bytes */
    size_t host_bytes;
};

/* Measure square products in single precision, and in half precision with single precision sums,
 * each as the fastest product within 0.4 s.  Write the rates in operations per second to *ret_fp32
 * and *ret_fp16; a rate that could not be measured is unchanged.  -ENOENT: no BLAS
 * library that this driver can run.  Blocks.
 */
int cuda_blas_rates(const struct cuda_place *p, double *ret_fp32, double *ret_fp16,
                    struct eddis_error *err);

#endif
