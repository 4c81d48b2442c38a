/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_literals.c - addresses of IPv6 as hosts: in -H, in a hostfile, in nodes and as address
 */
#include "lib/base/cleanup.h"
#include "lib/base/ip.h"
#include "lib/hosts/host_name.h"
#include "lib/job/types/hostfile.h"
#include "lib/model/job.h"
#include "suite.h"

#include "tests/unit/jobs.h"

#include <arpa/inet.h>

#define C "command: [a]\ncheckpoint: {every: 0}\n"

enum { ROUNDS = 300 };

static uint32_t state = 7;

static uint32_t draw(uint32_t below)
{
    state = state * 1103515245 + 12345;
    return (state >> 16) % below;
}

/* Draw an address that hosts may have, in one of its spellings. */
static void draw_literal(char ret[static IP_CHARS])
{
    unsigned char byte[16] = { 0xfd, (unsigned char)draw(256) };
    char letters[IP_CHARS];

    for (int i = 2; i < 16; i++)
        byte[i] = (unsigned char)(draw(3) ? 0 : draw(256));
    if (draw(4) == 0)
        byte[0] = 0x20;
    ck_assert_ptr_nonnull(inet_ntop(AF_INET6, byte, letters, sizeof letters));
    if (draw(3) == 0)
        (void)snprintf(letters, sizeof letters, "%x:%x:%x:%02x:%04x:%x:%x:%x",
                       byte[0] << 8 | byte[1], byte[2] << 8 | byte[3], byte[4] << 8 | byte[5],
                       byte[6] << 8 | byte[7], byte[8] << 8 | byte[9], byte[10] << 8 | byte[11],
                       byte[12] << 8 | byte[13], byte[14] << 8 | byte[15]);
    for (size_t i = 0; i <= strlen(letters); i++)
        ret[i] = letters[i] >= 'a' && draw(2) ? (char)(letters[i] - 'a' + 'A') : letters[i];
}

static void read_line(const char *text)
{
    read_job(C);
    ck_assert_msg(job_set_text(job, "nodes", text, "-H", &err) == 0, "%s: %s", text, err.text);
}

static void check_host(const char *literal, int64_t workers)
{
    ck_assert_uint_eq(job->n_hosts, 1);
    ck_assert_str_eq(job->host[0].host, literal);
    ck_assert_int_eq(job->host[0].workers, workers);
}

static void check_line(const char *text, const char *literal, int64_t workers)
{
    read_line(text);
    check_host(literal, workers);
}

/* Behind C stands a text in which '@' stands for the literal. */
static void check_yaml(const char *form, const char *literal, int64_t workers)
{
    char text[256];

    (void)snprintf(text, sizeof text, C "%.*s%s%s", (int)strcspn(form, "@"), form, literal,
                   strchr(form, '@') + 1);
    read_job(text);
    check_host(literal, workers);
}

/* Each way to write a host gives the literal back as it was written, and its workers. */
START_TEST(every_way)
{
    for (int i = 0; i < ROUNDS; i++) {
        char literal[IP_CHARS], text[128];
        int64_t workers = 1 + draw(1024);
        struct host_list l = { 0 };

        draw_literal(literal);
        check_line(literal, literal, 0);
        (void)snprintf(text, sizeof text, "[%s]", literal);
        check_line(text, literal, 0);
        (void)snprintf(text, sizeof text, "[%s]:%lld", literal, (long long)workers);
        check_line(text, literal, workers);
        check_yaml("nodes: ['@']", literal, 0);
        check_yaml("nodes:\n- '[@]'\n", literal, 0);
        check_yaml("nodes: [{host: '@', workers: 3}]", literal, 3);
        (void)snprintf(text, sizeof text, "ml@[%s]:%lld # x\n%s slots=2\n", literal,
                       (long long)workers, literal);
        if (workers + 2 > 1024)
            continue;
        ck_assert_msg(hostfile_parse(text, strlen(text), "hosts", &l, &err) == 0, "%s", err.text);
        ck_assert_uint_eq(l.n, 1);
        ck_assert_str_eq(l.at[0].host, literal);
        ck_assert_str_eq(l.at[0].ssh.user, "ml");
        ck_assert_int_eq(l.at[0].workers, workers + 2);
        host_list_fini(&l);
    }
}
END_TEST

