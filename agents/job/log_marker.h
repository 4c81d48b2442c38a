/* SPDX-License-Identifier: Apache-2.0 */
/* log_marker.h - the file ".HEX" by which agents detect that they share the driver's log folder
 *
 * The driver makes it in the folder of the logs, and keeps it young while it lives, since agents
 * register during all of the job. A killed driver leaves it: the next driver that uses the folder
 * removes markers that are LEFT_S old (lib/base/left.h).
 */
#ifndef EDDIS_AGENTS_JOB_LOG_MARKER_H
#define EDDIS_AGENTS_JOB_LOG_MARKER_H

#include "lib/base/clock.h"
#include "lib/base/error.h"

/* Time after which a driver calls log_marker_touch again, well below LEFT_S. */
static const int64_t log_marker_touch_ns = 600 * CLOCK_S;

/* Make the marker at `path`, "DIR/.HEX" with PROTOCOL_MARKER digits, and remove markers of killed
 * drivers from its folder. Blocks. Return 0 or a negative errno; -EEXIST: there is such a file.
 */
int log_marker_make(const char *path, struct eddis_error *err);

/* Set the marker's time to now; make it again if it is gone, because this process was stopped for
 * so long that another driver removed it. Blocks.
 */
void log_marker_touch(const char *path);

/* Remove all markers in a folder that no living driver uses. */
void log_marker_remove_all(const char *dir);

#endif
