/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_words.h - what ssh says when it fails, and what to do about it
 *
 * OpenSSH ends with 255 whatever happened, so its words are all there is to tell a server that
 * takes no more connections at the moment from a host that does not exist.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_SSH_WORDS_H
#define EDDIS_AGENTS_DRIVER_START_SSH_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct ssh_word {
    const char *part;   /* of what ssh says */
    bool again;         /* a limit of connections: it is worth another try */
    const char *reason; /* for people, behind "ssh: " */
    const char *advice; /* what to do */
};

/* Borrow the row that ssh's words mean, or NULL. */
const struct ssh_word *ssh_words_find(const char *text);

#endif
