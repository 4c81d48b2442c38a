/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From here on the brief names the folder that is really used, and no marker where it is shared. */
int agent_open_logs(struct agent *a, struct eddis_error *err)
{
    int rc = log_place_open(a->brief, getenv("XDG_STATE_HOME"), getenv("HOME"), &a->logs, err);
    char *dir = rc == 0 ? strdup(a->logs.dir) : NULL;

    if (rc < 0)
        return rc;
    a->sending = log_send_new();
    if (!dir || !a->sending) {
        free(dir);
        return eddis_fail(err, -ENOMEM, "no memory for logs");
    }
    free(a->brief->log_dir);
    a->brief->log_dir = dir;
    if (a->logs.shared)
        a->brief->log_marker[0] = '\0';
    return node_log_open(dir, &a->log, err);
}

/* The files of a rank's log, of the agent's own, or of mpirun's. */
static int add_paths(const struct agent *a, const struct order *o, struct log_wish *w)
{
    static const char *const part[] = { "", ".tail-1", ".tail" };
    cleanup_free char *dir = log_place_generation(&a->logs, o->generation);

    if (!dir)
        return -ENOMEM;
    if (o->log_rank == PROTOCOL_LOG_AGENT) {
        w->paths[0] = file_join(a->logs.dir, "agent.log");
    } else if (o->log_rank == PROTOCOL_LOG_MPIRUN) {
        w->paths[0] = file_join(a->logs.dir, "mpirun.log");
        if (w->paths[0] && access(w->paths[0], F_OK) < 0) {
            free(w->paths[0]);
            w->paths[0] = file_join(a->logs.dir, "mpirun-%d.log", a->brief->agent);
        }
    } else {
        for (int i = 0; i < 3; i++)
            w->paths[i] = file_join(dir, "rank-%04d%s.log", o->log_rank, part[i]);
    }
    return w->paths[0] ? 0 : -ENOMEM;
}

int agent_send_log(struct agent *a, const struct order *o, struct eddis_error *err)
{
    struct log_wish w = { .rank = o->log_rank,
                          .generation = o->generation,
                          .offset = o->log_offset,
                          .remove = !a->logs.shared && o->log_offset == 0 };

    a->logs_asked = true;
    if (add_paths(a, o, &w) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for a log");
    return log_send_add_take(a->sending, &w, err);
}

void agent_tell_logs(struct agent *a)
{
    struct log_sent s;

    while (log_send_done(a->sending, &s)) {
        struct event e = { .type = EVENT_LOGS,
                           .generation = s.generation,
                           .rank = s.rank,
                           .step = s.end,
                           .text = s.text };

        agent_tell(a, &e, clock_now_ns());
    }
}

/* Of a node where no worker ran, so that the driver has asked for nothing. */
static void remove_own_logs(const struct agent *a)
{
    cleanup_free char *agent = file_join(a->logs.dir, "agent.log");
    cleanup_free char *mpirun = file_join(a->logs.dir, "mpirun.log");
    cleanup_free char *daemon = file_join(a->logs.dir, "mpirun-%d.log", a->brief->agent);
    const char *path[] = { agent, mpirun, daemon };

    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        if (path[i])
            (void)unlink(path[i]);
}

/* What has arrived is removed, and the folders that were made for it. */
void agent_close_logs(struct agent *a)
{
    bool own = !a->logs.shared && a->logs.dir[0];

    (void)log_send_close(a->sending);
    if (own && !a->logs_asked && a->exit_code == 0)
        remove_own_logs(a);
    for (int64_t g = 0; own && g <= a->newest; g++) {
        cleanup_free char *dir = log_place_generation(&a->logs, g);

        if (dir)
            (void)rmdir(dir);
    }
    log_place_close(&a->logs);
}
