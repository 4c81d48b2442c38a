/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - request logs from their nodes, store their chunks, report missing logs */
#include "logs.h"

#include "log_readers.h"

#include "agents/job/log_marker.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* Time limits for all logs together: for fetching and for moving them to their final names. */
static const int64_t fetch_ns = 30 * CLOCK_S, place_ns = 10 * CLOCK_S;

enum { PLACES = 3 }; /* most logs named in a report of missing logs */

/* Return the path of the marker file, which the caller frees; NULL: no memory. */
static char *marker_path(const struct logs *l)
{
    return file_join(l->run->log_dir, ".%s", l->marker);
}

int logs_open(struct logs *l, struct job_run *run, struct eddis_error *err)
{
    cleanup_free char *marker = NULL;
    int rc = *run->log_dir ? random_hex(l->marker, PROTOCOL_MARKER, err) : 0;

    l->run = run;
    l->pending_reports.log_fetch = &l->log_fetch;
    if (rc < 0)
        return rc;
    marker = marker_path(l);
    l->log_fetch = log_fetch_new(l->run->log_dir);
    l->log_readers = log_readers_new(run);
    if (!marker || !l->log_fetch || !l->log_readers)
        return eddis_fail(err, -ENOMEM, "no memory for the workers' logs");
    if (!*l->run->log_dir) /* nothing is kept */
        return 0;
    l->touch_ns = clock_now_ns() + log_marker_touch_ns;
    return log_marker_make(marker, err);
}

/* ---- keeping the marker young ---- */

/* A task of the file thread that touches the marker file. */
struct touching {
    struct file_task task;
    char *marker;
};

/* Touch the marker file (file_task.run, on the file thread). */
static void touch_marker(struct file_task *k)
{
    log_marker_touch(((struct touching *)k)->marker);
}

/* Free a touching task (file_task.free). */
static void free_touching(struct file_task *k)
{
    free(((struct touching *)k)->marker);
    free(k);
}

/* Touch the marker file if it is time, so that no other job removes it. Without memory try again
 * later.
 */
static void keep_marker(struct logs *l, int64_t now_ns)
{
    struct touching *t;

    if (!l->touch_ns || now_ns < l->touch_ns)
        return;
    l->touch_ns = now_ns + log_marker_touch_ns;
    t = calloc(1, sizeof *t);
    if (t)
        t->marker = marker_path(l);
    if (!t || !t->marker) {
        free(t);
        return;
    }
    t->task.run = touch_marker;
    t->task.free = free_touching;
    file_thread_add(l->run->records, &t->task);
}

/* ---- closing ---- */

/* A task of the file thread that deletes temporary files. */
struct closing {
    struct file_task task;
    struct log_fetch *log_fetch;
    char *marker;
};

/* Delete the temporary files of fetched logs and the marker file (file_task.run, on the file
 * thread).
 */
static void close_files(struct file_task *k)
{
    struct closing *c = (struct closing *)k;

    if (c->log_fetch)
        log_fetch_remove(c->log_fetch);
    if (c->marker)
        (void)unlink(c->marker);
}

/* Free a closing task (file_task.free). */
static void free_closing(struct file_task *k)
{
    struct closing *c = (struct closing *)k;

    log_fetch_free(c->log_fetch);
    free(c->marker);
    free(c);
}

void logs_close(struct logs *l)
{
    struct closing *c = l->run && l->run->records ? calloc(1, sizeof *c) : NULL;

    log_readers_shut(l->log_readers);
    pending_reports_refuse(&l->pending_reports);
    if (!c)
        return;
    c->task = (struct file_task){ .run = close_files, .free = free_closing };
    c->log_fetch = cleanup_keep(l->log_fetch);
    c->marker = l->marker[0] ? marker_path(l) : NULL;
    l->touch_ns = 0;
    file_thread_add(l->run->records, &c->task);
}

void logs_fini(struct logs *l)
{
    free(l->log_readers);
    log_fetch_free(l->log_fetch); /* set again by placed() after logs_close */
    pending_reports_fini(&l->pending_reports);
}

/* ---- fetching all logs at the end ---- */

/* Add the log of a rank that has begun or ended to the list of logs to fetch, unless the node
 * writes its logs into this job's folder.
 */
static void note_rank(struct logs *l, int agent, const struct event *e)
{
    const struct log_fetch_log g = { .agent = agent, .rank = e->rank, .generation = e->generation };
    struct eddis_error err = { 0 };

    if (e->rank < 0 || e->generation < 1 || l->run->agent[agent].shared_logs ||
        !l->run->o->folder || !l->log_fetch)
        return;
    if (log_fetch_add(l->log_fetch, &g, &err) < 0)
        job_run_say(l->run, JOB_EVENT_NOTE, agent, e->rank, err.text);
}

/* Order the agent's next log, unless one is being transferred.  If that fails, give up all logs of
 * the agent.
 */