/* What the job folder keeps of them is the same job again. */
START_TEST(text_again)
{
    static const char *const fixed[] = { "::1", "1::", "::ffff:10.1.0.7", "1:2:3:4:5:6:7:8",
                                         "fd00::" };

    for (size_t i = 0; i < ROUNDS / 10; i++) {
        char literal[IP_CHARS], line[IP_CHARS + 8];
        int64_t workers = draw(2) ? 3 : 0;

        draw_literal(literal);
        if (i < sizeof fixed / sizeof *fixed)
            (void)snprintf(literal, sizeof literal, "%s", fixed[i]);
        (void)snprintf(line, sizeof line, workers ? "[%s]:3" : "%s", literal);
        read_line(line);
        read_again();
        check_host(literal, workers);
    }
}
END_TEST

/* Two spellings are one host, whose workers add up; two addresses are two. */
START_TEST(spellings)
{
    static const char *const same[] = { "fd00::7,FD00::7", "fd00::7,fd00:0:0::0007",
                                        "[fd00::0:7],fd00:0:0:0:0:0:0:7",
                                        "10.1.0.7,::ffff:10.1.0.7", "::ffff:a01:7,10.1.0.7" };
    static const char twice[] = C "nodes: ['fd00::7', 'fd00:0::7']";

    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        read_line(same[i]);
        ck_assert_msg(job->n_hosts == 1 && job->host[0].workers == 2, "%s", same[i]);
    }
    read_line("fd00::7,fd00::70,fd00::7:0");
    ck_assert_uint_eq(job->n_hosts, 3);
    check_refused(twice, NULL);
    ck_assert_ptr_nonnull(
        strstr(err.text, "node \"fd00:0::7\" is listed a second time, first on line 3"));
}
END_TEST

#define BRACKETS                                                                                   \
    " is not an IPv6 address in brackets; write one like [fd00::7], or [fd00::7]:2 for 2 workers"
#define NO_HOST                                                                                    \
    " is not a name or address of a host; write letters, digits, '.', '-' and '_', or an IPv4 or " \
    "IPv6 address"
#define NO_COUNT " has no number of workers from 1 to 1024 after the colon"
#define REACH    "; write a name, or an address like fd00::7 that all nodes reach"
#define LINK     " is a link-local address, which is valid on one network link only" REACH

static const struct {
    const char *text, *hosts, *sentence; /* -H; hosts with "*workers" */
} rows[] = {
    { "::1", "::1", NULL },
    { "fd00::1:2", "fd00::1:2", NULL }, /* an address, and no workers */
    { "fd00::1,b:2,[fd00::2]:3", "fd00::1 b*2 fd00::2*3", NULL },
    { "ml@fd00::1", "fd00::1", NULL },
    { "ml@[fd00::1]:2", "fd00::1*2", NULL },
    { "::ffff:1.2.3.4", "::ffff:1.2.3.4", NULL },
    { "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", NULL },
    { "1:2:3:4:5:6:7:8:9", NULL, "\"1:2:3:4:5:6:7:8:9\"" NO_HOST },
    { "1:2:3", NULL, "\"1:2:3\"" NO_HOST },
    { "[1:2]", NULL, "\"1:2\"" NO_HOST },
    { "[::1]:x", NULL, "\"[::1]:x\"" NO_COUNT },
    { "[::1]:", NULL, "\"[::1]:\"" NO_COUNT },
    { "[::1]:0", NULL, "\"[::1]:0\"" NO_COUNT },
    { "[::1]:1025", NULL, "\"[::1]:1025\"" NO_COUNT },
    { "[::1]:2:3", NULL, "\"[::1]:2:3\"" NO_COUNT },
    { "[::1", NULL, "\"[::1\"" BRACKETS },
    { "[::1]2", NULL, "\"[::1]2\"" BRACKETS },
    { "[::1]]", NULL, "\"[::1]]\"" BRACKETS },
    { "[fd00::[1-4]]", NULL, "\"[fd00::[1-4]]\"" BRACKETS },
    { "::1]", NULL, "a \"]\" without \"[\"; write a range like v100-[1-4,7]" },
    { "fe80::1", NULL, "\"fe80::1\"" LINK },
    { "fe80::1%eth0", NULL, "\"fe80::1%eth0\"" LINK },
    { "[fe80::1%eth0]:2", NULL, "\"fe80::1%eth0\"" LINK },
    { "fd00::1%eth0", NULL, "\"fd00::1%eth0\" names an interface after its '%'" REACH },
    { "::", NULL, "\"::\" is not the address of a single machine" REACH },
    { "ff02::1", NULL, "\"ff02::1\" is not the address of a single machine" REACH },
    { "::1%", NULL, "\"::1%\" names an interface after its '%'" REACH },
    { "%::1", NULL, "\"%::1\"" NO_HOST },
};

