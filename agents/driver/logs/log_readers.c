/* SPDX-License-Identifier: Apache-2.0 */
/* log_readers.c - parts of ranks' logs, read here or ordered from their nodes, for people's
 * requests */
#include "log_readers.h"

#include "agents/protocol/log_answer.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file_thread.h"
#include "lib/base/strbuf.h"

#include <stdlib.h>
#include <string.h>

static const int64_t look_ns = 4 * CLOCK_S; /* time limit of a request */

enum { LOOKERS = 16 }; /* most pending requests */

/* A pending request for a part of a rank's log. */
struct log_reader {
    struct http_exchange *x; /* NULL: unused slot */
    int agent, rank;
    int64_t offset,  /* offset asked for; negative: from the end */
        begin,       /* offset of the first byte received; -1: none yet */
        deadline_ns; /* when the request is refused */
    int64_t order;   /* number of the order to the rank's node; 0: none */
    int64_t number;  /* number of the file reading; 0: none */
    struct strbuf text;
};

/* All pending requests. */
struct log_readers {
    struct job_run *run;
    struct log_reader log_reader[LOOKERS];
    int64_t n_readings; /* number of the latest file reading */
};

struct log_readers *log_readers_new(struct job_run *run)
{
    struct log_readers *s = calloc(1, sizeof *s);

    if (s)
        s->run = run;
    return s;
}

/* Reply to a person's request with the collected part of a log, and free its slot.  The part ends
 * at offset `end` of the log; negative: the rank has no log.
 */
static void answer(struct log_reader *k, int64_t end)
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

/* Reply to a person's request for a log with an HTTP error, and free its slot. */
static void refuse(struct log_reader *k, int status, const char *why)
{
    http_reply_error(k->x, status, why);
    strbuf_fini(&k->text);
    k->x = NULL;
}

void log_readers_shut(struct log_readers *s)
{
    for (int i = 0; s && i < LOOKERS; i++)
        if (s->log_reader[i].x)
            refuse(&s->log_reader[i], 503, "the job has ended");
}

/* Return the request for which this order was sent to the agent, borrowed; NULL: none waits. */
static struct log_reader *log_reader_of(struct log_readers *s, int agent, int64_t order)
{
    for (int i = 0; i < LOOKERS; i++) {
        struct log_reader *k = &s->log_reader[i];

        if (k->x && k->order && k->agent == agent && k->order == order)
            return k;
    }
    return NULL;
}

/* ---- logs that this machine can read itself ---- */

/* A task of the file thread that reads a part of a log. */
struct reading {
    struct file_task task;
    struct log_readers *log_readers; /* not used by the file thread */
    int64_t number;
    char *dir;           /* folder of the logs */
    struct log_answer a; /* the result; text NULL: no log */
};

/* Read a part of a rank's log from its files (file_task.run, on the file thread). */
static void read_log(struct file_task *t)
{
    struct reading *r = (struct reading *)t;

    (void)log_answer_read(r->dir, &r->a, NULL);
}

/* Answer the request that the log was read for, if it still waits (file_task.done, on the driver's
 * thread).
 */
static void was_read(struct file_task *t)
{
    const struct reading *r = (const struct reading *)t;

    for (int i = 0; i < LOOKERS; i++) {
        struct log_reader *k = &r->log_readers->log_reader[i];

        if (!k->x || k->number != r->number)
            continue;
        k->begin = r->a.offset;
        if (r->a.text)
            strbuf_add(&k->text, r->a.text);
        answer(k, r->a.text ? r->a.end : -1);
    }
}

/* Free a reading task (file_task.free). */
static void free_reading(struct file_task *t)
{
    struct reading *r = (struct reading *)t;

    free(r->dir);
    free(r->a.text);
    free(r);
}

/* Begin to read a log in this machine's folder for a request, or refuse the request without memory.
 */
static void answer_here(struct log_readers *s, struct log_reader *k)
{
    struct reading *r = calloc(1, sizeof *r);

    if (r)
        r->dir = strdup(s->run->log_dir);
    if (!r || !r->dir) {
        free(r);
        refuse(k, 503, "no memory");
        return;
    }
    r->task = (struct file_task){ .run = read_log, .done = was_read, .free = free_reading };
    r->log_readers = s;
    r->number = k->number = ++s->n_readings;
    r->a = (struct log_answer){ .rank = k->rank, .offset = k->offset };
    file_thread_add(s->run->reader, &r->task);
}

/* ---- all requests ---- */

void log_readers_add(struct log_readers *s, const struct request_item *i, bool ending,
                     int64_t now_ns)
{
    struct eddis_error err = { 0 };
    struct order o = { .type = ORDER_LOGS, .generation = s->run->state.generation };
    struct log_reader *k = NULL;

    if (i->rank >= s->run->state.n_ranks || s->run->state.rank[i->rank].agent < 0) {
        http_reply_error(i->x, 404, "there is no such rank");
        return;
    }
    for (int n = 0; n < LOOKERS && !k; n++)
        k = s->log_reader[n].x ? NULL : &s->log_reader[n];
    if (!k) {
        http_reply_error(i->x, 503, "too many requests for logs at once; ask again later");
        return;
    }
    *k = (struct log_reader){ .x = i->x,
                              .agent = s->run->state.rank[i->rank].agent,
                              .rank = i->rank,
                              .offset = i->after > 0 ? i->after : -LOG_ANSWER_MOST,
                              .begin = -1,
                              .deadline_ns = now_ns + look_ns };
    if (s->run->agent[k->agent].shared_logs) {
        answer_here(s, k);
        return;
    }
    if (ending) {
        refuse(k, 503, "the job is ending");
        return;
    }
    o.log_rank = k->rank;
    o.log_offset = k->offset;
    if (orders_add(&s->run->agent[k->agent].orders, &o, &err) < 0)
        refuse(k, 503, err.text);
    else
        k->order = o.number;
}

bool log_readers_chunk(struct log_readers *s, int agent, const struct log_chunk *p)
{
    struct log_reader *k = log_reader_of(s, agent, p->order);

    if (!k)
        return false;
    if (k->begin < 0)
        k->begin = p->offset;
    /* A chunk that follows one for which there was no room would leave a gap. */
    if (p->offset == k->begin + (int64_t)k->text.len &&
        k->text.len + strlen(p->text) <= LOG_ANSWER_MOST)
        strbuf_add(&k->text, p->text);
    return true;
}

bool log_readers_end(struct log_readers *s, int agent, const struct event *e)
{
    struct log_reader *k = log_reader_of(s, agent, e->order);

    if (!k)
        return false;
    k->begin = k->begin < 0 ? e->log_end : k->begin;
    answer(k, e->log_end < 0 ? -1 : k->begin + (int64_t)k->text.len);
    return true;
}

void log_readers_tick(struct log_readers *s, int64_t now_ns)
{
    for (int i = 0; i < LOOKERS; i++)
        if (s->log_reader[i].x && now_ns >= s->log_reader[i].deadline_ns)
            refuse(&s->log_reader[i], 504,
                   s->log_reader[i].order ? "the rank's node did not send the log in time"
                                          : "the folder of the logs does not answer");
}
