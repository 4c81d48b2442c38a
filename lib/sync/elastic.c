/* SPDX-License-Identifier: Apache-2.0 */
/* elastic.c - runs an exchange with the centre as a list of phases, each a few requests to the box
 */
#include "elastic.h"

#include "elastic_ahead.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The phases of an exchange. */
enum elastic_phase {
    ELASTIC_OVER,   /* end of the list of phases */
    ELASTIC_ATTACH, /* attach to the centre */
    ELASTIC_CREATE, /* create the increment's buffer */
    ELASTIC_SEED,   /* set up the float32 copies; writer 0 writes its parameters to the centre */
    ELASTIC_SETTLE, /* wait until the increment under way is in the centre */
    ELASTIC_TAKE,   /* read the centre, if it was not read ahead */
    ELASTIC_READ,   /* read the centre now */
    ELASTIC_PULL,   /* apply the equations and start to write the increment */
    ELASTIC_COPY,   /* copy the centre to the parameters */
    ELASTIC_FREE,   /* detach from the increment's buffer */
    ELASTIC_DETACH, /* detach from the centre */
};

enum { ELASTIC_MAX_PHASES = 5 };

/* The phases of each kind of exchange; unused entries are ELASTIC_OVER. */
static const enum elastic_phase phases[][ELASTIC_MAX_PHASES] = {
    [SYNC_START] = { ELASTIC_ATTACH, ELASTIC_CREATE, ELASTIC_SEED },
    [SYNC_STEP] = { ELASTIC_SETTLE, ELASTIC_TAKE, ELASTIC_PULL },
    [SYNC_SETTLE] = { ELASTIC_SETTLE },
    [SYNC_LAST] = { ELASTIC_SETTLE, ELASTIC_TAKE, ELASTIC_PULL, ELASTIC_SETTLE },
    [SYNC_ADOPT] = { ELASTIC_SETTLE, ELASTIC_READ, ELASTIC_COPY },
    [SYNC_LEAVE] = { ELASTIC_SETTLE, ELASTIC_FREE, ELASTIC_DETACH },
};

/* All values whose elements have one type in the centre; they share a buffer in the box. */
struct part {
    enum comm_type type;       /* element type in the centre */
    size_t n;                  /* number of elements */
    smb_key centre, increment; /* keys of the buffers in the box */
    void *data;                /* [n]: the centre as read, then the increment */
    struct smb_request now;    /* request that the exchange waits for, or the read ahead of it */
    struct smb_request update; /* request that continues during the next steps */
};

/* One writer's end of the averaging. */
struct elastic {
    struct sync_models m;
    double moving_rate;
    struct part part[SYNC_TYPES];
    int n_parts;
    const enum elastic_phase *at; /* next phase of the exchange under way; `over`: none */
    int waiting;                  /* number of requests `now` that are not done */
    int updating;                 /* number of parts whose increment is under way to the centre */
    enum sync_exchange what;      /* the exchange under way, or the newest one */
    bool exchanging;              /* an exchange is under way */
    bool goes_ahead;              /* reads may begin before their exchange */
    bool has_read;                /* the next exchange's read has begun; it may be done */
    int64_t read_left;            /* ahead.left when it began */
    struct elastic_ahead ahead;
};

/* The list of phases that has none: no exchange is under way. */
static const enum elastic_phase over[] = { ELASTIC_OVER };

/* ---- blocks of values ---- */

size_t elastic_values_bytes(const struct sync_value *v, int n)
{
    size_t bytes = 0;

    for (int i = 0; i < n; i++)
        bytes += v[i].n * comm_type_bytes(v[i].type);
    return bytes;
}

void elastic_values_gather(const struct sync_value *v, int n, void *block)
{
    char *to = block;

    for (int i = 0; i < n; i++) {
        size_t bytes = v[i].n * comm_type_bytes(v[i].type);

        if (bytes)
            memcpy(to, v[i].data, bytes);
        to += bytes;
    }
}

void elastic_values_scatter(const struct sync_value *v, int n, const void *block)
{
    const char *from = block;

    for (int i = 0; i < n; i++) {
        size_t bytes = v[i].n * comm_type_bytes(v[i].type);

        if (bytes)
            memcpy(v[i].data, from, bytes);
        from += bytes;
    }
}

