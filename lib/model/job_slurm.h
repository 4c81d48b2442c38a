/* SPDX-License-Identifier: Apache-2.0 */
/* job_slurm.h - resources that a job requests from Slurm; texts are in sbatch's syntax */
#ifndef EDDIS_MODEL_JOB_SLURM_H
#define EDDIS_MODEL_JOB_SLURM_H

#include <stddef.h>
#include <stdint.h>

/* Nodes of one kind; members that are NULL or 0 take the job's value */
struct job_component {
    int64_t nodes; /* from 1 */
    char *partition, *gres, *constraint, *memory;
    int64_t cpus; /* processors of each node; -1: all */
};

/* A job's request to Slurm */
struct job_slurm {
    char *partition, *gres, *constraint, *account, *qos, *memory; /* NULL: Slurm decides */
    int64_t time_ns;                 /* time limit; CLOCK_NEVER: Slurm decides */
    int64_t nodes;                   /* 0: as many as the job names, or one */
    int64_t cpus;                    /* processors of each node; 0: auto, -1: all */
    char *requeue;                   /* "auto", "on", "off" */
    char *launch;                    /* "auto", "srun", "ssh" */
    struct job_component *component; /* [n_components] instead of `nodes`; NULL: none */
    size_t n_components;
    char **extra; /* NULL-ended: further options of sbatch */
};

#endif
