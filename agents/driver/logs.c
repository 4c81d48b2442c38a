/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - logs of ranks from their nodes: asking for them, taking their pieces, saying what lacks
 */
#include "logs.h"

#include "fetch.h"

#include "agents/protocol/log_answer.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For all logs together, and for the answer to somebody who looks. */
static const int64_t fetch_ns = 30 * CLOCK_S;
static const int64_t look_ns = 4 * CLOCK_S;

/* Who looks at logs at one time, at most; logs named, of those that were not fetched. */
enum { LOOKERS = 16, PLACES = 3 };

/* Somebody who waits for a part of a rank's log. */
struct looker {
    struct http_exchange *x; /* NULL: free */
    int agent, rank;
    int64_t offset, begin, deadline_ns;
    bool ordered;
    struct strbuf text;
};

int logs_open(struct logs *l, struct job_run *run, struct eddis_error *err)
{
    cleanup_free char *marker = NULL;
    int fd, rc = *run->log_dir ? random_hex(l->marker, PROTOCOL_FOLDER, err) : 0;

    l->run = run;
    if (rc < 0)
        return rc;
    marker = file_join(l->run->log_dir, ".%s", l->marker);
    l->fetch = fetch_new(l->run->log_dir);
    l->looker = calloc(LOOKERS, sizeof *l->looker);
    if (!marker || !l->fetch || !l->looker)
        return eddis_fail(err, -ENOMEM, "no memory for the workers' logs");
    if (!*l->run->log_dir) /* nothing is to stay */
        return 0;
    fd = open(marker, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot make '%s'", marker);
    (void)close(fd);
    return 0;
}

static void answer(struct looker *k, int64_t end)
{
    struct log_answer a = { .rank = k->rank, .offset = k->begin, .end = end };
    cleanup_free char *text = strbuf_steal(&k->text), *json = NULL;

    a.text = text;
    json = text ? log_answer_text(&a) : NULL;
    if (end < 0)
        http_reply_error(k->x, 404, "this rank has no log yet");
    else if (json)
        http_reply(k->x, 200, json);
    else
        http_reply_error(k->x, 503, "no memory");
    k->x = NULL;
}

static void refuse(struct looker *k, int status, const char *why)
{
    http_reply_error(k->x, status, why);
    strbuf_fini(&k->text);
    k->x = NULL;
}

void logs_close(struct logs *l)
{
    cleanup_free char *marker = NULL;

    for (int i = 0; l->looker && i < LOOKERS; i++)
        if (l->looker[i].x)
            refuse(&l->looker[i], 503, "the job is over");
    free(l->looker);
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

/* ---- for those who look now ---- */

static struct looker *looker_of(struct logs *l, int agent, int rank)
{
    for (int i = 0; i < LOOKERS; i++) {
        struct looker *k = &l->looker[i];

        if (k->x && k->ordered && k->agent == agent && k->rank == rank)
            return k;
    }
    return NULL;
}

/* A log that this machine can read itself. */
static void answer_here(struct logs *l, struct looker *k)
{
    cleanup_free char *path = file_join(l->run->log_dir, "rank-%04d.log", k->rank);
    struct eddis_error err = { 0 };
    struct log_answer a = { .rank = k->rank, .offset = k->offset };

    if (!path || log_answer_read(path, &a, &err) < 0) {
        refuse(k, 404, "this rank has no log yet");
        return;
    }
    k->begin = a.offset;
    strbuf_add(&k->text, a.text);
    free(a.text);
    answer(k, a.end);
}

void logs_look(struct logs *l, const struct inbox_item *i, int64_t now_ns)
{
    struct eddis_error err = { 0 };
    struct looker *k = NULL;

    if (i->rank >= l->run->state.n_ranks || l->run->state.rank[i->rank].agent < 0) {
        http_reply_error(i->x, 404, "there is no such rank");
        return;
    }
    for (int n = 0; n < LOOKERS && !k; n++)
        k = l->looker[n].x ? NULL : &l->looker[n];
    if (!k) {
        http_reply_error(i->x, 503, "too many look at logs");
        return;
    }
    *k = (struct looker){ .x = i->x,
                          .agent = l->run->state.rank[i->rank].agent,
                          .rank = i->rank,
                          .offset = i->after > 0 ? i->after : -LOG_ANSWER_MOST,
                          .begin = -1,
                          .deadline_ns = now_ns + look_ns };
    if (l->run->agent[k->agent].shared_logs) {
        answer_here(l, k);
        return;
    }
    if (l->end_ns || looker_of(l, k->agent, k->rank)) {
        refuse(k, 503, l->end_ns ? "the job is ending" : "somebody else is looking at it");
        return;
    }
    k->ordered = true;
    if (orders_add(&l->run->agent[k->agent].orders,
                   &(struct order){ .type = ORDER_LOGS,
                                    .generation = l->run->state.generation,
                                    .log_rank = k->rank,
                                    .log_offset = k->offset },
                   &err) < 0)
        refuse(k, 503, err.text);
}

/* ---- what agents send ---- */

int logs_pieces(struct logs *l, int agent, const struct report *r, struct eddis_error *err)
{
    int rc = 0;

    for (int i = 0; i < r->n_pieces && rc >= 0; i++) {
        const struct log_piece *p = &r->piece[i];
        struct looker *k = l->end_ns ? NULL : looker_of(l, agent, p->rank);

        if (!k) {
            rc = l->end_ns ? fetch_piece(l->fetch, agent, p, err) : 0;
            continue;
        }
        if (k->begin < 0)
            k->begin = p->offset;
        if (k->text.len + strlen(p->text) <= LOG_ANSWER_MOST)
            strbuf_add(&k->text, p->text);
    }
    return rc;
}

/* A log has been sent. */
static void take_end(struct logs *l, int agent, const struct event *e)
{
    struct looker *k = l->end_ns ? NULL : looker_of(l, agent, e->rank);

    if (k) {
        k->begin = k->begin < 0 ? e->step : k->begin;
        answer(k, e->step < 0 ? -1 : k->begin + (int64_t)k->text.len);
        return;
    }
    if (!l->end_ns)
        return;
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

    for (int i = 0; i < LOOKERS; i++)
        if (l->looker[i].x && now_ns >= l->looker[i].deadline_ns)
            refuse(&l->looker[i], 504, "the rank's node did not send its log in time");
    if (!l->end_ns)
        return;
    for (int i = 0; i < l->run->n_agents; i++)
        if (l->run->state.agent[i].ended || l->run->state.agent[i].lost)
            fetch_give_up(l->fetch, i);
    if (now_ns >= l->end_ns || fetch_over(l->fetch))
        logs_stop(l);
}

const struct subject_ops logs_ops = { .on_event = on_event, .on_action = on_action, .tick = tick };
