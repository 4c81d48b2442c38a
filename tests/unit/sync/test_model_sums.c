/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_sums.c - which worker is found by the sums that all have told */
#include "lib/sync/model_sums.h"

#include "lib/base/random.h"
#include "lib/worker/models.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MOST = 9, ROUNDS = 2000 };

/* n workers' sums, all alike, of any size and sign. */
static void make(uint64_t *r, int n, double sum[MOST][MODEL_SUMS])
{
    double size = exp(40 * random_unit(r) - 20), s = size * (2 * random_unit(r) - 1);

    for (int i = 0; i < n; i++) {
        sum[i][MODEL_SUM] = s;
        sum[i][MODEL_SQUARES] = size * size;
    }
}

/* In a random order and shape, as rings and trees combine. */
static struct model_finding judge(uint64_t *r, int n, double sum[MOST][MODEL_SUMS])
{
    struct model_sums s[MOST];

    for (int i = 0; i < n; i++)
        s[i] = model_sums_of(i, sum[i]);
    while (n > 1) {
        int a = (int)random_below(r, (uint64_t)n);
        struct model_sums with = s[a];

        s[a] = s[--n];
        model_sums_combine(&s[random_below(r, (uint64_t)n)], &with);
    }
    return model_sums_judge(&s[0]);
}

static int pick(uint64_t *r, int n)
{
    return (int)random_below(r, (uint64_t)n);
}

START_TEST(names_the_one_that_differs)
{
    uint64_t r = 1;

    for (int i = 0; i < ROUNDS; i++) {
        int n = 3 + pick(&r, MOST - 2), one = pick(&r, n);
        double sum[MOST][MODEL_SUMS];
        struct model_finding f;

        make(&r, n, sum);
        if (pick(&r, 2))
            sum[one][MODEL_SQUARES] *= pick(&r, 2) ? 1.01 + random_unit(&r) : 0.98;
        else
            sum[one][MODEL_SUM] += (pick(&r, 2) ? 0.01 : -0.01) * sqrt(sum[one][MODEL_SQUARES]);
        f = judge(&r, n, sum);
        ck_assert_int_eq(f.verdict, MODELS_DIFFER);
        ck_assert_int_eq(f.rank, one);
        ck_assert_int_eq(f.other, -1);
        ck_assert(!f.odd && f.difference > MODEL_SUMS_TOLERANCE);
    }
}
END_TEST

START_TEST(of_two_nobody_knows)
{
    uint64_t r = 2;
    double sum[MOST][MODEL_SUMS];
    struct model_finding f;

    make(&r, 2, sum);
    sum[1][MODEL_SQUARES] *= 0.9;
    f = judge(&r, 2, sum);
    ck_assert_int_eq(f.verdict, MODELS_DIFFER);
    ck_assert_int_eq(f.rank, 0);
    ck_assert_int_eq(f.other, 1);
}
END_TEST

/* Elements of both signs cancel out, so the sum may be as good as nothing beside its rounding. */
START_TEST(rounding_blames_nobody)
{
    uint64_t r = 3;

    for (int i = 0; i < ROUNDS; i++) {
        int n = 2 + pick(&r, MOST - 1);
        double sum[MOST][MODEL_SUMS], size;
        struct model_finding f;

        make(&r, n, sum);
        size = sqrt(sum[0][MODEL_SQUARES]);
        if (pick(&r, 2))
            for (int k = 0; k < n; k++)
                sum[k][MODEL_SUM] = 0;
        f = judge(&r, n, sum);
        ck_assert_int_eq(f.verdict, MODELS_ALIKE);
        sum[0][MODEL_SUM] += 1e-14 * size;
        ck_assert_int_eq(judge(&r, n, sum).verdict, MODELS_ALIKE);
        sum[0][MODEL_SUM] += 1e-5 * size;
        f = judge(&r, n, sum);
        ck_assert_int_eq(f.verdict, MODELS_UNLIKE);
        ck_assert(f.difference > 0.9e-6 && f.difference <= 1.1e-5);
    }
}
END_TEST

