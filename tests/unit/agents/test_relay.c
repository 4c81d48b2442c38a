/* SPDX-License-Identifier: Apache-2.0 */
/* test_relay.c - tests of agents/node/relay.h */
#include "agents/node/openmpi.h"
#include "agents/node/relay.h"

#include "agents/protocol/protocol_relay.h"
#include "lib/base/cleanup.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define MCA(name, value)  "-mca", name, value
#define PRTE(name, value) "--prtemca", name, value

/* What Open MPI 4.1.4 and 5.0.11 gave to a program that they took for ssh, shortened. */
static const char *const four[] = { "eddis--1",
                                    " orted",
                                    "--daemonize",
                                    MCA("ess", "\"env\""),
                                    MCA("ess_base_jobid", "\"892207104\""),
                                    MCA("ess_base_vpid", "1"),
                                    MCA("ess_base_num_procs", "\"4\""),
                                    MCA("orte_node_regex", "\"node[1:0],eddis--[1:1-3]@0(4)\""),
                                    MCA("orte_hnp_uri",
                                        "\"892207104.0;tcp://10.78.0.10,192.168.1.2:59227\""),
                                    "--mca",
                                    "plm_rsh_agent",
                                    "\"/run/relay /run/s\"",
                                    MCA("pmix", "\"^s1,s2,cray,isolated\""),
                                    NULL };

static const char *const five[] = { "eddis--2",
                                    "PRTE_PREFIX=/x;export PRTE_PREFIX;/x/bin/prted",
                                    "--daemonize",
                                    "--allow-run-as-root",
                                    PRTE("ess", "\"env\""),
                                    PRTE("ess_base_nspace", "\"prterun-same-23632@0\""),
                                    PRTE("ess_base_vpid", "2"),
                                    PRTE("ess_base_num_procs", "\"3\""),
                                    PRTE("prte_hnp_uri",
                                         "\"prterun-same-23632@0.0;tcp://10.78.0.10:44491:24\""),
                                    PRTE("plm", "\"ssh\""),
                                    NULL };

static int count(const char *const *words)
{
    int n = 0;

    while (words[n])
        n++;
    return n;
}

static int parse(const char *const *words, int n, struct relay *r)
{
    return relay_parse(n, (char *const *)(uintptr_t)words, r, NULL);
}

START_TEST(parsed)
{
    struct relay r;

    ck_assert_int_eq(parse(four, count(four), &r), 0);
    ck_assert_str_eq(r.host, "eddis--1");
    ck_assert_str_eq(r.space, "892207104");
    ck_assert_str_eq(r.uri, "892207104.0;tcp://10.78.0.10,192.168.1.2:59227");
    ck_assert_str_eq(r.nodes, "node[1:0],eddis--[1:1-3]@0(4)");
    ck_assert(r.daemon == 1 && r.daemons == 4);
    relay_free(&r);
    ck_assert_int_eq(parse(five, count(five), &r), 0);
    ck_assert_str_eq(r.host, "eddis--2");
    ck_assert_str_eq(r.space, "prterun-same-23632@0");
    ck_assert_str_eq(r.nodes, "");
    ck_assert(r.daemon == 2 && r.daemons == 3);
    relay_free(&r);
}
END_TEST

/* Every beginning of them, and every one with a word missing or made evil, is refused or is what
 * may be passed on.
 */
START_TEST(damaged)
{
    static const char *const evil[] = { "",    "\"",   "\"\"", "-1",  "99999999999999999999",
                                        "a;b", "$(x)", "1 2",  "\"1", "../..",
                                        "%s%n" };
    const char *words[64];

    for (int n = 0; n < count(four); n++) {
        struct relay r;

        if (parse(four, n, &r) == 0)
            relay_free(&r);
        else
            ck_assert_int_lt(n, 21);
        for (size_t e = 0; e < sizeof evil / sizeof *evil; e++) {
            memcpy(words, four, sizeof four);
            words[n] = evil[e];
            if (parse(words, count(words), &r) < 0)
                continue;
            ck_assert_int_eq(relay_check(&r, NULL), 0);
            relay_free(&r);
        }
    }
}
END_TEST

