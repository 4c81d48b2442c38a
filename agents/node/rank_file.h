/* SPDX-License-Identifier: Apache-2.0 */
/* rank_file.h - the file from the agent to its wrappers, and the messages from the wrappers to the
 * agent
 *
 * mpirun starts the same program with the same arguments N times. Data that differs between ranks,
 * or must not be visible in a command line, is in the rank file, of mode 0600, in the private
 * folder. Each wrapper reads the row of its rank. The wrappers send datagrams to the agent's socket
 * in the same folder.
 */
#ifndef EDDIS_AGENTS_NODE_RANK_FILE_H
#define EDDIS_AGENTS_NODE_RANK_FILE_H

#include "agents/protocol/protocol.h"

#include <stdint.h>

struct rank_spec {
    int rank;
    char cpus[256]; /* list of the rank's processors; "": not bound */
    char **env;     /* variables NAME=VALUE of this rank alone, NULL-ended */
};

struct rank_file {
    int64_t generation;
    int agent_pid;
    int sender;     /* as in struct launch */
    char **setup;   /* shell lines to run before the command, NULL-ended */
    char **command; /* the program and its arguments, NULL-ended */
    char *workdir, *log_dir;
    char *socket;            /* path of the agent's socket */
    char *run_dir, *shm_dir; /* folders of the job on this node */
    char *step_pattern;      /* as in struct agent_config */
    int64_t step_samples;
    int64_t log_max_bytes;
    int64_t show_bytes_per_s; /* maximum rate at which a rank's output is copied to the agent */
    char **env; /* variables NAME=VALUE of all ranks, NULL-ended; "NAME": the variable is unset */
    char **user_env;        /* the user's variables NAME=VALUE, NULL-ended, which override env */
    struct rank_spec *rank; /* [n] rows of the ranks */
    int n;
};

/* Write f to a new file at path, with mode 0600. Return 0 or a negative errno. */
int rank_file_write(const char *path, const struct rank_file *f, struct eddis_error *err);

/* Read the file at path into *ret, which the caller frees with rank_file_free. (*ret)->rank has
 * only the row of `rank`. Return 0, -ENOENT if the file has no row for `rank`, or another negative
 * errno.
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
    int32_t ordered;      /* 1: mpirun or the agent had ordered the program to end */
    int32_t oom;          /* 1: out of memory */
    int64_t peak_bytes;   /* as in struct event, like the next member */
    int64_t limit_bytes;
    /* time between the kill of another process of the control group for lack of memory and the
     * SIGKILL of this program; 0: none was killed
     */
    int64_t lacked_ns;
    int32_t lingers; /* as in struct event, like the next member */
    int32_t echo;
    int32_t log_error;     /* negative errno of a failed write to the log; 0: none */
    int64_t dropped_bytes; /* bytes missing in the log because of its size limit or of log_error */
    int64_t dropped_lines; /* RANK_OUTPUT: number of lines missing directly before `lines` */
    int32_t early;         /* RANK_OUTPUT: as in struct output */
    /* The last lines of a failed rank, or output; sent up to the terminating 0 */
    char lines[PROTOCOL_LAST_LINES * (PROTOCOL_LINE + 1) + 1];
};

/* Return the number of bytes of m that are sent. */
size_t rank_message_size(const struct rank_message *m);

#endif
