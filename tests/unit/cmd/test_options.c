/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c - tests of cmd/shared/options.h */
#include "cmd/shared/options.h"

#include "suite.h"

#include <errno.h>
#include <string.h>

static const struct option_row rows[] = {
    { "np", 'n', "N", "workers on each node" },
    { "dry-run", 0, NULL, "print the plan and stop" },
    { "verbose", 'v', NULL, "say more" },
    { "quiet", 'q', NULL, "say less" },
    { "job-dir", 0, "FOLDER", "where the job's files go, a name that is long enough to wrap" },
    { "env", 'x', "NAME=VALUE", "set a variable" },
    { "wait", 0, "[=TIME]", "wait for others" },
};
static const char *const use[] = { "[option ...] FILE", "[option ...] -- command ...", NULL };
static const struct option_table table = {
    "eddis-test",        "Does nothing.", use, rows, sizeof rows / sizeof *rows, NULL, 0,
    "exit codes: none\n"
};

/* argv as one string of words, and what is read from it: "name=value", ":word". */
static const struct {
    const char *words, *read;
} rows_good[] = {
    { "", "" },
    { "-n 4", "np=4 " },
    { "-n4", "np=4 " },
    { "-np 4", "np=4 " },
    { "--np 4", "np=4 " },
    { "--np=4", "np=4 " },
    { "--np=", "np= " },
    { "--dry-run", "dry-run " },
    { "--dry_run", "dry-run " },
    { "-vq", "verbose quiet " },
    { "-vqn 3 file", "verbose quiet np=3 :file " },
    { "-vn3", "verbose np=3 " },
    { "--job_dir=a=b", "job-dir=a=b " },
    { "-x A=1 -xB=2", "env=A=1 env=B=2 " },
    { "file -v -- -v --np", ":file verbose :-v :--np " },
    { "-- --", ":-- " },
    { "--wait file", "wait :file " },
    { "--wait=30s file", "wait=30s :file " },
    { "--wait= file", "wait= :file " },
    { "- x", ":- :x " },
    { "--np -4", "np=-4 " },
};

/* Splits words in place into argv behind a program's name. */
static int split(char *words, char **argv)
{
    int n = 1;

    argv[0] = (char *)(uintptr_t) "eddis-test";
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
        argv[n++] = w;
    return n;
}

static int read_all(const char *words, char *ret, size_t size, struct eddis_error *err)
{
    char text[256], *argv[32];
    struct options o = { .table = &table, .argv = argv };
    struct options_item i;
    int rc;

    (void)snprintf(text, sizeof text, "%s", words);
    o.argc = split(text, argv);
    *ret = '\0';
    while ((rc = options_next(&o, &i, err)) == 1) {
        size_t n = strlen(ret);

        if (!i.row)
            (void)snprintf(ret + n, size - n, ":%s ", i.value);
        else if (i.value)
            (void)snprintf(ret + n, size - n, "%s=%s ", i.row->name, i.value);
        else
            (void)snprintf(ret + n, size - n, "%s ", i.row->name);
    }
    return rc;
}

START_TEST(good)
{
    char got[512];

    ck_assert_int_eq(read_all(rows_good[_i].words, got, sizeof got, NULL), 0);
    ck_assert_str_eq(got, rows_good[_i].read);
}
END_TEST

static const struct {
    const char *words, *sentence;
} rows_bad[] = {
    { "--dry-rum", "unknown option \"--dry-rum\"; did you mean \"--dry-run\"?" },
    { "--dryrun", "unknown option \"--dryrun\"; did you mean \"--dry-run\"?" },
    { "--job_dri x", "unknown option \"--job-dri\"; did you mean \"--job-dir\"?" },
    { "--dry", "unknown option \"--dry\"" }, /* no abbreviations */
    { "--qqqqqqqqqq=1", "unknown option \"--qqqqqqqqqq\"; see eddis-test --help" },
    { "-z", "unknown option \"-z\"; see eddis-test --help" },
    { "-vz", "unknown option \"-z\"; see eddis-test --help" },
    { "-n", "option \"-n\" needs N" },
    { "-vn", "option \"-n\" needs N" },
    { "--np", "option \"--np\" needs N" },
    { "--verbose=1", "option \"--verbose\" takes no value" },
    { "--=x", "unknown option \"--\"" },
    { "--\033[2J", "unknown option \"--?[2J\"" },
};

START_TEST(bad)
{
    struct eddis_error err = { 0 };
    char got[512];

    ck_assert_int_eq(read_all(rows_bad[_i].words, got, sizeof got, &err), -EINVAL);
    ck_assert_msg(strncmp(err.text, rows_bad[_i].sentence, strlen(rows_bad[_i].sentence)) == 0,
                  "%s", err.text);
}
END_TEST

START_TEST(complain)
{
    struct eddis_error err = { .text = "unknown key \"x\302\2332J\033[2J\233\"" };
    char text[64] = "";
    FILE *out = fmemopen(text, sizeof text, "w");

    options_complain("prog", &err, out);
    (void)fclose(out);
    ck_assert_str_eq(text, "prog: unknown key \"x??2J?[2J?\"\n");
}
END_TEST

START_TEST(help)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    options_help(&table, f);
    fclose(f);
    ck_assert_str_eq(text, "usage: eddis-test [option ...] FILE\n"
                           "       eddis-test [option ...] -- command ...\n"
                           "\n"
                           "Does nothing.\n"
                           "\n"
                           "  -n, --np N               workers on each node\n"
                           "      --dry-run            print the plan and stop\n"
                           "  -v, --verbose            say more\n"
                           "  -q, --quiet              say less\n"
                           "      --job-dir FOLDER     where the job's files go, a name that is "
                           "long enough to wrap\n"
                           "  -x, --env NAME=VALUE     set a variable\n"
                           "      --wait[=TIME]        wait for others\n"
                           "\n"
                           "exit codes: none\n");
    free(text);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, good, 0, sizeof rows_good / sizeof *rows_good);
    tcase_add_loop_test(tc, bad, 0, sizeof rows_bad / sizeof *rows_bad);
    tcase_add_test(tc, help);
    tcase_add_test(tc, complain);
}

SUITE_MAIN("options", add_tests)
