/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.c - the rules by which a job, its network and its nodes are started again */
#include "recovery.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>

/* A program without known steps that exits within this time of its first sign of life, or of its
 * start where it gives none, has never come to its work; ages that differ by no more than this part
 * of the greater are the same.
 */
static const double young_s = 30, same_part = 0.2;

/* Whatever becomes of its launcher and nodes afterwards. */
static bool done(const struct recovery_case *c)
{
    return c->all_done;
}

/* Nothing is known of its steps. */
static bool is_blind(const struct recovery_case *c)
{
    return !c->any_page && !c->any_step;
}

/* Some of it was there. */
static bool has_begun(const struct recovery_case *c)
{
    return c->started && (c->any_up || c->alive_s > 0);
}

/* It may have worked without telling, and somebody wants it to start again. */
static bool is_trusted(const struct recovery_case *c)
{
    return is_blind(c) && c->asked && has_begun(c) && c->cause != CAUSE_LAUNCH;
}

static double life_s(const struct recovery_case *c)
{
    return c->alive_s > 0 ? c->alive_s : c->now.age_s;
}

/* Before its first step a generation has shown nothing that a restart would be for; the first one
 * whatever happened, a later one when the program itself says no.  With fewer samples at once it is
 * another attempt.
 */
static bool no_step(const struct recovery_case *c)
{
    return !c->less && !c->any_step && !is_trusted(c) &&
           (c->generation <= 1 || c->cause == CAUSE_EXIT);
}

/* Usage, and what shells say of programs that cannot be run or found. */
static bool never(const struct recovery_case *c)
{
    return c->cause == CAUSE_EXIT && (c->code == 2 || c->code == 126 || c->code == 127);
}

/* Nobody from outside sends these. */
static bool is_own_signal(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGABRT;
}

/* By itself, as where all ranks write one file when they have trained.  Nothing is left that
 * another generation could train.
 */
static bool trained(const struct recovery_case *c)
{
    bool own = c->cause == CAUSE_EXIT || (c->cause == CAUSE_SIGNAL && is_own_signal(c->signal));

    return c->trained && own && !c->echo && !c->less;
}

/* From a checkpoint all would begin with one worker's model, which may be the wrong one. */
static bool models(const struct recovery_case *c)
{
    return c->models && c->cause == CAUSE_EXIT;
}

/* It would fail there for ever.  Of two generations that were hit before their rank did a step
 * nothing of the kind can be said: both stand at the step that they resumed from.
 */
static bool same_step(const struct recovery_case *c)
{
    return !c->less && c->now.rank >= 0 && c->now.rank == c->before.rank && c->now.step >= 0 &&
           c->now.step == c->before.step && (c->now.stepped || c->before.stepped);
}

/* The program's own fault in this step, as of all workers at once, of which another is the first
 * that is heard of; or of a sample, which a new plan gives to another rank.
 */
static bool same_fault(const struct recovery_case *c)
{
    bool own = c->cause == CAUSE_EXIT || (c->cause == CAUSE_SIGNAL && is_own_signal(c->signal));

    return own && c->now.rank >= 0 && c->before.rank >= 0 && c->now.step >= 0 &&
           c->now.step == c->before.step && c->now.code == c->before.code && c->now.stepped &&
           c->before.stepped;
}

/* By itself, as a program does that cannot find its modules or data, and not because it lost the
 * others, as when a host is gone before anybody knows.
 */
static bool too_young(const struct recovery_case *c)
{
    bool exited = c->cause == CAUSE_EXIT || (c->cause == CAUSE_OOM && !c->signal);

    return is_trusted(c) && exited && !c->echo && life_s(c) <= young_s;
}

/* As same_step, where ages stand for steps. */
static bool same_age(const struct recovery_case *c)
{
    return is_trusted(c) && c->now.rank >= 0 && c->now.rank == c->before.rank &&
           c->now.code == c->before.code &&
           fabs(c->now.age_s - c->before.age_s) <= same_part * fmax(c->now.age_s, c->before.age_s);
}

static bool is_failed_start(const struct recovery_case *c)
{
    return c->cause == CAUSE_LAUNCH && c->generation > 1;
}

static bool no_start(const struct recovery_case *c)
{
    return is_failed_start(c) && c->failed_starts + 1 >= RECOVERY_STARTS;
}

static bool used_up(const struct recovery_case *c)
{
    if (c->cause == CAUSE_NODE)
        return c->losses ? c->losses_done >= c->losses : c->restarts == 0;
    return !is_failed_start(c) && c->restarts_done >= c->restarts;
}

