/* SPDX-License-Identifier: Apache-2.0 */
/* host_list.h - hosts on their way from text to struct job: ranges, counts, repeated ones
 *
 * A word for hosts is "[user@]host[:count]", where host may hold ranges: "ml@v100-[1-4,7]:2".  An
 * IPv6 address has a count only in brackets: "[fd00::7]:2".  Sentences name no place; the caller
 * knows it.
 */
#ifndef EDDIS_MODEL_HOST_LIST_H
#define EDDIS_MODEL_HOST_LIST_H

#include "job.h"

#include <sys/types.h>

struct host_list {
    struct job_host *at; /* owned; workers 0: no number was written */
    int *line, *column;  /* where each was written, from 1; owned */
    size_t n, cap;
};

/* Append the hosts of one word.  count says whether ":count" may stand in it. */
int host_list_add(struct host_list *l, const char *word, bool count, int line, int column,
                  struct eddis_error *err);

/* Append the hosts of a list of words like "a:2,c[01-04]". */
int host_list_add_line(struct host_list *l, const char *words, struct eddis_error *err);

/* Keep each host once, at its first place; workers add up, and a repeated host without a number
 * counts as one worker each time.  -EINVAL: two users for one host.
 */
int host_list_add_up(struct host_list *l, struct eddis_error *err);

/* Tell the first host that stands a second time, and where it stood before; both -1: none does. */
int host_list_twice(const struct host_list *l, ssize_t *ret_first, ssize_t *ret_second,
                    struct eddis_error *err);

/* Whole decimal number of workers, 1 to 1024. */
bool host_list_count(const char *s, size_t n, int64_t *ret);

void host_list_fini(struct host_list *l);

/* Free hosts that were taken out of a list; accepts NULL. */
void job_hosts_free(struct job_host *host, size_t n);

#endif
