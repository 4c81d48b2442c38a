/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_cuda.c - list and measure the GPUs of this process */
#include "gpu.h"

#include "cuda_api.h"
#include "cuda_blas.h"
#include "maker.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* bytes of a copy between host and device, and of device memory; number of measurements */
enum { COPY_BYTES = 64 << 20, SWEEP_BYTES = 256 << 20, COPY_ROUNDS = 8 };
/* least time for all measurements of a direction: on a fast GPU COPY_ROUNDS take a few ms, in which
 * other programs may delay every one
 */
#define COPY_NS (CLOCK_S / 5)
/* copies in one measurement, because start and wait cost a tenth of one copy on a fast GPU */
enum { COPIES = 4 };

static const struct maker *const makers[] = {
    [GPU_NVIDIA] = &maker_nvidia, [GPU_AMD] = &maker_amd
};

bool gpu_built(void)
{
    return true;
}

/* Store the properties of the GPU with this ordinal in *ret.  Return 0, -ENOMEM or -EIO. */
static int describe(const struct cuda_api *api, int ordinal, struct gpu_device *ret,
                    struct eddis_error *err)
{
    struct gpu_device g = { .maker = api->maker->id, .ordinal = ordinal };
    CUdevice d;
    size_t bytes;
    CUresult e = api->device(&d, ordinal);

    if (!e)
        e = api->device_name(g.name, sizeof g.name, d);
    if (!e)
        e = api->maker->write_id(api, d, ordinal, g.uuid, sizeof g.uuid);
    if (!e)
        e = api->device_memory(&bytes, d);
    if (!e)
        e = api->device_pci(g.pci, sizeof g.pci, d);
    if (!e)
        e = api->driver_version(&g.driver_version);
    if (e)
        return cuda_check(api, e, "the driver does not describe a GPU", err);
    g.name[sizeof g.name - 1] = 0;
    text_strip_control(g.name);
    if (!g.name[0])
        (void)snprintf(g.name, sizeof g.name, GPU_NAMELESS);
    for (char *c = g.pci; *c; c++) /* lower case, as in sysfs and hwloc */
        *c = (char)tolower((unsigned char)*c);
    g.memory_bytes = (int64_t)bytes;
    *ret = g;
    return 0;
}

/* Describe n GPUs in ret. One that does not answer, as after a fault of the bus, gets its number as
 * its id, and its measurement will say why. Return 0, or the first error if none answers.
 */
static int describe_all(const struct cuda_api *api, struct gpu_device *ret, int n,
                        struct eddis_error *err)
{
    struct eddis_error first = { 0 };
    int failed = 0, version = 0;

    (void)api->driver_version(&version);
    for (int i = 0; i < n; i++) {
        if (describe(api, i, &ret[i], failed ? NULL : &first) == 0)
            continue;
        failed++;
        ret[i] =
            (struct gpu_device){ .maker = api->maker->id, .ordinal = i, .driver_version = version };
        (void)snprintf(ret[i].uuid, sizeof ret[i].uuid, "gpu:%d", i);
        (void)snprintf(ret[i].name, sizeof ret[i].name, "a GPU that does not answer");
    }
    return failed < n ? 0 : eddis_fail(err, first.code, "%s", first.text);
}

/* Replace the n GPUs in ret [max] by those that NVML lists, since CUDA shows one MIG instance at
 * most. If NVML lists none, leave them. Return the number of GPUs.
 */
static int list_instances(const struct maker *m, struct gpu_device *ret, int max, int n)
{
    int version = ret[0].driver_version;
    struct gpu_device *all = calloc((size_t)max, sizeof *all);
    int found = all ? m->list_divided(ret[0].uuid, all, max) : 0;

    for (int i = 0; i < found; i++) {
        ret[i] = all[i];
        ret[i].driver_version = version;
    }
    free(all);
    return found > 0 ? found : n;
}

int gpu_list(enum gpu_maker maker, struct gpu_device *ret, int max, int *ret_n,
             struct eddis_error *err)
{
    struct cuda_api api;
    int n = 0, rc = makers[maker]->load(&api, err);

    if (rc == 0)
        rc = cuda_check(&api, api.device_count(&n), "the GPUs cannot be counted", err);
    if (rc == 0 && n <= 0)
        rc = eddis_fail(err, -ENODEV, "%s finds no GPU", makers[maker]->driver);
    if (n > max)
        n = max;
    if (rc == 0)
        rc = describe_all(&api, ret, n, err);
    if (rc == 0)
        *ret_n = n;
    return rc;
}

int gpu_complete(struct gpu_device *gpu, int max, int n)
{
    const struct maker *m = makers[gpu[0].maker];

    if (m->list_divided)
        n = list_instances(m, gpu, max, n);
    (void)gpu_look(gpu, n);
    return n;
}

bool gpu_look(struct gpu_device *gpu, int n)
{
    const struct maker *m = makers[n > 0 ? gpu[0].maker : GPU_AMD];

    return m->find_users && m->find_users(gpu, n);
}

/* ---- copies ---- */

/* The direction of a copy; INSIDE: within the memory of the device. */
enum direction { TO_DEVICE, FROM_DEVICE, INSIDE };

/* Start one copy in this direction on the stream, without waiting, and return its status; x is
 * device memory of SWEEP_BYTES.
 */