static bool unwanted(const struct recovery_case *c)
{
    return c->unwanted;
}

static const struct {
    bool (*fits)(const struct recovery_case *c);
    enum recovery then;
} rules[] = {
    { done, RECOVERY_DONE },           { unwanted, RECOVERY_UNWANTED },
    { never, RECOVERY_NEVER },         { trained, RECOVERY_TRAINED },
    { models, RECOVERY_MODELS },       { no_step, RECOVERY_NO_STEP },
    { same_step, RECOVERY_SAME_STEP }, { same_fault, RECOVERY_SAME_FAULT },
    { too_young, RECOVERY_TOO_YOUNG }, { same_age, RECOVERY_SAME_AGE },
    { used_up, RECOVERY_USED_UP },     { no_start, RECOVERY_NO_START },
};

enum recovery recovery_decide(const struct recovery_case *c)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].fits(c))
            return rules[i].then;
    return RECOVERY_RESTART;
}

/* Why a program without known steps is not started again, and what would change that. */
static const char *blind_words(const struct recovery_case *c)
{
    struct recovery_case asked = *c;

    if (c->asked && !has_begun(c))
        return "none of its workers was up yet";
    asked.asked = asked.any_up = true;
    if (recovery_decide(&asked) == RECOVERY_RESTART)
        return "no finished step is known; write restarts, as in --restarts 3, to have it started "
               "again all the same";
    return "no finished step is known: no worker has used libeddis yet, nor told a step otherwise "
           "(progress.pattern)";
}

const char *recovery_words(const struct recovery_case *c)
{
    static const char *const words[RECOVERIES] = {
        [RECOVERY_NO_STEP] = "no worker had finished a step",
        [RECOVERY_TRAINED] =
            "it came behind the last step, and would come again; checkpoints are kept",
        [RECOVERY_NEVER] = "exit codes 2, 126 and 127 say that the program cannot run",
        [RECOVERY_MODELS] = "a checkpoint may hold the wrong model; --resume goes on from one that "
                            "does not",
        [RECOVERY_SAME_STEP] = "the same rank has failed at the same step before",
        [RECOVERY_SAME_FAULT] = "a rank has failed in the same way at the same step before",
        [RECOVERY_TOO_YOUNG] = "it exited within 30 s of its first sign of life",
        [RECOVERY_SAME_AGE] = "the same rank has failed in the same way at the same age before",
        [RECOVERY_USED_UP] = "all restarts are used up",
        [RECOVERY_NO_START] = "it could not be started 10 times running",
    };
    enum recovery r = recovery_decide(c);
    bool none = c->restarts == 0 && (c->cause != CAUSE_NODE || c->losses == 0);

    if (r != RECOVERY_NO_START && (none || !c->started || c->cause == CAUSE_LAUNCH))
        return "";
    if (r == RECOVERY_NO_STEP && is_blind(c))
        return blind_words(c);
    if (r == RECOVERY_TOO_YOUNG && c->alive_s <= 0)
        return "it exited within 30 s of its start, without a sign of life";
    if (r == RECOVERY_USED_UP && c->cause == CAUSE_NODE)
        return "as many nodes as node_losses allows have been lost";
    return words[r] ? words[r] : "";
}

/* No network kills, and one over which all ranks came up works. */
bool recovery_network_again(const struct recovery_case *c)
{
    bool launch = c->cause == CAUSE_LAUNCH || c->cause == CAUSE_MPIRUN;

    return c->network_cached && launch && !c->signal && !c->unwanted && c->generation == 1 &&
           c->started && !c->all_up;
}

enum recovery_gather recovery_gather(const struct recovery_nodes *n)
{
    if (n->usable == 0)
        return n->in_time ? RECOVERY_WAIT : RECOVERY_NOBODY;
    return n->coming && n->soon ? RECOVERY_WAIT : RECOVERY_BEGIN;
}

static int doubled_s(int times, int most_s)
{
    int s = 1;

    for (int i = 0; i < times && s < most_s; i++)
        s *= 2;
    return s < most_s ? s : most_s;
}

int recovery_backoff_s(int in_vain)
{
    return in_vain > 0 ? doubled_s(in_vain - 1, 60) : 0;
}

bool recovery_losses_end(int losses_in_vain, bool any_checkpoint)
{
    return any_checkpoint && losses_in_vain >= RECOVERY_STARTS;
}

int recovery_pause_s(int failed_starts)
{
    return doubled_s(failed_starts, 30);
}
