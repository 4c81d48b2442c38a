/* SPDX-License-Identifier: Apache-2.0 */
/* host_list.h - convert hosts from text to struct job: ranges, counts, repetitions
 *
 * A host word is "[user@]host[:count]"; host may contain ranges: "ml@v100-[1-4,7]:2".  An IPv6
 * address has a count only in brackets: "[fd00::7]:2".  Error messages do not name file and line;
 * the caller adds them.
 */
#ifndef EDDIS_MODEL_HOST_LIST_H
#define EDDIS_MODEL_HOST_LIST_H

#include "lib/base/error.h"
#include "lib/model/job.h"

#include <sys/types.h>

enum { HOST_LIST_WORKERS = 1024 }; /* most workers of a host */

/* Growing list of hosts; empty if zeroed */
struct host_list {
    struct job_host *at; /* owned; workers is 0 if no number was given */
    int *line, *column;  /* position of each in the text, from 1; owned */
    size_t n, cap;
};

/* Append the hosts of one word, found at line and column.  count: the word may end in ":count".
 * Return 0 or a negative errno: -EINVAL, -E2BIG: invalid or too many; hosts before the wrong one
 * stay in l.
 */
int host_list_add(struct host_list *l, const char *word, bool count, int line, int column,
                  struct eddis_error *err);

/* Append the hosts of a comma-separated list of words like "a:2,c[01-04]".  Return as host_list_add
 * does; -EINVAL also for an empty word.
 */
int host_list_add_line(struct host_list *l, const char *words, struct eddis_error *err);

/* Merge repeated hosts into their first occurrence and add up their workers.  A repeated host
 * without a number counts as one worker each time.  Return 0 or a negative errno; -EINVAL: a host
 * has two users or too many workers.
 */
int host_list_add_up(struct host_list *l, struct eddis_error *err);

/* Find the first repeated host.  *ret_second is the index of its repetition, *ret_first that of the
 * occurrence before.  Both -1: no host is repeated.  Return 0 or -ENOMEM.
 */
int host_list_twice(const struct host_list *l, ssize_t *ret_first, ssize_t *ret_second,
                    struct eddis_error *err);

/* Parse a number of workers, 1 to HOST_LIST_WORKERS, from n characters.  Return false if they are
 * not such a number.
 */
bool host_list_count(const char *s, size_t n, int64_t *ret);

/* Free the hosts and positions; l is then empty. */
void host_list_fini(struct host_list *l);

#endif
