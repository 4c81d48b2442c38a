/* SPDX-License-Identifier: Apache-2.0 */
#include "recovery.h"

#include <stddef.h>

/* Before its first step a generation has shown nothing that a restart would be for; the first one
 * whatever happened, a later one when the program itself says no.
 */
static bool no_step(const struct recovery_case *c)
{
    return !c->any_step && (c->generation <= 1 || c->cause == CAUSE_EXIT);
}

/* Usage, and what shells say of programs that cannot be run or found. */
static bool never(const struct recovery_case *c)
{
    return c->cause == CAUSE_EXIT && (c->code == 2 || c->code == 126 || c->code == 127);
}

/* It would fail there for ever.  Of two generations that were hit before their rank did a step
 * nothing of the kind can be said: both stand at the step that they resumed from.
 */
static bool same_step(const struct recovery_case *c)
{
    return c->now.rank >= 0 && c->now.rank == c->before.rank && c->now.step >= 0 &&
           c->now.step == c->before.step && (c->now.stepped || c->before.stepped);
}

static bool used_up(const struct recovery_case *c)
{
    return c->restarts_done >= c->restarts;
}

static const struct {
    bool (*fits)(const struct recovery_case *c);
    enum recovery then;
} rules[] = {
    { never, RECOVERY_NEVER },
    { no_step, RECOVERY_NO_STEP },
    { same_step, RECOVERY_SAME_STEP },
    { used_up, RECOVERY_USED_UP },
};

enum recovery recovery_decide(const struct recovery_case *c)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].fits(c))
            return rules[i].then;
    return RECOVERY_RESTART;
}

const char *recovery_words(enum recovery r)
{
    static const char *const words[RECOVERIES] = {
        [RECOVERY_NO_STEP] = "no worker had finished a step",
        [RECOVERY_NEVER] = "exit codes 2, 126 and 127 say that the program cannot run",
        [RECOVERY_SAME_STEP] = "the same rank has failed at the same step before",
        [RECOVERY_USED_UP] = "all restarts are used up",
    };

    return r < RECOVERIES && words[r] ? words[r] : "";
}
