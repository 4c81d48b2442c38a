/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.c - clean up nodes that were lost, or report which nodes could not be cleaned */
#include "leftovers.h"

#include "agents/driver/start/host_cleanup.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Time limit for the cleanup of all nodes together. */
static const int64_t most_ns = 5 * CLOCK_S;

enum { NAMED = 4 }; /* most nodes named in a report */

/* The nodes to be cleaned up. */
struct round {
    struct job_run *run;
    int *agent;            /* [n] agent numbers */
    struct job_host *host; /* [n] members are borrowed */
    char *(*mark)[2];      /* [n] process marks, borrowed, NULL-terminated */
    char *const **marks;   /* [n] pointers into mark */
    int n;
    struct strbuf missed; /* names of nodes that could not be cleaned */
    int n_missed;
};

/* Free the lists of nodes to clean up. */
static void round_fini(struct round *o)
{
    free(o->agent);
    free(o->host);
    free(o->mark);
    free(o->marks);
    strbuf_fini(&o->missed);
}

/* Collect the lost nodes on which processes may remain in *o, which borrows from r.  Return 0 or
 * -ENOMEM; round_fini is needed in both cases.
 */
static int round_init(struct round *o, struct job_run *r, struct eddis_error *err)
{
    const struct job *job = r->o->job;
    size_t most = (size_t)r->n_agents;

    *o = (struct round){ .run = r,
                         .agent = calloc(most, sizeof *o->agent),
                         .host = calloc(most, sizeof *o->host),
                         .mark = calloc(most, sizeof *o->mark),
                         .marks = calloc(most, sizeof *o->marks) };
    if (!o->agent || !o->host || !o->mark || !o->marks)
        return eddis_fail(err, -ENOMEM, "no memory to clean up");
    for (int i = 0; i < r->n_agents; i++) {
        if (!r->agent[i].may_have_left)
            continue;
        o->agent[o->n] = i;
        if (job->n_hosts)
            o->host[o->n] = job->host[i];
        o->mark[o->n][0] = r->agent[i].identity.mark;
        o->marks[o->n] = o->mark[o->n];
        o->n++;
    }
    return 0;
}

/* Report the result of the cleanup of node i of the round ctx.  If the node could not be cleaned,
 * add it to the missed ones (host_cleanup_say_fn, on the thread of leftovers_end).
 */
static void on_host(void *ctx, int i, const char *host, enum host_cleanup_result result,
                    const char *text)
{
    struct round *o = ctx;
    struct run_agent *a = &o->run->agent[o->agent[i]];
    const char *name = o->run->state.agent[o->agent[i]].host;
    bool silent = result == HOST_UNSEEN || strcmp(text, "nothing was left") == 0;

    (void)host;
    job_run_sayf(o->run, silent ? JOB_EVENT_NOTE : JOB_EVENT_SAY, o->agent[i], -1,
                 "node %.100s was lost; its cleanup at the end: %.500s", name, text);
    a->may_have_left = result != HOST_CLEAN;
    if (result == HOST_CLEAN)
        return;
    if (o->n_missed < NAMED)
        strbuf_addf(&o->missed, "%s%s", o->n_missed ? ", " : "", name);
    o->n_missed++;
}

/* Return the argument by which `eddis-run --cleanup` finds the job: its id if the folder has that
 * name, otherwise the path.  Borrowed from f, never NULL.
 */
static const char *word_of(const struct job_folder *f)
{
    return strcmp(strrchr(f->path, '/') + 1, f->id) == 0 ? f->id : f->path;
}

/* Report the nodes that could not be cleaned and the command that cleans them later, and record in
 * the status that something may be left.
 */
static void say_missed(struct round *o)
{
    const struct job_folder *f = o->run->o->folder;
    struct strbuf text = { 0 };

    o->run->status.may_be_left = true;
    if (o->n_missed > NAMED)
        strbuf_addf(&o->missed, " and %d more", o->n_missed - NAMED);
    strbuf_addf(&text, "processes or files of the job may remain on %s", strbuf_text(&o->missed));
    if (f)
        strbuf_addf(&text, "; to remove them when it can be reached, run eddis-run --cleanup %s",
                    word_of(f));
    job_run_say(o->run, JOB_EVENT_SAY, -1, -1, strbuf_text(&text));
    strbuf_fini(&text);
}

int leftovers_end(struct job_run *r, int stop, struct eddis_error *err)
{
    const struct job *job = r->o->job;
    struct round o;
    int rc = round_init(&o, r, err);

    if (rc == 0 && o.n) {
        const struct host_cleanup c = { .start = { .host = job->n_hosts ? o.host : NULL,
                                                   .n = o.n,
                                                   .ssh = &job->ssh,
                                                   .slurm = r->o->slurm,
                                                   .launch_ns = most_ns },
                                        .job_id = "",
                                        .mark = o.marks,
                                        .node_ns = most_ns,
                                        .deadline_ns = clock_after_ns(clock_now_ns(), most_ns),
                                        .stop = stop,
                                        .say = on_host,
                                        .ctx = &o };

        rc = host_cleanup(&c, err);
    }
    if (rc >= 0 && o.n_missed)
        say_missed(&o);
    round_fini(&o);
    return rc;
}
