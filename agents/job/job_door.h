/* SPDX-License-Identifier: Apache-2.0 */
/* job_door.h - where people of this machine speak to a job's driver
 *
 * A Unix socket at which the kernel says who somebody is, so that no other user can stand in the
 * way: in the job's folder, else in $XDG_RUNTIME_DIR.  Either must be this user's alone and no file
 * system of a network, where there are no sockets; and the path is at most 107 bytes long.  Where
 * neither will do, and for programs that know a URL only, there is the port on 127.0.0.1.
 */
#ifndef EDDIS_AGENTS_JOB_JOB_DOOR_H
#define EDDIS_AGENTS_JOB_JOB_DOOR_H

#include "job_folder.h"

#include "lib/base/error.h"
#include "lib/http/client.h"

#include <stdbool.h>

/* Choose the path of a job's socket, which does not exist.  runtime_dir: $XDG_RUNTIME_DIR, or NULL.
 * False, and "": there can be none.
 */
bool job_door_choose(const struct job_folder *f, const char *runtime_dir, char ret[JOB_DOOR_PATH]);

/* Make a client of a driver with one of its tokens: at its socket, or its port when nobody listens
 * there.
 */
int job_door_dial(const struct job_driver *d, const char *token, struct http_client **ret,
                  struct eddis_error *err);

#endif
