/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_api.c - load the CUDA driver and look up its functions */
#include "cuda_api.h"

#include "cublas.h"
#include "maker.h"
#include "nvml.h"

#include "lib/base/dlopen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Load libcuda and store its functions in *a.  Return 0; -ENOENT: libcuda is not installed;
 * -ENOTSUP: it lacks a required function.
 */
static int load_symbols(struct cuda_api *a, struct eddis_error *err)
{
    static const char *const names[] = { "libcuda.so.1", "libcuda.so", NULL };
    const struct dlopen_symbol symbols[] = {
        { "cuInit", &a->init, false },
        { "cuDriverGetVersion", &a->driver_version, false },
        { "cuGetErrorString", &a->error_string, false },
        { "cuDeviceGetCount", &a->device_count, false },
        { "cuDeviceGet", &a->device, false },
        { "cuDeviceGetName", &a->device_name, false },
        { "cuDeviceGetUuid_v2", &a->device_uuid, true },
        { "cuDeviceGetUuid", &a->device_uuid_old, false },
        { "cuDeviceTotalMem_v2", &a->device_memory, false },
        { "cuDeviceGetAttribute", &a->device_attribute, false },
        { "cuDeviceGetPCIBusId", &a->device_pci, false },
        { "cuDevicePrimaryCtxRetain", &a->context_retain, false },
        { "cuDevicePrimaryCtxRelease_v2", &a->context_release, false },
        { "cuCtxSetCurrent", &a->context_use, false },
        { "cuMemGetInfo_v2", &a->memory_info, false },
        { "cuMemAlloc_v2", &a->alloc, false },
        { "cuMemFree_v2", &a->release, false },
        { "cuMemAllocHost_v2", &a->alloc_host, false },
        { "cuMemFreeHost", &a->release_host, false },
        { "cuMemcpyHtoDAsync_v2", &a->to_device, false },
        { "cuMemcpyDtoHAsync_v2", &a->from_device, false },
        { "cuMemcpyDtoDAsync_v2", &a->inside_device, false },
        { "cuStreamCreate", &a->stream_create, false },
        { "cuStreamDestroy_v2", &a->stream_destroy, false },
        { "cuStreamSynchronize", &a->stream_wait, false },
    };

    return dlopen_library(names, symbols, sizeof symbols / sizeof *symbols, err);
}

int cuda_check(const struct cuda_api *api, CUresult e, const char *what, struct eddis_error *err)
{
    const char *words = NULL;

    if (e == CUDA_SUCCESS)
        return 0;
    if (api->error_string(e, &words) != CUDA_SUCCESS || !words)
        words = "unknown error";
    return eddis_fail(err, e == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO, "%s: %s (%s error %d)",
                      what, words, api->maker->interface, e);
}

/* Load CUDA's driver, as maker.h describes. */
static int load(struct cuda_api *ret, struct eddis_error *err)
{
    struct cuda_api a = { .maker = &maker_nvidia };
    int version = 0, rc = load_symbols(&a, err);
    CUresult e;

    if (rc == -ENOTSUP)
        return eddis_fail(err, rc, "the NVIDIA driver is older than CUDA 11; update it");
    if (rc == -ENOENT)
        return eddis_fail(err, rc, "libcuda.so.1 of the NVIDIA driver is not installed");
    if (rc < 0)
        return rc;
    e = a.init(0);
    /* A machine with only a stub library has no driver. */
    if (e == CUDA_ERROR_STUB_LIBRARY)
        return eddis_fail(err, -ENOENT, "libcuda.so.1 is only a stub of the NVIDIA driver");
    if (e == CUDA_ERROR_NO_DEVICE)
        return eddis_fail(err, -ENODEV, "the NVIDIA driver finds no GPU");
    rc = cuda_check(&a, e, "the NVIDIA driver does not start", err);
    if (rc == 0)
        rc = cuda_check(&a, a.driver_version(&version), "the driver's version is unknown", err);
    if (rc == 0 && version < 11000)
        rc = eddis_fail(
            err, -ENOTSUP,
            "the NVIDIA driver supports only CUDA %d.%d, but eddis needs CUDA 11; update it",
            version / 1000, version % 1000 / 10);
    if (rc == 0)
        *ret = a;
    return rc;
}

/* Write the GPU's id, as maker.h describes, in the form of nvidia-smi. */
static CUresult write_id(const struct cuda_api *a, CUdevice d, int ordinal, char *ret, size_t size)
{
    CUuuid uuid, card;
    const unsigned char *b = uuid.bytes;
    CUresult e = a->device_uuid ? a->device_uuid(&uuid, d) : a->device_uuid_old(&uuid, d);

    (void)ordinal;
    if (!e)
        e = a->device_uuid_old(&card, d);
    if (e)
        return e;
    /* Of a MIG instance the two functions give its own UUID and its card's. */
    (void)snprintf(ret, size,
                   "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                   memcmp(&uuid, &card, sizeof uuid) == 0 ? "GPU" : "MIG", b[0], b[1], b[2], b[3],
                   b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return 0;
}

const struct maker maker_nvidia = {
    .id = GPU_NVIDIA,
    .driver = "the NVIDIA driver",
    .interface = "CUDA",
    .blas = "cuBLAS",
    .load = load,
    .write_id = write_id,
    .load_blas = cublas_load,
    .list_divided = nvml_list_divided,
    .find_users = nvml_find_users,
};
