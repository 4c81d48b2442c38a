/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare.c - targets of eddis-run --compare, and the evaluation of stored metrics */
#include "agents/job/status_json.h"
#include "cmd/run/compare/compare_json.h"
#include "cmd/run/compare/compare_reach.h"
#include "cmd/run/compare/compare_rows.h"
#include "cmd/run/compare/compare_table.h"
#include "cmd/run/request/compare_ask.h"

#include "lib/base/file.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command line ---- */

static const struct {
    const char *text;
    int goal; /* COMPARE_EPOCHS: refused */
    double value;
    const char *shown;
} targets[] = {
    { "accuracy=0.97", COMPARE_ACCURACY, 0.97, "accuracy 0.97" },
    { "accuracy=1", COMPARE_ACCURACY, 1, "accuracy 1" },
    { "accuracy=1e-3", COMPARE_ACCURACY, 1e-3, "accuracy 0.001" },
    { "loss=0.1", COMPARE_LOSS, 0.1, "loss 0.1" },
    { "loss=-2.5", COMPARE_LOSS, -2.5, "loss -2.5" },
    { "samples=100000", COMPARE_SAMPLES, 100000, "100 000 samples" },
    { "samples=1e6", COMPARE_SAMPLES, 1e6, "1 000 000 samples" },
    { "time=10m", COMPARE_TIME, 600, "600 s of training" },
    { "time=250ms", COMPARE_TIME, 0.25, "0.25 s of training" },
    { .text = "accuracy=2" },
    { .text = "accuracy=0" },
    { .text = "accuracy=-0.5" },
    { .text = "accuracy=nan" },
    { .text = "accuracy=97%" },
    { .text = "accuracy=" },
    { .text = "accuracy" },
    { .text = "acc=0.9" },
    { .text = "epochs=3" },
    { .text = "loss=nan" },
    { .text = "loss=inf" },
    { .text = "loss=0x1p3" },
    { .text = "loss=1e999" },
    { .text = "loss=0.1 " },
    { .text = "samples=0" },
    { .text = "samples=-1" },
    { .text = "samples=1.5" },
    { .text = "samples=1e16" },
    { .text = "time=-1" },
    { .text = "time=0s" },
    { .text = "time=10" },
    { .text = "time=none" },
    { .text = "" },
    { .text = "=0.9" },
};

START_TEST(until)
{
    struct compare_target t = { COMPARE_LOSS, 7 };
    struct eddis_error err = { 0 };
    int rc = compare_ask_until(targets[_i].text, &t, &err);
    char shown[64];

    if (targets[_i].goal == COMPARE_EPOCHS) {
        ck_assert_int_eq(rc, -EINVAL);
        ck_assert_msg(strncmp(err.text, "--until", 7) == 0, "%s", err.text);
        ck_assert(t.goal == COMPARE_LOSS && t.value == 7);
        return;
    }
    ck_assert_msg(rc == 0, "%s", err.text);
    ck_assert_int_eq(t.goal, targets[_i].goal);
    ck_assert_double_eq(t.value, targets[_i].value);
    compare_target_text(&t, shown, sizeof shown);
    ck_assert_str_eq(shown, targets[_i].shown);
}
END_TEST

START_TEST(modes)
{
    static const char *const bad[] = {
        "", ",", "sync,", ",sync", "sync,sync", "syn", "Sync", "a b"
    };
    struct compare_ask a = { 0 };
    struct eddis_error err = { 0 };

    ck_assert_int_eq(compare_ask_modes("hybrid,sync", &a, &err), 0);
    ck_assert_int_eq(a.n_modes, 2);
    ck_assert(a.mode[0] == SYNC_MODE_HYBRID && a.mode[1] == SYNC_MODE_SYNC);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(compare_ask_modes(bad[i], &a, &err) == -EINVAL, "%s", bad[i]);
    ck_assert_int_eq(compare_ask_rounds("64", &a, &err), 0);
    ck_assert_int_eq(a.rounds, 64);
    ck_assert_int_eq(compare_ask_rounds("65", &a, &err), -EINVAL);
    ck_assert_int_eq(compare_ask_rounds("1x", &a, &err), -EINVAL);
    ck_assert_int_eq(compare_ask_rounds("", &a, &err), -EINVAL);
}
END_TEST

/* ---- curves ---- */

/* Add a status to a curve. */
static bool add_status(struct curve *c, const struct job_status *s, double seconds)
{
    struct curve_point p = {
        .seconds = seconds, .samples = s->samples, .loss = s->loss, .accuracy = s->accuracy
    };

    return curve_add(c, &p, s->global_batch);
}

/* Read the stored metrics of a mode into a curve, at seconds since the job's start. With a target,
 * stop at the line that reaches it, and return the moment of it; otherwise return the last point.
 */
