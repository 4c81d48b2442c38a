/* SPDX-License-Identifier: Apache-2.0 */
/* hip_api.c - load HIP, the interface to AMD's GPUs, and look up its functions
 *
 * HIP's functions have the types of CUDA's.  A pointer to device memory is a void *, which is
 * passed like CUDA's number.  The numbers of the results that eddis tells apart are the same, too.
 */
#include "maker.h"
#include "python_library.h"
#include "rocblas.h"

#include "lib/base/dlopen.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INVALID_DEVICE = 101 };  /* HIP's result without the kernel's driver */
enum { HIP_OLDEST = 50600000 }; /* 5.6, the first with hipDrvGetErrorString */
enum { HIP_MAJOR = 10000000, HIP_MINOR = 100000 };
enum { UUID = sizeof(CUuuid) };

/* Load the first library of these names and store its functions in *a.  Return as dlopen_library.
 */
static int load_symbols(const char *const *names, struct cuda_api *a, struct eddis_error *err)
{
    const struct dlopen_symbol symbols[] = {
        { "hipInit", &a->init, false },
        { "hipDriverGetVersion", &a->driver_version, false },
        { "hipDrvGetErrorString", &a->error_string, false },
        { "hipGetDeviceCount", &a->device_count, false },
        { "hipDeviceGet", &a->device, false },
        { "hipDeviceGetName", &a->device_name, false },
        { "hipDeviceGetUuid", &a->device_uuid, false },
        { "hipDeviceTotalMem", &a->device_memory, false },
        { "hipDeviceGetPCIBusId", &a->device_pci, false },
        { "hipDevicePrimaryCtxRetain", &a->context_retain, false },
        { "hipDevicePrimaryCtxRelease", &a->context_release, false },
        { "hipCtxSetCurrent", &a->context_use, false },
        { "hipMemGetInfo", &a->memory_info, false },
        { "hipMalloc", &a->alloc, false },
        { "hipFree", &a->release, false },
        { "hipMemAllocHost", &a->alloc_host, false },
        { "hipHostFree", &a->release_host, false },
        { "hipMemcpyHtoDAsync", &a->to_device, false },
        { "hipMemcpyDtoHAsync", &a->from_device, false },
        { "hipMemcpyDtoDAsync", &a->inside_device, false },
        { "hipStreamCreateWithFlags", &a->stream_create, false },
        { "hipStreamDestroy", &a->stream_destroy, false },
        { "hipStreamSynchronize", &a->stream_wait, false },
    };

    return dlopen_library(names, symbols, sizeof symbols / sizeof *symbols, err);
}

/* Load the HIP of PyTorch's packages (python_library_fn; context: struct cuda_api). */
static bool load_of_python(void *context, const char *path)
{
    const char *const names[] = { path, NULL };

    return load_symbols(names, context, NULL) == 0;
}

/* Load HIP where the loader finds it, from ROCm's usual folder, or from PyTorch's packages.  Return
 * as load_symbols.
 */
static int load_library(struct cuda_api *a, struct eddis_error *err)
{
    static const char *const names[] = { "libamdhip64.so.7",
                                         "libamdhip64.so.6",
                                         "libamdhip64.so.5",
                                         "libamdhip64.so",
                                         "/opt/rocm/lib/libamdhip64.so",
                                         NULL };
    int rc = load_symbols(names, a, err);

    if (rc == -ENOENT && python_library_find("torch/lib/libamdhip64.so", load_of_python, a))
        rc = 0;
    return rc;
}

/* Check whether a list hides all GPUs; the word is Slurm's. */
static bool hides(const char *list)
{
    return list && (!*list || *list == '-' || strcmp(list, "NoDevFiles") == 0);
}

void gpu_amd_visible(char *ret, size_t size)
{
    const char *hip = getenv("HIP_VISIBLE_DEVICES"), *rocr = getenv("ROCR_VISIBLE_DEVICES");
    const char *list = hip ? hip : getenv("CUDA_VISIBLE_DEVICES");

    if (!hip && rocr && list && !*list) /* hides NVIDIA's only */
        list = NULL;
    if (hides(list) || hides(rocr))
        (void)snprintf(ret, size, "-1");
    else
        (void)snprintf(ret, size, "%s%s%s", list ? list : "", rocr ? " of " : "", rocr ? rocr : "");
}

