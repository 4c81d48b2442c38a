/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_time.h - times as Slurm writes and reads them
 *
 *     minutes   minutes:seconds   hours:minutes:seconds
 *     days-hours   days-hours:minutes   days-hours:minutes:seconds
 */
#ifndef EDDIS_LIB_SLURM_SLURM_TIME_H
#define EDDIS_LIB_SLURM_SLURM_TIME_H

#include <stdint.h>

/* Returns a time limit in ns; CLOCK_NEVER: no limit, as 0, "infinite" and "UNLIMITED" say; -1: this
 * is none.
 */
int64_t slurm_time_limit_ns(const char *text);

#endif
