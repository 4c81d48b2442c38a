/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - what a node was measured to be
 *
 * Plain data, to and from JSON.  A figure that could not be measured is NAN and is left out of the
 * JSON; 0 is a measurement.
 */
#ifndef EDDIS_MODEL_PROFILE_H
#define EDDIS_MODEL_PROFILE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROFILE_PROBE_VERSION = 3, /* raise it when a probe measures something else than before */
    PROFILE_MAX_DEVICES = 64,
    PROFILE_MAX_NUMA = 64,
};

enum device_kind { DEVICE_CPU, DEVICE_CUDA, DEVICE_EMULATED };

/* Something a worker runs on: a NUMA node's cores, a GPU, or an emulated device. */
struct device {
    enum device_kind kind;
    int index;            /* among its kind on the node: NUMA node, CUDA ordinal, row of emulate */
    char id[64];          /* stable: "numa:0", "GPU-<uuid>", "emulated:0" */
    char name[96];        /* for people: "AMD EPYC 7763, 2 cores", "NVIDIA H100 80GB HBM3" */
    char pci[16];         /* "0000:17:00.0"; "" when it has none */
    char cpus[256];       /* the cores near it as a list, "0-15,32-47" */
    int numa;             /* NUMA node near it; -1 unknown */
    int64_t memory_bytes; /* of the device; 0 unknown */
    double fp32_flops, fp16_flops;                         /* measured matrix product, per second */
    double memory_bytes_per_s;                             /* measured sweep (read + write) */
    double to_device_bytes_per_s, from_device_bytes_per_s; /* GPUs: over the bus */
    int driver_version;             /* CUDA: as the driver tells it, 13000; 0 otherwise */
    double rate, fixed_s, sample_s; /* emulated: as struct job_emulated; NAN otherwise */
};

struct node_profile {
    char host[256];
    int64_t measured_s; /* wall time, seconds since 1970 */
    bool cached;        /* it came from the cache */
    int probe_version;
    char eddis_version[16], mpi_version[64], kernel[96];
    char machine_id[64]; /* what tells this machine from another of the same name */
    char cpu_model[96];
    int sockets, cores, threads, n_numa;
    int64_t memory_bytes;
    int64_t memory_limit;    /* that this process may use by its cgroup; 0: no limit */
    double cpu_quota;        /* cores this process may use by its cgroup; NAN: no limit */
    double load;             /* one-minute average before the probe; NAN unknown */
    double read_bytes_per_s; /* of the data path; NAN when there was none */
    char read_path[1024];
    struct device device[PROFILE_MAX_DEVICES];
    int n_devices;
    /* No measurements, and not in the text: how many workers the job wants there, and how many
     * samples of a step one may get; 0: auto, and as the job says of all.
     */
    int64_t workers, max_batch;
    char beside[192]; /* another job that ran here meanwhile, "job 12 of Slurm"; "": none */
    char note[256];   /* one sentence when something could not be measured; "" otherwise */
};

/* Returns JSON text, indented; NULL without memory. */
char *profile_text(const struct node_profile *p);

/* Parse what profile_text wrote; what names the source in errors.  Every number is range-checked:
 * it may come from another machine.
 */
int profile_parse(const char *text, size_t n, const char *what, struct node_profile *ret,
                  struct eddis_error *err);

/* Whether so many others compute, by this load, beside a measurement that it comes out too low. */
bool profile_is_busy(double load, int threads);

const char *device_kind_name(enum device_kind kind); /* "cpu", "cuda", "emulated" */

/* Whether a kind has this name; *ret is it then. */
bool device_kind_find(const char *name, enum device_kind *ret);

#endif
