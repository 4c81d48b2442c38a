/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_messages.h - messages of a failed ssh, with advice for the user
 *
 * OpenSSH exits with 255 for every failure.  Only its messages distinguish a server that accepts no
 * more connections at the moment from a host that does not exist.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_SSH_MESSAGES_H
#define EDDIS_AGENTS_DRIVER_START_SSH_MESSAGES_H

#include <stdbool.h>

/* One message of ssh. */
struct ssh_message {
    const char *part;   /* text that the message contains */
    bool again;         /* the server has reached a limit of connections: try again */
    const char *reason; /* reason for the user, after "ssh: " */
    const char *advice; /* advice for the user */
};

/* Return the row, of a constant table, whose `part` ssh's output contains; NULL: none. */
const struct ssh_message *ssh_words_find(const char *text);

#endif
