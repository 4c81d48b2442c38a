/* SPDX-License-Identifier: Apache-2.0 */
/* rocblas.h - load rocBLAS, with the interface of cuBLAS
 *
 * The functions and constants of rocBLAS used here have been the same since ROCm 5.  Those of
 * hipBLAS, which resembles cuBLAS more, have not: its version 3 has other constants.
 */
#ifndef EDDIS_GPU_ROCBLAS_H
#define EDDIS_GPU_ROCBLAS_H

#include "blas.h"

/* Load into *ret the rocBLAS that belongs to the loaded HIP: the one in its folder, else one that
 * the loader finds.  Another ROCm's would bring its own HIP.  Return 0; -ENOENT: none is installed;
 * otherwise why it cannot be loaded.
 */
int rocblas_load(const struct cuda_api *a, int driver_version, struct blas *ret,
                 struct eddis_error *err);

#endif