static struct curve_point read_metrics(const char *mode, const struct compare_target *t,
                                       struct curve *c)
{
    char path[4096], *text, *rest, *line;

    snprintf(path, sizeof path, "%s/%s.jsonl", getenv("COMPARE_METRICS"), mode);
    ck_assert_int_eq(file_read(path, 1 << 20, &text, NULL, NULL), 0);
    rest = text;
    *c = (struct curve){ 0 };
    while ((line = strsep(&rest, "\n")) && *line) {
        struct job_status s;
        struct curve_point before = c->last;
        struct eddis_error err;
        int rc = job_status_parse(line, strlen(line), path, &s, &err);

        ck_assert_msg(rc == 0, "%s", err.text);
        (void)add_status(c, &s, s.wall_s);
        job_status_fini(&s);
        if (t && compare_reached(&c->last, t)) {
            free(text);
            return compare_crossing(&before, &c->last, t);
        }
    }
    free(text);
    curve_end(c);
    return c->last;
}

START_TEST(stored)
{
    static struct curve c;
    struct curve_point p = read_metrics("sync", NULL, &c);

    ck_assert_int_eq(c.n, 11); /* without the line before the first step, and the same at the end */
    ck_assert_int_eq(p.samples, 215550);
    ck_assert_double_eq_tol(p.accuracy, 0.986111, 1e-6);
    ck_assert_double_eq_tol(c.point[0].loss, 0.438592, 1e-6); /* the first loss as it is */
    for (int i = 1; i < c.n; i++)
        ck_assert(c.point[i].loss < c.point[i - 1].loss);

    p = read_metrics("sync", &(struct compare_target){ COMPARE_ACCURACY, 0.985 }, &c);
    ck_assert_int_eq(p.samples, 48858);
    ck_assert_double_eq_tol(p.seconds, 3.501567, 1e-6);
    p = read_metrics("hybrid", &(struct compare_target){ COMPARE_ACCURACY, 0.985 }, &c);
    ck_assert_int_eq(p.samples, 97676);

    p = read_metrics("sync", &(struct compare_target){ COMPARE_SAMPLES, 50000 }, &c);
    ck_assert_int_eq(p.samples, 50000); /* between two lines */
    ck_assert(p.seconds > 3.5016 && p.seconds < 4.5048);
    p = read_metrics("sync", &(struct compare_target){ COMPARE_SAMPLES, 480 }, &c);
    ck_assert(p.samples == 480 && p.seconds < 0.1); /* before the first line */
    p = read_metrics("sync", &(struct compare_target){ COMPARE_TIME, 4 }, &c);
    ck_assert_double_eq(p.seconds, 4);
    ck_assert(p.samples > 48858 && p.samples < 70893);
    p = read_metrics("sync", &(struct compare_target){ COMPARE_LOSS, 0.2 }, &c);
    ck_assert(p.samples > 9102 && p.samples < 48858);
    ck_assert_double_eq_tol((double)p.samples, curve_samples_at(&c, 0.2), 1);
    ck_assert(isnan(curve_samples_at(&c, 0.01)));
    p = read_metrics("sync", &(struct compare_target){ COMPARE_EPOCHS, 0 }, &c);
    ck_assert_int_eq(p.samples, 215550);
}
END_TEST

START_TEST(curves)
{
    static struct curve c;
    struct job_status s;

    job_status_init(&s);
    ck_assert(isnan(curve_samples_at(&c, 1)));
    ck_assert(!add_status(&c, &s, 0)); /* no samples yet */
    s.global_batch = 10;
    for (int i = 1; i <= 5000; i++) {
        s.samples = 1000 * i;
        s.loss = i == 7 ? NAN : 1.0 / i; /* one that is not finite leaves the average alone */
        ck_assert(add_status(&c, &s, i));
        ck_assert(c.n <= CURVE_POINTS);
    }
    ck_assert(!add_status(&c, &s, 5001)); /* nothing new */
    s.accuracy = 0.5;
    ck_assert(add_status(&c, &s, 5002)); /* a test after the last step */
    curve_end(&c);
    ck_assert(c.n > CURVE_POINTS / 4 && c.point[c.n - 1].seconds == 5002);
    for (int i = 1; i < c.n; i++)
        ck_assert(c.point[i].samples > c.point[i - 1].samples && c.point[i].loss > 0);
    job_status_fini(&s);
}
END_TEST

/* ---- results ---- */

/* Make a comparison of sync and hybrid with the stored metrics, in `rounds` equal rounds. */
static struct compare *make(struct compare_target target, int rounds)
{
    static const char *const mode[] = { "sync", "hybrid" };
    struct compare *c = calloc(1, sizeof *c);

