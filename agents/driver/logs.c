/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - logs of ranks from their nodes: asking for them, taking their pieces, saying what lacks
 */
#include "logs.h"

#include "fetch.h"
#include "lookers.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t fetch_ns = 30 * CLOCK_S; /* for all logs together */

enum { PLACES = 3 }; /* named, of logs that were not fetched */

int logs_open(struct logs *l, struct job_run *run, struct eddis_error *err)
{
    cleanup_free char *marker = NULL;
    int fd, rc = *run->log_dir ? random_hex(l->marker, PROTOCOL_MARKER, err) : 0;

    l->run = run;
    if (rc < 0)
        return rc;
    marker = file_join(l->run->log_dir, ".%s", l->marker);
    l->fetch = fetch_new(l->run->log_dir);
    l->lookers = lookers_new(run);
    if (!marker || !l->fetch || !l->lookers)
        return eddis_fail(err, -ENOMEM, "no memory for the workers' logs");
    if (!*l->run->log_dir) /* nothing is to stay */
        return 0;
    fd = open(marker, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot make '%s'", marker);
    (void)close(fd);
    return 0;
}

void logs_close(struct logs *l)
{
    cleanup_free char *marker = NULL;

    lookers_free(l->lookers);
    fetch_free(l->fetch);
    if (l->marker[0])
        marker = file_join(l->run->log_dir, ".%s", l->marker);
    if (marker)
        (void)unlink(marker);
}

/* ---- for the folder ---- */

/* A rank has begun or ended on a node: it has a log there. */
static void note_rank(struct logs *l, int agent, const struct event *e)
{
    const struct fetch_log g = { .agent = agent, .rank = e->rank, .generation = e->generation };
    struct eddis_error err = { 0 };

    if (e->rank < 0 || e->generation < 1 || l->run->agent[agent].shared_logs || !l->run->o->folder)
        return;
    if (fetch_add(l->fetch, &g, &err) < 0)
        job_run_say(l->run, JOB_EVENT_NOTE, agent, e->rank, err.text);
}

static void order_next(struct logs *l, int agent)
{
    struct fetch_log g;
    struct eddis_error err = { 0 };

    if (!fetch_next(l->fetch, agent, &g))
        return;
    if (orders_add(
            &l->run->agent[agent].orders,
            &(struct order){ .type = ORDER_LOGS, .generation = g.generation, .log_rank = g.rank },
            &err) < 0)
        fetch_give_up(l->fetch, agent);
}

static const char *host_of(void *ctx, int agent)
{
    const struct logs *l = ctx;

    return l->run->state.agent[agent].host;
}

/* "node2:/home/me/job/logs/g1/rank-0001.log" */
static void add_place(const struct logs *l, const struct fetch_log *g, struct strbuf *b)
{
    const char *dir = l->run->agent[g->agent].log_dir;

    strbuf_add(b, l->run->state.agent[g->agent].host);
    if (*dir)
        strbuf_addf(b, ":%s/g%" PRId64 "/rank-%04d.log", dir, g->generation, g->rank);
}

/* Where logs are that could not be fetched: agents remove only what has arrived whole. */
static void say_missing(struct logs *l, int missing, const struct eddis_error *why)
{
    struct strbuf b = { 0 };
    struct fetch_log g;
    int at = 0;

    strbuf_addf(&b, "%d log%s not fetched whole", missing, missing == 1 ? " was" : "s were");
    if (why->code)
        strbuf_addf(&b, " (%s; free space there)", why->text);
    strbuf_addf(&b, " and %s still on %s: ", missing == 1 ? "is" : "are",
                missing == 1 ? "its node" : "their nodes");
    for (int n = 0; n < PLACES && fetch_missing(l->fetch, &at, &g); n++) {
        strbuf_add(&b, n ? ", " : "");
        add_place(l, &g, &b);
    }
    if (missing > PLACES)
        strbuf_addf(&b, " and %d more", missing - PLACES);
    job_run_say(l->run, JOB_EVENT_SAY, -1, -1, strbuf_text(&b));
    strbuf_fini(&b);
}

static void end_fetching(struct logs *l)
{
    struct eddis_error err = { 0 };
    int missing;

    l->end_ns = 0;
    missing = fetch_finish(l->fetch, host_of, l, &err);
    if (missing)
        say_missing(l, missing, &err);
    l->fetched = true;
    state_bye_from(&l->run->state, clock_now_ns());
}

/* Ask the agent of a node for its own logs, too, and for the first of all. */
static void begin_fetching_from(struct logs *l, int agent)
{
    const struct state_agent *a = &l->run->state.agent[agent];
    const struct fetch_log more[] = { { agent, PROTOCOL_LOG_AGENT, 0 },
                                      { agent, PROTOCOL_LOG_MPIRUN, 0 } };

    if (l->run->agent[agent].shared_logs || !a->registered)
        return;
    if (a->lost || a->ended) {
        fetch_give_up(l->fetch, agent);
        return;
    }
    for (int k = 0; k < 2; k++)
        (void)fetch_add(l->fetch, &more[k], NULL);
    order_next(l, agent);
}

/* Returns whether there is something to fetch, so that agents have to stay. */
static bool begin_fetching(struct logs *l)
{
    if (!l->fetch || fetch_over(l->fetch)) /* NULL: a job that could not begin */
        return false;
    for (int i = 0; i < l->run->n_agents; i++)
        begin_fetching_from(l, i);
    job_run_say(l->run, JOB_EVENT_FETCHING, -1, -1, "logs");
    l->end_ns = clock_now_ns() + fetch_ns;
    state_bye_from(&l->run->state, l->end_ns);
    if (fetch_over(l->fetch))
        end_fetching(l);
    return true;
}

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
    if (!l->end_ns)
        return;
    fetch_give_up(l->fetch, -1);
    end_fetching(l);
}

