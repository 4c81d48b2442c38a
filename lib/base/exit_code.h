/* SPDX-License-Identifier: Apache-2.0 */
/* exit_code.h - exit codes of eddis's programs and of a job; eddis-run(1) lists what each means */
#ifndef EDDIS_BASE_EXIT_CODE_H
#define EDDIS_BASE_EXIT_CODE_H

enum exit_code {
    EXIT_FAULT = 1,      /* the job or the program failed */
    EXIT_USAGE = 2,      /* options, a file, or something that no node can give */
    EXIT_START = 3,      /* the job could not start */
    EXIT_RESUMABLE = 75, /* ended by SIGTERM or the like, with a checkpoint */
    EXIT_MEMORY = 79,   /* of a worker: memory such as a GPU's was not enough (EDDIS_EXIT_MEMORY) */
    EXIT_TIMEOUT = 124, /* a time limit, or a hang */
    EXIT_NOT_EXECUTABLE = 126, /* as shells have it: the program cannot be executed */
    EXIT_NOT_FOUND = 127,      /* as shells have it: there is no such program */
    EXIT_SIGNAL = 128,         /* plus the number of the signal that killed the program */
    EXIT_KILLED = 137,         /* SIGKILL, as for lack of memory */
    EXIT_TERMINATED = 143,     /* SIGTERM, without a checkpoint */
};

#endif
