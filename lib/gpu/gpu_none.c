/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_none.c - replacement in a build without GPUs */
#include "gpu.h"

#include <errno.h>
#include <unistd.h>

bool gpu_built(void)
{
    return false;
}

void gpu_amd_visible(char *ret, size_t size)
{
    if (size > 0)
        ret[0] = '\0';
}

/* Return -ENOTSUP if the machine has a driver of this maker, which this build cannot use, otherwise
 * -ENOENT, with a message in err.
 */
static int none(enum gpu_maker maker, struct eddis_error *err)
{
    static const char *const places[] = {
        [GPU_NVIDIA] = "/proc/driver/nvidia/version", [GPU_AMD] = "/dev/kfd"
    };

    if (access(places[maker], F_OK) == 0)
        return eddis_fail(err, -ENOTSUP,
                          "eddis was built without GPUs; build it without -Dcuda=disabled");
    return eddis_fail(err, -ENOENT, "no GPU driver is installed");
}

int gpu_list(enum gpu_maker maker, struct gpu_device *ret, int max, int *ret_n,
             struct eddis_error *err)
{
    return none(maker, err);
}

int gpu_complete(struct gpu_device *gpu, int max, int n)
{
    (void)gpu;
    (void)max;
    return n;
}

bool gpu_look(struct gpu_device *gpu, int n)
{
    (void)gpu;
    (void)n;
    return false;
}

int gpu_measure(const struct gpu_device *gpu, struct gpu_metrics *ret, struct eddis_error *err)
{
    return none(gpu->maker, err);
}

int gpu_read_facts(const struct gpu_device *gpu, int n, const volatile int64_t *until_ns,
                   struct gpu_facts *ret)
{
    return 0;
}