/* Of mpirun's addresses the one that the driver has chosen is left, and nothing else is. */
static const struct {
    const char *uri, *address, *left;
} place_rows[] = {
    { "8.0;tcp://10.78.0.10:592", "10.78.0.10", "8.0;tcp://10.78.0.10:592" },
    { "8.0;tcp://10.78.0.10,192.168.1.2:592", "192.168.1.2", "8.0;tcp://192.168.1.2:592" },
    { "8.0;tcp://10.1.0.1:5;tcp6://[fd00::1],[fd00::2]:6", "fd00::2", "8.0;tcp6://[fd00::2]:6" },
    { "8.0;tcp6://[fd00:88::1,fd00:9::1]:56063", "fd00:9::1", "8.0;tcp6://[fd00:9::1]:56063" },
    { "8.0;tcp6://[fd00:88::1,fd00:9::1]:56063", "fd00:88::1", "8.0;tcp6://[fd00:88::1]:56063" },
    { "8.0;tcp6://[fd00:88::1]:56063", "fd00:88::1", "8.0;tcp6://[fd00:88::1]:56063" },
    { "p@0.0;tcp4://10.1.0.1,10.2.0.1:44:24,16", "10.2.0.1", "p@0.0;tcp4://10.2.0.1:44:16" },
    { "p@0.0;tcp://10.1.0.1:44:24", "10.1.0.1", "p@0.0;tcp://10.1.0.1:44:24" },
    { "8.0;tcp://10.78.0.1:592", "10.78.0.10", NULL },
    { "8.0;tcp://10.78.0.10:592", "", NULL },
    { "8.0;tcp://10.78.0.10", "10.78.0.10", NULL },
    { "8.0;tcp://10.78.0.10:", "10.78.0.10", NULL },
    { "8.0;tcp://10.78.0.10:a", "10.78.0.10", NULL },
    { "8.0;tcp6://fd00::1:5", "fd00::1", NULL },
    { "8.0;file:/tmp/10.78.0.10:5", "10.78.0.10", NULL },
    { "8.0;;tcp", "10.78.0.10", NULL },
    { "8.0", "10.78.0.10", NULL },
};

START_TEST(only_from)
{
    struct eddis_error err = { 0 };
    cleanup_free char *left = relay_uri_at(place_rows[_i].uri, place_rows[_i].address, "c00", &err);

    if (place_rows[_i].left)
        ck_assert_str_eq(left, place_rows[_i].left);
    else
        ck_assert(!left && err.code == -EACCES && strstr(err.text, "c00"));
}
END_TEST

