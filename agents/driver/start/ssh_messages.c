/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_messages.c - table of the messages of a failed ssh */
#include "ssh_messages.h"

#include <string.h>

/* The order matters: a permanent failure is often followed by "Connection closed". */
static const struct ssh_message rows[] = {
    { "Permission denied", false, "permission denied",
      "log in there once by hand, or say who and with which key (ssh.user, ssh.identity)" },
    { "Too many authentication failures", false, "too many keys were tried",
      "say with which key to log in (ssh.identity)" },
    { "Could not resolve hostname", false, "no such host",
      "check the name in nodes, or give it to ssh in ~/.ssh/config" },
    { "Host key verification failed", false, "its host key is not known or not the known one",
      "log in there once by hand and look at the key" },
    { "No route to host", false, "no route to it", "is the machine on, and in this network" },
    { "Network is unreachable", false, "its network cannot be reached",
      "is the machine in this network" },
    { "Connection refused", false, "connection refused",
      "is an ssh server running there, and on this port (ssh.port)" },
    { "Connection timed out", false, "no answer", "is the machine on, and not behind a firewall" },
    { "Operation timed out", false, "no answer", "is the machine on, and not behind a firewall" },
    { "Cannot execute command-line and remote command", false,
      "ssh's configuration has a RemoteCommand for it", "put RemoteCommand none for this host" },
    { "ssh_exchange_identification", true, "the server takes no more connections",
      "raise MaxStartups there" },
    { "kex_exchange_identification", true, "the server takes no more connections",
      "raise MaxStartups there" },
    { "Connection closed by", true, "the server takes no more connections",
      "raise MaxStartups there" },
    { "Connection reset", true, "the server takes no more connections", "raise MaxStartups there" },
    { "MaxStartups", true, "the server takes no more connections", "raise MaxStartups there" },
    { "Not allowed at this time", true, "the server takes no more connections",
      "raise MaxStartups there" },
};

const struct ssh_message *ssh_words_find(const char *text)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(text, rows[i].part))
            return &rows[i];
    return NULL;
}
