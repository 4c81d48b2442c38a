/* SPDX-License-Identifier: Apache-2.0 */
/* rank_file.h - what the agent tells its wrappers, and what they tell it
 *
 * mpirun starts N times the same program with the same arguments.  What differs between ranks,
 * and what nobody shall see in a command line, is in a file of 0600 in the private folder, which
 * every wrapper reads by its rank.  The wrappers answer by datagrams to the agent's socket there.
 */
#ifndef EDDIS_AGENTS_NODE_RANK_FILE_H
#define EDDIS_AGENTS_NODE_RANK_FILE_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct rank_spec {
    int rank;
    char cpus[256]; /* "": not bound */
    char **env;     /* NULL-ended NAME=VALUE, of this rank alone */
};

struct rank_file {
    int64_t generation;
    int agent_pid;
    int sender;     /* as struct launch */
    char **setup;   /* NULL-ended lines of shell before it */
    char **command; /* NULL-ended */
    char *workdir, *log_dir;
    char *socket;            /* path */
    char *run_dir, *shm_dir; /* of the job on this node */
    char *step_pattern;      /* as struct brief */
    int64_t step_samples;
    int64_t log_max_bytes;
    int64_t show_bytes_per_s; /* of a rank's output that is copied to the agent, at most */
    char **env;               /* NULL-ended NAME=VALUE, of all ranks; "NAME" alone: to be unset */
    char **user_env;          /* NULL-ended NAME=VALUE: what wins over everything else */
    struct rank_spec *rank;   /* [n] */
    int n;
};

/* Write f to a new file at path, 0600. */
int rank_file_write(const char *path, const struct rank_file *f, struct eddis_error *err);

/* Read the file; of its rows (*ret)->rank holds that of `rank` alone.  -ENOENT: it has none. */
int rank_file_read(const char *path, int rank, struct rank_file **ret, struct eddis_error *err);

void rank_file_free(struct rank_file *f); /* accepts NULL; frees what rank_file_read made */

enum rank_message_kind { RANK_STARTED = 1, RANK_ENDED = 2, RANK_OUTPUT = 3 };

#define RANK_MESSAGE_MAGIC UINT32_C(0x6564726b)

struct rank_message {
    uint32_t magic, kind;
    int64_t generation;
    int64_t at_ns; /* clock_now_ns when it happened */
    int32_t rank;
    int32_t wrapper, pid; /* of eddis-rank, of the user's program */
    int32_t code, signal; /* as struct event */
    int32_t told, oom;    /* 1: mpirun or the agent had asked it to end; out of memory */
    int64_t peak_bytes;   /* as struct event, and so the next */
    int64_t limit_bytes;
    int64_t lacked_ns; /* so long before its SIGKILL another process of its control group was killed
                        * for lack of memory; 0: none was */
    int32_t lingers;   /* as struct event, and so the next */
    int32_t echo;
    int32_t log_error;     /* why the log could not be written, negative errno; 0 */
    int64_t dropped_bytes; /* of the log, for lack of room or for that */
    int64_t dropped_lines; /* output: lines missing before these */
    int32_t early;         /* output: as struct output */
    /* The last lines of a rank that failed, or its output; sent up to its 0. */
    char lines[PROTOCOL_LAST_LINES * (PROTOCOL_LINE + 1) + 1];
};

/* Return the bytes of m that are sent. */
size_t rank_message_size(const struct rank_message *m);

#endif
