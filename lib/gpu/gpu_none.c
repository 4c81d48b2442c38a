/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_none.c - replacement in a build without CUDA: there are no GPUs */
#include "gpu.h"

#include <errno.h>
#include <unistd.h>

bool gpu_built(void)
{
    return false;
}

/* Return -ENOTSUP if the machine has an NVIDIA driver, which this build cannot use, otherwise
 * -ENOENT, with a message in err.
 */
static int none(struct eddis_error *err)
{
    if (access("/proc/driver/nvidia/version", F_OK) == 0)
        return eddis_fail(
            err, -ENOTSUP,
            "eddis was built without CUDA; install the headers of a CUDA toolkit, 11.8 "
            "or later, and build it with -Dcuda=enabled");
    return eddis_fail(err, -ENOENT, "no NVIDIA driver is installed");
}

int gpu_list(struct gpu_device *ret, int max, int *ret_n, struct eddis_error *err)
{
    return none(err);
}

int gpu_complete(struct gpu_device *gpu, int max, int n)
{
    (void)gpu;
    (void)max;
    return n;
}

int gpu_measure(const struct gpu_device *gpu, struct gpu_metrics *ret, struct eddis_error *err)
{
    return none(err);
}

int gpu_read_facts(const struct gpu_device *gpu, int n, int64_t until_ns, struct gpu_facts *ret)
{
    return 0;
}
