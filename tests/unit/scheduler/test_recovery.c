/* SPDX-License-Identifier: Apache-2.0 */
/* test_recovery.c - tests of scheduler/recovery.h */
#include "scheduler/recovery.h"

#include "suite.h"

#include <string.h>

#define NOBODY                                                                                     \
    {                                                                                              \
        -1, -1, false                                                                              \
    }

/* One row for every sentence of eddis-run(1), RECOVERY. */
static const struct {
    struct recovery_case c;
    enum recovery then;
} rows[] = {
    /* recoverable */
    { { CAUSE_NODE, 0, 1, true, NOBODY, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_HANG, 0, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_OOM, 0, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 255, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_MPIRUN, 0, 1, true, NOBODY, NOBODY, 0, 3 }, RECOVERY_RESTART },
    /* before the first step of generation 1 nothing is */
    { { CAUSE_NODE, 0, 1, false, NOBODY, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_SIGNAL, 0, 1, false, { 5, 0, false }, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_OOM, 0, 1, false, { 5, 0, false }, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_EXIT, 1, 1, false, { 5, 0, false }, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_MPIRUN, 0, 1, false, NOBODY, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_LAUNCH, 0, 1, false, NOBODY, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    /* a later generation is gone on with, unless its program says no by itself */
    { { CAUSE_NODE, 0, 2, false, NOBODY, NOBODY, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 2, false, { 5, -1, false }, NOBODY, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_LAUNCH, 0, 2, false, NOBODY, NOBODY, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_MPIRUN, 0, 2, false, NOBODY, NOBODY, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 2, false, { 5, -1, false }, NOBODY, 1, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_EXIT, 1, 2, true, { 5, 20, true }, { 5, 9, true }, 1, 3 }, RECOVERY_RESTART },
    /* codes that will not change */
    { { CAUSE_EXIT, 2, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_NEVER },
    { { CAUSE_EXIT, 126, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_NEVER },
    { { CAUSE_EXIT, 127, 3, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_NEVER },
    { { CAUSE_SIGNAL, 2, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    /* a checkpoint may hold the wrong model, which does not matter to a lost node */
    { { CAUSE_EXIT, 1, 1, true, { 5, 9, true }, NOBODY, 0, 3, .models = true }, RECOVERY_MODELS },
    { { CAUSE_NODE, 0, 1, true, NOBODY, NOBODY, 0, 3, .models = true }, RECOVERY_RESTART },
    /* the same rank at the same step twice running */
    { { CAUSE_EXIT, 1, 2, true, { 5, 9, true }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_SIGNAL, 0, 2, true, { 5, 9, true }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_OOM, 0, 2, true, { 5, 9, true }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_HANG, 0, 2, true, { 5, 9, true }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_SIGNAL, 0, 2, false, { 5, 9, false }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_SIGNAL, 0, 2, true, { 5, 9, true }, { 4, 9, true }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 2, true, { 5, 9, true }, { 5, 8, true }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 3, false, { 5, 9, false }, { 5, 9, false }, 2, 9 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 3, false, { 5, -1, false }, { 5, -1, false }, 2, 9 }, RECOVERY_RESTART },
    { { CAUSE_NODE, 0, 3, true, NOBODY, NOBODY, 2, 9 }, RECOVERY_RESTART },
    /* any rank in the same way at the same step twice running: a fault of the program */
    { { CAUSE_EXIT, 1, 2, true, { 5, 9, true, 1 }, { 4, 9, true, 1 }, 1, 3 }, RECOVERY_SAME_FAULT },
    { { CAUSE_SIGNAL, -1, 2, true, { 5, 9, true, 139 }, { 4, 9, true, 139 }, 1, 3, .signal = 11 },
      RECOVERY_SAME_FAULT },
    { { CAUSE_SIGNAL, -1, 2, true, { 5, 9, true, 134 }, { 4, 9, true, 134 }, 1, 3, .signal = 6 },
      RECOVERY_SAME_FAULT },
    { { CAUSE_EXIT, 1, 2, true, { 5, 9, true, 1 }, { 4, 9, true, 3 }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 2, true, { 5, 9, true, 1 }, { 4, 9, true, 137 }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 2, true, { 5, 9, true, 1 }, { 4, 8, true, 1 }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 2, true, { 5, -1, true, 1 }, { 4, -1, true, 1 }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 2, true, { 5, 9, false, 1 }, { 4, 9, true, 1 }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 2, true, { 5, 9, true, 1 }, { 4, 9, false, 1 }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, -1, 2, true, { 5, 9, true, 137 }, { 4, 9, true, 137 }, 1, 3, .signal = 9 },
      RECOVERY_RESTART }, /* sent by somebody */
    { { CAUSE_SIGNAL, -1, 2, true, { 5, 9, true, 143 }, { 4, 9, true, 143 }, 1, 3, .signal = 15 },
      RECOVERY_RESTART },
    { { CAUSE_HANG, 0, 2, true, { 5, 9, true, -1 }, { 4, 9, true, -1 }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_OOM, 79, 2, true, { 5, 9, true, 79 }, { 4, 9, true, 79 }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_NODE, 0, 2, true, NOBODY, { 4, 9, true, 1 }, 1, 3 }, RECOVERY_RESTART },
    /* fewer samples at once are another attempt, which does not count */
    { { CAUSE_OOM, 0, 1, false, { 5, 0, false }, NOBODY, 0, 3, .less = true }, RECOVERY_RESTART },
    { { CAUSE_OOM, 0, 9, false, { 5, 0, false }, NOBODY, 3, 3, .less = true }, RECOVERY_RESTART },
    { { CAUSE_OOM, 0, 1, false, { 5, 0, false }, NOBODY, 0, 0, .less = true }, RECOVERY_RESTART },
    { { CAUSE_OOM, 79, 1, true, { 5, 9, true }, NOBODY, 0, 3, .one_sample = true },
      RECOVERY_ONE_SAMPLE },
    { { CAUSE_OOM, 0, 2, true, { 5, 9, true }, { 5, 9, true }, 1, 3, .less = true },
      RECOVERY_RESTART },
    { { CAUSE_OOM, 0, 4, true, { 5, 9, true }, { 5, 9, true }, 3, 3, .less = true },
      RECOVERY_RESTART },
    /* how often */
    { { CAUSE_SIGNAL, 0, 1, true, { 5, 9, true }, NOBODY, 0, 0 }, RECOVERY_USED_UP },
    { { CAUSE_SIGNAL, 0, 4, true, { 5, 99, true }, { 1, 9, true }, 3, 3 }, RECOVERY_USED_UP },
    { { CAUSE_SIGNAL, 0, 3, true, { 5, 99, true }, { 1, 9, true }, 2, 3 }, RECOVERY_RESTART },
    /* lost nodes count by themselves, and have no bound where none is given */
    { { CAUSE_NODE, 0, 9, true, NOBODY, NOBODY, 3, 3, .losses_done = 5 }, RECOVERY_RESTART },
    { { CAUSE_NODE, 0, 1, true, NOBODY, NOBODY, 0, 0 }, RECOVERY_USED_UP },
    { { CAUSE_NODE, 0, 1, true, NOBODY, NOBODY, 0, 0, .losses = 1 }, RECOVERY_RESTART },
    { { CAUSE_NODE, 0, 3, true, NOBODY, NOBODY, 0, 3, 2, 2 }, RECOVERY_USED_UP },
    { { CAUSE_SIGNAL, 0, 3, true, NOBODY, NOBODY, 0, 3, 2, 2 }, RECOVERY_RESTART },
    /* by itself behind its last step */
    { { CAUSE_EXIT, 1, 1, true, { 5, 9, true }, NOBODY, 0, 3, .trained = true }, RECOVERY_TRAINED },
    { { CAUSE_EXIT, 1, 2, false, { 5, 9, false }, NOBODY, 1, 3, .trained = true },
      RECOVERY_TRAINED },
    { { CAUSE_SIGNAL, -1, 1, true, { 5, 9, true }, NOBODY, 0, 3, .signal = 6, .trained = true },
      RECOVERY_TRAINED },
    { { CAUSE_SIGNAL, -1, 1, true, { 5, 9, true }, NOBODY, 0, 3, .signal = 9, .trained = true },
      RECOVERY_RESTART },
    { { CAUSE_OOM, 0, 1, true, { 5, 9, true }, NOBODY, 0, 3, .trained = true }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 1, true, { 5, 9, true }, NOBODY, 0, 3, .echo = true, .trained = true },
      RECOVERY_RESTART },
    /* a start that fails is nobody's fault, and costs no restart */
    { { CAUSE_LAUNCH, 0, 5, false, NOBODY, NOBODY, 3, 3 }, RECOVERY_RESTART },
    { { CAUSE_LAUNCH, 0, 5, false, NOBODY, NOBODY, 3, 3, .failed_starts = 8 }, RECOVERY_RESTART },
    { { CAUSE_LAUNCH, 0, 5, false, NOBODY, NOBODY, 1, 3, .failed_starts = 9 }, RECOVERY_NO_START },
    { { CAUSE_NODE, 0, 5, false, NOBODY, NOBODY, 1, 3, .failed_starts = 9 }, RECOVERY_RESTART },
    /* its work is done */
    { { CAUSE_MPIRUN, 0, 1, false, NOBODY, NOBODY, 0, 0, .all_done = true }, RECOVERY_DONE },
    { { CAUSE_NODE, 0, 2, true, NOBODY, NOBODY, 1, 3, .all_done = true }, RECOVERY_DONE },
    { { CAUSE_NODE, 0, 1, true, NOBODY, NOBODY, 0, 3, .unwanted = true, .all_done = true },
      RECOVERY_DONE },
    /* nobody wants it */
    { { CAUSE_NODE, 0, 1, true, NOBODY, NOBODY, 0, 3, .unwanted = true }, RECOVERY_UNWANTED },
    { { CAUSE_EXIT, 2, 1, true, NOBODY, NOBODY, 0, 3, .unwanted = true }, RECOVERY_UNWANTED },
};

START_TEST(row)
{
    ck_assert_int_eq(recovery_decide(&rows[_i].c), rows[_i].then);
}
END_TEST

/* Whatever failed: never without a step in generation 1, never beyond the limit. */
START_TEST(every_case)
{
    for (int cause = 0; cause < CAUSES; cause++)
        for (int code = 0; code < 256; code++)
            for (int k = 0; k < 64; k++) {
                struct recovery_case c = { (enum recovery_cause)cause,
                                           code,
                                           1 + (k & 1),
                                           (k & 2) != 0,
                                           { k & 4 ? 1 : -1, 7, (k & 8) != 0 },
                                           { k & 16 ? 1 : -1, 7, true },
                                           1,
                                           k & 32 ? 2 : 1 };
                enum recovery r = recovery_decide(&c);

                if (r != RECOVERY_RESTART)
                    continue;
                ck_assert(c.generation > 1 || c.any_step);
                ck_assert(cause == CAUSE_LAUNCH || cause == CAUSE_NODE ||
                          c.restarts_done < c.restarts);
                ck_assert(cause != CAUSE_EXIT || (code != 2 && code != 126 && code != 127));
                ck_assert(c.now.rank < 0 || c.now.rank != c.before.rank);
            }
}
END_TEST

/* ---- programs without known steps ---- */

/* How old the generation was, by its first sign of life, and how its rank failed the last time. */
enum age { YOUNG, OLD, AGES };
enum past { FIRST, SAME, OTHER_RANK, OTHER_CODE, OTHER_AGE, PASTS };

/* What is to come of each cause in generation 1, and of an exit in a later one, where restarts are
 * asked for; with nobody asking it is RECOVERY_NO_STEP but where a row says otherwise.
 */
static const struct {
    enum recovery_cause cause;
    int code, signal;
    enum recovery then[AGES][PASTS];
} blind[] = {
#define AGAIN RECOVERY_RESTART
#define AGED  RECOVERY_SAME_AGE
#define EARLY RECOVERY_TOO_YOUNG
#define NEVER RECOVERY_NEVER
    { CAUSE_EXIT,
      1,
      0,
      { { EARLY, EARLY, EARLY, EARLY, EARLY }, { AGAIN, AGED, AGAIN, AGAIN, AGAIN } } },
    { CAUSE_EXIT,
      2,
      0,
      { { NEVER, NEVER, NEVER, NEVER, NEVER }, { NEVER, NEVER, NEVER, NEVER, NEVER } } },
    { CAUSE_EXIT,
      126,
      0,
      { { NEVER, NEVER, NEVER, NEVER, NEVER }, { NEVER, NEVER, NEVER, NEVER, NEVER } } },
    { CAUSE_EXIT,
      127,
      0,
      { { NEVER, NEVER, NEVER, NEVER, NEVER }, { NEVER, NEVER, NEVER, NEVER, NEVER } } },
    { CAUSE_SIGNAL,
      -1,
      11,
      { { AGAIN, AGED, AGAIN, AGAIN, AGAIN }, { AGAIN, AGED, AGAIN, AGAIN, AGAIN } } },
    { CAUSE_OOM,
      -1,
      9,
      { { AGAIN, AGED, AGAIN, AGAIN, AGAIN }, { AGAIN, AGED, AGAIN, AGAIN, AGAIN } } },
    { CAUSE_OOM,
      79,
      0,
      { { EARLY, EARLY, EARLY, EARLY, EARLY }, { AGAIN, AGED, AGAIN, AGAIN, AGAIN } } },
    { CAUSE_HANG,
      -1,
      0,
      { { AGAIN, AGED, AGAIN, AGAIN, AGAIN }, { AGAIN, AGED, AGAIN, AGAIN, AGAIN } } },
    { CAUSE_NODE,
      -1,
      0,
      { { AGAIN, AGAIN, AGAIN, AGAIN, AGAIN }, { AGAIN, AGAIN, AGAIN, AGAIN, AGAIN } } },
    { CAUSE_MPIRUN,
      -1,
      9,
      { { AGAIN, AGAIN, AGAIN, AGAIN, AGAIN }, { AGAIN, AGAIN, AGAIN, AGAIN, AGAIN } } },
    { CAUSE_MPIRUN,
      1,
      0,
      { { AGAIN, AGAIN, AGAIN, AGAIN, AGAIN }, { AGAIN, AGAIN, AGAIN, AGAIN, AGAIN } } },
};

static struct recovery_case blind_case(int k, enum age age, enum past past)
{
    bool of_rank = blind[k].cause != CAUSE_NODE && blind[k].cause != CAUSE_MPIRUN;
    double alive_s = age == OLD ? 1000 : 30, age_s = alive_s + 10;
    int code = blind[k].signal ? 128 + blind[k].signal : blind[k].code;
    struct recovery_rank now = { of_rank ? 5 : -1, -1, false, code, age_s }, before = now;
    struct recovery_case c = { .cause = blind[k].cause,
                               .code = blind[k].code,
                               .signal = blind[k].signal,
                               .generation = past == FIRST ? 1 : 2,
                               .now = now,
                               .restarts_done = past != FIRST,
                               .restarts = 9,
                               .started = true,
                               .asked = true,
                               .alive_s = alive_s };

    before.rank += of_rank && past == OTHER_RANK;
    before.code += past == OTHER_CODE;
    before.age_s *= past == OTHER_AGE ? 0.75 : past == SAME ? 0.85 : 1;
    c.before = past == FIRST ? (struct recovery_rank){ .rank = -1, .step = -1 } : before;
    return c;
}

START_TEST(blind_cell)
{
    int k = _i / (AGES * PASTS), age = _i / PASTS % AGES, past = _i % PASTS;
    struct recovery_case c = blind_case(k, (enum age)age, (enum past)past);
    enum recovery then = blind[k].then[age][past];

    ck_assert_int_eq(recovery_decide(&c), then);
    c.restarts = c.restarts_done;
    c.losses = c.losses_done = 1;
    ck_assert_int_eq(recovery_decide(&c), then == AGAIN ? RECOVERY_USED_UP : then);
    c.restarts = 9;
    c.losses = 0;
    c.unwanted = true;
    ck_assert_int_eq(recovery_decide(&c), RECOVERY_UNWANTED);
    c.unwanted = false;
    /* nobody has asked for it, or the ranks have not begun: as with any program before its step */
    if (then == NEVER)
        return;
    c.asked = false;
    ck_assert_int_eq(recovery_decide(&c), c.generation > 1 && c.cause != CAUSE_EXIT
                                              ? RECOVERY_RESTART
                                              : RECOVERY_NO_STEP);
    c.asked = true;
    c.started = false;
    ck_assert_int_eq(recovery_decide(&c), c.generation > 1 && c.cause != CAUSE_EXIT
                                              ? RECOVERY_RESTART
                                              : RECOVERY_NO_STEP);
    c.started = true;
    c.any_page = true;
    ck_assert_int_eq(recovery_decide(&c), c.generation > 1 && c.cause != CAUSE_EXIT
                                              ? RECOVERY_RESTART
                                              : RECOVERY_NO_STEP);
}
END_TEST

/* The two limits: 30 s of life, a fifth of the greater age. */
START_TEST(blind_limits)
{
    struct recovery_case c = blind_case(0, OLD, SAME);

    c.before.rank = -1;
    c.alive_s = 30;
    ck_assert_int_eq(recovery_decide(&c), RECOVERY_TOO_YOUNG);
    c.echo = true;
    ck_assert_int_eq(recovery_decide(&c), RECOVERY_RESTART);
    c.echo = false;
    c.alive_s = 30.001;
    ck_assert_int_eq(recovery_decide(&c), RECOVERY_RESTART);
    c = blind_case(0, OLD, SAME);
    c.now.age_s = 100;
    for (int i = 0; i < 2; i++) {
        double other = c.now.age_s * (i ? 1.25 : 0.8);

        c.before.age_s = other;
        ck_assert_int_eq(recovery_decide(&c), RECOVERY_SAME_AGE);
        c.before.age_s = other + (i ? 0.1 : -0.1);
        ck_assert_int_eq(recovery_decide(&c), RECOVERY_RESTART);
    }
}
END_TEST

/* A launch that fails has shown nothing of the program; a step that is known makes it another one's
 * case.
 */
START_TEST(blind_launch)
{
    struct recovery_case c = blind_case(8, OLD, FIRST);

    c.cause = CAUSE_LAUNCH;
    ck_assert_int_eq(recovery_decide(&c), RECOVERY_NO_STEP);
    c.generation = 2;
    ck_assert_int_eq(recovery_decide(&c), RECOVERY_RESTART);
    c = blind_case(0, YOUNG, FIRST);
    c.any_page = c.any_step = true;
    ck_assert_int_eq(recovery_decide(&c), RECOVERY_RESTART);
}
END_TEST

/* Where nothing has been seen of it its age since the start counts, once some of it was there. */
START_TEST(blind_silence)
{
    for (int k = 0; k < (int)(sizeof blind / sizeof *blind) * AGES; k++) {
        struct recovery_case c = blind_case(k / AGES, (enum age)(k % AGES), FIRST);

        c.now.age_s = c.alive_s;
        c.alive_s = 0;
        if (blind[k / AGES].then[k % AGES][FIRST] == NEVER)
            continue;
        ck_assert_int_eq(recovery_decide(&c), RECOVERY_NO_STEP);
        ck_assert_str_eq(recovery_reasons(&c), "none of its workers was running yet");
        c.any_up = true;
        ck_assert_int_eq(recovery_decide(&c), blind[k / AGES].then[k % AGES][FIRST]);
    }
}
END_TEST

START_TEST(blind_words)
{
    struct recovery_case c = blind_case(0, YOUNG, FIRST);

    ck_assert_str_eq(recovery_reasons(&c), "it exited within 30 s of its first sign of life");
    c.alive_s = 0;
    c.now.age_s = 30;
    c.any_up = true;
    ck_assert_str_eq(recovery_reasons(&c),
                     "it exited within 30 s of its start, without a sign of life");
    c.asked = false;
    ck_assert_str_eq(recovery_reasons(&c), "no finished step is known: no worker has used libeddis "
                                           "yet, or reported a step by progress.pattern");
    c = blind_case(4, YOUNG, SAME);
    ck_assert_str_eq(recovery_reasons(&c),
                     "the same rank has failed before in the same way after the same time");
    c = blind_case(4, YOUNG, FIRST);
    ck_assert_str_eq(recovery_reasons(&c), "");
    c.asked = false;
    ck_assert_str_eq(recovery_reasons(&c), "no finished step is known; set restarts, for example "
                                           "with --restarts 3, to restart the job nevertheless");
}
END_TEST

START_TEST(words)
{
    struct recovery_case c = { CAUSE_EXIT, 1, 1, true, NOBODY, NOBODY, 0, 3, .started = true };

    ck_assert_str_eq(recovery_reasons(&c), "");
    c.restarts_done = 3;
    ck_assert_str_eq(recovery_reasons(&c), "all restarts are used up");
    c.now = c.before = (struct recovery_rank){ 5, 9, true };
    ck_assert_str_eq(recovery_reasons(&c), "the same rank has failed at the same step before");
    c.any_step = false;
    ck_assert_str_eq(recovery_reasons(&c), "no finished step is known: no worker has used libeddis "
                                           "yet, or reported a step by progress.pattern");
    c.any_page = true;
    ck_assert_str_eq(recovery_reasons(&c), "no worker had finished a step");
    c.code = 126;
    ck_assert_str_eq(recovery_reasons(&c),
                     "exit codes 2, 126 and 127 say that the program cannot run");
    c.unwanted = true;
    ck_assert_str_eq(recovery_reasons(&c), "");
}
END_TEST

/* Nobody expects it where none was allowed, or where the job has not begun. */
START_TEST(no_words)
{
    struct recovery_case c = { CAUSE_EXIT, 2, 1, true, NOBODY, NOBODY, 0, 3, .started = true };

    ck_assert_str_ne(recovery_reasons(&c), "");
    c.started = false;
    ck_assert_str_eq(recovery_reasons(&c), "");
    c.started = true;
    c.restarts = 0;
    ck_assert_str_eq(recovery_reasons(&c), "");
    c.cause = CAUSE_NODE;
    c.any_step = true;
    ck_assert_str_eq(recovery_reasons(&c), "");
    c.losses = c.losses_done = 2; /* some were allowed */
    ck_assert_str_eq(recovery_reasons(&c), "as many nodes as node_losses allows have been lost");
    c.any_step = false;
    c.restarts = 3;
    c.cause = CAUSE_LAUNCH;
    ck_assert_str_eq(recovery_reasons(&c), "");
    c.generation = 9;
    c.failed_starts = RECOVERY_STARTS - 1;
    ck_assert_str_eq(recovery_reasons(&c), "it could not be started 10 times in a row");
}
END_TEST

/* Each condition of measuring the network anew, alone. */
START_TEST(network_again)
{
    const struct recovery_case good = {
        CAUSE_MPIRUN, 0, 1, false, NOBODY, NOBODY, 0, 3, .started = true, .network_cached = true
    };
    struct recovery_case c = good;

    ck_assert(recovery_network_again(&c));
    ck_assert_int_ne(recovery_decide(&c), RECOVERY_RESTART);
    c.cause = CAUSE_LAUNCH;
    ck_assert(recovery_network_again(&c));
    c.cause = CAUSE_NODE;
    ck_assert(!recovery_network_again(&c));
    c = good;
    c.generation = 2;
    ck_assert(!recovery_network_again(&c));
    c = good;
    c.all_up = true; /* the program has begun: it is not run twice */
    ck_assert(!recovery_network_again(&c));
    c = good;
    c.signal = 9;
    ck_assert(!recovery_network_again(&c));
    c = good;
    c.unwanted = true;
    ck_assert(!recovery_network_again(&c));
    c = good;
    c.started = false;
    ck_assert(!recovery_network_again(&c));
    c = good;
    c.network_cached = false;
    ck_assert(!recovery_network_again(&c));
}
END_TEST

START_TEST(gather)
{
    static const struct {
        struct recovery_nodes n;
        enum recovery_gather then;
    } nodes[] = {
        { { 2, false, true, true }, RECOVERY_BEGIN }, /* nobody is coming */
        { { 2, true, true, true }, RECOVERY_WAIT },
        { { 2, true, false, true }, RECOVERY_BEGIN },
        { { 0, true, false, true }, RECOVERY_WAIT },
        { { 0, false, false, true }, RECOVERY_WAIT },
        { { 0, true, false, false }, RECOVERY_NOBODY },
    };

    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        ck_assert_int_eq(recovery_gather(&nodes[i].n), nodes[i].then);
}
END_TEST

START_TEST(pauses)
{
    static const int s[] = { 1, 2, 4, 8, 16, 30, 30 };
    static const int backoff_s[] = { 0, 1, 2, 4, 8, 16, 32, 60, 60 };

    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(recovery_pause_s(i), s[i]);
    ck_assert_int_eq(recovery_pause_s(1000000), 30);
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(recovery_backoff_s(i), backoff_s[i]);
    ck_assert_int_eq(recovery_backoff_s(1000000), 60);
    ck_assert(!recovery_losses_end(RECOVERY_STARTS - 1, true));
    ck_assert(recovery_losses_end(RECOVERY_STARTS, true));
    ck_assert(!recovery_losses_end(1000000, false));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, row, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, every_case);
    tcase_add_loop_test(tc, blind_cell, 0, (int)(sizeof blind / sizeof *blind) * AGES * PASTS);
    tcase_add_test(tc, blind_limits);
    tcase_add_test(tc, blind_launch);
    tcase_add_test(tc, blind_silence);
    tcase_add_test(tc, blind_words);
    tcase_add_test(tc, words);
    tcase_add_test(tc, no_words);
    tcase_add_test(tc, network_again);
    tcase_add_test(tc, gather);
    tcase_add_test(tc, pauses);
}

SUITE_MAIN("recovery", add_tests)