START_TEST(not_finite)
{
    static const double bad[] = { NAN, INFINITY, -INFINITY };
    uint64_t r = 4;

    for (int i = 0; i < ROUNDS; i++) {
        int n = 1 + pick(&r, MOST), odd = pick(&r, n + 1), few = -1;
        double sum[MOST][MODEL_SUMS];
        struct model_finding f;

        make(&r, n, sum);
        for (int k = 0; k < odd; k++)
            sum[n - 1 - k][pick(&r, MODEL_SUMS)] = bad[pick(&r, 3)];
        f = judge(&r, n, sum);
        if (odd == 0) {
            ck_assert(f.verdict == (n > 1 ? MODELS_ALIKE : MODELS_NONE));
            continue;
        }
        few = n - odd < odd ? 0 : n - odd;
        ck_assert_int_eq(f.verdict, odd < n ? MODELS_DIFFER : MODELS_NOT_FINITE);
        ck_assert(f.odd && isnan(f.difference));
        if (odd < n)
            ck_assert_int_eq(f.rank, few);
    }
}
END_TEST

START_TEST(untold)
{
    struct model_sums s = { .n_finite = 0 };
    struct models m = { .every = 4 };

    ck_assert_int_eq(model_sums_judge(&s).verdict, MODELS_NONE);
    ck_assert_int_eq(models_agree(&m, &s, 4, NULL), 0);
    ck_assert_int_eq(m.shown.compared, 0);
}
END_TEST

START_TEST(when)
{
    static const int64_t due[] = { 1, 2, 4, 8, 16, 20, 40, 60 };
    struct models m = { .every = 20 };
    size_t n = 0;

    for (int64_t step = 0; step < 70; step++)
        if (models_due(&m, step, false))
            ck_assert_int_eq(step + 1, due[n++]);
    ck_assert_uint_eq(n, sizeof due / sizeof *due);
    ck_assert(models_due(&m, 6, true));
    m.every = 0;
    ck_assert(!models_due(&m, 0, true));
}
END_TEST

/* What is sent once is not sent again, and the sentence tells who, since when and what to do. */
START_TEST(sentence)
{
    const double one[] = { 1, 4 }, other[] = { 1, 5 };
    struct models m = { .every = 1, .rank = 2 };
    struct model_sums mine, all = model_sums_of(0, one);
    struct eddis_error err = { 0 };

    models_keep(&m, one);
    models_report(&m, &mine);
    model_sums_combine(&all, &mine);
    ck_assert_int_eq(models_agree(&m, &all, 3, &err), 0);
    models_report(&m, &mine);
    ck_assert_int_eq(mine.n_finite + mine.n_odd, 0);
    models_keep(&m, other);
    models_report(&m, &mine);
    model_sums_combine(&all, &mine);
    ck_assert_int_eq(models_agree(&m, &all, 7, &err), -EPROTO);
    ck_assert_ptr_nonnull(strstr(err.text, "after step 7 this worker's model, of rank 2, is not"));
    ck_assert_ptr_nonnull(strstr(err.text, "nothing was wrong after step 3"));
    ck_assert_ptr_nonnull(strstr(err.text, "20 %"));
    ck_assert_ptr_nonnull(strstr(err.text, "checks: {models: off}"));
    ck_assert_int_eq(m.shown.compared, 2);
    ck_assert_int_eq(m.shown.found, MODEL_CHECK_DIFFER);
    ck_assert_int_eq(m.shown.rank, 2);
    ck_assert_int_eq(m.shown.step, 7);
    ck_assert_int_eq(m.shown.alike, 3);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, names_the_one_that_differs);
    tcase_add_test(tc, of_two_nobody_knows);
    tcase_add_test(tc, rounding_blames_nobody);
    tcase_add_test(tc, not_finite);
    tcase_add_test(tc, untold);
    tcase_add_test(tc, when);
    tcase_add_test(tc, sentence);
}

SUITE_MAIN("model_sums", add_tests)
