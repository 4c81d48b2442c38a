/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_api.h - the functions of the CUDA driver that eddis calls, loaded at run time
 *
 * The types are written out here and the symbol names have their version suffix.  The headers of
 * CUDA 11.8, 12 and 13 map the plain names to different symbols; with the types and suffixes
 * written out, a build with any of them makes the same calls.
 */
#ifndef EDDIS_GPU_CUDA_API_H
#define EDDIS_GPU_CUDA_API_H

#include "lib/base/error.h"

#include <cuda.h>
#include <stddef.h>

/* Functions of the driver */
struct cuda_api {
    CUresult (*init)(unsigned flags);
    CUresult (*driver_version)(int *ret);
    CUresult (*error_string)(CUresult e, const char **ret);
    CUresult (*device_count)(int *ret);
    CUresult (*device)(CUdevice *ret, int ordinal);
    CUresult (*device_name)(char *ret, int size, CUdevice d);
    CUresult (*device_uuid)(CUuuid *ret, CUdevice d); /* NULL before driver 11.4 */
    CUresult (*device_uuid_old)(CUuuid *ret, CUdevice d);
    CUresult (*device_memory)(size_t *ret, CUdevice d);
    CUresult (*device_attribute)(int *ret, CUdevice_attribute a, CUdevice d);
    CUresult (*device_pci)(char *ret, int size, CUdevice d);
    CUresult (*context_retain)(CUcontext *ret, CUdevice d);
    CUresult (*context_release)(CUdevice d);
    CUresult (*context_use)(CUcontext c);
    CUresult (*memory_info)(size_t *ret_free, size_t *ret_total);
    CUresult (*alloc)(CUdeviceptr *ret, size_t bytes);
    CUresult (*release)(CUdeviceptr p);
    CUresult (*alloc_host)(void **ret, size_t bytes);
    CUresult (*release_host)(void *p);
    CUresult (*to_device)(CUdeviceptr to, const void *from, size_t bytes, CUstream s);
    CUresult (*from_device)(void *to, CUdeviceptr from, size_t bytes, CUstream s);
    CUresult (*inside_device)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s);
    CUresult (*stream_create)(CUstream *ret, unsigned flags);
    CUresult (*stream_destroy)(CUstream s);
    CUresult (*stream_wait)(CUstream s);
};

/* Load the driver, initialise it, and store its functions in *ret.  Blocks.  Return 0 or a negative
 * errno, and then *ret is unchanged; -ENOENT: the driver is not installed; -ENODEV: no GPU;
 * -ENOTSUP: the driver is too old.
 */
int cuda_load(struct cuda_api *ret, struct eddis_error *err);

/* Return 0 if e is success; otherwise a negative errno value, with `what` ("cannot allocate 64 MB")
 * and the driver's message in err.
 */
int cuda_check(const struct cuda_api *api, CUresult e, const char *what, struct eddis_error *err);

#endif