/* Return how many steps before the step of t an exchange was due last; 0: one is due before it. */
static int64_t steps_after_due(const struct sync_models *m, const struct sync_turn *t)
{
    int64_t offset = m->writer * t->period / m->n_writers;

    return (t->step + offset) % t->period;
}

bool elastic_due(const struct sync_models *m, const struct sync_turn *t, int64_t since)
{
    return since > 0 && steps_after_due(m, t) == 0;
}

/* ---- opening ---- */

/* Add to e the part of element type sync_type[type] and allocate its copy of the centre.  Return 0
 * or -ENOMEM.  Do nothing if no value has this type in the centre.
 */
static int part_open(struct elastic *e, int type, struct eddis_error *err)
{
    struct part *p = &e->part[e->n_parts];

    p->type = sync_type[type];
    p->n = sync_centre_size(e->m.value, e->m.n_values, p->type);
    p->centre = e->m.centre[type];
    if (!p->n)
        return 0;
    e->n_parts++;
    p->data = malloc(p->n * comm_type_bytes(p->type));
    return p->data ? 0 : eddis_fail(err, -ENOMEM, "no memory for a copy of %zu parameters", p->n);
}

int elastic_open(const struct sync_setup *o, void *user, struct elastic **ret,
                 struct eddis_error *err)
{
    const struct sync_models *m = o->models;
    struct elastic *e = calloc(1, sizeof *e);
    int rc = 0;

    if (!e)
        return eddis_fail(err, -ENOMEM, "no memory for elastic averaging");
    e->m = *m;
    e->moving_rate = o->options.moving_rate;
    e->goes_ahead = !o->place.hosts; /* the read would delay the gradients between the hosts */
    e->at = over;
    for (int i = 0; rc == 0 && i < SYNC_TYPES; i++)
        rc = part_open(e, i, err);
    if (rc < 0) {
        elastic_close(e);
        return rc;
    }
    for (int i = 0; i < e->n_parts; i++)
        e->part[i].now.user = e->part[i].update.user = user;
    *ret = e;
    return 0;
}

void elastic_close(struct elastic *e)
{
    if (!e)
        return;
    for (int i = 0; i < e->n_parts; i++)
        free(e->part[i].data);
    free(e);
}

/* ---- the equations ---- */

/* Apply the equations to n float32 numbers: with d = rate (x - c), subtract d from x and store d in
 * c.
 */
static void pull_float32(float *restrict x, float *restrict c, size_t n, float rate)
{
    for (size_t i = 0; i < n; i++) {
        float d = rate * (x[i] - c[i]);

        x[i] -= d;
        c[i] = d;
    }
}

/* Apply the equations to n float64 numbers: with d = rate (x - c), subtract d from x and store d in
 * c.
 */
static void pull_float64(double *restrict x, double *restrict c, size_t n, double rate)
{
    for (size_t i = 0; i < n; i++) {
        double d = rate * (x[i] - c[i]);

        x[i] -= d;
        c[i] = d;
    }
}

enum { KEPT_BLOCK = 512 }; /* elements converted at a time by kept_follow */

/* Update the n float32 copies `kept` of the 16-bit numbers x, of this type.  If x differs from its
 * rounded copy, the program has changed x: add the same change to the copy.  If the copy is NaN or
 * infinite when rounded, replace it by x.
 */
static void kept_follow(enum comm_type type, float *kept, const uint16_t *x, size_t n)
{
    uint16_t rounded[KEPT_BLOCK];
    float was[KEPT_BLOCK], is[KEPT_BLOCK];

    for (size_t at = 0; at < n; at += KEPT_BLOCK, kept += KEPT_BLOCK, x += KEPT_BLOCK) {
        size_t m = n - at < KEPT_BLOCK ? n - at : KEPT_BLOCK;

        comm_to_half(type, rounded, kept, m);
        comm_from_half(type, was, rounded, m);
        comm_from_half(type, is, x, m);
        for (size_t i = 0; i < m; i++)
            if (rounded[i] != x[i])
                kept[i] = isfinite(was[i]) ? kept[i] + (is[i] - was[i]) : is[i];
    }
}

/* What part_move does: apply the equations, copy a part's data to the values, or the values to the
 * data.
 */
enum direction { DIRECTION_PULL, DIRECTION_TO_VALUES, DIRECTION_FROM_VALUES };

