/* SPDX-License-Identifier: Apache-2.0 */
/* test_manifest.c - tests of lib/checkpoint/manifest.h */
#include "suite.h"

#include "lib/base/crc32.h"
#include "lib/base/random.h"
#include "lib/checkpoint/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct eddis_error err;

static struct manifest example(void)
{
    struct manifest m = { .meta = { 500, 42, 1437, 256, 4, 1 } };

    ck_assert_int_eq(manifest_add(&m, "rank-0001.weights", 0, 0, NULL), 0);
    ck_assert_int_eq(manifest_add(&m, "dcp/a", 17, 0, NULL), 0);
    ck_assert_int_eq(manifest_add(&m, ".metadata", INT64_C(1) << 50, UINT32_MAX, NULL), 0);
    ck_assert_int_eq(manifest_add(&m, "rank-0000.weights", 40960, 0x9ae0daaf, NULL), 0);
    ck_assert_int_eq(manifest_sort(&m, NULL), 0);
    return m;
}

START_TEST(there_and_back)
{
    struct manifest m = example(), got = { 0 };
    char *text = manifest_text(&m), *again;

    ck_assert_msg(strncmp(text,
                          "eddis checkpoint 1\nstep 500\nseed 42\nsamples 1437\nbatch 256\n"
                          "ranks 4\ngeneration 1\nfiles 4\nffffffff 1125899906842624 .metadata\n"
                          "-------- 17 dcp/a\n"
                          "9ae0daaf 40960 rank-0000.weights\n00000000 0 rank-0001.weights\nend ",
                          strlen(text) - 9) == 0,
                  "%s", text);
    ck_assert_msg(manifest_parse(text, strlen(text), &got, &err) == 0, "%s", err.text);
    ck_assert_int_eq(got.n, 4);
    ck_assert_mem_eq(&got.meta, &m.meta, sizeof m.meta);
    ck_assert_int_eq(manifest_find(&got, "rank-0000.weights")->bytes, 40960);
    ck_assert_ptr_null(manifest_find(&got, "rank-0002.weights"));
    again = manifest_text(&got);
    ck_assert_str_eq(again, text);
    free(again);
    free(text);
    manifest_fini(&m);
    manifest_fini(&got);
}
END_TEST

static void refused(const char *text, size_t n)
{
    struct manifest got = { 0 };

    ck_assert_msg(manifest_parse(text, n, &got, &err) == -EBADMSG, "taken: %.*s", (int)n, text);
    ck_assert_ptr_null(got.file);
}

START_TEST(truncated_at_every_byte)
{
    struct manifest m = example();
    char *text = manifest_text(&m);
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i++) {
        char *part = malloc(i + 1); /* exact, so that a sanitizer sees any read beyond */

        memcpy(part, text, i);
        refused(part, i);
        free(part);
    }
    free(text);
    manifest_fini(&m);
}
END_TEST

START_TEST(every_bit_flipped)
{
    struct manifest m = example();
    char *text = manifest_text(&m);
    size_t n = strlen(text);

    for (size_t i = 0; i < 8 * n; i++) {
        text[i / 8] ^= (char)(1 << i % 8);
        refused(text, n);
        text[i / 8] ^= (char)(1 << i % 8);
    }
    free(text);
    manifest_fini(&m);
}
END_TEST

START_TEST(bytes_added_or_doubled)
{
    struct manifest m = example();
    char *text = manifest_text(&m), *more;
    size_t n = strlen(text);

    more = malloc(2 * n + 1);
    for (size_t at = 0; at <= n; at++)
        for (const char *c = "\n 0a"; *c || c[-1]; c++) { /* a zero byte too */
            memcpy(more, text, at);
            more[at] = *c;
            memcpy(more + at + 1, text + at, n - at);
            refused(more, n + 1);
            if (!*c)
                break;
        }
    memcpy(more, text, n);
    memcpy(more + n, text, n);
    refused(more, 2 * n);
    free(more);
    free(text);
    manifest_fini(&m);
}
END_TEST