/* Load HIP, as maker.h describes. */
static int load(struct cuda_api *ret, struct eddis_error *err)
{
    struct cuda_api a = { .maker = &maker_amd };
    char visible[8];
    int version = 0, rc;
    CUresult e;

    gpu_amd_visible(visible, sizeof visible);
    if (visible[0] == '-')
        return eddis_fail(err, -ENODEV, "the AMD GPUs are hidden");
    rc = load_library(&a, err);
    if (rc == -ENOTSUP)
        return eddis_fail(err, rc, "ROCm is older than 5.6; update it");
    if (rc == -ENOENT)
        return eddis_fail(err, rc, "libamdhip64.so of ROCm is not installed");
    if (rc < 0)
        return rc;
    e = a.init(0);
    if (e == CUDA_ERROR_NO_DEVICE || (e == INVALID_DEVICE && access("/dev/kfd", F_OK) < 0))
        return eddis_fail(err, -ENODEV, "ROCm finds no GPU");
    rc = cuda_check(&a, e, "ROCm does not start", err);
    if (rc == 0)
        rc = cuda_check(&a, a.driver_version(&version), "ROCm's version is unknown", err);
    if (rc == 0 && version < HIP_OLDEST)
        rc = eddis_fail(err, -ENOTSUP, "ROCm is of version %d.%d, but eddis needs 5.6; update it",
                        version / HIP_MAJOR, version % HIP_MAJOR / HIP_MINOR);
    if (rc == 0)
        *ret = a;
    return rc;
}

/* Check whether HIP gave a UUID: 16 hexadecimal digits, not all 0.  Old cards have
 * "XX" and no more.
 */
static bool is_uuid(const CUuuid *u)
{
    bool is = false;

    for (size_t i = 0; i < UUID; i++) {
        if (!isxdigit(u->bytes[i]))
            return false;
        is |= u->bytes[i] != '0';
    }
    return is;
}

/* Check whether each GPU that answers has a UUID of its own.  Parts of a divided GPU may share one.
 */
static bool have_uuids(const struct cuda_api *a)
{
    CUuuid u, other;
    int n = 0;

    (void)a->device_count(&n);
    for (int i = 0; i < n; i++) {
        if (a->device_uuid(&u, i))
            continue;
        if (!is_uuid(&u))
            return false;
        for (int k = 0; k < i; k++)
            if (a->device_uuid(&other, k) == 0 && memcmp(&u, &other, UUID) == 0)
                return false;
    }
    return true;
}

/* Write the GPU's id, as maker.h describes: "GPU-" and the UUID as rocminfo prints it, or "HIP-"
 * and the word for the GPU in HIP_VISIBLE_DEVICES if not all GPUs have UUIDs.
 */
static CUresult write_id(const struct cuda_api *a, CUdevice d, int ordinal, char *ret, size_t size)
{
    const char *hip = getenv("HIP_VISIBLE_DEVICES"),
               *at = hip ? hip : getenv("CUDA_VISIBLE_DEVICES");
    CUuuid u;
    CUresult e = a->device_uuid(&u, d);

    if (e)
        return e;
    if (have_uuids(a)) {
        (void)snprintf(ret, size, "GPU-%.*s", UUID, (const char *)u.bytes);
        return 0;
    }
    for (int i = 0; at && *at && i < ordinal; i++)
        at += strcspn(at, ",") + (strchr(at, ',') != NULL);
    if (at)
        at += strspn(at, " \t");
    if (at && *at)
        (void)snprintf(ret, size, "HIP-%.*s", (int)strcspn(at, ", \t"), at);
    else
        (void)snprintf(ret, size, "HIP-%d", ordinal);
    return 0;
}

const struct maker maker_amd = {
    .id = GPU_AMD,
    .driver = "ROCm",
    .interface = "HIP",
    .blas = "rocBLAS",
    .load = load,
    .write_id = write_id,
    .load_blas = rocblas_load,
};
