/* SPDX-License-Identifier: Apache-2.0 */
/* Logs that are on their nodes: fetched when the job is over, or for somebody who looks now. */
#include "driver_impl.h"

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

enum { PLACES = 3 }; /* named, of logs that were not fetched */

/* Somebody who waits for a part of a rank's log. */
struct looker {
    struct http_exchange *x; /* NULL: free */
    int agent, rank;
    int64_t offset, begin, deadline_ns;
    bool ordered;
    struct strbuf text;
};

int driver_logs_open(struct driver *d, struct eddis_error *err)
{
    cleanup_free char *marker = NULL;
    int fd, rc = *d->run.log_dir ? random_hex(d->log_marker, PROTOCOL_FOLDER, err) : 0;

    if (rc < 0)
        return rc;
    marker = file_join(d->run.log_dir, ".%s", d->log_marker);
    d->fetch = fetch_new(d->run.log_dir);
    d->looker = calloc(DRIVER_LOOKERS, sizeof *d->looker);
    if (!marker || !d->fetch || !d->looker)
        return eddis_fail(err, -ENOMEM, "no memory for the workers' logs");
    if (!*d->run.log_dir) /* nothing is to stay */
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

void driver_logs_close(struct driver *d)
{
    cleanup_free char *marker = NULL;

    for (int i = 0; d->looker && i < DRIVER_LOOKERS; i++)
        if (d->looker[i].x)
            refuse(&d->looker[i], 503, "the job is over");
    free(d->looker);
    fetch_free(d->fetch);
    if (d->run.log_dir && d->log_marker[0])
        marker = file_join(d->run.log_dir, ".%s", d->log_marker);
    if (marker)
        (void)unlink(marker);
}

/* ---- for the folder ---- */

/* A rank has begun or ended on a node: it has a log there. */
void driver_logs_note(struct driver *d, int agent, const struct event *e)
{
    const struct fetch_log l = { .agent = agent, .rank = e->rank, .generation = e->generation };
    struct eddis_error err = { 0 };

    if ((e->type != EVENT_RANK_STARTED && e->type != EVENT_RANK_EXIT) || e->rank < 0 ||
        e->generation < 1 || d->run.agent[agent].shared_logs || !d->run.o->folder)
        return;
    if (fetch_add(d->fetch, &l, &err) < 0)
        job_run_say(&d->run, JOB_EVENT_NOTE, agent, e->rank, err.text);
}

static void order_next(struct driver *d, int agent)
{
    struct fetch_log l;
    struct eddis_error err = { 0 };

    if (!fetch_next(d->fetch, agent, &l))
        return;
    if (orders_add(
            &d->run.agent[agent].orders,
            &(struct order){ .type = ORDER_LOGS, .generation = l.generation, .log_rank = l.rank },
            &err) < 0)
        fetch_give_up(d->fetch, agent);
}

static const char *host_of(void *ctx, int agent)
{
    const struct driver *d = ctx;

    return d->run.state.agent[agent].host;
}

/* "node2:/home/me/job/logs/g1/rank-0001.log" */
static void add_place(const struct driver *d, const struct fetch_log *l, struct strbuf *b)
{
    const struct run_agent *a = &d->run.agent[l->agent];

    strbuf_add(b, d->run.state.agent[l->agent].host);
    if (a->log_dir[0])
        strbuf_addf(b, ":%s/g%" PRId64 "/rank-%04d.log", a->log_dir, l->generation, l->rank);
}

/* Where logs are that could not be fetched: agents remove only what has arrived whole. */
static void say_missing(struct driver *d, int missing, const struct eddis_error *why)
{
    struct strbuf b = { 0 };
    struct fetch_log l;
    int at = 0;

    strbuf_addf(&b, "%d log%s not fetched whole", missing, missing == 1 ? " was" : "s were");
    if (why->code)
        strbuf_addf(&b, " (%s; free space there)", why->text);
    strbuf_addf(&b, " and %s still on %s: ", missing == 1 ? "is" : "are",
                missing == 1 ? "its node" : "their nodes");
    for (int n = 0; n < PLACES && fetch_missing(d->fetch, &at, &l); n++) {
        strbuf_add(&b, n ? ", " : "");
        add_place(d, &l, &b);
    }
    if (missing > PLACES)
        strbuf_addf(&b, " and %d more", missing - PLACES);
    job_run_say(&d->run, JOB_EVENT_SAY, -1, -1, strbuf_text(&b));
    strbuf_fini(&b);
}

static void end_fetching(struct driver *d)
{
    struct eddis_error err = { 0 };
    int missing;

    d->fetch_end_ns = 0;
    missing = fetch_finish(d->fetch, host_of, d, &err);
    if (missing)
        say_missing(d, missing, &err);
    driver_order_bye(d);
    state_bye_from(&d->run.state, clock_now_ns());
}

bool driver_logs_begin(struct driver *d, int64_t now_ns)
{
    struct eddis_error err = { 0 };
    bool any = d->fetch && !fetch_over(d->fetch); /* NULL: a job that could not begin */

    for (int i = 0; any && i < d->run.n_agents; i++) {
        const struct fetch_log more[] = { { i, PROTOCOL_LOG_AGENT, 0 },
                                          { i, PROTOCOL_LOG_MPIRUN, 0 } };

        if (d->run.agent[i].shared_logs || !d->run.state.agent[i].registered)
            continue;
        if (d->run.state.agent[i].lost || d->run.state.agent[i].ended) {
            fetch_give_up(d->fetch, i);
            continue;
        }
        for (int k = 0; k < 2; k++)
            (void)fetch_add(d->fetch, &more[k], &err);
        order_next(d, i);
    }
    if (!any)
        return false;
    job_run_say(&d->run, JOB_EVENT_FETCHING, -1, -1, "logs");
    d->fetch_end_ns = now_ns + fetch_ns;
    state_bye_from(&d->run.state, d->fetch_end_ns);
    if (fetch_over(d->fetch))
        end_fetching(d);
    return true;
}

void driver_logs_stop(struct driver *d)
{
    if (!d->fetch_end_ns)
        return;
    fetch_give_up(d->fetch, -1);
    end_fetching(d);
}

/* ---- for those who look now ---- */

static struct looker *looker_of(struct driver *d, int agent, int rank)
{
    for (int i = 0; i < DRIVER_LOOKERS; i++) {
        struct looker *k = &d->looker[i];

        if (k->x && k->ordered && k->agent == agent && k->rank == rank)
            return k;
    }
    return NULL;
}

/* A log that this machine can read itself. */
static void answer_here(struct driver *d, struct looker *k)
{
    cleanup_free char *path = file_join(d->run.log_dir, "rank-%04d.log", k->rank);
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

void driver_logs_look(struct driver *d, const struct inbox_item *i, int64_t now_ns)
{
    struct eddis_error err = { 0 };
    struct looker *k = NULL;

    if (i->rank >= d->run.state.n_ranks || d->run.state.rank[i->rank].agent < 0) {
        http_reply_error(i->x, 404, "there is no such rank");
        return;
    }
    for (int n = 0; n < DRIVER_LOOKERS && !k; n++)
        k = d->looker[n].x ? NULL : &d->looker[n];
    if (!k) {
        http_reply_error(i->x, 503, "too many look at logs");
        return;
    }
    *k = (struct looker){ .x = i->x,
                          .agent = d->run.state.rank[i->rank].agent,
                          .rank = i->rank,
                          .offset = i->after > 0 ? i->after : -LOG_ANSWER_MOST,
                          .begin = -1,
                          .deadline_ns = now_ns + look_ns };
    if (d->run.agent[k->agent].shared_logs) {
        answer_here(d, k);
        return;
    }
    if (d->fetch_end_ns || looker_of(d, k->agent, k->rank)) {
        refuse(k, 503, d->fetch_end_ns ? "the job is ending" : "somebody else is looking at it");
        return;
    }
    k->ordered = true;
    if (orders_add(&d->run.agent[k->agent].orders,
                   &(struct order){ .type = ORDER_LOGS,
                                    .generation = d->run.state.generation,
                                    .log_rank = k->rank,
                                    .log_offset = k->offset },
                   &err) < 0)
        refuse(k, 503, err.text);
}

/* ---- what agents send ---- */

/* Before the report is answered: what cannot be kept must not be taken for arrived. */
int driver_logs_pieces(struct driver *d, int agent, const struct report *r, struct eddis_error *err)
{
    int rc = 0;

    for (int i = 0; i < r->n_pieces && rc >= 0; i++) {
        const struct log_piece *p = &r->piece[i];
        struct looker *k = d->fetch_end_ns ? NULL : looker_of(d, agent, p->rank);

        if (!k) {
            rc = d->fetch_end_ns ? fetch_piece(d->fetch, agent, p, err) : 0;
            continue;
        }
        if (k->begin < 0)
            k->begin = p->offset;
        if (k->text.len + strlen(p->text) <= LOG_ANSWER_MOST)
            strbuf_add(&k->text, p->text);
    }
    return rc;
}

void driver_logs_event(struct driver *d, int agent, const struct event *e)
{
    struct looker *k = d->fetch_end_ns ? NULL : looker_of(d, agent, e->rank);

    if (e->type != EVENT_LOGS)
        return;
    if (k) {
        k->begin = k->begin < 0 ? e->step : k->begin;
        answer(k, e->step < 0 ? -1 : k->begin + (int64_t)k->text.len);
        return;
    }
    if (!d->fetch_end_ns)
        return;
    fetch_done(d->fetch, agent, e->rank, e->step, !*e->text);
    if (*e->text && e->rank >= 0 && e->step >= 0)
        job_run_say(&d->run, JOB_EVENT_NOTE, agent, e->rank, e->text);
    order_next(d, agent);
    if (fetch_over(d->fetch))
        end_fetching(d);
}

void driver_logs_tick(struct driver *d, int64_t now_ns)
{
    for (int i = 0; i < DRIVER_LOOKERS; i++)
        if (d->looker[i].x && now_ns >= d->looker[i].deadline_ns)
            refuse(&d->looker[i], 504, "the rank's node did not send its log in time");
    if (!d->fetch_end_ns)
        return;
    for (int i = 0; i < d->run.n_agents; i++)
        if (d->run.state.agent[i].ended || d->run.state.agent[i].lost)
            fetch_give_up(d->fetch, i);
    if (now_ns >= d->fetch_end_ns || fetch_over(d->fetch))
        driver_logs_stop(d);
}
