/* SPDX-License-Identifier: Apache-2.0 */
/* user_env.h - keeps the user's variables from the libraries that speak HTTP and TLS for eddis
 *
 * SSLKEYLOGFILE writes a session's keys to a file, GNUTLS_*, OPENSSL_* and CURL_* change what is
 * trusted, *_proxy sends tokens elsewhere, *_MODULES loads code.  They are meant for the user's
 * programs: programs of eddis with such libraries hide them under another name, and give them back
 * to every program that they start.  LD_LIBRARY_PATH and LD_PRELOAD stay as they are.
 */
#ifndef EDDIS_BASE_USER_ENV_H
#define EDDIS_BASE_USER_ENV_H

#include "strlist.h"

#include <stdbool.h>

/* Return whether a NAME=VALUE is one of them. */
bool user_env_steers(const char *variable);

/* Hide them from this program, before anything else in main: execute it anew without them, since
 * libraries read some as they are loaded, before main.  Does nothing where there are none.
 */
void user_env_hide(char **argv);

/* Return the value that the user's programs see; NULL: none. */
const char *user_env_get(const char *name);

/* Append this process's environment as the user's programs see it. */
void user_env_add(struct strlist *ret);

#endif
