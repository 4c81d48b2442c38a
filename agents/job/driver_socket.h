/* SPDX-License-Identifier: Apache-2.0 */
/* driver_socket.h - the Unix socket through which programs of this machine connect to a job's
 * driver
 *
 * The kernel reports who connects to a Unix socket, so no other user can take the driver's place.
 * The socket is in the job's folder, or, if that does not qualify, in $XDG_RUNTIME_DIR. A folder
 * qualifies if it belongs to this user alone, is not on a network file system, where Unix sockets
 * do not work, and the socket's path has at most 107 bytes. If neither folder qualifies, and for
 * programs that need a URL, the driver listens on a port of 127.0.0.1.
 */
#ifndef EDDIS_AGENTS_JOB_DRIVER_SOCKET_H
#define EDDIS_AGENTS_JOB_DRIVER_SOCKET_H

#include "job_folder.h"

#include "lib/base/error.h"
#include "lib/http/client.h"

#include <stdbool.h>

/* Write the path at which a job's driver may create its socket to ret; no file exists at this path.
 * runtime_dir is $XDG_RUNTIME_DIR or NULL. If neither folder qualifies, return false and write "".
 */
bool driver_socket_choose(const struct job_folder *f, const char *runtime_dir,
                          char ret[JOB_DOOR_PATH]);

/* Remove the sockets that killed drivers of this user have left in runtime_dir ($XDG_RUNTIME_DIR or
 * NULL), and that of job f in its folder (NULL: none). A socket on which a process listens stays,
 * and one that is so young that its driver may be about to listen.
 */
void driver_socket_sweep(const struct job_folder *f, const char *runtime_dir);

/* Create in *ret an HTTP client that connects to a driver and authenticates with `token`, a token
 * of this driver; the caller closes it. The client uses the driver's Unix socket, or the driver's
 * TCP port if no process listens on the socket. Return 0 or a negative errno.
 */
int driver_socket_dial(const struct job_driver *d, const char *token, struct http_client **ret,
                       struct eddis_error *err);

#endif
