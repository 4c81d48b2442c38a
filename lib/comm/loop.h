/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - N ranks in one process: the second implementation of transport.h, for tests
 *
 * With a seed, one thread drives all ranks: each message gets a random delay in virtual time and
 * is kept back until loop_advance moves the clock to it.  Whether a send completes at once (its
 * data copied) or only with its delivery is drawn as well, so that code which relies on either is
 * found.  With seed 0 messages arrive at once and each rank may have a thread of its own.
 */
#ifndef EDDIS_COMM_LOOP_H
#define EDDIS_COMM_LOOP_H

#include "transport.h"

struct loop;

int loop_new(int n_ranks, uint64_t seed, struct loop **ret, struct eddis_error *err);

/* Make a rank's endpoint.  The loop must outlive it. */
int loop_open(struct loop *l, int rank, struct transport **ret, struct eddis_error *err);

/* From now on messages take time, and no random one: each rank sends one after the other, at
 * latency_ns + bytes / bytes_per_s each.
 */
void loop_set_link(struct loop *l, int64_t latency_ns, double bytes_per_s);

/* From now on messages carry nothing, for simulations with buffers that no machine has: what is
 * received stays as it was.
 */
void loop_set_empty(struct loop *l);

/* Move virtual time to the next delivery, when that is not after until_ns; else there.  Returns
 * whether something can be delivered.
 */
bool loop_advance_to(struct loop *l, int64_t until_ns);

/* Move virtual time to the next delivery.  Returns false when nothing can be delivered. */
bool loop_advance(struct loop *l);

/* Virtual time. */
int64_t loop_now_ns(const struct loop *l);

/* Exit code that a rank aborted with; 0: none did. */
int loop_aborted(struct loop *l);

/* Accepts NULL. */
void loop_free(struct loop *l);

#endif
