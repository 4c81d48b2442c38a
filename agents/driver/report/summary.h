/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - the last word about a job */
#ifndef EDDIS_AGENTS_DRIVER_REPORT_SUMMARY_H
#define EDDIS_AGENTS_DRIVER_REPORT_SUMMARY_H

#include "job_report.h"

/* Tell how the job went, for its folder and for the caller of the driver; it has ended.  Waits at
 * most ten seconds for a folder that does not answer, and one more second when a signal comes
 * (signals: a signalfd, or -1): what is not recorded then is named.
 */
void summary_tell(struct telling *t, int signals);

#endif
