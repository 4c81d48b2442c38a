/* SPDX-License-Identifier: Apache-2.0 */
/* loop_thread.h - N engines on one thread over the in-process loop, for tests and simulations
 *
 * Every order of events comes from one seed, and time is virtual.
 */
#ifndef EDDIS_SYNC_LOOP_THREAD_H
#define EDDIS_SYNC_LOOP_THREAD_H

#include "engine.h"

struct loop_thread;

/* Borrows the engines [n_ranks] until loop_thread_free, NULL where there is none yet.  seed 0 is
 * not random.
 */
int loop_thread_new(struct engine *const *engine, int n_ranks, uint64_t seed,
                    struct loop_thread **ret, struct eddis_error *err);

/* Announce a gradient, or finish the step, on one rank; what it sends is under way afterwards. */
int loop_thread_announce(struct loop_thread *t, int rank, const struct engine_announcement *a,
                         struct eddis_error *err);
int loop_thread_finish(struct loop_thread *t, int rank, struct eddis_error *err);

/* Hand over the ranks' ends of the Soft Memory Box [n_ranks], borrowed until loop_thread_free. */
void loop_thread_set_boxes(struct loop_thread *t, struct smb *const *box);

/* Begin an exchange on one rank; engine_exchanges tells when it is over. */
int loop_thread_exchange(struct loop_thread *t, int rank, const struct sync_turn *turn,
                         struct eddis_error *err);

/* Begin a request to the box on one rank.  Returns 1 when it is done already; r->done tells later.
 */
int loop_thread_box(struct loop_thread *t, int rank, struct smb_request *r,
                    struct eddis_error *err);

/* Let one rank, drawn at random, handle what has arrived, or when nobody has anything move time to
 * the next delivery.  Returns 1, or 0 when nothing can happen any more.
 */
int loop_thread_step(struct loop_thread *t, struct eddis_error *err);

/* Do the same, but move time to until_ns at most; when nothing is delivered before, it gets there.
 * Returns 1 when something was handled or delivered.
 */
int loop_thread_step_to(struct loop_thread *t, int64_t until_ns, struct eddis_error *err);

/* Step until nothing can happen any more.  -EDEADLK: a bucket of this step is not combined then. */
int loop_thread_run(struct loop_thread *t, int64_t step, struct eddis_error *err);

/* Handle all that arrives until this moment of virtual time, which is the present one then. */
int loop_thread_run_to(struct loop_thread *t, int64_t until_ns, struct eddis_error *err);

/* Give every rank a link, as loop_set_link does. */
void loop_thread_set_link(struct loop_thread *t, int64_t latency_ns, double bytes_per_s);

int64_t loop_thread_now_ns(const struct loop_thread *t);

int64_t loop_thread_sent_bytes(const struct loop_thread *t, int rank);

/* Accepts NULL. */
void loop_thread_free(struct loop_thread *t);

#endif
