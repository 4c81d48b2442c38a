/* SPDX-License-Identifier: Apache-2.0 */
/* run_user.h - lets root act on another user's job without running that user's commands as root */
#ifndef EDDIS_CMD_RUN_END_RUN_USER_H
#define EDDIS_CMD_RUN_END_RUN_USER_H

#include "lib/base/error.h"

/* Give up root's rights for good if the job's folder belongs to another user. From then on this
 * process has that user's id, groups and home, and only harmless variables of root's. Do nothing if
 * the process is not root.
 */
int run_user_become_owner(const char *folder, struct eddis_error *err);

#endif
