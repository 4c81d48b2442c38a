/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - how eddis gets onto nodes: a queue of starts, and what is heard of each
 *
 *     queued -> login -> up -> registered -> leaving -> over
 *
 * One row for each way: "local" is a fork on this machine, "ssh" a login, "srun" a step of a Slurm
 * allocation.  Each time eddis-keeper is run there and a process here stands for it: itself, the
 * ssh client, or the srun that stands for all nodes that are started together.  Nothing blocks: the
 * caller's loop polls starter_fd, gives the time to starter_turn and takes events.
 *
 * The keeper's first words are its version.  What is secret goes to its standard input, and not
 * before those words have been read: whatever else answers on that host gets nothing.  Its further
 * words, and the agent's, are what starter_waiting tells people.  An agent that has registered is
 * heard over HTTP; of its session only the end counts from then on.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_START_H
#define EDDIS_AGENTS_DRIVER_START_START_H

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/slurm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { START_LOGINS = 32 }; /* under way at a time */

/* Exit code of eddis-keeper when it could not end, or remove, all. */
enum { START_KEEPER_FAILED = 1 };

enum start_event_type {
    START_FAILED, /* it could not be started: text is a sentence that names the host */
    START_LATE,   /* the same, because its deadline has passed */
    START_ENDED,  /* it has ended: "agent exited 3", code as shells give it */
    START_CUT,    /* its session has ended, it may live on: "ssh session has ended: ..." */
};

struct start_event {
    enum start_event_type type;
    int host;
    int code;
    bool gone;  /* START_FAILED: what it was to be started in is over, for good */
    bool swept; /* its keeper has ended by itself, and leaves nothing of what it started */
    char text[512];
};

struct start_options {
    const struct job_host *host; /* [n]; borrowed; NULL: this machine, n is 1 */
    int n;
    const struct job_ssh *ssh; /* borrowed: for what a host does not say; NULL: nothing */
    const struct slurm_allocation *slurm; /* borrowed: hosts are nodes of it; NULL: of none */
    int64_t launch_ns;
};

struct starter;

/* Make a starter for these hosts, and this process the reaper of its orphans.  The caller ignores
 * SIGPIPE.
 */
int starter_open(const struct start_options *o, struct starter **ret, struct eddis_error *err);

/* Run eddis-keeper with these arguments (NULL-ended) on a host, with input (NULL: none) on its
 * standard input; all is copied and the copy of input wiped after use.  Whatever was started on
 * that host before must be over.  When it has not registered by deadline_ns it is killed.  Hosts of
 * one group (starter_group) that are added one behind the other, with the same words and the same
 * input, are started together.
 */
int starter_add(struct starter *s, int host, const char *const *args, const char *input,
                int64_t deadline_ns, struct eddis_error *err);

/* Do what is due: to be called when starter_fd is readable, and at starter_next_ns. */
void starter_turn(struct starter *s, int64_t now_ns);
int starter_fd(const struct starter *s);
int64_t starter_next_ns(const struct starter *s);

/* Take an event; false when there is none. */
bool starter_event(struct starter *s, struct start_event *ret);

/* Note that the agent on this host has registered. */
void starter_registered(struct starter *s, int host);

/* Note that the agent on this host has said that it leaves, and why ("": it was told to).  Its
 * session is expected to end in a moment, and START_ENDED comes also when it does not, or had ended
 * before. An agent of this machine just ends.
 */
void starter_left(struct starter *s, int host, const char *why, int64_t now_ns);

/* End the session of an agent that is lost; nothing more is heard of it, and its host may be
 * started again.  An agent of this machine stays: its process tells its end.
 */
void starter_drop(struct starter *s, int host);

/* Give up the starts that have not been told what they are to do; each is START_ENDED. */
void starter_abandon(struct starter *s);

/* Write who is there and who is not, and why: "agents 6/8 up; waiting for c07 (ssh: logging in),
 * c08 (started, cannot reach driver at 10.1.0.7:41233)".  Returns how many are waited for.
 */
int starter_waiting(const struct starter *s, char *ret, size_t size);

/* Borrow the last sentence that the host's keeper or agent said, "" when there is none. */
const char *starter_words(const struct starter *s, int host);

/* Whether this host is reached without ssh. */
bool starter_is_local(const struct starter *s, int host);

/* The group of nodes that are started together, from 0; -1: this host is started alone. */
int starter_group(const struct starter *s, int host);

/* Borrow the name of this host as people know it. */
const char *starter_host(const struct starter *s, int host);

/* Return the line of nodes.jsonl (agents/job/node_list.h) for a start of this identity;
 * for the caller to free; NULL without memory.
 */
char *starter_record(const struct starter *s, int host, const char *job_id,
                     const struct node_identity *id);

/* Whether this host of a job is the machine we are on, started without a login; NULL is it, too. */
bool start_is_here(const struct job_host *host);

/* End the ssh clients, the steps and what the local agents have left behind; for when all are
 * thought to be gone, and when they did not go by themselves.  Whatever is still here may take
 * patience_ns to clean up after itself (an agent whose keeper was killed does).  Does nothing to
 * processes when some were here before us, for not all would be ours.  Blocks until the deadline at
 * most.  -EINPROGRESS: nothing is left, but Slurm has not ended all steps: the sentence is for who
 * wonders why.
 */
int starter_clean(struct starter *s, int64_t patience_ns, int64_t deadline_ns,
                  struct eddis_error *err);

/* Free s, and kill nothing.  Accepts NULL. */
void starter_close(struct starter *s);

#endif
