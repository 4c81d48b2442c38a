/* SPDX-License-Identifier: Apache-2.0 */
/* step_cancel.c - run scancel without blocking */
#include "step_cancel.h"

#include "lib/base/clock.h"
#include "lib/base/spawn.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 512 }; /* bytes of scancel's output that are read, with a final 0 */

void step_cancel_init(struct step_cancel *c)
{
    *c = (struct step_cancel){ .output = -1 };
}

int step_cancel_begin(struct step_cancel *c, char *const *argv, char *const *envp)
{
    struct spawn w = {
        .argv = (const char *const *)argv, .envp = (const char *const *)envp, .in = -1, .out = -1
    };
    int rc;

    w.err = c->output = memfd_create("eddis-cancel", MFD_CLOEXEC);
    rc = spawn_start(&w, &c->pid, NULL);
    if (rc < 0)
        step_cancel_fini(c);
    return rc;
}

bool step_cancel_is_over(struct step_cancel *c, bool (*is_over)(const char *said))
{
    char said[SAID_MAX];
    ssize_t n = 0;
    int status = 0;
    pid_t got = c->pid > 0 ? waitpid(c->pid, &status, WNOHANG) : -1;

    if (got == 0)
        return false;
    c->pid = 0;
    if (got < 0 || spawn_exit_code(status) == 0)
        return true;
    if (c->output >= 0)
        n = pread(c->output, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    c->refused = !is_over || !is_over(said);
    return true;
}

void step_cancel_fini(struct step_cancel *c)
{
    static const struct spawn_rung now[] = { { SIGKILL, CLOCK_S } };

    if (c->pid > 0)
        (void)spawn_stop(c->pid, now, 1, NULL, NULL);
    if (c->output >= 0)
        (void)close(c->output);
    step_cancel_init(c);
}