START_TEST(sent)
{
    cleanup_free char *path = file_join(scratch, "socket");
    cleanup_fd int fd = -1, other = -1;
    struct relay r, got;
    struct eddis_error err = { 0 };
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    ck_assert_int_eq(parse(four, count(four), &r), 0);
    ck_assert_int_eq(relay_send(path, &r, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    fd = relay_listen(path, SO_PASSCRED, 1, NULL);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(relay_receive(fd, &got, NULL), 0);
    ck_assert_int_eq(relay_send(path, &r, NULL), 0);
    ck_assert_int_eq(relay_send(path, &r, NULL), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(relay_receive(fd, &got, NULL), 1);
        ck_assert_str_eq(got.uri, r.uri);
        ck_assert_str_eq(got.host, r.host);
        relay_free(&got);
    }
    ck_assert_int_eq(relay_receive(fd, &got, NULL), 0);
    relay_free(&r);
    /* Something else than a relay. */
    other = socket(AF_UNIX, SOCK_DGRAM, 0);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    ck_assert_int_eq(sendto(other, "{}", 2, 0, (struct sockaddr *)&to, sizeof to), 2);
    ck_assert_int_eq(sendto(other, "", 0, 0, (struct sockaddr *)&to, sizeof to), 0);
    ck_assert_int_eq(relay_receive(fd, &got, NULL), -EINVAL);
    ck_assert_int_eq(relay_receive(fd, &got, NULL), -EINVAL);
    ck_assert_int_eq(relay_receive(fd, &got, NULL), 0);
}
END_TEST

static const struct {
    const char *text, *version;
    int rc;
} version_rows[] = {
    { "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/\n", "4.1.4", 4 },
    { "mpirun (Open MPI) 5.0.11\n", "5.0.11", 5 },
    { "mpirun (Open MPI) 4.1.5rc2", "4.1.5rc2", 4 },
    { "HYDRA build details:\n    Version: 4.1", NULL, -EINVAL },
    { "mpirun (Open MPI) ", NULL, -EINVAL },
    { "mpirun (Open MPI) latest", NULL, -EINVAL },
    { "", NULL, -EINVAL },
};

START_TEST(version)
{
    char text[OPENMPI_VERSION] = "", found[8];
    bool guarded = true;

    ck_assert_int_eq(openmpi_parse_version(version_rows[_i].text, text, sizeof text, NULL),
                     version_rows[_i].rc);
    if (version_rows[_i].version)
        ck_assert_str_eq(text, version_rows[_i].version);
    (void)openmpi_parse_version("mpirun (Open MPI) 44444444444444", found, sizeof found, NULL);
    ck_assert_int_ge(openmpi_version("", text, sizeof text, &guarded, NULL), 4);
    ck_assert(!guarded); /* by nothing */
}
END_TEST

START_TEST(rows)
{
    ck_assert_str_eq(openmpi_row(-ENOENT)->daemon, "orted");
    ck_assert_str_eq(openmpi_row(4)->daemon, "orted");
    ck_assert_str_eq(openmpi_row(5)->daemon, "prted");
    ck_assert_str_eq(openmpi_row(99)->daemon, "prted");
}
END_TEST

START_TEST(explained)
{
    char said[200] = "";

    ck_assert(!openmpi_explain(NULL, said, sizeof said));
    ck_assert(!openmpi_explain("mpirun noticed that process rank 1 exited on signal 11", said,
                               sizeof said));
    ck_assert(openmpi_explain("--\nORTE was unable to reliably start one or more daemons.\nThis "
                              "usually is caused by:\n",
                              said, sizeof said));
    ck_assert_ptr_nonnull(strstr(said, "could not start its daemon"));
}
END_TEST

static const struct {
    const char *words, *sentence;
} lost_rows[] = {
    { "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[7,0],0] on node "
      "c01\n"
      "  Remote daemon: [[7,0],2] on node c03\n\nThis is usually due to either a failure",
      "mpirun has lost the connection to c03" },
    { "PRTE has lost communication with a remote daemon.\n  Remote daemon: [prterun-c01-9@0,1] on "
      "node c02",
      "mpirun has lost the connection to c02" },
    { "ORTE has lost communication with a remote daemon.\n  Remote daemon: [[7,0],2]\n  x on node "
      "y",
      "mpirun has lost the connection to a node" },
    { "has lost communication with", "mpirun has lost the connection to a node" },
};

/* The node that is lost, before the lease says so. */
START_TEST(lost)
{
    char said[200] = "";

    ck_assert(openmpi_explain(lost_rows[_i].words, said, sizeof said));
    ck_assert_str_eq(said, lost_rows[_i].sentence);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, parsed);
    tcase_add_test(tc, damaged);
    tcase_add_loop_test(tc, only_from, 0, sizeof place_rows / sizeof *place_rows);
    tcase_add_test(tc, sent);
    tcase_add_loop_test(tc, version, 0, sizeof version_rows / sizeof *version_rows);
    tcase_add_test(tc, rows);
    tcase_add_test(tc, explained);
    tcase_add_loop_test(tc, lost, 0, sizeof lost_rows / sizeof *lost_rows);
}

SUITE_MAIN("relay", add_tests)
