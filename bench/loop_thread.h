/* SPDX-License-Identifier: Apache-2.0 */
/* loop_thread.h - runs N engines on one thread over the in-process loop, for tests and simulations
 *
 * The order of events is derived from one seed, and time is virtual.
 */
#ifndef EDDIS_BENCH_LOOP_THREAD_H
#define EDDIS_BENCH_LOOP_THREAD_H

#include "lib/sync/engine.h"

struct loop_thread;

/* Make a loop that borrows the engines [n_ranks] until loop_thread_free; an entry may be NULL if
 * that rank has no engine yet.  seed 0: messages have no random delay.
 */
int loop_thread_new(struct engine *const *engine, int n_ranks, uint64_t seed,
                    struct loop_thread **ret, struct eddis_error *err);

/* Announce a gradient on one rank and post the messages that result. */
int loop_thread_announce(struct loop_thread *t, int rank, const struct engine_announcement *a,
                         struct eddis_error *err);

/* Finish set 0's round on one rank and post the messages that result. */
int loop_thread_finish(struct loop_thread *t, int rank, struct eddis_error *err);

/* Set the ranks' ends of the Soft Memory Box [n_ranks], borrowed until loop_thread_free. */
void loop_thread_set_boxes(struct loop_thread *t, struct smb *const *box);

/* Begin an exchange on one rank; the exchange is over once engine_exchanges counts it. */
int loop_thread_exchange(struct loop_thread *t, int rank, const struct sync_turn *turn,
                         struct eddis_error *err);

/* Begin a request to the box on one rank.  Return 1 if the request is done already; otherwise
 * r->done becomes true later.
 */
int loop_thread_box(struct loop_thread *t, int rank, struct smb_request *r,
                    struct eddis_error *err);

/* Let one rank, chosen at random, handle an event; if no rank has an event, move time to the next
 * delivery.  Return 1, or 0 if nothing can happen any more.
 */
int loop_thread_step(struct loop_thread *t, struct eddis_error *err);

/* Do a loop_thread_step, but move time at most to until_ns.  Return 1 if something was handled or
 * delivered; otherwise the time is until_ns.
 */
int loop_thread_step_to(struct loop_thread *t, int64_t until_ns, struct eddis_error *err);

/* Step until nothing can happen any more.  -EDEADLK: some bucket of `step` was not combined. */
int loop_thread_run(struct loop_thread *t, int64_t step, struct eddis_error *err);

/* Handle all events up to until_ns of virtual time, and set the time to until_ns. */
int loop_thread_run_to(struct loop_thread *t, int64_t until_ns, struct eddis_error *err);

/* Give every rank a link with this latency and bandwidth, as loop_set_link does. */
void loop_thread_set_link(struct loop_thread *t, int64_t latency_ns, double bytes_per_s);

/* Return the virtual time in ns. */
int64_t loop_thread_now_ns(const struct loop_thread *t);

/* Return the bytes that the rank has sent so far. */
int64_t loop_thread_sent_bytes(const struct loop_thread *t, int rank);

/* Free t, but not the engines and boxes.  Accept NULL. */
void loop_thread_free(struct loop_thread *t);

#endif
