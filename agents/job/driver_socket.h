/* SPDX-License-Identifier: Apache-2.0 */
/* driver_socket.h - the Unix socket through which programs of this machine connect to a job's
 * driver
 *
 * The kernel reports who connects to a Unix socket, so no other user can take the driver's place.
 * The socket is in the job's folder or else in $XDG_RUNTIME_DIR.  The folder must belong to this
 * user alone and must not be on a network file system, where Unix sockets do not work.  The path is
 * at most 107 bytes long.  If neither folder qualifies, and for programs that need a URL, the
 * driver listens on a port of 127.0.0.1.
 */
#ifndef EDDIS_AGENTS_JOB_DRIVER_SOCKET_H
#define EDDIS_AGENTS_JOB_DRIVER_SOCKET_H

#include "job_folder.h"

#include "lib/base/error.h"
#include "lib/http/client.h"

#include <stdbool.h>

/* Write the path at which a job's driver may create its socket to ret; no file is there yet.
 * runtime_dir is $XDG_RUNTIME_DIR or NULL. Return false, and "", if neither folder qualifies.
 */
bool driver_socket_choose(const struct job_folder *f, const char *runtime_dir,
                          char ret[JOB_DOOR_PATH]);

/* Make an HTTP client of a driver, authenticated by one of the driver's tokens, in *ret for the
 * caller to close.  It uses the driver's socket, or its TCP port if nobody listens on the socket.
 * Return 0 or a negative errno.
 */
int driver_socket_dial(const struct job_driver *d, const char *token, struct http_client **ret,
                       struct eddis_error *err);

#endif
