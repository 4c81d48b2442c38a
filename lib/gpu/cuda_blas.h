/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_blas.h - how fast a GPU multiplies matrices, through cuBLAS */
#ifndef EDDIS_GPU_CUDA_BLAS_H
#define EDDIS_GPU_CUDA_BLAS_H

#include "cuda_api.h"

#include <stdint.h>

/* Where measurements of one device happen: its context is current. */
struct cuda_place {
    const struct cuda_api *api;
    CUstream stream;
    int driver_version;
    void *host; /* pinned */
    size_t host_bytes;
};

/* Measure square products of single precision, and of half precision added up in single, each the
 * best of the rounds that fit in 0.4 s.  Writes operations per second.  What could not be
 * measured is left as it is.  -ENOENT: no cuBLAS that this driver can run.  Blocks.
 */
int cuda_blas_rates(const struct cuda_place *p, double *ret_fp32, double *ret_fp16,
                    struct eddis_error *err);

#endif
