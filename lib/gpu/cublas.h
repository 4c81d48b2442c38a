/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.h - find and load cuBLAS */
#ifndef EDDIS_GPU_CUBLAS_H
#define EDDIS_GPU_CUBLAS_H

#include "blas.h"

/* Load into *ret the newest installed cuBLAS, 11 to 13, of a CUDA version that this driver can run;
 * one for a later CUDA could be loaded, but would fail.  Return 0; -ENOENT: none is installed;
 * otherwise the failure of the first library found, if none can be loaded.
 */
int cublas_load(const struct cuda_api *a, int driver_version, struct blas *ret,
                struct eddis_error *err);

#endif
