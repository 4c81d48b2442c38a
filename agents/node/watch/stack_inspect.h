/* SPDX-License-Identifier: Apache-2.0 */
/* stack_inspect.h - finds the source line that a Python program executes, with py-spy if installed
 *
 * py-spy is searched in the program's own PATH, then beside its interpreter, as in a virtual
 * environment.  It runs as a child, and the agent does not wait: call start, and finish when the
 * child has ended; a deadline limits it.  With kernel.yama.ptrace_scope 1 a process may inspect
 * only its own children: ranks' programs allow the agent's children too (see wrapper.c), but the
 * programs that those start do not.  With higher values only root may.  Then nothing is known.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_STACK_INSPECT_H
#define EDDIS_AGENTS_NODE_WATCH_STACK_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { STACK_PLACE = 256 };

/* Codes of EVENT_PLACE; 0: unknown. */
enum { STACK_COLLECTIVE = 1, STACK_ELSEWHERE };

struct stack_inspect {
    pid_t pid; /* pid of py-spy; 0: none runs */
    int out;
    int64_t deadline_ns;
};

/* Start py-spy on a rank's program, or on the first Python process below it. -ENOENT: there is no
 * Python process, or no py-spy.
 */
int stack_inspect_start(struct stack_inspect *l, pid_t program, int64_t now_ns);

/* Kill py-spy if it is late. */
void stack_inspect_report_soon(const struct stack_inspect *l, int64_t now_ns);

/* Read the result of py-spy, which has ended with this waitpid status.  Write "it is in load
 * (train.py:33)", or "it waits in all_reduce (torch/distributed/distributed_c10d.py:41), called in
 * main (train.py:40)"; "": unknown.  Return its code.
 */
int stack_inspect_finish(struct stack_inspect *l, int status, char *ret, size_t size);

/* Return why the kernel may forbid py-spy to this user, with this value of
 * kernel.yama.ptrace_scope, and what to do; NULL: it does not.
 */
const char *stack_inspect_forbidden(int scope, bool root);

/* Return the value of kernel.yama.ptrace_scope; 0: nothing is forbidden, or there is no such value.
 */
int stack_inspect_scope(void);

/* Do what stack_inspect_finish does with py-spy's output, for tests. */
int stack_inspect_text(const char *text, size_t n, char *ret, size_t size);

/* Kill py-spy if it runs and close its output; the caller reaps it. */
void stack_inspect_drop(struct stack_inspect *l);

#endif