    ck_assert_ptr_nonnull(c);
    c->schema_version = COMPARE_SCHEMA_VERSION;
    c->rounds = rounds;
    c->target = target;
    snprintf(c->name, sizeof c->name, "digits");
    for (int i = 0; i < 2 * rounds; i++) {
        struct compare_run *r = &c->run[c->n_runs++];
        struct curve_point p = read_metrics(mode[i % 2], &target, &r->curve);
        const struct algorithm *a;
        size_t n = algorithms(&a);

        r->state = target.goal == COMPARE_EPOCHS || compare_reached(&p, &target) ? COMPARE_REACHED
                                                                                 : COMPARE_ENDED;
        for (size_t k = 0; k < n; k++)
            if (a[k].mode == (i % 2 ? SYNC_MODE_HYBRID : SYNC_MODE_SYNC) &&
                !(a[k].traits & ALGORITHM_EXTERNAL) && !r->algorithm[0])
                snprintf(r->algorithm, sizeof r->algorithm, "%s", a[k].name);
        snprintf(r->mode, sizeof r->mode, "%s", mode[i % 2]);
        r->round = i / 2;
        compare_run_folder(r->mode, r->round, r->job, sizeof r->job);
        r->seconds = p.seconds + i / 2; /* rounds differ by a second */
        r->samples = p.samples;
        r->samples_per_s = i % 2 ? 25000 : 20000;
        r->accuracy = p.accuracy + 0.002 * (i / 2);
        r->loss = p.loss;
        r->test_loss = r->took_s = NAN;
    }
    compare_rows_fill(c);
    return c;
}

START_TEST(intervals)
{
    ck_assert(isnan(compare_interval((double[]){ 1 }, 1)));
    ck_assert_double_eq_tol(compare_interval((double[]){ 1, 2, 3 }, 3), 4.303 / sqrt(3), 1e-9);
    ck_assert_double_eq(compare_interval((double[]){ 5, 5 }, 2), 0);
}
END_TEST

START_TEST(by_target)
{
    struct compare *c = make((struct compare_target){ COMPARE_ACCURACY, 0.985 }, 2);
    const struct compare_row *sync = &c->row[0], *hybrid = &c->row[1];

    ck_assert(c->finished && c->n_rows == 2);
    ck_assert_str_eq(c->best, "sync");
    ck_assert_str_eq(c->final_is, "accuracy");
    ck_assert_double_eq_tol(sync->seconds, 4.001567, 1e-6);
    ck_assert(sync->efficiency == 1 && !sync->above && sync->rounds == 2);
    ck_assert_double_eq_tol(hybrid->efficiency, 48858.0 / 97676, 1e-9);
    ck_assert_str_eq(hybrid->by, "target");
    ck_assert_double_eq_tol(sync->final, 0.988889 + 0.001, 1e-5);
    ck_assert_double_eq_tol(sync->interval, 12.706 * 0.001, 1e-9);
    free(c);
}
END_TEST

START_TEST(by_loss)
{
    struct compare *c = make((struct compare_target){ COMPARE_EPOCHS, 0 }, 1);
    const struct compare_row *hybrid = &c->row[1];
    double loss = c->run[1].loss; /* is the higher one */

    ck_assert(loss > c->run[0].loss);
    ck_assert_str_eq(hybrid->by, "loss");
    ck_assert_double_eq_tol(hybrid->efficiency, curve_samples_at(&c->run[0].curve, loss) / 215550,
                            1e-9);
    ck_assert(hybrid->efficiency < 1);
    ck_assert(isnan(hybrid->interval));
    /* Without losses nothing shows the efficiency of hybrid, so sync is not called best. */
    for (int i = 0; i < c->n_runs; i++)
        for (int k = 0; k < c->run[i].curve.n; k++)
            c->run[i].curve.point[k].loss = c->run[i].curve.last.loss = NAN;
    compare_rows_fill(c);
    ck_assert(isnan(hybrid->efficiency) && !c->best[0]);
    free(c);
}
END_TEST

/* A mode that did not reach the target, one that failed, and the text of both. */
START_TEST(unlike_ends)
{
    struct compare *c = make((struct compare_target){ COMPARE_ACCURACY, 0.985 }, 1);
    struct strbuf b = { 0 };

    c->run[1].state = COMPARE_LATE;
    compare_rows_fill(c);
    ck_assert(c->row[1].above && c->row[1].state == COMPARE_LATE);
    ck_assert_str_eq(c->row[1].by, "loss");
    ck_assert_str_eq(c->best, "sync");
    compare_table(c, &b);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&b), "> 6.4 s"));
    ck_assert_ptr_nonnull(strstr(strbuf_text(&b), "no other mode has reached accuracy 0.985"));

    strbuf_clear(&b);
    c->run[1].state = COMPARE_FAILED;
    snprintf(c->run[1].why, sizeof c->run[1].why, "rank 0 exited with code 7");
    compare_rows_fill(c);
    ck_assert(c->row[1].rounds == 0 && isnan(c->row[1].efficiency));
    compare_table(c, &b);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&b), "\nhybrid failed: rank 0 exited with code 7\n"));

    c->run[0].state = COMPARE_OPEN;
    compare_rows_fill(c);
    ck_assert(!c->finished && !c->best[0]);
    strbuf_fini(&b);
    free(c);
}
END_TEST

