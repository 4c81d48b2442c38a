/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - the final report of a job */
#ifndef EDDIS_AGENTS_DRIVER_REPORT_SUMMARY_H
#define EDDIS_AGENTS_DRIVER_REPORT_SUMMARY_H

#include "job_report.h"

/* Complete the status of a job that has ended, write its summary and report it to the user. If the
 * job's folder does not respond, wait for at most ten seconds, or for one second after a signal
 * (signals: a signalfd, or -1); then tell the user which files could not be written.
 */
void summary_report(struct job_report *t, int signals);

#endif
