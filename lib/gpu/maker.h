/* SPDX-License-Identifier: Apache-2.0 */
/* maker.h - what differs between the makers of GPUs: how their libraries are found and named */
#ifndef EDDIS_GPU_MAKER_H
#define EDDIS_GPU_MAKER_H

#include "blas.h"
#include "gpu.h"

struct maker {
    enum gpu_maker id;
    const char *driver;    /* subject of a message: "the NVIDIA driver" */
    const char *interface; /* that has the numbers of errors: "CUDA" */
    const char *blas;      /* "cuBLAS" */

    /* Load the driver, initialise it, and store its functions in *ret.  Blocks.  Return 0 or a
     * negative errno, and then *ret is unchanged; -ENOENT: the driver is not installed; -ENODEV: no
     * GPU; -ENOTSUP: the driver is too old.
     */
    int (*load)(struct cuda_api *ret, struct eddis_error *err);

    /* Write the id of a GPU, as gpu.h describes it, to ret [size].  Return a result of the driver.
     */
    CUresult (*write_id)(const struct cuda_api *a, CUdevice d, int ordinal, char *ret, size_t size);

    /* Load a BLAS library for the loaded driver.  Return 0 or a negative errno; -ENOENT: there is
     * none.
     */
    int (*load_blas)(const struct cuda_api *a, int driver_version, struct blas *ret,
                     struct eddis_error *err);

    /* As nvml.h describes them; NULL: unknown */
    int (*list_divided)(const char *shown, struct gpu_device *ret, int max);
    bool (*find_users)(struct gpu_device *gpu, int n);
};

extern const struct maker maker_nvidia, maker_amd;

#endif