START_TEST(hostile)
{
    char found[256] = "", want[256];
    int rc;

    read_job(C);
    rc = job_set_text(job, "nodes", rows[_i].text, "-H", &err);
    if (rows[_i].hosts) {
        for (size_t i = 0; i < job->n_hosts; i++) {
            size_t n = strlen(found);

            (void)snprintf(found + n, sizeof found - n, job->host[i].workers ? "%s%s*%d" : "%s%s",
                           i ? " " : "", job->host[i].host, (int)job->host[i].workers);
        }
        ck_assert_msg(rc == 0, "%s", err.text);
        ck_assert_str_eq(found, rows[_i].hosts);
    } else {
        (void)snprintf(want, sizeof want, "-H: %s", rows[_i].sentence);
        ck_assert_int_eq(rc, -EINVAL);
        ck_assert_str_eq(err.text, want);
    }
}
END_TEST

/* The sentence about a number in a list of YAML says what can be written. */
START_TEST(advice)
{
    check_refused(C "nodes: ['[fd00::7]:2']",
                  "3:9: \"nodes\": \"[fd00::7]:2\" has a number after a "
                  "colon; write {host: \"fd00::7\", workers: 2}");
    read_job(C "nodes: [{host: \"fd00::7\", workers: 2}]");
    check_host("fd00::7", 2);
    check_yaml("nodes: [@]", "fd00::7", 0);
    check_yaml("nodes: [{host: @, workers: 2}]", "fd00::7", 2);
}
END_TEST

static const struct {
    const char *address, *sentence; /* NULL: taken */
} address_rows[] = {
    { "fd00::7", NULL },
    { "::ffff:10.1.0.7", NULL },
    { "fe80::7", "\"fe80::7\"" LINK },
    { "fe80::7%eth0", "\"fe80::7%eth0\"" LINK },
    { "ff02::1", "\"ff02::1\" is not the address of a single machine" REACH },
    { "[fd00::7]", "\"[fd00::7]\" is not an address; write one like 10.1.0.7 or fd00::7, or auto" },
    { "1:2:3:4:5:6:7:8:9",
      "\"1:2:3:4:5:6:7:8:9\" is not an address; write one like 10.1.0.7 or fd00::7, or auto" },
};

START_TEST(addresses)
{
    int rc = host_address_check(address_rows[_i].address, &err);

    ck_assert_int_eq(rc, address_rows[_i].sentence ? -EINVAL : 0);
    if (rc < 0)
        ck_assert_str_eq(err.text, address_rows[_i].sentence);
}
END_TEST

static void add_tests(TCase *tc)
{
    jobs_add(tc);
    tcase_add_test(tc, every_way);
    tcase_add_test(tc, text_again);
    tcase_add_test(tc, spellings);
    tcase_add_loop_test(tc, hostile, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, advice);
    tcase_add_loop_test(tc, addresses, 0, sizeof address_rows / sizeof *address_rows);
}

SUITE_MAIN("host_literals", add_tests)
