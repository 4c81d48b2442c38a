/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_reader_none.c - replacement in a build without CUDA: there are no GPUs to read */
#include "gpu_reader.h"

#include <errno.h>

int gpu_reader_open(const char *const *id, int n, pid_t job, struct gpu_reader **ret,
                    struct eddis_error *err)
{
    return eddis_fail(err, -ENOENT, "eddis was built without CUDA");
}

void gpu_reader_close(struct gpu_reader *r)
{
}

int gpu_reader_read(struct gpu_reader *r, struct gpu_state *ret)
{
    return 0;
}

void gpu_reader_wait(struct gpu_reader *r, int timeout_ms)
{
}
