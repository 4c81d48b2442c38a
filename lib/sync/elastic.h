/* SPDX-License-Identifier: Apache-2.0 */
/* elastic.h - one writer's end of elastic averaging with a centre in the Soft Memory Box
 *
 * SEASGD's three equations, with x the writer's parameters, c the centre, a the moving rate:
 *
 *     d = a (x - c)        here, with c as it was read
 *     x = x - d            the same d as in the centre
 *     c = c + d            in the box, which adds one writer's increment at a time
 *
 * The increment d has its own buffer in the box for each writer.  Writing and adding the increment
 * continue while the next steps compute.  No read begins before both are done.  So at most one
 * increment is under way, and a read contains the writer's own last increment.  Only these
 * additions change the centre, so the sum of all x and c stays constant, up to rounding, however
 * old the c is that was read.
 *
 *     SYNC_STEP     settle | read | pull                     a step ... | settle | pull
 *     background                   '- write - accumulate - read --------'
 *
 * If a read takes long, the next one goes ahead of its exchange (elastic_ahead.h), as few steps as
 * the read takes, because a stale c costs learning, and not in a group on several hosts, whose
 * gradients take the same links.  SYNC_ADOPT always reads anew.
 *
 * a = 0.9 / p for p writers is stable whatever the delays; a fixed 0.2 diverges from p = 8 on (p of
 * 8 increments of 0.2 overlap: together they overshoot the centre by more than its distance).
 *
 * 16-bit parameters have a float32 copy here, and their centre is float32.  The copy is the x of
 * the equations: it follows the program's changes of the parameters, and an exchange sets these to
 * the rounded copy.
 *
 * Source: Ahn et al., ShmCaffe, ICDCS 2018; Zhang, Choromanska and LeCun, Deep learning with
 * elastic averaging SGD, NeurIPS 2015.
 */
#ifndef EDDIS_SYNC_ELASTIC_H
#define EDDIS_SYNC_ELASTIC_H

#include "sync.h"

struct elastic;

/* Open this writer's end of the averaging; the caller frees *ret by elastic_close.  user: stored in
 * each request to the box, so that the algorithm recognises its own requests.  Return 0 or -ENOMEM.
 */
int elastic_open(const struct sync_setup *o, void *user, struct elastic **ret,
                 struct eddis_error *err);

/* Begin the exchange t, `since` steps after the previous one.  If a read ahead is under way, the
 * exchange first waits for it.  Return 1 if the exchange is over already, else 0, or a failure.
 */
int elastic_begin(struct elastic *e, const struct sync_turn *t, int64_t since, int64_t now_ns,
                  struct outbox *out, struct eddis_error *err);

/* Pass the SYNC_STEP t, which is not due: begin to read the centre for the next one if it is time.
 * Return 1, or a failure.
 */
int elastic_pass(struct elastic *e, const struct sync_turn *t, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err);

/* Continue after the request r to the box, which is done.  Return 1 if that ends an exchange, else
 * 0, or a failure.
 */
int elastic_done(struct elastic *e, struct smb_request *r, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err);

/* Return the rank that the exchange under way waits for; -1: none. */
int elastic_waits_for(const struct elastic *e);

/* Free e.  Accept NULL. */
void elastic_close(struct elastic *e);

/* Check whether an exchange is due before the step of t, `since` steps after the previous exchange.
 * Each writer exchanges at another step of a period.  If the period changes, two exchanges of a
 * writer are less than the sum of both periods apart.
 */
bool elastic_due(const struct sync_models *m, const struct sync_turn *t, int64_t since);

/* Return the bytes of all values together. */
size_t elastic_values_bytes(const struct sync_value *v, int n);

/* Copy all values, one after another, into `block` of elastic_values_bytes. */
void elastic_values_gather(const struct sync_value *v, int n, void *block);

/* Copy all values back from a block filled by elastic_values_gather. */
void elastic_values_scatter(const struct sync_value *v, int n, const void *block);

#endif
