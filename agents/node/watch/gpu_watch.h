/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_watch.h - follows the GPUs of this node's workers, by a process that reads NVML
 *
 * A driver may block or crash whoever calls NVML. So eddis-probe calls it, every two seconds, and
 * the agent only reads what arrives in a pipe, without waiting. Without NVML the process ends at
 * once, and nothing is known.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_GPU_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_GPU_WATCH_H

#include "agents/protocol/protocol_order.h"
#include "lib/model/gpu_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Arguments of eddis-probe, and its exit code without NVML */
#define GPU_WATCH_OPTION "watch-gpus"
enum { GPU_WATCH_EXIT_NONE = 4 };

struct gpu_watch;

/* Return a new watch of the devices of these n ranks, which the caller frees with gpu_watch_close;
 * nothing is started yet. NULL: no memory.
 */
struct gpu_watch *gpu_watch_open(const struct order_rank *rank, int n);
/* Kill the process, if it runs, and free the watch; accept NULL. Return the pid of the process, if
 * it has not ended yet; 0: there is none.
 */
pid_t gpu_watch_close(struct gpu_watch *w);

/* Start the process unless it runs, take what has arrived, and kill a process that is silent for
 * long; the next one starts a minute later. Without a worker on a GPU do nothing.
 */
void gpu_watch_take(struct gpu_watch *w, int64_t now_ns);

/* Return the newest state of rank i's GPU, if it is not older than some readings; otherwise
 * `reading` is 0.  Of several GPUs it is that of the one that slows the rank: one that is slowed by
 * something else than having no work, otherwise the one with the lowest clock.
 */
struct gpu_state gpu_watch_state(const struct gpu_watch *w, int i, int64_t now_ns);

/* Store the newest states of all GPUs of rank i, as gpu_watch_state has one, in ret [GPU_MOST], in
 * their order, and return their number. Of a rank with one GPU store nothing.
 */
int gpu_watch_states(const struct gpu_watch *w, int i, int64_t now_ns, struct gpu_state *ret);

/* Write to ret [size] what is newly wrong with a GPU of rank i, a sentence without a subject;
 * return false if nothing is.
 */
bool gpu_watch_news(struct gpu_watch *w, int i, char *ret, size_t size);

/* Take what has arrived, and end the process for good, because the ranks are being stopped. */
void gpu_watch_stop(struct gpu_watch *w, int64_t now_ns);

/* Note that a child has ended with this status of waitpid; return whether it was the process. */
bool gpu_watch_ended(struct gpu_watch *w, pid_t pid, int status, int64_t now_ns);

/* Return the pid of a process that was killed long ago and has not ended, because a driver blocks
 * it in the kernel; 0: there is none.
 */
pid_t gpu_watch_stuck(const struct gpu_watch *w, int64_t now_ns);

#endif
