/* SPDX-License-Identifier: Apache-2.0 */
/* login.c - replaces ssh for simulated nodes
 *
 *     bench-login SOCKET ...   print the supervisor's first line, send the agent configuration from
 *                              standard input to bench-agents, and stay until that agent has left
 *
 * It is a program of its own, linked to nothing: a thousand of them start at once, and loading the
 * simulator's libraries each time would be measured instead of the driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Return a connection to the Unix socket at path; exit on failure. */
static int connect_to(const char *path)
{
    struct sockaddr_un u = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(u.sun_path, sizeof u.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&u, sizeof u) == 0)
        return fd;
    perror("bench-login: the simulator");
    exit(255);
}

/* Send standard input to bench-agents and wait until it closes the connection.  Return the exit
 * status.
 */
static int log_in(const char *path)
{
    int fd = connect_to(path);
    char buffer[65536];
    ssize_t n;

    fputs("eddis-keeper " EDDIS_VERSION "\n", stderr);
    while ((n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0)
        if (send(fd, buffer, (size_t)n, MSG_NOSIGNAL) != n)
            return 1;
    (void)shutdown(fd, SHUT_WR);
    while (read(fd, buffer, sizeof buffer) > 0)
        ;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return log_in(argv[1]);
    fputs("usage: bench-login SOCKET\n", stderr);
    return 2;
}
