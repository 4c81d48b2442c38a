/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.c - the rules by which a job, its network and its nodes are started again */
#include "recovery.h"

#include "lib/base/text.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>

/* A program without known steps that exits this soon after its first sign of life, or after its
 * start if it gave none, has not begun its work.
 */
#define YOUNG_S 30

/* Ages that differ by at most this fraction of the greater are the same. */
static const double same_part = 0.2;

/* Check whether all workers have finished. Then failures of the launcher or of nodes do not matter.
 */
static bool done(const struct recovery_case *c)
{
    return c->all_done;
}

/* Check whether nothing is known of the program's steps. */
static bool is_blind(const struct recovery_case *c)
{
    return !c->any_page && !c->any_step;
}

/* Check whether mpirun was ordered, and at least one worker of the generation came up or the
 * program gave a sign of life.
 */
static bool has_begun(const struct recovery_case *c)
{
    return c->started && (c->any_up || c->alive_s > 0);
}

/* Check whether the program may have worked without reporting steps, and the user has set the
 * number of restarts. False if the launch failed.
 */
static bool is_trusted(const struct recovery_case *c)
{
    return is_blind(c) && c->asked && has_begun(c) && c->cause != CAUSE_LAUNCH;
}

/* Return the seconds since the first sign of life, or else since the generation's start. */
static double life_s(const struct recovery_case *c)
{
    return c->alive_s > 0 ? c->alive_s : c->now.age_s;
}

/* Check whether there is no finished step that a restart could continue from. In the first
 * generation this holds for every failure, in later ones only if the program itself exited. False
 * if the rank can be given fewer samples, since a restart is another attempt then.
 */
static bool no_step(const struct recovery_case *c)
{
    return !c->less && !c->any_step && !is_trusted(c) &&
           (c->generation <= 1 || c->cause == CAUSE_EXIT);
}

/* Check whether the program cannot run: it exited with the code of a usage error (2), or with that
 * of a shell for a program that cannot be executed or found (126, 127).
 */
static bool never(const struct recovery_case *c)
{
    return c->cause == CAUSE_EXIT && (c->code == 2 || c->code == 126 || c->code == 127);
}

/* Check whether a signal comes from the process itself, not from outside. */
static bool is_own_signal(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGABRT;
}

/* Check whether the program failed by itself after its last step, for example because all ranks
 * write one file. A new generation would have nothing to train.
 */
static bool trained(const struct recovery_case *c)
{
    bool own = c->cause == CAUSE_EXIT || (c->cause == CAUSE_SIGNAL && is_own_signal(c->signal));

    return c->trained && own && !c->echo && !c->less;
}

/* Check whether the workers' models differ. From a checkpoint all would continue with one worker's
 * model, which may be the wrong one.
 */
static bool models(const struct recovery_case *c)
{
    return c->models && c->cause == CAUSE_EXIT;
}

/* Check whether a single sample was too large for a rank's memory, which no plan can change. */
static bool one_sample(const struct recovery_case *c)
{
    return c->one_sample;
}

/* Check whether the same rank failed at the same step as in the generation before, and would do so
 * again. False if neither generation did a step: then both failed where they had resumed, which
 * says nothing about that step.
 */
static bool same_step(const struct recovery_case *c)
{
    return !c->less && c->now.rank >= 0 && c->now.rank == c->before.rank && c->now.step >= 0 &&
           c->now.step == c->before.step && (c->now.stepped || c->before.stepped);
}

/* Check whether a rank failed by itself, with the same exit code or signal at the same step as some
 * rank of the generation before. The ranks may differ: all workers may fail together and another
 * one is reported first, or the new plan gave the faulty sample to another rank.
 */
static bool same_fault(const struct recovery_case *c)
{
    bool own = c->cause == CAUSE_EXIT || (c->cause == CAUSE_SIGNAL && is_own_signal(c->signal));

    return own && c->now.rank >= 0 && c->before.rank >= 0 && c->now.step >= 0 &&
           c->now.step == c->before.step && c->now.code == c->before.code && c->now.stepped &&
           c->before.stepped;
}

/* Check whether a program without known steps exited by itself soon after its begin, as programs do
 * that cannot find their modules or data. An exit because of lost peers does not count.
 */
static bool too_young(const struct recovery_case *c)
{
    bool exited = c->cause == CAUSE_EXIT || (c->cause == CAUSE_OOM && !c->signal);

    return is_trusted(c) && exited && !c->echo && life_s(c) <= YOUNG_S;
}

/* Check whether a program without known steps failed in the same way, at the same rank and about
 * the same age, as in the generation before.
 */
static bool same_age(const struct recovery_case *c)
{
    return is_trusted(c) && c->now.rank >= 0 && c->now.rank == c->before.rank &&
           c->now.code == c->before.code &&
           fabs(c->now.age_s - c->before.age_s) <= same_part * fmax(c->now.age_s, c->before.age_s);
}