static void order_next(struct logs *l, int agent)
{
    struct log_fetch_log g;
    struct order o = { .type = ORDER_LOGS };
    struct eddis_error err = { 0 };

    if (!log_fetch_next(l->log_fetch, agent, &g))
        return;
    o.generation = g.generation;
    o.log_rank = g.rank;
    if (orders_add(&l->run->agent[agent].orders, &o, &err) < 0)
        log_fetch_give_up(l->log_fetch, agent);
    else
        log_fetch_ordered(l->log_fetch, agent, o.number);
}

/* Append where a log is to b: "node2:/home/me/job/logs/g1/rank-0001.log", or the node alone. */
static void add_place(const struct logs *l, const struct log_fetch_log *g, struct strbuf *b)
{
    const char *dir = l->run->agent[g->agent].log_dir;

    strbuf_add(b, l->run->state.agent[g->agent].host);
    if (*dir)
        strbuf_addf(b, ":%s/g%" PRId64 "/rank-%04d.log", dir, g->generation, g->rank);
}

/* Report how many logs could not be fetched, why, and where they are: agents delete only logs that
 * have arrived completely.
 */
static void say_missing(struct logs *l, int missing, const struct eddis_error *why)
{
    struct strbuf b = { 0 };
    struct log_fetch_log g;
    int at = 0;

    strbuf_addf(&b, "%d log%s not fetched completely", missing, missing == 1 ? " was" : "s were");
    if (why->code)
        strbuf_addf(&b, " (%s; %s)", why->text, file_room_advice(why->code));
    strbuf_addf(&b, " and %s still on %s: ", missing == 1 ? "is" : "are",
                missing == 1 ? "its node" : "their nodes");
    for (int n = 0; n < PLACES && log_fetch_missing(l->log_fetch, &at, &g); n++) {
        strbuf_add(&b, n ? ", " : "");
        add_place(l, &g, &b);
    }
    if (missing > PLACES)
        strbuf_addf(&b, " and %d more", missing - PLACES);
    job_run_say(l->run, JOB_EVENT_SAY, -1, -1, strbuf_text(&b));
    strbuf_fini(&b);
}

/* A task that moves all fetched logs to their final names.  The file thread owns `fetch` meanwhile.
 */
struct placing {
    struct file_task task;
    struct logs *logs; /* not used by the file thread */
    struct log_fetch *log_fetch;
    char (*host)[256]; /* [n_agents] names of the nodes */
    int missing;
    struct eddis_error err;
};

/* Move the fetched logs to their final names (on the file thread). */
static void place(struct file_task *k)
{
    struct placing *p = (struct placing *)k;

    p->missing = log_fetch_finish(p->log_fetch, p->host, &p->err);
}

/* Record that fetching logs has ended: logs_fetched returns true next, and the agents' time to
 * leave begins.
 */
static void let_leave(struct logs *l)
{
    l->place_ns = 0;
    l->fetched = true;
    state_bye_from(&l->run->state, clock_now_ns());
}

/* Report missing logs and end fetching, after the logs have been moved (file_task.done, on the
 * driver's thread).  Do nothing if moving was given up.
 */
static void placed(struct file_task *k)
{
    struct placing *p = (struct placing *)k;
    struct logs *l = p->logs;

    if (!l->place_ns) /* moving the logs was given up */
        return;
    l->log_fetch = cleanup_keep(p->log_fetch);
    if (p->missing)
        say_missing(l, p->missing, &p->err);
    let_leave(l);
}

/* Free a moving task (file_task.free). */
static void free_placing(struct file_task *k)
{
    struct placing *p = (struct placing *)k;

    log_fetch_free(p->log_fetch); /* not NULL if moving was given up: files stay as they are */
    free(p->host);
    free(p);
}

/* End the transfers and begin to move the files to their final names on the file thread.  Without
 * memory report that and end fetching.
 */
static void end_fetching(struct logs *l)
{
    struct placing *p = calloc(1, sizeof *p);

    l->end_ns = 0;
    if (p)
        p->host = calloc((size_t)l->run->n_agents, sizeof *p->host);
    if (!p || !p->host) {
        free(p);
        job_run_say(l->run, JOB_EVENT_SAY, -1, -1, "no memory for the workers' logs");
        let_leave(l);
        return;
    }
    for (int i = 0; i < l->run->n_agents; i++)
        (void)snprintf(p->host[i], sizeof *p->host, "%s", l->run->state.agent[i].host);
    p->task = (struct file_task){ .run = place, .done = placed, .free = free_placing };
    p->logs = l;
    p->log_fetch = cleanup_keep(l->log_fetch);
    l->place_ns = clock_now_ns() + place_ns;
    state_bye_from(&l->run->state, l->place_ns);
    file_thread_add(l->run->records, &p->task);
}

/* Report that the folder does not answer, so that the fetched files keep their temporary names, and
 * end fetching.
 */
static void give_up_placing(struct logs *l)
{
    job_run_sayf(l->run, JOB_EVENT_SAY, -1, -1,
                 "the fetched logs were not renamed, because '%s' does not answer; its files "
                 ".fetched-* hold what was fetched, and the nodes hold the rest",
                 l->run->log_dir);
    let_leave(l);
}

