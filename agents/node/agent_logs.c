/* SPDX-License-Identifier: Apache-2.0 */
/* agent_logs.c - opens, sends and removes the logs of a node's ranks */
#include "agent_logs.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int agent_logs_open(struct agent_logs *l, struct agent_config *b, struct file_thread *files,
                    struct node_log **ret, struct eddis_error *err)
{
    int rc = log_place_open(b, getenv("XDG_STATE_HOME"), getenv("HOME"), &l->place, err);
    char *dir = rc == 0 ? strdup(l->place.dir) : NULL;

    if (rc < 0)
        return rc;
    l->agent = b->agent;
    l->sending = log_send_new();
    if (!dir || !l->sending) {
        free(dir);
        return eddis_fail(err, -ENOMEM, "no memory for logs");
    }
    free(b->log_dir);
    b->log_dir = dir;
    if (l->place.shared)
        b->log_marker[0] = '\0';
    return node_log_open(dir, files, ret, err);
}

/* Store in w->paths the allocated paths of the log that order o asks for: a rank's log (three
 * files), the agent's or mpirun's.  Return 0 or -ENOMEM.
 */
static int add_paths(const struct agent_logs *l, const struct order *o, struct log_request *w)
{
    cleanup_free char *dir = log_place_generation(&l->place, o->generation);

    if (!dir)
        return -ENOMEM;
    if (o->log_rank == PROTOCOL_LOG_AGENT) {
        w->paths[0] = file_join(l->place.dir, "agent.log");
    } else if (o->log_rank == PROTOCOL_LOG_MPIRUN) {
        w->paths[0] = file_join(l->place.dir, "mpirun.log");
        if (w->paths[0] && access(w->paths[0], F_OK) < 0) {
            free(w->paths[0]);
            w->paths[0] = file_join(l->place.dir, "mpirun-%d.log", l->agent);
        }
    } else {
        return log_files_paths(dir, o->log_rank, w->paths);
    }
    return w->paths[0] ? 0 : -ENOMEM;
}

int agent_logs_send(struct agent_logs *l, const struct order *o, struct eddis_error *err)
{
    struct log_request w = { .rank = o->log_rank,
                             .order = o->number,
                             .generation = o->generation,
                             .offset = o->log_offset,
                             .remove = !l->place.shared && o->log_offset == 0 };

    l->asked = true;
    if (add_paths(l, o, &w) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for a log");
    return log_send_add_take(l->sending, &w, err);
}

void agent_logs_report(struct agent_logs *l, const struct event_sender *v)
{
    struct log_sent s;

    while (log_send_done(l->sending, &s)) {
        struct event e = { .type = EVENT_LOGS,
                           .generation = s.generation,
                           .rank = s.rank,
                           .order = s.order,
                           .log_end = s.end,
                           .text = s.text };

        event_sender_send(v, &e, clock_now_ns());
    }
}

/* Remove the agent's and mpirun's logs from the log folder; ignore failures.  Called only if the
 * driver has asked for no log, as on a node without workers.
 */
static void remove_own_logs(const struct agent_logs *l)
{
    cleanup_free char *agent = file_join(l->place.dir, "agent.log");
    cleanup_free char *mpirun = file_join(l->place.dir, "mpirun.log");
    cleanup_free char *daemon = file_join(l->place.dir, "mpirun-%d.log", l->agent);
    const char *path[] = { agent, mpirun, daemon };

    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        if (path[i])
            (void)unlink(path[i]);
}

void agent_logs_close(struct agent_logs *l, int code)
{
    bool own = !l->place.shared && l->place.dir[0];

    log_send_close(l->sending);
    if (own && !l->asked && code == 0)
        remove_own_logs(l);
    for (int64_t g = 0; own && g <= l->newest; g++) {
        cleanup_free char *dir = log_place_generation(&l->place, g);

        if (dir)
            (void)rmdir(dir);
    }
    log_place_close(&l->place);
}
