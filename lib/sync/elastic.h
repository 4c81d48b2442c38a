/* SPDX-License-Identifier: Apache-2.0 */
/* elastic.h - one writer's end of elastic averaging with a centre in the Soft Memory Box
 *
 * SEASGD's three equations, with x the writer's parameters, c the centre, a the moving rate:
 *
 *     d = a (x - c)        here, right after c was read: the read is waited for, on purpose,
 *     x = x - d            because stale reads hurt learning
 *     c = c + d            by the box, which adds one writer's increment at a time
 *
 * The increment has a buffer of the writer's own in the box; writing it and having it added go on
 * while the next steps compute.  The next exchange waits for them first, so that at most one
 * increment is under way and a read contains the writer's own last one.  Only accumulating changes
 * the centre, so the sum of all x and c is what it was, up to rounding.
 *
 *     SYNC_STEP     settle | read | pull                     a step ... | settle
 *     background                   '- write - accumulate ------------------'
 *
 * a = 0.9 / p for p writers is stable whatever the delays; a fixed 0.2 diverges from p = 8 on
 * (p of 8 increments of 0.2 overlap: together they overshoot the centre by more than its distance).
 *
 * Parameters of 16 bits have a float32 copy here, and the centre is float32: x is that copy, which
 * is moved by as much as the program has moved its own, and rounded to them.
 *
 * Source: Ahn et al., ShmCaffe, ICDCS 2018; Zhang, Choromanska and LeCun, Deep learning with
 * elastic averaging SGD, NeurIPS 2015.
 */
#ifndef EDDIS_SYNC_ELASTIC_H
#define EDDIS_SYNC_ELASTIC_H

#include "sync.h"

struct elastic;

/* Open this writer's end.  user: what its requests to the box carry, so that the algorithm knows
 * them as its own.
 */
int elastic_open(const struct sync_setup *o, void *user, struct elastic **ret,
                 struct eddis_error *err);

/* Begin an exchange.  Returns 1 when it is over already, else 0. */
int elastic_begin(struct elastic *e, enum sync_exchange what, int64_t now_ns, struct outbox *out,
                  struct eddis_error *err);

/* Go on after this request to the box, which is done.  Returns 1 when that ends an exchange, else
 * 0.
 */
int elastic_done(struct elastic *e, struct smb_request *r, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err);

/* Return the rank that the exchange under way waits for; -1: none. */
int elastic_waits_for(const struct elastic *e);

/* Accepts NULL. */
void elastic_close(struct elastic *e);

/* Return whether an exchange is due before the step of t, `since` steps after the last exchange.
 * Where the period changes two exchanges are less than the sum of both periods apart.
 */
bool elastic_due(const struct sync_models *m, const struct sync_turn *t, int64_t since);

/* Copy all values, one behind the other, into a block of elastic_values_bytes, and back. */
size_t elastic_values_bytes(const struct sync_value *v, int n);
void elastic_values_gather(const struct sync_value *v, int n, void *block);
void elastic_values_scatter(const struct sync_value *v, int n, const void *block);

#endif
