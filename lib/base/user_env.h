/* SPDX-License-Identifier: Apache-2.0 */
/* user_env.h - hide the user's variables from the HTTP and TLS libraries of eddis
 *
 * SSLKEYLOGFILE writes a session's keys to a file, GNUTLS_*, OPENSSL_* and CURL_* change what is
 * trusted, *_proxy sends tokens elsewhere, *_MODULES loads code.  They are meant for the user's
 * programs.  So eddis programs with such libraries rename them, and restore them for every program
 * that they start.  LD_LIBRARY_PATH and LD_PRELOAD are left alone.
 */
#ifndef EDDIS_BASE_USER_ENV_H
#define EDDIS_BASE_USER_ENV_H

#include "strlist.h"

#include <stdbool.h>

/* Check whether NAME=VALUE sets a variable that changes what these libraries do, and is not yet
 * hidden.
 */
bool user_env_steers(const char *variable);

/* Hide these variables from this program: rename them and execute the program again, because some
 * libraries read them while they are loaded.  Call it first in main.  Do nothing if no such
 * variable is set.
 */
void user_env_hide(char **argv);

/* Return the value of the variable as the user's programs will see it, whether it is hidden or not;
 * NULL: not set.
 */
const char *user_env_get(const char *name);

/* Append this process's environment as the user's programs will see it. */
void user_env_add(struct strlist *ret);

/* Append the same without the variables, "NAME=VALUE", that match one of these patterns (fnmatch,
 * NULL-ended).
 */
void user_env_add_without(struct strlist *ret, const char *const *patterns);

#endif