/* With a right checksum, so that the other rules are what refuses. */
static const struct {
    const char *head, *files;
    int rc;
} rule_rows[] = {
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 0\n", "", 0 },
    { "step 01\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 0\n", "", -EBADMSG },
    { "step -1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 0\n", "", -EBADMSG },
    { "step \nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 0\n", "", -EBADMSG },
    { "step 9223372036854775808\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 0\n", "",
      -EBADMSG },
    { "step 1\nseed 18446744073709551615\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 0\n", "",
      0 },
    { "step 1\nseed 18446744073709551616\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 0\n", "",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 99999999\n", "", -EBADMSG },
    { "seed 2\nstep 1\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 0\n", "", -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "", -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 0\n", "00000000 0 a\n",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "00000000 0 a\n", 0 },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "00000000 0 ../a\n",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "00000000 0 ..\n",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n",
      "00000000 0 MANIFEST\n", -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n",
      "-------- 7 dcp/.metadata\n", 0 },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n",
      "00000000 7 dcp/.metadata\n", -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "-------- 7 dcp\n",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n",
      "-------- 7 dcp/../a\n", -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "-------- 7 /a\n",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "-------- 7 a/\n",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "-------- 7 a//b\n",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "00000000 0 \n",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 1\n", "0000000A 0 a\n",
      -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 2\n",
      "00000000 0 b\n00000000 0 a\n", -EBADMSG },
    { "step 1\nseed 2\nsamples 3\nbatch 4\nranks 5\ngeneration 6\nfiles 2\n",
      "00000000 0 a\n00000000 1 a\n", -EBADMSG },
};

START_TEST(rules)
{
    struct manifest got = { 0 };
    char text[1024];
    int n = snprintf(text, sizeof text, "eddis checkpoint 1\n%s%s", rule_rows[_i].head,
                     rule_rows[_i].files);

    n +=
        snprintf(text + n, sizeof text - (size_t)n, "end %08x\n", crc32_update(0, text, (size_t)n));
    ck_assert_int_eq(manifest_parse(text, (size_t)n, &got, &err), rule_rows[_i].rc);
    manifest_fini(&got);
}
END_TEST

START_TEST(lists)
{
    struct manifest m = example(), all = { 0 };
    char *list = manifest_list_text(&m);
    size_t n = strlen(list);

    ck_assert_int_eq(manifest_parse_list(list, n, &all, NULL), 0);
    ck_assert_int_eq(manifest_parse_list("", 0, &all, NULL), 0);
    ck_assert_int_eq(all.n, 4);
    for (size_t i = 1; i < n; i++) {
        int rc = manifest_parse_list(list, i, &all, NULL);

        ck_assert_int_eq(rc, list[i - 1] == '\n' ? 0 : -EINVAL);
        all.n = 4;
    }
    ck_assert_int_eq(manifest_parse_list(list, n, &all, NULL), 0);
    ck_assert_int_eq(manifest_sort(&all, &err), -EEXIST);
    free(list);
    manifest_fini(&m);
    manifest_fini(&all);
}
END_TEST

START_TEST(random_bytes)
{
    uint64_t state = 3;
    char text[300];

    for (int round = 0; round < 20000; round++) {
        size_t n = random_below(&state, sizeof text);

        for (size_t i = 0; i < n; i++)
            text[i] = (char)random_next(&state);
        if (n > 30 && round % 2)
            memcpy(text, "eddis checkpoint 1\nstep ", 24);
        refused(text, n);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, there_and_back);
    tcase_add_test(tc, truncated_at_every_byte);
    tcase_add_test(tc, every_bit_flipped);
    tcase_add_test(tc, bytes_added_or_doubled);
    tcase_add_loop_test(tc, rules, 0, sizeof rule_rows / sizeof *rule_rows);
    tcase_add_test(tc, lists);
    tcase_add_test(tc, random_bytes);
}

SUITE_MAIN("manifest", add_tests)
