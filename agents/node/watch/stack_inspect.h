/* SPDX-License-Identifier: Apache-2.0 */
/* stack_inspect.h - where in its source a Python program is, as py-spy tells where it is installed
 *
 * It is looked for in the program's own PATH, then beside the program's interpreter, as virtual
 * environments have it.  It runs beside the agent, which waits for nothing: start, then finish when
 * the child has ended, which a deadline sees to.  Where the kernel lets a program look into those
 * alone that it has started (kernel.yama.ptrace_scope 1), ranks' programs allow it to what the
 * agent starts, see wrapper.c; programs that those start do not, and with higher values only root
 * may look.  Then nothing is known.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_STACK_INSPECT_H
#define EDDIS_AGENTS_NODE_WATCH_STACK_INSPECT_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { STACK_PLACE = 256 };

/* Codes of EVENT_PLACE; 0: unknown. */
enum { STACK_COLLECTIVE = 1, STACK_ELSEWHERE };

struct stack_look {
    pid_t pid; /* of py-spy; 0: none runs */
    int out;
    int64_t deadline_ns;
};

/* Look at a rank's program, or at the first below it that is Python.  -ENOENT: it is none, or there
 * is no py-spy.
 */
int stack_look_start(struct stack_look *l, pid_t program, int64_t now_ns, struct eddis_error *err);

/* End what is late. */
void stack_look_hurry(const struct stack_look *l, int64_t now_ns);

/* The child has ended with this status.  Write "it is in load (train.py:33)", or "it waits in
 * all_reduce (torch/distributed/distributed_c10d.py:41), called in main (train.py:40)"; "":
 * unknown. Returns the code of it.
 */
int stack_look_finish(struct stack_look *l, int status, char *ret, size_t size);

/* Why the kernel may have forbidden it to this user, with this value of kernel.yama.ptrace_scope,
 * and what to do; NULL: it has not.
 */
const char *stack_look_forbidden(int scope, bool root);

int stack_look_scope(void); /* 0: there is no such value, or nothing is forbidden */

/* The same as stack_look_finish of py-spy's words, for tests. */
int stack_look_words(const char *text, size_t n, char *ret, size_t size);

/* Kill it; somebody else reaps.  Nothing is done where none runs. */
void stack_look_drop(struct stack_look *l);

#endif