/* Do part_move for one 16-bit value v, whose first element is element `at` of all 16-bit values;
 * `data` points to the value's part of the data.  DIRECTION_TO_VALUES also stores the centre in the
 * worker's copy of the centre, if that is wanted.  It leaves the worker's own float32 copy
 * unchanged, because the values may be needed only for a checkpoint.  DIRECTION_FROM_VALUES takes
 * the given copy of the centre instead of the value, if there is one.
 */
static void half_move(const struct elastic *e, const struct sync_value *v, size_t at, float *data,
                      enum direction how)
{
    const struct sync_halves *h = e->m.halves;
    float *kept = h->kept + at;

    if (how == DIRECTION_TO_VALUES) {
        comm_to_half(v->type, v->data, data, v->n);
        if (h->centre)
            memcpy(h->centre + at, data, v->n * sizeof *data);
    } else if (how == DIRECTION_FROM_VALUES && h->given) {
        memcpy(data, h->centre + at, v->n * sizeof *data);
    } else if (how == DIRECTION_FROM_VALUES) {
        comm_from_half(v->type, data, v->data, v->n);
    } else {
        kept_follow(v->type, kept, v->data, v->n);
        pull_float32(kept, data, v->n, (float)e->moving_rate);
        comm_to_half(v->type, v->data, kept, v->n);
    }
}

/* Set up the float32 copies of 16-bit values at SYNC_START, when the values equal the centre.  If
 * copies were given, update the copy of the centre by kept_follow, and also copy it to this
 * writer's copy if the given ones are shared.  Otherwise set this writer's copy to the values.
 */
static void halves_begin(const struct elastic *e)
{
    const struct sync_halves *h = e->m.halves;
    size_t at = 0;

    for (int i = 0; i < e->m.n_values; i++) {
        const struct sync_value *v = &e->m.value[i];

        if (!comm_type_half(v->type) || !v->n)
            continue;
        if (h->given)
            kept_follow(v->type, h->centre + at, v->data, v->n);
        else
            comm_from_half(v->type, h->kept + at, v->data, v->n);
        at += v->n;
    }
    if (h && h->given && h->shared)
        memcpy(h->kept, h->centre, h->n * sizeof *h->kept);
}

/* Apply the equations to a part's values and data, or copy one to the other; see enum direction. */
static void part_move(const struct elastic *e, const struct part *p, enum direction how)
{
    char *data = p->data;
    size_t at = 0; /* number of elements of the 16-bit values so far */

    for (int i = 0; i < e->m.n_values; i++) {
        const struct sync_value *v = &e->m.value[i];
        size_t bytes = v->n * comm_type_bytes(p->type);

        if (sync_centre_type(v->type) != p->type || !v->n)
            continue;
        if (comm_type_half(v->type)) {
            half_move(e, v, at, (float *)data, how);
            at += v->n;
        } else if (how == DIRECTION_TO_VALUES)
            memcpy(v->data, data, bytes);
        else if (how == DIRECTION_FROM_VALUES)
            memcpy(data, v->data, bytes);
        else if (v->type == COMM_FLOAT32)
            pull_float32(v->data, (float *)data, v->n, (float)e->moving_rate);
        else
            pull_float64(v->data, (double *)data, v->n, e->moving_rate);
        data += bytes;
    }
}

/* ---- requests to the box ---- */

/* Overwrite request r by `what`, except for its member user, set its deadline and start it.  Return
 * 1 if the request is done already, else 0, or a failure.
 */
static int ask(struct elastic *e, struct smb_request *r, const struct smb_request *what,
               int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    void *user = r->user;
    int rc;

    *r = *what;
    r->user = user;
    r->deadline_ns = now_ns + e->m.timeout_ns;
    rc = smb_start(e->m.box, r, now_ns, out, err);
    if (rc == 1 && r->rc < 0)
        return eddis_fail(err, r->rc, "%s", r->error.text);
    return rc;
}

/* Continue after the finished request p->update.  If it has written the increment, start to add the
 * increment to the centre.  Once that is done too, count the update as complete and return 1.
 * Return 0 if it continues, or a failure.
 */
static int update_go_on(struct elastic *e, struct part *p, int64_t now_ns, struct outbox *out,
                        struct eddis_error *err)
{
    int rc = 1;

    if (p->update.kind == SMB_WRITE)
        rc = ask(e, &p->update,
                 &(struct smb_request){
                     .kind = SMB_ACCUMULATE, .key = p->centre, .source = p->increment },
                 now_ns, out, err);
    if (rc == 1)
        e->updating--;
    return rc;
}

