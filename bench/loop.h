/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - N ranks in one process: the second implementation of transport.h, for tests
 *
 * With a seed, one thread drives all ranks.  Each message gets a random delay in virtual time and
 * is kept until loop_advance moves the clock to it.  A send completes either immediately (its data
 * is copied) or with its delivery, at random, to find code that relies on one of the two.  With
 * seed 0 messages arrive immediately and each rank may have its own thread.
 */
#ifndef EDDIS_BENCH_LOOP_H
#define EDDIS_BENCH_LOOP_H

#include "lib/comm/transport.h"

struct loop;

/* Make a loop of n_ranks ranks; the top of loop.h explains the seed.  The caller frees *ret by
 * loop_free.
 */
int loop_new(int n_ranks, uint64_t seed, struct loop **ret, struct eddis_error *err);

/* Make a rank's endpoint.  The loop must outlive it. */
int loop_open(struct loop *l, int rank, struct transport **ret, struct eddis_error *err);

/* Replace random delays by links from now on: each rank sends one message after the other, and each
 * message takes latency_ns + bytes / bytes_per_s.
 */
void loop_set_link(struct loop *l, int64_t latency_ns, double bytes_per_s);

/* Transfer no data from now on; receive buffers stay unchanged.  For simulations with buffers
 * larger than any machine's memory.
 */
void loop_set_empty(struct loop *l);

/* Move virtual time to the next delivery, but at most to until_ns.  Return whether a message can be
 * delivered.
 */
bool loop_advance_to(struct loop *l, int64_t until_ns);

/* Move virtual time to the next delivery.  Return false if nothing can be delivered. */
bool loop_advance(struct loop *l);

/* Return the virtual time in ns. */
int64_t loop_now_ns(const struct loop *l);

/* Free l, whose endpoints must be closed.  Accept NULL. */
void loop_free(struct loop *l);

#endif
