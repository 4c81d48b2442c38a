/* SPDX-License-Identifier: Apache-2.0 */
/* report_limit.c - doubles the pause between reports that are sent before the next regular one */
#include "report_limit.h"

#include "lib/base/clock.h"

/* First pause after a report, in ns. */
static const int64_t least_ns = 100 * CLOCK_MS;

bool report_limit_allows(struct report_limit *h, int64_t every_ns, int64_t now_ns)
{
    int64_t gone_ns = now_ns - h->last_ns;

    if (h->last_ns == 0 || gone_ns >= every_ns)
        h->pause_ns = 0;
    if (gone_ns < h->pause_ns)
        return false;
    h->pause_ns = h->pause_ns ? 2 * h->pause_ns : least_ns;
    h->last_ns = now_ns;
    return true;
}
