/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - a node's hardware and measured performance
 *
 * Plain data, to and from JSON.  A value that could not be measured is NAN and omitted from the
 * JSON; 0 is a measurement.
 */
#ifndef EDDIS_MODEL_PROFILE_H
#define EDDIS_MODEL_PROFILE_H

#include "lib/base/error.h"
#include "lib/model/gpu_facts.h"
#include "precision.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROFILE_PROBE_VERSION = 6, /* increment it if a probe changes what it measures */
    PROFILE_MAX_DEVICES = 64,
    PROFILE_MAX_NUMA = 64,
    PROFILE_MAX_LEFT = 1024,       /* most workers of a node from which some may be left out */
    PROFILE_MAX_BUNDLE = GPU_MOST, /* most GPUs of one worker */
    DEVICE_ID = PROFILE_MAX_BUNDLE * (40 + 1) + 8, /* bytes of their ids, divided by commas */
};

/* CUDA: also AMD's GPUs, as in PyTorch */
enum device_kind { DEVICE_CPU, DEVICE_CUDA, DEVICE_EMULATED };
enum { DEVICE_KINDS = DEVICE_EMULATED + 1 };
extern const char *const device_kind_names[DEVICE_KINDS];

/* Device of one worker: the cores of a NUMA node, a GPU, or an emulated device */
struct device {
    enum device_kind kind;
    int index;            /* within its kind on the node: NUMA node, GPU's number, row of emulate */
    char id[DEVICE_ID];   /* stable: "numa:0", "GPU-<uuid>", "emulated:0"; of several GPUs,
                           * scheduler/bundles.h, "GPU-<uuid>,GPU-<uuid>" */
    char name[96];        /* for people: "AMD EPYC 7763, 2 cores", "NVIDIA H100 80GB HBM3" */
    char pci[16];         /* "0000:17:00.0"; "": none */
    char cpus[256];       /* nearest cores as a list, "0-15,32-47" */
    int numa;             /* nearest NUMA node; -1: unknown */
    int64_t memory_bytes; /* memory of the device; 0: unknown */
    /* measured matrix products, operations per second; 0: the GPU has no such products */
    double fp32_flops, tf32_flops, bf16_flops, fp16_flops;
    double memory_bytes_per_s; /* measured sweep through memory (read + write) */
    double to_device_bytes_per_s, from_device_bytes_per_s; /* GPUs: measured over the bus */
    int driver_version;             /* GPUs: of CUDA, 13000, or of HIP, 60342131; else 0 */
    struct gpu_facts gpu;           /* NVIDIA: how it is built in; unknown otherwise */
    double rate, fixed_s, sample_s; /* emulated: as struct job_emulated; NAN otherwise */
};

/* Profile of one node */
struct node_profile {
    char host[256];
    int64_t measured_s; /* wall time of the measurement, seconds since 1970 */
    bool cached;        /* the profile was read from the cache */
    int probe_version;
    char eddis_version[16], mpi_version[64], kernel[96];
    char machine_id[64]; /* distinguishes machines of the same name */
    char cpu_model[96];
    int sockets, cores, threads, n_numa;
    int64_t memory_bytes;
    int64_t memory_limit; /* limit of this process's cgroup; 0: none */
    double cpu_quota;     /* cores that this process's cgroup allows; NAN: no limit */
    double load;          /* one-minute load average before the probe; NAN: unknown */
    struct device device[PROFILE_MAX_DEVICES];
    int n_devices;
    /* Not measured and not in the JSON: the job's number of workers on this node (0: auto) and most
     * samples per step of one of them (0: the job's general limit).
     */
    int64_t workers, max_batch;
    int bundle; /* GPUs of each device, as bundles_make has joined them; 0: one; not in the JSON */
    /* Set of the node's workers that the plan leaves out, a bit for each; not in the JSON. */
    uint64_t left_out[PROFILE_MAX_LEFT / 64];
    bool cpus_only; /* the program computes on the CPUs, whatever GPUs there are; not in the JSON */
    uint32_t software; /* checksum of the software that the job names for the node alone; 0: none;
                        * not in the JSON */
    char beside[192];  /* another job that ran on the node during the measurement, "Slurm's job 12";
                        * "": none */
    char note[512];    /* why something could not be measured, one sentence; "": all was measured */
};

/* Check whether the plan leaves out the node's worker of this index. */
static inline bool profile_leaves_out(const struct node_profile *p, int worker)
{
    return worker < PROFILE_MAX_LEFT && (p->left_out[worker / 64] >> worker % 64 & 1);
}

/* Return a device without measurements: its metrics are NAN, other members 0. */
static inline struct device device_unmeasured(enum device_kind kind, int index, int numa)
{
    return (struct device){
        .kind = kind,
        .index = index,
        .numa = numa,
        .fp32_flops = NAN,
        .tf32_flops = NAN,
        .bf16_flops = NAN,
        .fp16_flops = NAN,
        .memory_bytes_per_s = NAN,
        .to_device_bytes_per_s = NAN,
        .from_device_bytes_per_s = NAN,
        .rate = NAN,
        .fixed_s = NAN,
        .sample_s = NAN,
    };
}

/* Return indented JSON text, for the caller to free; NULL without memory. */
char *profile_text(const struct node_profile *p);

/* Parse the output of profile_text; `what` names the source in errors.  It may come from another
 * machine, so the range of every number is checked.  Return 0 or a negative errno, -EINVAL:
 * malformed; *ret is then unchanged.
 */
int profile_parse(const char *text, size_t n, const char *what, struct node_profile *ret,
                  struct eddis_error *err);

/* Return the device's measured rate in this precision, as in its member; PRECISION_AUTO: in fp32.
 */
double profile_rate(const struct device *d, enum precision precision);

/* Return how many devices of a kind the node has. */
int profile_count(const struct node_profile *p, enum device_kind kind);

/* Check whether this load on so many hardware threads makes measurements too low. */
bool profile_is_busy(double load, int threads);

/* Return the name of a kind of device, a constant: "cpu", "cuda" or "emulated"; "unknown": another
 * value.
 */
const char *device_kind_name(enum device_kind kind);

#endif
