/* SPDX-License-Identifier: Apache-2.0 */
/* run_user.h - lets root act on another user's job without that user's words being root's */
#ifndef EDDIS_CMD_RUN_END_RUN_USER_H
#define EDDIS_CMD_RUN_END_RUN_USER_H

#include "lib/base/error.h"

/* Give root up for good where a job's folder belongs to another user: from then on this process has
 * that user's rights and home, and none of root's variables but those that say nothing of root.
 * Whoever is not root stays who he is.
 */
int run_user_become_owner(const char *folder, struct eddis_error *err);

#endif