/* Check whether a generation after the first did not come up. */
static bool is_failed_start(const struct recovery_case *c)
{
    return c->cause == CAUSE_LAUNCH && c->generation > 1;
}

/* Check whether this is the RECOVERY_STARTS-th generation in a row that did not come up. */
static bool no_start(const struct recovery_case *c)
{
    return is_failed_start(c) && c->failed_starts + 1 >= RECOVERY_STARTS;
}

/* Check whether the permitted restarts are used up, or after the loss of a node the permitted
 * losses. A restart with fewer samples for a rank counts as none, so it is made even if no restart
 * is permitted: the driver limits their number (agents/driver/plan/memory_retry.c).
 */
static bool used_up(const struct recovery_case *c)
{
    if (c->less)
        return false;
    if (c->cause == CAUSE_NODE)
        return c->losses ? c->losses_done >= c->losses : c->restarts == 0;
    return !is_failed_start(c) && c->restarts_done >= c->restarts;
}

/* Check whether somebody has asked for the job's end. */
static bool unwanted(const struct recovery_case *c)
{
    return c->unwanted;
}

/* Rules, in order: the first rule that fits decides. */
static const struct {
    bool (*fits)(const struct recovery_case *c);
    enum recovery then;
} rules[] = {
    { done, RECOVERY_DONE },
    { unwanted, RECOVERY_UNWANTED },
    { never, RECOVERY_NEVER },
    { trained, RECOVERY_TRAINED },
    { models, RECOVERY_MODELS },
    { one_sample, RECOVERY_ONE_SAMPLE },
    { no_step, RECOVERY_NO_STEP },
    { same_step, RECOVERY_SAME_STEP },
    { same_fault, RECOVERY_SAME_FAULT },
    { too_young, RECOVERY_TOO_YOUNG },
    { same_age, RECOVERY_SAME_AGE },
    { used_up, RECOVERY_USED_UP },
    { no_start, RECOVERY_NO_START },
};

enum recovery recovery_decide(const struct recovery_case *c)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].fits(c))
            return rules[i].then;
    return RECOVERY_RESTART;
}

/* Borrow the words for why a program without known steps is not restarted, and what would change
 * that.
 */
static const char *blind_words(const struct recovery_case *c)
{
    struct recovery_case asked = *c;

    if (c->asked && !has_begun(c))
        return "none of its workers was running yet";
    asked.asked = asked.any_up = true;
    if (recovery_decide(&asked) == RECOVERY_RESTART)
        return "no finished step is known; set restarts, for example with --restarts 3, to restart "
               "the job nevertheless";
    return "no finished step is known: no worker has used libeddis yet, or reported a step by "
           "progress.pattern";
}

const char *recovery_reasons(const struct recovery_case *c)
{
    static const char *const words[RECOVERIES] = {
        [RECOVERY_NO_STEP] = "no worker had finished a step",
        [RECOVERY_TRAINED] =
            "it came after the last step and would come again; checkpoints are kept",
        [RECOVERY_NEVER] = "exit codes 2, 126 and 127 say that the program cannot run",
        [RECOVERY_MODELS] =
            "a checkpoint may hold a wrong model; resume from a correct one with --resume",
        [RECOVERY_ONE_SAMPLE] = "its memory is too small for one sample, so no plan helps",
        [RECOVERY_SAME_STEP] = "the same rank has failed at the same step before",
        [RECOVERY_SAME_FAULT] = "a rank has failed in the same way at the same step before",
        [RECOVERY_TOO_YOUNG] = "it exited within " TEXT_OF(YOUNG_S) " s of its first sign of life",
        [RECOVERY_SAME_AGE] = "the same rank has failed before in the same way after the same time",
        [RECOVERY_USED_UP] = "all restarts are used up",
        [RECOVERY_NO_START] = "it could not be started " TEXT_OF(RECOVERY_STARTS) " times in a row",
    };
    enum recovery r = recovery_decide(c);
    bool none = c->restarts == 0 && !c->one_sample && (c->cause != CAUSE_NODE || c->losses == 0);

    if (r != RECOVERY_NO_START && (none || !c->started || c->cause == CAUSE_LAUNCH))
        return "";
    if (r == RECOVERY_NO_STEP && is_blind(c))
        return blind_words(c);
    if (r == RECOVERY_TOO_YOUNG && c->alive_s <= 0)
        return "it exited within " TEXT_OF(YOUNG_S) " s of its start, without a sign of life";
    if (r == RECOVERY_USED_UP && c->cause == CAUSE_NODE)
        return "as many nodes as node_losses allows have been lost";
    return words[r] ? words[r] : "";
}

/* Check whether a network kept from an earlier job may have made the launch fail. A signal is not
 * caused by the network, and a network over which all ranks came up works.
 */
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

/* Return 2 to the power `times`, at most most_s. */
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