static CUresult copy(const struct cuda_place *p, enum direction d, CUdeviceptr x)
{
    if (d == TO_DEVICE)
        return p->api->to_device(x, p->host, COPY_BYTES, p->stream);
    if (d == FROM_DEVICE)
        return p->api->from_device(p->host, x, COPY_BYTES, p->stream);
    return p->api->inside_device(x, x + SWEEP_BYTES / 2, SWEEP_BYTES / 2, p->stream);
}

/* Measure copies in this direction and store the largest rate of COPY_ROUNDS measurements or more
 * in *ret, in bytes per second.  Of a copy within the device, bytes read and bytes written both
 * count. Return 0 or a negative errno, and then *ret is unchanged.
 */
static int copy_rate(const struct cuda_place *p, enum direction d, CUdeviceptr x, double *ret,
                     struct eddis_error *err)
{
    int64_t deadline = clock_now_ns() + COPY_NS;
    double best = 0;

    for (int i = 0; i < COPY_ROUNDS || clock_now_ns() < deadline; i++) {
        int64_t start = clock_now_ns();
        CUresult e = CUDA_SUCCESS;
        double rate;

        for (int j = 0; !e && j < COPIES; j++)
            e = copy(p, d, x);
        if (!e)
            e = p->api->stream_wait(p->stream);
        if (e)
            return cuda_check(p->api, e, "a copy fails", err);
        rate = (d == INSIDE ? SWEEP_BYTES : COPY_BYTES) * (double)COPIES * (double)CLOCK_S /
               (double)(clock_now_ns() - start + 1);
        best = rate > best ? rate : best;
    }
    *ret = best;
    return 0;
}

/* Measure copies in all three directions and store their rates in f.  Return 0 or a negative errno;
 * after a failure the rates not measured are unchanged.
 */
static int copy_rates(const struct cuda_place *p, struct gpu_metrics *f, struct eddis_error *err)
{
    CUdeviceptr x = 0;
    int rc = cuda_check(p->api, p->api->alloc(&x, SWEEP_BYTES), "no GPU memory to measure", err);

    if (rc < 0)
        return rc;
    rc = copy_rate(p, TO_DEVICE, x, &f->to_device_bytes_per_s, err);
    if (rc == 0)
        rc = copy_rate(p, FROM_DEVICE, x, &f->from_device_bytes_per_s, err);
    if (rc == 0)
        rc = copy_rate(p, INSIDE, x, &f->memory_bytes_per_s, err);
    (void)p->api->release(x);
    return rc;
}

/* ---- one device ---- */

/* Measure copies and matrix products and store their rates in f; write the first error, which ends
 * the measurement, to f->note.  The GPU's context must be current, and p must have the stream and
 * the pinned memory.
 */
static void measure_all(const struct cuda_place *p, struct gpu_metrics *f)
{
    struct cuda_rates r = { f->fp32_flops, f->tf32_flops, f->bf16_flops, f->fp16_flops };
    struct eddis_error e = { 0 };

    if (copy_rates(p, f, &e) < 0 || cuda_blas_rates(p, &r, &e) < 0)
        (void)snprintf(f->note, sizeof f->note, "%.*s", (int)sizeof f->note - 1, e.text);
    f->fp32_flops = r.fp32;
    f->tf32_flops = r.tf32;
    f->bf16_flops = r.bf16;
    f->fp16_flops = r.fp16;
}

/* Measure the GPU whose context is current and store the rates in f, with a note if some could not
 * be measured.  Return a failure only if nothing could be measured.
 */
static int measure_in_context(const struct cuda_api *api, CUdevice d, struct gpu_metrics *f,
                              struct eddis_error *err)
{
    struct cuda_place p = { .api = api, .major = INT_MAX, .host_bytes = COPY_BYTES };
    int rc = cuda_check(api, api->driver_version(&p.driver_version),
                        "the driver's version is unknown", err);

    if (rc == 0 && api->device_attribute)
        rc = cuda_check(api, api->device_attribute(&p.major, CUDA_ATTRIBUTE_MAJOR, d),
                        "the GPU's compute capability is unknown", err);
    if (rc == 0)
        rc = cuda_check(api, api->stream_create(&p.stream, 0), "no stream on the GPU", err);
    if (rc < 0)
        return rc;
    rc = cuda_check(api, api->alloc_host(&p.host, COPY_BYTES), "no pinned memory", err);
    if (rc == 0) {
        measure_all(&p, f);
        (void)api->release_host(p.host);
    }
    (void)api->stream_destroy(p.stream);
    return rc;
}

int gpu_measure(const struct gpu_device *gpu, struct gpu_metrics *ret, struct eddis_error *err)
{
    struct gpu_metrics f = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, "" };
    struct cuda_api api;
    CUcontext context;
    CUdevice d;
    int rc;

    if (gpu->alone && setenv("CUDA_VISIBLE_DEVICES", gpu->uuid, 1) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for CUDA_VISIBLE_DEVICES");
    rc = makers[gpu->maker]->load(&api, err);
    if (rc == 0)
        rc = cuda_check(&api, api.device(&d, gpu->alone ? 0 : gpu->ordinal),
                        "the GPU no longer exists", err);
    if (rc == 0)
        rc = cuda_check(&api, api.context_retain(&context, d), "the GPU cannot be used", err);
    if (rc < 0)
        return rc;
    rc = cuda_check(&api, api.context_use(context), "the GPU cannot be used", err);
    if (rc == 0)
        rc = measure_in_context(&api, d, &f, err);
    (void)api.context_release(d);
    if (rc == 0)
        *ret = f;
    return rc;
}
