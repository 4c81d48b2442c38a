/* SPDX-License-Identifier: Apache-2.0 */
/* job_slurm.h - what a job asks Slurm for; texts are as sbatch takes them */
#ifndef EDDIS_MODEL_JOB_SLURM_H
#define EDDIS_MODEL_JOB_SLURM_H

#include <stddef.h>
#include <stdint.h>

/* Nodes of one kind; a member that is NULL or 0 is as the job itself says. */
struct job_component {
    int64_t nodes; /* from 1 */
    char *partition, *gres, *constraint, *memory;
    int64_t cpus; /* of each node; -1: all */
};

struct job_slurm {
    char *partition, *gres, *constraint, *account, *qos, *memory; /* NULL: Slurm decides */
    int64_t time_ns;                                              /* CLOCK_NEVER: it does */
    int64_t nodes;                   /* 0: as many as the job names, or one */
    int64_t cpus;                    /* of each node; 0: auto, -1: all */
    char *requeue;                   /* "auto", "on", "off" */
    char *launch;                    /* "auto", "srun", "ssh" */
    struct job_component *component; /* [n_components] in the place of nodes; NULL: none */
    size_t n_components;
    char **extra; /* NULL-ended: more options */
};

#endif