/* Apply the equations to a part and start to write its increment to the box.  Return 1 if the
 * increment is in the centre already, else 0, or a failure.
 */
static int update_begin(struct elastic *e, struct part *p, int64_t now_ns, struct outbox *out,
                        struct eddis_error *err)
{
    int rc;

    part_move(e, p, DIRECTION_PULL);
    e->updating++;
    rc = ask(e, &p->update,
             &(struct smb_request){
                 .kind = SMB_WRITE, .key = p->increment, .data = p->data, .count = p->n },
             now_ns, out, err);
    return rc == 1 ? update_go_on(e, p, now_ns, out, err) : rc;
}

/* ---- an exchange ---- */

/* Return the request to the box that part p needs in this phase, which must be one with requests.
 */
static struct smb_request phase_request(enum elastic_phase phase, const struct part *p)
{
    switch (phase) {
    case ELASTIC_ATTACH:
        return (
            struct smb_request){ .kind = SMB_ATTACH, .key = p->centre, .type = p->type, .n = p->n };
    case ELASTIC_CREATE:
        return (struct smb_request){ .kind = SMB_CREATE, .type = p->type, .n = p->n };
    case ELASTIC_SEED:
        return (struct smb_request){
            .kind = SMB_WRITE, .key = p->centre, .data = p->data, .count = p->n
        };
    case ELASTIC_READ:
        return (struct smb_request){
            .kind = SMB_READ, .key = p->centre, .data = p->data, .count = p->n
        };
    case ELASTIC_FREE:
        return (struct smb_request){ .kind = SMB_DETACH, .key = p->increment };
    default:
        assert(phase == ELASTIC_DETACH);
        return (struct smb_request){ .kind = SMB_DETACH, .key = p->centre };
    }
}

/* Continue after the finished request p->now: if it has created a buffer, store the buffer's key as
 * that of the increment.
 */
static void part_done(struct elastic *e, struct part *p)
{
    if (p->now.kind == SMB_CREATE)
        p->increment = p->now.key;
}

/* Start the phase's request to the box for every part, and add the number of requests that are not
 * done immediately to e->waiting.  Return 0 or a failure.
 */
static int phase_ask(struct elastic *e, enum elastic_phase phase, int64_t now_ns,
                     struct outbox *out, struct eddis_error *err)
{
    for (int i = 0; i < e->n_parts; i++) {
        struct part *p = &e->part[i];
        struct smb_request what;
        int rc;

        if (phase == ELASTIC_SEED)
            part_move(e, p, DIRECTION_FROM_VALUES);
        what = phase_request(phase, p);
        rc = ask(e, &p->now, &what, now_ns, out, err);
        if (rc < 0)
            return rc;
        if (rc == 1)
            part_done(e, p);
        else
            e->waiting++;
    }
    return 0;
}

/* Begin to read the centre.  Return 0 or a failure. */
static int read_begin(struct elastic *e, int64_t now_ns, struct outbox *out,
                      struct eddis_error *err)
{
    int rc;

    e->has_read = true;
    e->read_left = e->ahead.left;
    elastic_ahead_read(&e->ahead, now_ns);
    rc = phase_ask(e, ELASTIC_READ, now_ns, out, err);
    if (rc == 0 && !e->waiting)
        elastic_ahead_have(&e->ahead, now_ns);
    return rc;
}

/* Begin to read the centre for the next exchange, if it is time and the centre has this writer's
 * last increment.  Return 0 or a failure.
 */
static int read_ahead(struct elastic *e, int64_t now_ns, struct outbox *out,
                      struct eddis_error *err)
{
    if (!e->goes_ahead || e->exchanging || e->has_read || e->updating ||
        !elastic_ahead_is_due(&e->ahead))
        return 0;
    return read_begin(e, now_ns, out, err);
}

/* Begin a phase: start its requests to the box, apply the equations, or copy the centre to the
 * parameters.  Return 0 or a failure.
 */
static int phase_begin(struct elastic *e, enum elastic_phase phase, int64_t now_ns,
                       struct outbox *out, struct eddis_error *err)
{
    int rc = 0;

