/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - start agents on nodes: a queue of starts, and the events of each
 *
 *     queued -> login -> up -> registered -> leaving -> over
 *
 * Each way to a node has its functions (struct start_ops).  "local" is a fork on this machine,
 * "ssh" a login, "srun" a step of a Slurm allocation.  Each runs the supervisor (eddis-keeper) on
 * the node.  A process here represents it: the supervisor itself, the ssh client, or one srun for
 * all nodes that are started together.  Nothing blocks: the caller's loop polls starter_fd, passes
 * the time to starter_turn and takes events.
 *
 * The supervisor first prints its version.  Secrets are written to its standard input only after
 * that line has been read, so that nothing else that answers on the host receives them.  Its later
 * lines, and the agent's, are reported by starter_waiting.  A registered agent communicates over
 * HTTP; from then on only the end of its session matters.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_START_H
#define EDDIS_AGENTS_DRIVER_START_START_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/slurm/slurm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { START_LOGINS = 32 }; /* logins at a time */

/* Exit code of the supervisor if it could not end or remove everything. */
enum { START_KEEPER_FAILED = 1 };

/* The kinds of events. */
enum start_event_type {
    START_FAILED, /* could not be started; text names the host and the reason */
    START_LATE,   /* the same because its deadline has passed */
    START_ENDED,  /* has ended: "agent exited 3"; code is the exit code as in a shell */
    START_CUT,    /* its session has ended, but it may still run: "ssh session has ended: ..." */
};

/* An event of one host. */
struct start_event {
    enum start_event_type type;
    int host;
    int code;   /* exit code as in a shell; -1: unknown */
    bool gone;  /* START_FAILED: the allocation has ended, no start can succeed */
    bool swept; /* its supervisor has ended by itself and left nothing behind */
    char text[512];
};

/* The hosts to start agents on. */
struct start_options {
    const struct job_host *host; /* [n], borrowed; NULL: this machine, n is 1 */
    int n;
    const struct job_ssh *ssh; /* borrowed: defaults for the hosts' settings; NULL: none */
    const struct slurm_allocation *slurm; /* borrowed: the allocation of the hosts; NULL: none */
    int64_t launch_ns;                    /* timeouts.launch, for messages and ssh's time limit */
};

struct starter;

/* Make a starter for these hosts, and make this process the subreaper of its orphans.  The caller
 * ignores SIGPIPE.
 */
int starter_open(const struct start_options *o, struct starter **ret, struct eddis_error *err);

/* Queue a start: run the supervisor with these arguments (NULL-terminated) on a host, with input
 * (NULL: none) on its standard input.  Everything is copied, and the copy of the input wiped after
 * use.  An earlier start on that host must have ended.  If the agent has not registered by
 * deadline_ns, it is killed.  Hosts of one group (starter_group) that are added together with the
 * same arguments and input are started together.
 */
int starter_add(struct starter *s, int host, const char *const *args, const char *input,
                int64_t deadline_ns, struct eddis_error *err);

/* Advance all starts: handle output and ends of processes, begin queued starts and end late ones.
 * Call it when starter_fd is readable and at starter_next_ns.
 */
void starter_turn(struct starter *s, int64_t now_ns);

/* Return a descriptor that is readable when starter_turn has something to do. */
int starter_fd(const struct starter *s);

/* Return the time of the next call of starter_turn; CLOCK_NEVER: none is needed. */
int64_t starter_next_ns(const struct starter *s);

/* Take the next event of a start; false: none. */
bool starter_event(struct starter *s, struct start_event *ret);

/* Record that the agent on this host has registered. */
void starter_registered(struct starter *s, int host);

/* Record that the agent on this host reports that it leaves, and why ("": by order).  Its session
 * should end soon; START_ENDED is reported even if it does not, or ended before.  Does nothing for
 * an agent of this machine, whose process just ends.
 */
void starter_left(struct starter *s, int host, const char *why, int64_t now_ns);

/* End the session of a lost agent without an event; the host may be started again.  Does nothing
 * for an agent of this machine, whose process reports its end.
 */
void starter_drop(struct starter *s, int host);

/* Give up all starts that have not received their input; each gives START_ENDED. */
void starter_abandon(struct starter *s);

/* Describe which agents are up and which are not, and why: "agents 6/8 up; waiting for c07 (ssh:
 * logging in), c08 (started, cannot reach driver at 10.1.0.7:41233)".  Return the number of those
 * not up.
 */
int starter_waiting(const struct starter *s, char *ret, size_t size);

/* Return the last line from the host's supervisor or agent, borrowed; "": none. */
const char *starter_words(const struct starter *s, int host);

/* Check whether this host is this machine, reached by a fork. */
bool starter_is_local(const struct starter *s, int host);

/* Return the group of nodes that this host is started with, from 0; -1: it is started alone. */
int starter_group(const struct starter *s, int host);

/* Return the name of this host for the user, borrowed. */
const char *starter_host(const struct starter *s, int host);

/* Return the line of nodes.jsonl (agents/job/node_list.h) for a start with this identity, for the
 * caller to free; NULL: no memory.
 */
char *starter_record(const struct starter *s, int host, const char *job_id,
                     const struct node_identity *id);

/* Check whether this host of a job is this machine, started without a login; true for NULL. */
bool start_is_here(const struct job_host *host);

/* End the ssh clients, the steps and everything that local agents have left behind.  Processes may
 * first take patience_ns to clean up after themselves, as an agent does whose supervisor was
 * killed.  Local processes are spared if this process had children before starter_open, since not
 * all would be ours.  Blocks until the deadline at most.  Return -EINPROGRESS if nothing is left
 * but Slurm has not ended all steps; err explains it.
 */
int starter_clean(struct starter *s, int64_t patience_ns, int64_t deadline_ns,
                  struct eddis_error *err);

/* Free s without killing what it started on hosts.  Accepts NULL. */
void starter_close(struct starter *s);

#endif
