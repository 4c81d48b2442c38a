/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_messages.c - table of the messages of a failed ssh */
#include "ssh_messages.h"

#include <string.h>

/* Messages and what they mean.  The first that occurs in ssh's output counts, so the order matters:
 * a permanent failure is often followed by "Connection closed".
 */
static const struct ssh_message rows[] = {
    { "Permission denied", false, "permission denied",
      "log in there once by hand, or set the user and the key (ssh.user, ssh.identity)" },
    { "Too many authentication failures", false, "too many keys were tried",
      "set the key to log in with (ssh.identity)" },
    { "Could not resolve hostname", false, "no such host",
      "check the name in nodes, or define it in ~/.ssh/config" },
    { "Host key verification failed", false, "its host key is unknown or has changed",
      "log in there once by hand and check the key" },
    { "No route to host", false, "no route to the host",
      "check that the machine is on, and in this network" },
    { "Network is unreachable", false, "its network cannot be reached",
      "check that the machine is in this network" },
    { "Connection refused", false, "connection refused",
      "check that an ssh server runs there on this port (ssh.port)" },
    { "Connection timed out", false, "no answer",
      "check that the machine is on, and not behind a firewall" },
    { "Operation timed out", false, "no answer",
      "check that the machine is on, and not behind a firewall" },
    { "Cannot execute command-line and remote command", false,
      "the configuration of ssh has a RemoteCommand for it",
      "set RemoteCommand none for this host" },
    { "ssh_exchange_identification", true, "the server accepts no more connections",
      "raise MaxStartups there" },
    { "kex_exchange_identification", true, "the server accepts no more connections",
      "raise MaxStartups there" },
    { "Connection closed by", true, "the server accepts no more connections",
      "raise MaxStartups there" },
    { "Connection reset", true, "the server accepts no more connections",
      "raise MaxStartups there" },
    { "MaxStartups", true, "the server accepts no more connections", "raise MaxStartups there" },
    { "Not allowed at this time", true, "the server accepts no more connections",
      "raise MaxStartups there" },
};

const struct ssh_message *ssh_words_find(const char *text)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(text, rows[i].part))
            return &rows[i];
    return NULL;
}
