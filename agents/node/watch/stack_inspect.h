/* SPDX-License-Identifier: Apache-2.0 */
/* stack_inspect.h - finds the source line that a Python program executes, with py-spy if installed
 *
 * py-spy is searched in the program's own PATH, then beside the program's interpreter, as in a
 * virtual environment. py-spy runs as a child, and the agent does not wait for it: the caller calls
 * stack_inspect_start, and stack_inspect_finish when the child has ended; a deadline limits the
 * child. With kernel.yama.ptrace_scope 1 a process may inspect only its own children. Ranks'
 * programs also allow the agent's children (see wrapper.c), but programs that they start do not.
 * With 2 only root may inspect, with 3 nobody. If py-spy may not inspect, the location is unknown.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_STACK_INSPECT_H
#define EDDIS_AGENTS_NODE_WATCH_STACK_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { STACK_PLACE = 256 };

/* Codes of EVENT_PLACE: the program waits in a collective operation, or is elsewhere; 0: unknown */
enum { STACK_COLLECTIVE = 1, STACK_ELSEWHERE };

struct stack_inspect {
    pid_t pid; /* pid of py-spy; 0: none runs */
    int out;
    int64_t deadline_ns;
};

/* Start py-spy on a rank's program, or on the first Python process below it. Return 0; -ENOENT:
 * there is no Python process, or no py-spy; or another negative errno.
 */
int stack_inspect_start(struct stack_inspect *l, pid_t program, int64_t now_ns);

/* Kill py-spy if its deadline has passed. */
void stack_inspect_report_soon(const struct stack_inspect *l, int64_t now_ns);

/* Read the result of py-spy, which has ended with this waitpid status. Write the location to ret
 * [size]: "it is in load (train.py:33)", or "it waits in all_reduce
 * (torch/distributed/distributed_c10d.py:41), called in main (train.py:40)"; "": unknown. Return
 * the code of EVENT_PLACE.
 */
int stack_inspect_finish(struct stack_inspect *l, int status, char *ret, size_t size);

/* Return a string constant that says why the kernel may forbid py-spy to this user (root: the user
 * is root), with this value of kernel.yama.ptrace_scope, and what to do; NULL: the kernel does not
 * forbid it.
 */
const char *stack_inspect_forbidden(int scope, bool root);

/* Return the value of kernel.yama.ptrace_scope; 0: nothing is forbidden, or the kernel has no such
 * value.
 */
int stack_inspect_scope(void);

/* Parse text [n], py-spy's output, as stack_inspect_finish does; for tests. */
int stack_inspect_text(const char *text, size_t n, char *ret, size_t size);

/* If py-spy runs, kill it and close its output; the caller reaps it. */
void stack_inspect_drop(struct stack_inspect *l);

#endif
