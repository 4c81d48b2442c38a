/* SPDX-License-Identifier: Apache-2.0 */
/* elastic_ahead.h - when to read the centre ahead of the exchange that uses it
 *
 * Over a slow link a worker would wait as long as the read takes.  If that is READ_AHEAD_LEAST
 * of a step or more, the next read begins as few steps before the exchange as it probably takes, so
 * that steps hide it:
 *
 *     step 5 | step 6 | step 7 | pull | step 8 ...       period 4, the read takes 1.4 steps
 *              '---- read ----'         '- write - accumulate -'
 *
 * The exchange then uses a centre that is older by those steps.  A shorter read is not worth that:
 * in bench/accuracy (12 seeds, 4 to 16 workers), reads one step older lowered the efficiency by
 * 0.02 to 0.06 at period 1 and by up to 0.04 at period 2, and changed it by at most 0.01 at period
 * 4.  Reads two steps older changed it by -0.10 to 0.04 at period 4.
 *
 * The times of the newest exchange and read are used.  Pure: the caller passes the time.
 */
#ifndef EDDIS_SYNC_ELASTIC_AHEAD_H
#define EDDIS_SYNC_ELASTIC_AHEAD_H

#include "lib/model/read_ahead.h"

#include <stdbool.h>
#include <stdint.h>

/* All zeros: nothing is measured yet. */
struct elastic_ahead {
    int64_t left;    /* steps from the present one to the one before which an exchange is due; 0:
                      * unknown */
    int64_t over_ns; /* when the newest exchange ended; 0: it was no SYNC_STEP */
    int64_t steps, between_ns; /* steps between two exchanges, and how long they took */
    int64_t begun_ns, read_ns; /* when the newest read began, and how long the newest one took */
};

/* Note that an exchange begins which was due `since` steps after the previous one; the next one is
 * due in `left` steps.
 */
void elastic_ahead_begin(struct elastic_ahead *a, int64_t since, int64_t left, int64_t now_ns);

/* Note that an exchange ends.  steps: it was a SYNC_STEP, and steps follow. */
void elastic_ahead_end(struct elastic_ahead *a, bool steps, int64_t now_ns);

/* Note the begin and the end of a read of the centre. */
void elastic_ahead_read(struct elastic_ahead *a, int64_t now_ns);
void elastic_ahead_have(struct elastic_ahead *a, int64_t now_ns);

/* Check whether the next read must begin now, as few steps ahead as it takes. */
bool elastic_ahead_is_due(const struct elastic_ahead *a);

#endif
