/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - start agents on nodes: a queue of starts, and the events of each start
 *
 *     queued -> login -> up -> registered -> leaving -> over
 *
 * There are three ways to run the supervisor (eddis-keeper) on a node, each with its functions
 * (struct start_ops): "local" is a fork on this machine, "ssh" a login, "srun" a step of a Slurm
 * allocation. A process on this machine represents the supervisor: the supervisor itself, the ssh
 * client, or one srun for all nodes that are started together. No function blocks, except
 * starter_clean: the caller's loop polls starter_fd, passes the time to starter_turn and takes
 * events.
 *
 * The supervisor first prints its version. Secrets are written to its standard input only after
 * this line has been read, so that no other program on the host receives them. Later lines of
 * supervisor and agent are reported by starter_waiting. A registered agent communicates over HTTP;
 * after the registration only the end of its session matters.
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

enum { START_LOGINS = 32 }; /* maximum number of logins at a time */

/* Exit code of a supervisor that could not end all processes or remove all files */
enum { START_KEEPER_FAILED = 1 };

/* The kinds of events. */
enum start_event_type {
    START_FAILED, /* the agent could not be started; text names the host and the reason */
    /* the agent had not registered at its deadline; text names the host and the reason */
    START_LATE,
    START_ENDED, /* the agent has ended: "agent exited 3"; code is the exit code as in a shell */
    /* the agent's session has ended, but the agent may still run: "ssh session has ended: ..." */
    START_CUT,
};

/* An event of one host. */
struct start_event {
    enum start_event_type type;
    int host;
    int code;   /* exit code as in a shell; -1: unknown */
    bool gone;  /* START_FAILED: no further start can succeed, because the allocation has ended */
    bool swept; /* the supervisor has ended by itself, and left no process or file behind */
    char text[512];
};

/* The hosts on which to start agents */
struct start_options {
    const struct job_host *host; /* [n], borrowed; NULL: this machine, n is 1 */
    int n;
    const struct job_ssh *ssh; /* defaults for the hosts' ssh settings, borrowed; NULL: none */
    const struct slurm_allocation *slurm; /* the allocation of the hosts, borrowed; NULL: none */
    int64_t launch_ns;                    /* timeouts.launch, for messages and ssh's time limit */
};

struct starter;

/* Create a starter for these hosts in *ret, which the caller frees with starter_close, and make
 * this process the subreaper of its descendants. Return 0 or a negative errno. The caller must
 * ignore SIGPIPE.
 */
int starter_open(const struct start_options *o, struct starter **ret, struct eddis_error *err);

/* Queue a start: run the supervisor with these arguments (NULL-terminated) on a host, with `input`
 * (NULL: none) on its standard input. args and input are copied, and the copy of the input is wiped
 * after use. An earlier start on this host must have ended. If the agent has not registered by
 * deadline_ns, the start is killed. Hosts of one group (starter_group) that are added one after
 * another with the same arguments and input are started together. Return 0 or a negative errno.
 */
int starter_add(struct starter *s, int host, const char *const *args, const char *input,
                int64_t deadline_ns, struct eddis_error *err);

/* Advance all starts: handle output and ends of processes, begin queued starts, and kill starts
 * that are past their deadline. To be called when starter_fd is readable and at starter_next_ns.
 */
void starter_turn(struct starter *s, int64_t now_ns);

/* Return a descriptor that is readable when starter_turn has something to do. */
int starter_fd(const struct starter *s);

/* Return the time of the next call of starter_turn; CLOCK_NEVER: none is needed. */
int64_t starter_next_ns(const struct starter *s);

/* Store the next event of a start in *ret. Return false if there is no event. */
bool starter_event(struct starter *s, struct start_event *ret);

/* Record that the agent on this host has registered. */
void starter_registered(struct starter *s, int host);

/* Record that the agent on this host reports that it leaves, and why ("": by order). The agent's
 * session should end soon; START_ENDED is reported even if the session does not end or has ended
 * before. For an agent of this machine do nothing: the end of its process is reported.
 */
void starter_left(struct starter *s, int host, const char *why, int64_t now_ns);

/* End the session of a lost agent without an event; then an agent may be started on the host again.
 * For an agent of this machine do nothing: the end of its process is reported.
 */
void starter_drop(struct starter *s, int host);

/* Cancel all starts whose supervisors have not received their input; each gives START_ENDED. */
void starter_abandon(struct starter *s);

/* Describe in ret [size] how many agents are up, and why the other agents are not: "agents 6/8 up;
 * waiting for c07 (ssh: logging in), c08 (started, cannot reach driver at 10.1.0.7:41233)". Return
 * the number of agents that are not up.
 */
int starter_waiting(const struct starter *s, char *ret, size_t size);

/* Return the last line that the host's supervisor or agent has printed, borrowed from s and changed
 * by further output; "": none.
 */
const char *starter_words(const struct starter *s, int host);

/* Check whether this host is this machine, on which the supervisor is started by a fork. */
bool starter_is_local(const struct starter *s, int host);

/* Return the number of the group of nodes with which this host is started, from 0; -1: the host is
 * started alone.
 */
int starter_group(const struct starter *s, int host);

/* Return the name of this host for the user, borrowed from s, never NULL. */
const char *starter_host(const struct starter *s, int host);

/* Return the line of nodes.jsonl (agents/job/node_list.h) for a start with this identity, which the
 * caller frees; NULL without memory.
 */
char *starter_record(const struct starter *s, int host, const char *job_id,
                     const struct node_identity *id);

/* Check whether this host of a job is this machine, on which an agent is started without a login;
 * true for NULL.
 */
bool start_is_here(const struct job_host *host);

/* End the steps, the ssh clients and all processes that local agents have left behind. These
 * processes first have patience_ns to clean up, as an agent does whose supervisor was killed. If
 * this process had children before starter_open, kill no local processes, since they may be those
 * children. Blocks at most until the deadline. Return 0; -EINPROGRESS if no process remains but
 * Slurm has not ended all steps, with err; or another negative errno.
 */
int starter_clean(struct starter *s, int64_t patience_ns, int64_t deadline_ns,
                  struct eddis_error *err);

/* Free s. The processes that it started on hosts continue. Accepts NULL. */
void starter_close(struct starter *s);

#endif
