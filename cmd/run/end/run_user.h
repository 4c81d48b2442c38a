/* SPDX-License-Identifier: Apache-2.0 */
/* run_user.h - lets root act on another user's job without running that user's commands as root */
#ifndef EDDIS_CMD_RUN_END_RUN_USER_H
#define EDDIS_CMD_RUN_END_RUN_USER_H

#include "lib/base/error.h"

/* If this process is root and the job's folder belongs to another user, give up root's rights
 * permanently: the process then has the owner's id, groups and home, and only harmless ones of
 * root's environment variables. If the process is not root, do nothing. Return 0 or a negative
 * errno.
 */
int run_user_become_owner(const char *folder, struct eddis_error *err);

#endif
