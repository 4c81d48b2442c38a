/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_late.h - keeps from one start to the next whether NVML answered in time: a driver that
 * begins anew for each process is late each time
 *
 * One file per host in the folder of the profiles, "nvml-late-<host>": a line with the machine's
 * start and the driver. It counts for an hour, on the same start of the machine and with the same
 * driver.
 */
#ifndef EDDIS_PROFILER_NVML_LATE_H
#define EDDIS_PROFILER_NVML_LATE_H

#include "profiler/machine.h"

#include <stdbool.h>

/* Check whether NVML was late on machine m. */
bool nvml_late_known(const char *dir, const struct machine *m);

/* Keep that NVML was late on machine m, or that it was not; ignore failures, since the next start
 * only waits longer then.
 */
void nvml_late_keep(const char *dir, const struct machine *m, bool late);

#endif
