/* SPDX-License-Identifier: Apache-2.0 */
/* emulate.c - a worker that stands for a slower device takes that device's time
 *
 * For programs that leave it to the library (eddis_options.own_pace is 0): a step's forward and
 * backward pass and the update of the step before last fixed + per_sample * count seconds, the
 * rest of which is slept in eddis_wait.  A program that paces itself can do so layer by layer, so
 * that communication overlaps as on the real device; eddis-train does.
 */
#include "worker.h"

#include "lib/base/clock.h"

#include <errno.h>

void emulate_begin(struct eddis *e, int64_t now_ns)
{
    const struct board_area *a = e->board ? board_setup(e->board) : NULL;
    struct emulation *i = &e->emulation;
    double s;

    i->until_ns = i->overrun_ns = 0;
    if (!a || !a->emulated || e->options.own_pace || e->current.count == 0)
        return;
    s = a->fixed_s[e->local_rank] + a->sample_s[e->local_rank] * (double)e->current.count;
    i->until_ns = now_ns + (int64_t)(s * 1e9) - i->update_ns;
}

int emulate_wait(struct eddis *e, int64_t deadline_ns, struct eddis_error *err)
{
    struct emulation *i = &e->emulation;
    int64_t now = clock_now_ns();

    if (!i->until_ns)
        return 0;
    if (deadline_ns < i->until_ns) {
        clock_sleep_until_ns(deadline_ns);
        return eddis_fail(err, -ETIMEDOUT, "the emulated device computes step %lld for %.3f s more",
                          (long long)e->current.step, (double)(i->until_ns - deadline_ns) / 1e9);
    }
    i->overrun_ns = now > i->until_ns ? now - i->until_ns : 0;
    clock_wait_until_ns(i->until_ns);
    return 0;
}

void emulate_end(struct eddis *e, int64_t now_ns)
{
    e->emulation.update_ns = now_ns - e->emulation.waited_ns;
}
