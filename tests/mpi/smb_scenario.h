/* SPDX-License-Identifier: Apache-2.0 */
/* smb_scenario.h - the Soft Memory Box through eddis_smb.h, with every result checked
 *
 * Each worker runs it with its own handle: threads over the in-process loop, or processes over
 * MPI.  Failures are printed and counted; the workers go on, so that none waits for ever.
 */
#ifndef EDDIS_TESTS_SMB_SCENARIO_H
#define EDDIS_TESTS_SMB_SCENARIO_H

#include "lib/eddis_smb.h"

/* Each writer adds so many times.  Returns the number of failures. */
int smb_scenario(struct eddis *e, int accumulates);

#endif