/* Add the logs of the agent itself and of mpirun to the list, and order the agent's first log.
 * Give up the logs of a lost or ended agent.  Do nothing if the agent's logs need no fetching.
 */
static void begin_fetching_from(struct logs *l, int agent)
{
    const struct state_agent *a = &l->run->state.agent[agent];
    const struct log_fetch_log more[] = { { agent, PROTOCOL_LOG_AGENT, 0 },
                                          { agent, PROTOCOL_LOG_MPIRUN, 0 } };

    if (l->run->agent[agent].shared_logs || !a->registered)
        return;
    if (a->lost || a->ended) {
        log_fetch_give_up(l->log_fetch, agent);
        return;
    }
    for (int k = 0; k < 2; k++)
        (void)log_fetch_add(l->log_fetch, &more[k], NULL);
    order_next(l, agent);
}

/* Begin to fetch all logs.  Return true if fetching has begun, so that the agents must stay; false:
 * there is nothing to fetch.
 */
static bool begin_fetching(struct logs *l)
{
    if (!l->log_fetch || log_fetch_is_done(l->log_fetch)) /* NULL: the job could not begin */
        return false;
    for (int i = 0; i < l->run->n_agents; i++)
        begin_fetching_from(l, i);
    job_run_say(l->run, JOB_EVENT_FETCHING, -1, -1, "logs");
    l->end_ns = clock_now_ns() + fetch_ns;
    state_bye_from(&l->run->state, l->end_ns);
    if (log_fetch_is_done(l->log_fetch))
        end_fetching(l);
    return true;
}

/* Begin to fetch logs on ACTION_BYE.  Return true if the agents must stay for that
 * (subject_ops.on_action).
 */
static bool on_action(void *self, const struct action *a)
{
    return a->type == ACTION_BYE && begin_fetching(self);
}

bool logs_fetched(struct logs *l)
{
    bool fetched = l->fetched;

    l->fetched = false;
    return fetched;
}

void logs_stop(struct logs *l)
{
    if (l->end_ns) {
        log_fetch_give_up(l->log_fetch, -1);
        end_fetching(l);
    } else if (l->place_ns) {
        give_up_placing(l);
    }
}

/* ---- logs that arrive ---- */

int logs_chunks(struct logs *l, struct request_item *i, struct eddis_error *err)
{
    const struct report *r = i->report;
    int n = 0; /* chunks that no person has asked for */

    if (pending_reports_again(&l->pending_reports, i))
        return 1;
    for (int k = 0; k < r->n_pieces; k++)
        n += !log_readers_chunk(l->log_readers, i->agent, &r->piece[k]);
    if (n && l->end_ns) {
        int rc = pending_reports_add(&l->pending_reports, l->run->records, i, err);

        return rc < 0 ? rc : 1;
    }
    if (n && l->place_ns)
        return eddis_fail(err, -ETIMEDOUT, "logs are no longer fetched");
    return 0;
}

struct request_item *logs_written(struct logs *l, int *ret_rc, struct eddis_error *err)
{
    return pending_reports_take(&l->pending_reports, ret_rc, err);
}

void logs_look(struct logs *l, const struct request_item *i, int64_t now_ns)
{
    log_readers_add(l->log_readers, i, l->end_ns || l->place_ns, now_ns);
}

/* Handle that an agent has sent a log to its end.  If a person has requested it, answer; if it is
 * one of those that are fetched, order the next log, and end fetching after the last.
 */
static void take_end(struct logs *l, int agent, const struct event *e)
{
    if (log_readers_end(l->log_readers, agent, e) || !l->end_ns ||
        !log_fetch_done(l->log_fetch, agent, e->order, e->log_end, !*e->text))
        return;
    if (*e->text && e->rank >= 0 && e->log_end >= 0)
        job_run_say(l->run, JOB_EVENT_NOTE, agent, e->rank, e->text);
    order_next(l, agent);
    if (log_fetch_is_done(l->log_fetch))
        end_fetching(l);
}

/* Handle a log that was sent to its end, or record that a rank has a log to fetch.  Return HEARD:
 * other modules get the event too (subject_ops.on_event).
 */
static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    (void)now_ns;
    if (e->type == EVENT_LOGS)
        take_end(self, agent, e);
    else
        note_rank(self, agent, e);
    return HEARD;
}

/* End fetching and moving logs at their deadlines, give up the logs of agents that have gone,
 * refuse late requests of people, and keep the marker file young (subject_ops.tick).
 */
static void tick(void *self, int64_t now_ns)
{
    struct logs *l = self;

    log_readers_tick(l->log_readers, now_ns);
    keep_marker(l, now_ns);
    if (l->place_ns && now_ns >= l->place_ns)
        give_up_placing(l);
    if (!l->end_ns)
        return;
    for (int i = 0; i < l->run->n_agents; i++)
        if (l->run->state.agent[i].ended || l->run->state.agent[i].lost)
            log_fetch_give_up(l->log_fetch, i);
    if (now_ns >= l->end_ns || log_fetch_is_done(l->log_fetch))
        logs_stop(l);
}

const struct subject_ops logs_ops = { .on_event = on_event, .on_action = on_action, .tick = tick };
