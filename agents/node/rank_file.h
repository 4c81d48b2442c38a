/* SPDX-License-Identifier: Apache-2.0 */
/* rank_file.h - the file from the agent to its wrappers, and the messages from them to it
 *
 * mpirun starts the same program with the same arguments N times.  What differs between ranks, and
 * what must not be visible in a command line, is in a file of mode 0600 in the private folder.
 * Every wrapper reads its rank's row.  The wrappers send datagrams to the agent's socket there.
 */
#ifndef EDDIS_AGENTS_NODE_RANK_FILE_H
#define EDDIS_AGENTS_NODE_RANK_FILE_H

#include "agents/protocol/protocol.h"

#include <stdint.h>

struct rank_spec {
    int rank;
    char cpus[256]; /* "": not bound */
    char **env;     /* NULL-ended NAME=VALUE, for this rank alone */
};

struct rank_file {
    int64_t generation;
    int agent_pid;
    int sender;     /* as in struct launch */
    char **setup;   /* NULL-ended shell lines to run before the command */
    char **command; /* NULL-ended */
    char *workdir, *log_dir;
    char *socket;            /* path */
    char *run_dir, *shm_dir; /* folders of the job on this node */
    char *step_pattern;      /* as in struct agent_config */
    int64_t step_samples;
    int64_t log_max_bytes;
    int64_t show_bytes_per_s; /* limit of a rank's output that is copied to the agent */
    char **env;               /* NULL-ended NAME=VALUE, for all ranks; "NAME" alone: unset it */
    char **user_env;          /* NULL-ended NAME=VALUE; overrides env */
    struct rank_spec *rank;   /* [n] */
    int n;
};

/* Write f to a new file at path, mode 0600. */
int rank_file_write(const char *path, const struct rank_file *f, struct eddis_error *err);

/* Read the file, with the row of `rank` alone in (*ret)->rank.  The caller frees *ret with
 * rank_file_free. -ENOENT: there is no such row.
 */
int rank_file_read(const char *path, int rank, struct rank_file **ret, struct eddis_error *err);

/* Free what rank_file_read made; accept NULL. */
void rank_file_free(struct rank_file *f);

enum rank_message_kind { RANK_STARTED = 1, RANK_ENDED = 2, RANK_OUTPUT = 3 };

#define RANK_MESSAGE_MAGIC UINT32_C(0x6564726b)

struct rank_message {
    uint32_t magic, kind;
    int64_t generation;
    int64_t at_ns; /* time of the event, by clock_now_ns */
    int32_t rank;
    int32_t wrapper, pid; /* pids of eddis-rank and of the user's program */
    int32_t code, signal; /* as struct event */
    int32_t told, oom;    /* told: 1: mpirun or the agent had asked it to end; oom: out of memory */
    int64_t peak_bytes;   /* as in struct event, like the next */
    int64_t limit_bytes;
    int64_t lacked_ns; /* time before its SIGKILL at which another process of its control group was
                          killed for memory; 0: none */
    int32_t lingers;   /* as in struct event, like the next */
    int32_t echo;
    int32_t log_error;     /* negative errno of a failed write to the log; 0: none */
    int64_t dropped_bytes; /* bytes missing in the log, for its limit or for log_error */
    int64_t dropped_lines; /* RANK_OUTPUT: lines missing before these */
    int32_t early;         /* RANK_OUTPUT: as in struct output */
    /* The last lines of a failed rank, or output; sent up to its terminating 0. */
    char lines[PROTOCOL_LAST_LINES * (PROTOCOL_LINE + 1) + 1];
};

/* Return the number of bytes of m that are sent. */
size_t rank_message_size(const struct rank_message *m);

#endif