/* One of two rounds failed: the other one counts, and the text says how many failed. */
START_TEST(one_round_failed)
{
    struct compare *c = make((struct compare_target){ COMPARE_ACCURACY, 0.985 }, 2);
    struct strbuf b = { 0 };

    c->run[3].state = COMPARE_FAILED;
    snprintf(c->run[3].why, sizeof c->run[3].why, "no luck");
    compare_rows_fill(c);
    ck_assert(c->row[1].rounds == 1 && c->row[1].state == COMPARE_REACHED && !c->row[1].above);
    ck_assert_double_eq(c->row[1].seconds, c->run[1].seconds);
    ck_assert_double_eq_tol(c->row[1].efficiency, 48858.0 / 97676, 1e-9);
    compare_table(c, &b);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&b), "\n1 of 2 runs of hybrid failed: no luck\n"));
    strbuf_fini(&b);
    free(c);
}
END_TEST

/* If auto does not choose the best mode, a line asks the user to name it. */
START_TEST(best_is_named)
{
    struct compare *c = make((struct compare_target){ COMPARE_ACCURACY, 0.985 }, 1);
    struct strbuf b = { 0 };

    compare_table(c, &b);
    ck_assert_ptr_null(strstr(strbuf_text(&b), "auto"));
    strbuf_fini(&b);
    snprintf(c->row[0].mode, sizeof c->row[0].mode, "local");
    snprintf(c->row[0].algorithm, sizeof c->row[0].algorithm, "local");
    compare_table(c, &b);
    ck_assert_ptr_null(strstr(strbuf_text(&b), "auto"));
    strbuf_fini(&b);
    snprintf(c->row[0].algorithm, sizeof c->row[0].algorithm, "diloco");
    compare_table(c, &b);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&b), "\nsync.mode: auto does not choose diloco; keep "
                                                  "sync.algorithm to train by it\n"));
    strbuf_fini(&b);
    free(c);
}
END_TEST

START_TEST(kept)
{
    struct compare *c = make((struct compare_target){ COMPARE_ACCURACY, 0.985 }, 2), *d;
    char folder[] = "/tmp/test-compare-XXXXXX", path[64], *before = compare_text(c), *after;
    struct eddis_error err;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/compare.json", folder);
    ck_assert_int_eq(compare_read(path, &d, &err), -ENOENT);
    ck_assert_int_eq(compare_write(c, path, &err), 0);
    ck_assert_int_eq(compare_read(path, &d, &err), 0);
    after = compare_text(d);
    ck_assert_str_eq(before, after);
    compare_rows_fill(d); /* the curves are complete */
    ck_assert_double_eq(d->row[1].efficiency, c->row[1].efficiency);
    ck_assert_int_eq(file_write_atomic(path, "{}", 2, 0600, &err), 0);
    free(d);
    ck_assert_int_eq(compare_read(path, &d, &err), -EINVAL);
    snprintf(c->run[1].job, sizeof c->run[1].job, "../other");
    ck_assert_int_eq(compare_write(c, path, &err), 0);
    ck_assert_int_eq(compare_read(path, &d, &err), -EINVAL);
    compare_run_folder(c->run[1].mode, c->run[1].round, c->run[1].job, sizeof c->run[1].job);
    c->n_runs = 3; /* of two modes in two rounds */
    ck_assert_int_eq(compare_write(c, path, &err), 0);
    ck_assert_int_eq(compare_read(path, &d, &err), -EINVAL);
    ck_assert_int_eq(file_remove_tree(folder, &err), 0);
    free(before);
    free(after);
    free(c);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, until, 0, (int)(sizeof targets / sizeof *targets));
    tcase_add_test(tc, modes);
    tcase_add_test(tc, stored);
    tcase_add_test(tc, curves);
    tcase_add_test(tc, intervals);
    tcase_add_test(tc, by_target);
    tcase_add_test(tc, by_loss);
    tcase_add_test(tc, unlike_ends);
    tcase_add_test(tc, one_round_failed);
    tcase_add_test(tc, best_is_named);
    tcase_add_test(tc, kept);
}

SUITE_MAIN("compare", add_tests)
