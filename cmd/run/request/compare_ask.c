/* SPDX-License-Identifier: Apache-2.0 */
/* compare_ask.c - parses --modes, --until and --rounds */
#include "compare_ask.h"

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const compare_goal_names[COMPARE_GOALS] = { "epochs", "accuracy", "loss", "samples",
                                                        "time" };

/* Append the names of all modes, "sync, async, hybrid", to ret [size]. */
static void add_modes(char *ret, size_t size)
{
    for (int m = 0; m < SYNC_MODES; m++)
        text_append(ret, size, "%s%s", m ? ", " : "", sync_mode_name((enum sync_mode)m));
}

/* Append the mode of this name, n bytes at `name`, to ret. Return 0 or -EINVAL. */
static int add_mode(const char *name, size_t n, struct compare_ask *ret, struct eddis_error *err)
{
    enum sync_mode mode = sync_mode_find(name, n);
    char all[64] = "";

    if (mode < SYNC_MODES) {
        for (int i = 0; i < ret->n_modes; i++)
            if (ret->mode[i] == mode)
                return eddis_fail(err, -EINVAL, "--modes names %s twice; name each mode once",
                                  sync_mode_name(mode));
        ret->mode[ret->n_modes++] = mode;
        return 0;
    }
    add_modes(all, sizeof all);
    if (n == 0)
        return eddis_fail(err, -EINVAL, "--modes has an empty name; write modes of %s", all);
    return eddis_fail(err, -EINVAL, "--modes: there is no mode \"%.*s\"; there are %s",
                      n < 40 ? (int)n : 40, name, all);
}

int compare_ask_modes(const char *text, struct compare_ask *ret, struct eddis_error *err)
{
    const char *at = text;
    int rc = 0;

    ret->n_modes = 0;
    for (;;) {
        size_t n = strcspn(at, ",");

        rc = add_mode(at, n, ret, err);
        if (rc < 0 || !at[n])
            return rc;
        at += n + 1;
    }
}

/* Parse a finite number that is the whole text. Return whether it is one. */
static bool parse_number(const char *text, double *ret)
{
    char *end;

    if (!*text || text[strspn(text, "+-.0123456789eE")])
        return false;
    *ret = strtod(text, &end);
    return !*end && isfinite(*ret);
}

/* Parse the value of a target whose goal is set. Return 0 or -EINVAL. */
static int parse_value(const char *value, struct compare_target *t, struct eddis_error *err)
{
    int64_t ns;

    if (t->goal == COMPARE_TIME) {
        if (text_duration_ns(value, &ns, NULL) < 0 || ns <= 0 || ns == CLOCK_NEVER)
            return eddis_fail(err, -EINVAL,
                              "--until: the time \"%s\" is not a duration above 0; write one like "
                              "time=10m",
                              value);
        t->value = (double)ns / CLOCK_S;
        return 0;
    }
    if (!parse_number(value, &t->value))
        return eddis_fail(err, -EINVAL, "--until: the %s \"%s\" is not a number",
                          compare_goal_names[t->goal], value);
    if (t->goal == COMPARE_ACCURACY && !(t->value > 0 && t->value <= 1))
        return eddis_fail(err, -EINVAL,
                          "--until: an accuracy is above 0 and at most 1, not %s; write 97 %% as "
                          "accuracy=0.97",
                          value);
    if (t->goal == COMPARE_SAMPLES &&
        !(t->value >= 1 && t->value <= 1e15 && t->value == floor(t->value)))
        return eddis_fail(err, -EINVAL,
                          "--until: the number of samples is a whole number from 1 to 1e15, not %s",
                          value);
    return 0;
}

int compare_ask_until(const char *text, struct compare_target *ret, struct eddis_error *err)
{
    const char *value = strchr(text, '=');
    struct compare_target t = { .goal = COMPARE_EPOCHS };
    int rc;

    for (int g = COMPARE_ACCURACY; value && g < COMPARE_GOALS; g++)
        if (strlen(compare_goal_names[g]) == (size_t)(value - text) &&
            strncmp(compare_goal_names[g], text, (size_t)(value - text)) == 0)
            t.goal = g;
    if (t.goal == COMPARE_EPOCHS)
        return eddis_fail(err, -EINVAL,
                          "--until \"%s\" is not a target; write accuracy=0.97, loss=0.1, "
                          "samples=100000 or time=10m",
                          text);
    rc = parse_value(value + 1, &t, err);
    if (rc == 0)
        *ret = t;
    return rc;
}

int compare_ask_rounds(const char *text, struct compare_ask *ret, struct eddis_error *err)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end == text || *end || n < 1 || n > COMPARE_MOST_ROUNDS)
        return eddis_fail(err, -EINVAL, "--rounds \"%s\" is not a whole number from 1 to %d", text,
                          COMPARE_MOST_ROUNDS);
    ret->rounds = (int)n;
    return 0;
}

void compare_target_text(const struct compare_target *t, char *ret, size_t size)
{
    char number[32];

    switch (t->goal) {
    case COMPARE_ACCURACY:
    case COMPARE_LOSS:
        (void)snprintf(ret, size, "%s %.6g", compare_goal_names[t->goal], t->value);
        break;
    case COMPARE_SAMPLES:
        (void)snprintf(ret, size, "%s samples", text_grouped(t->value, number, sizeof number));
        break;
    case COMPARE_TIME:
        (void)snprintf(ret, size, "%.6g s of training", t->value);
        break;
    default:
        (void)snprintf(ret, size, "the end of the job");
    }
}
