/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_time.h - time limits as Slurm writes and reads them
 *
 *     minutes   minutes:seconds   hours:minutes:seconds
 *     days-hours   days-hours:minutes   days-hours:minutes:seconds
 */
#ifndef EDDIS_LIB_SLURM_SLURM_TIME_H
#define EDDIS_LIB_SLURM_SLURM_TIME_H

#include <stdint.h>

/* Return a time limit in ns; CLOCK_NEVER: no limit, as 0, "infinite" and "UNLIMITED" mean; -1: not
 * a time.
 */
int64_t slurm_time_limit_ns(const char *text);

#endif