/* ---- what agents send ---- */

int logs_pieces(struct logs *l, int agent, const struct report *r, struct eddis_error *err)
{
    int rc = 0;

    for (int i = 0; i < r->n_pieces && rc >= 0; i++)
        if (l->end_ns)
            rc = fetch_piece(l->fetch, agent, &r->piece[i], err);
        else
            lookers_piece(l->lookers, agent, &r->piece[i]);
    return rc;
}

void logs_look(struct logs *l, const struct inbox_item *i, int64_t now_ns)
{
    lookers_add(l->lookers, i, l->end_ns > 0, now_ns);
}

/* A log has been sent. */
static void take_end(struct logs *l, int agent, const struct event *e)
{
    if (!l->end_ns) {
        lookers_end(l->lookers, agent, e);
        return;
    }
    fetch_done(l->fetch, agent, e->rank, e->step, !*e->text);
    if (*e->text && e->rank >= 0 && e->step >= 0)
        job_run_say(l->run, JOB_EVENT_NOTE, agent, e->rank, e->text);
    order_next(l, agent);
    if (fetch_over(l->fetch))
        end_fetching(l);
}

static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    (void)now_ns;
    if (e->type == EVENT_LOGS)
        take_end(self, agent, e);
    else
        note_rank(self, agent, e);
    return HEARD;
}

static void tick(void *self, int64_t now_ns)
{
    struct logs *l = self;

    lookers_tick(l->lookers, now_ns);
    if (!l->end_ns)
        return;
    for (int i = 0; i < l->run->n_agents; i++)
        if (l->run->state.agent[i].ended || l->run->state.agent[i].lost)
            fetch_give_up(l->fetch, i);
    if (now_ns >= l->end_ns || fetch_over(l->fetch))
        logs_stop(l);
}

const struct subject_ops logs_ops = { .on_event = on_event, .on_action = on_action, .tick = tick };
