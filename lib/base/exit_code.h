/* SPDX-License-Identifier: Apache-2.0 */
/* exit_code.h - exit codes of eddis's programs and of a job; eddis-run(1) lists what each means */
#ifndef EDDIS_BASE_EXIT_CODE_H
#define EDDIS_BASE_EXIT_CODE_H

enum exit_code {
    EXIT_FAULT = 1,            /* the job or the program failed */
    EXIT_USAGE = 2,            /* wrong options or file, or a request that no node can satisfy */
    EXIT_START = 3,            /* the job could not start */
    EXIT_RESUMABLE = 75,       /* ended by SIGTERM or a similar request, with a checkpoint */
    EXIT_MEMORY = 79,          /* exit code of a worker: memory, such as a GPU's, was too small
                                * (EDDIS_EXIT_MEMORY) */
    EXIT_TIMEOUT = 124,        /* a time limit has passed, or the job hung */
    EXIT_NOT_EXECUTABLE = 126, /* as shells have it: the program cannot be executed */
    EXIT_NOT_FOUND = 127,      /* as shells have it: there is no such program */
    EXIT_SIGNAL = 128,         /* a signal killed the program; its number is added to this code */
    EXIT_KILLED = 137,         /* SIGKILL ended it, for example for lack of memory */
    EXIT_TERMINATED = 143,     /* SIGTERM ended it, without a checkpoint */
};

#endif
