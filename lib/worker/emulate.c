/* SPDX-License-Identifier: Apache-2.0 */
/* emulate.c - make the steps of a worker as long as those of an emulated slower device
 *
 * This is for programs with eddis_options.own_pace 0.  Forward pass, backward pass and update of a
 * step take fixed + per_sample * count seconds, with random jitter if the job asks for it.  The
 * library sleeps the rest of that time in eddis_wait.  A program that paces itself can do so layer
 * by layer, so that communication overlaps as on the real device; eddis-train does.
 */
#include "emulate.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"

#include <errno.h>
#include <math.h>

static const double LEAST = 0.2; /* shortest step, relative to the average */

double emulate_step_s(const struct emulation *m, int64_t step, int64_t count)
{
    uint64_t seed = random_mix(m->seed, (uint64_t)step);
    double factor = 1;

    if (m->jitter > 0)
        factor = fmax(1 + m->jitter * random_normal(&seed), LEAST);
    return count > 0 ? (m->fixed_s + m->sample_s * (double)count) * factor : 0;
}

void emulate_begin(struct emulation *m, int64_t step, int64_t count, int64_t now_ns)
{
    double s = emulate_step_s(m, step, count);

    m->until_ns = m->overrun_ns = 0;
    if (m->emulated && count > 0)
        m->until_ns = clock_after_ns(now_ns - m->update_ns, clock_of_seconds(s));
}

int emulate_wait(struct emulation *m, int64_t step, int64_t deadline_ns, struct eddis_error *err)
{
    int64_t now = clock_now_ns();

    if (!m->until_ns)
        return 0;
    if (deadline_ns < m->until_ns) {
        clock_sleep_until_ns(deadline_ns);
        return eddis_fail(err, -ETIMEDOUT, "the emulated device computes step %lld for %.3f s more",
                          (long long)step, (double)(m->until_ns - deadline_ns) / 1e9);
    }
    m->overrun_ns = now > m->until_ns ? now - m->until_ns : 0;
    clock_wait_until_ns(m->until_ns);
    return 0;
}

void emulate_end(struct emulation *m, int64_t now_ns)
{
    m->update_ns = now_ns - m->waited_ns;
}