    switch (phase) {
    case ELASTIC_SETTLE:
        return 0;
    case ELASTIC_TAKE:
        return e->has_read ? 0 : read_begin(e, now_ns, out, err);
    case ELASTIC_READ:
        return read_begin(e, now_ns, out, err);
    case ELASTIC_PULL:
        e->has_read = false;
        for (int i = 0; rc >= 0 && i < e->n_parts; i++)
            rc = update_begin(e, &e->part[i], now_ns, out, err);
        return rc < 0 ? rc : 0;
    case ELASTIC_COPY:
        e->has_read = false;
        for (int i = 0; i < e->n_parts; i++)
            part_move(e, &e->part[i], DIRECTION_TO_VALUES);
        return 0;
    case ELASTIC_SEED:
        halves_begin(e);
        return e->m.writer == 0 ? phase_ask(e, phase, now_ns, out, err) : 0;
    default:
        return phase_ask(e, phase, now_ns, out, err);
    }
}

/* Begin the exchange's phases one after another until requests must be waited for.  Return 1 if the
 * exchange is over, else 0, or a failure.
 */
static int elastic_run(struct elastic *e, int64_t now_ns, struct outbox *out,
                       struct eddis_error *err)
{
    while (*e->at != ELASTIC_OVER) {
        int rc;

        if (e->waiting || (*e->at == ELASTIC_SETTLE && e->updating))
            return 0;
        rc = phase_begin(e, *e->at++, now_ns, out, err);
        if (rc < 0)
            return rc;
    }
    return e->waiting == 0;
}

/* Continue the exchange under way by elastic_run.  If it is over, read ahead if that is due. Return
 * 1 if it is over, else 0, or a failure.
 */
static int elastic_go_on(struct elastic *e, int64_t now_ns, struct outbox *out,
                         struct eddis_error *err)
{
    int rc = elastic_run(e, now_ns, out, err);

    if (rc != 1)
        return rc;
    e->exchanging = false;
    elastic_ahead_end(&e->ahead, e->what == SYNC_STEP, now_ns);
    rc = read_ahead(e, now_ns, out, err);
    return rc < 0 ? rc : 1;
}

int elastic_begin(struct elastic *e, const struct sync_turn *t, int64_t since, int64_t now_ns,
                  struct outbox *out, struct eddis_error *err)
{
    assert(*e->at == ELASTIC_OVER && !e->exchanging);
    e->at = phases[t->what];
    e->what = t->what;
    e->exchanging = true;
    if (t->what == SYNC_START) /* a read before it was of another centre */
        e->has_read = false;
    if (t->what == SYNC_STEP)
        elastic_ahead_begin(&e->ahead, since, t->period, now_ns);
    if (e->has_read && t->hidden_ns)
        *t->hidden_ns = e->waiting ? now_ns - e->ahead.begun_ns : e->ahead.read_ns;
    return elastic_go_on(e, now_ns, out, err);
}

int elastic_pass(struct elastic *e, const struct sync_turn *t, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err)
{
    int rc;

    e->ahead.left = t->period - steps_after_due(&e->m, t);
    if (!e->waiting && e->ahead.left > e->read_left) /* the period has become longer */
        e->has_read = false;
    rc = read_ahead(e, now_ns, out, err);
    return rc < 0 ? rc : 1;
}

/* Note that request p->now is done, and that the read is done if it was its last request. */
static void request_done(struct elastic *e, struct part *p, int64_t now_ns)
{
    part_done(e, p);
    if (--e->waiting == 0 && p->now.kind == SMB_READ)
        elastic_ahead_have(&e->ahead, now_ns);
}

int elastic_done(struct elastic *e, struct smb_request *r, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err)
{
    if (r->rc < 0)
        return eddis_fail(err, r->rc, "%s", r->error.text);
    for (int i = 0; i < e->n_parts; i++) {
        struct part *p = &e->part[i];
        int rc = 0;

        if (r == &p->update)
            rc = update_go_on(e, p, now_ns, out, err);
        if (r == &p->now)
            request_done(e, p, now_ns);
        if (rc < 0)
            return rc;
    }
    return e->exchanging ? elastic_go_on(e, now_ns, out, err) : read_ahead(e, now_ns, out, err);
}

int elastic_waits_for(const struct elastic *e)
{
    for (int i = 0; i < e->n_parts; i++) {
        const struct part *p = &e->part[i];

        if (e->waiting && !p->now.done)
            return smb_waits_for(e->m.box, &p->now);
        if (e->updating && !p->update.done)
            return smb_waits_for(e->m.box, &p->update);
    }
    return -1;
}
