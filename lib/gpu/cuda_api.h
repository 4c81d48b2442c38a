/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_api.h - the functions of a GPU driver that eddis calls, loaded at run time
 *
 * The types of CUDA's driver interface are written out here and the symbol names have their version
 * suffix, so that a build needs no headers and makes the same calls with each version.
 */
#ifndef EDDIS_GPU_CUDA_API_H
#define EDDIS_GPU_CUDA_API_H

#include "lib/base/error.h"

#include <stddef.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUuuid_st {
    unsigned char bytes[16];
} CUuuid;

/* Results of the functions */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_NO_DEVICE = 100,
};

enum { CUDA_ATTRIBUTE_MAJOR = 75 }; /* attribute of a GPU: first part of its compute capability */

/* Functions of the driver of one maker of GPUs.  HIP, AMD's, has the same ones by other names. */
struct cuda_api {
    const struct maker *maker;
    CUresult (*init)(unsigned flags);
    CUresult (*driver_version)(int *ret);
    CUresult (*error_string)(CUresult e, const char **ret);
    CUresult (*device_count)(int *ret);
    CUresult (*device)(CUdevice *ret, int ordinal);
    CUresult (*device_name)(char *ret, int size, CUdevice d);
    CUresult (*device_uuid)(CUuuid *ret, CUdevice d); /* NULL before driver 11.4 */
    CUresult (*device_uuid_old)(CUuuid *ret, CUdevice d);
    CUresult (*device_memory)(size_t *ret, CUdevice d);
    /* NULL for HIP, whose attributes have other numbers */
    CUresult (*device_attribute)(int *ret, int attribute, CUdevice d);
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

/* Return 0 if e is success; otherwise a negative errno value, with `what` ("cannot allocate 64 MB")
 * and the driver's message in err.
 */
int cuda_check(const struct cuda_api *api, CUresult e, const char *what, struct eddis_error *err);

#endif
