/* SPDX-License-Identifier: Apache-2.0 */
#include "start.h"

#include "start_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const struct start_ops *const ways[] = { &start_local };

const struct start_ops *start_find(const char *name)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i]->name, name) == 0)
            return ways[i];
    return NULL;
}

bool start_ended(struct start_agent *a, char *ret_how, size_t size)
{
    int status = 0;
    pid_t got;

    if (!a->pid)
        return false;
    do
        got = waitpid(a->pid, &status, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return false;
    if (got < 0)
        (void)snprintf(ret_how, size, "keeper has ended");
    else if (WIFSIGNALED(status))
        (void)snprintf(ret_how, size, "keeper was killed by signal %d", WTERMSIG(status));
    else
        (void)snprintf(ret_how, size, "agent exited %d", WEXITSTATUS(status));
    a->pid = 0;
    return true;
}
