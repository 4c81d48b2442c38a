/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_hosts.c - nodes, hostfiles and -H: which hosts they are, and what is no host */
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/hosts/host_name.h"
#include "lib/hosts/host_range.h"
#include "lib/job/job_text.h"
#include "lib/job/types/hostfile.h"
#include "lib/model/job.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include "tests/unit/jobs.h"

#define C "command: [a]\ncheckpoint: {every: 0}\n"

/* "name*workers name ..." */
static char *words_of(const struct job_host *h, size_t n)
{
    struct strbuf b = { 0 };

    for (size_t i = 0; i < n; i++) {
        strbuf_addf(&b, "%s%s%s%s", i ? " " : "", h[i].ssh.user ? h[i].ssh.user : "",
                    h[i].ssh.user ? "@" : "", h[i].host);
        if (h[i].workers)
            strbuf_addf(&b, "*%lld", (long long)h[i].workers);
    }
    return strbuf_steal(&b);
}

/* ---- names ---- */

static const struct {
    const char *host;
    bool ok;
} host_rows[] = {
    { "a", true },
    { "node-1.cluster.local", true },
    { "a_b", true },
    { "a.", true },
    { "10.1.0.7", true },
    { "fd00::7", true },
    { "::1", true },
    { "::ffff:10.0.0.1", true },
    { "2001:db8::", true },
    { "c-", true },
    { "", false },
    { "-oProxyCommand=id", false },
    { "-l", false },
    { "a.-b", false },
    { ".a", false },
    { "a..b", false },
    { "a b", false },
    { "a\tb", false },
    { "a;b", false },
    { "a/b", false },
    { "$(id)", false },
    { "a@b", false },
    { "a:b", false },
    { "a\nb", false },
    { "10.1.0", false },
    { "10.1.0.256", false },
    { "1", false },
    { "fe80::1%eth0", false },
    { "[::1]", false },
    { "h\xc3\xa9", false },
    { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false }, /* 64 */
    { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true },
};

START_TEST(hosts)
{
    int rc = host_name_check(host_rows[_i].host, &err);

    ck_assert_msg(rc == (host_rows[_i].ok ? 0 : -EINVAL), "%s: %d", host_rows[_i].host, rc);
}
END_TEST

START_TEST(long_hosts)
{
    char name[300];

    for (size_t i = 0; i < sizeof name; i++)
        name[i] = i % 10 == 9 ? '.' : 'a';
    name[253] = '\0';
    ck_assert_int_eq(host_name_check(name, NULL), 0);
    name[253] = 'a';
    name[254] = '\0';
    ck_assert_int_eq(host_name_check(name, NULL), -EINVAL);
}
END_TEST

/* No byte that a shell or an option parser would see as more than a letter ever passes. */
START_TEST(every_byte)
{
    for (int c = 1; c < 256; c++) {
        char inside[] = { 'a', (char)c, 'b', '\0' }, first[] = { (char)c, 'b', '\0' };
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        ck_assert_int_eq(host_name_check(inside, NULL) == 0,
                         letter || c == '-' || c == '_' || c == '.');
        ck_assert_int_eq(host_name_check(first, NULL) == 0, letter || c == '_');
        ck_assert_int_eq(host_user_check(first, NULL) == 0, letter || c == '_' || c == '.');
    }
}
END_TEST

/* ---- ranges ---- */

static int collect(void *ctx, const char *name, struct eddis_error *unused)
{
    struct strbuf *b = ctx;

    (void)unused;
    strbuf_addf(b, "%s%s", b->len ? " " : "", name);
    return 0;
}

static const struct {
    const char *pattern, *names; /* names NULL: refused with */
    const char *sentence;
} range_rows[] = {
    { "v100-[1-4,7]", "v100-1 v100-2 v100-3 v100-4 v100-7", NULL },
    { "c[01-04]", "c01 c02 c03 c04", NULL },
    { "c[08-11]", "c08 c09 c10 c11", NULL },
    { "c[8-11]", "c8 c9 c10 c11", NULL },
    { "c[098-100]", "c098 c099 c100", NULL },
    { "c[01-4]", "c01 c02 c03 c04", NULL },
    { "c[0-2]", "c0 c1 c2", NULL },
    { "c[7]", "c7", NULL },
    { "r[1-2]c[1-2]x", "r1c1x r1c2x r2c1x r2c2x", NULL },
    { "[1,2]a", "1a 2a", NULL },
    { "plain", "plain", NULL },
    { "c[1-2", NULL, "a \"[\" without \"]\"; write a range like v100-[1-4,7]" },
    { "c1]", NULL, "a \"]\" without \"[\"; write a range like v100-[1-4,7]" },
    { "c[]", NULL,
      "no number, or one of more than 9 digits, between brackets; write a range like "
      "v100-[1-4,7]" },
    { "c[1,]", NULL,
      "no number, or one of more than 9 digits, between brackets; write a range like "
      "v100-[1-4,7]" },
    { "c[a-b]", NULL,
      "no number, or one of more than 9 digits, between brackets; write a range like "
      "v100-[1-4,7]" },
    { "c[1-]", NULL, "a range that lacks its last number; write a range like v100-[1-4,7]" },
    { "c[1-2-3]", NULL,
      "something other than numbers, '-' and ',' between brackets; write a range like "
      "v100-[1-4,7]" },
    { "c[4-1]", NULL, "the range [4-1] runs backwards; write the lower number first" },
    { "c[1-04]", NULL,
      "the ends of [1-04] have different numbers of digits; write both with the same number of "
      "digits" },
    { "c[1-999999999]", NULL, "more than 16384 hosts; write fewer" },
    { "c[1-9999999999]", NULL,
      "a range that lacks its last number; write a range like v100-[1-4,7]" },
    { "[1][1][1][1][1][1][1][1][1]", NULL,
      "more than 8 brackets in one name; write a range like v100-[1-4,7]" },
};

START_TEST(ranges)
{
    const char *pattern = range_rows[_i].pattern;
    struct strbuf b = { 0 };
    int rc = host_range_expand(pattern, strlen(pattern), collect, &b, &err);

    if (range_rows[_i].names) {
        ck_assert_msg(rc == 0, "%s: %s", pattern, err.text);
        ck_assert_str_eq(strbuf_text(&b), range_rows[_i].names);
    } else {
        ck_assert_int_lt(rc, 0);
        ck_assert_str_eq(err.text, range_rows[_i].sentence);
    }
    strbuf_fini(&b);
}
END_TEST

/* The characters outside the brackets are limited, and the message states the limit itself. */
START_TEST(long_ranges)
{
    char pattern[436];
    struct strbuf b = { 0 };

    memset(pattern, 'a', sizeof pattern);
    memcpy(pattern, "[1]", 3);
    pattern[434] = '\0';
    ck_assert_int_eq(host_range_expand(pattern, 434, collect, &b, &err), 0);
    strbuf_fini(&b);
    pattern[434] = 'a';
    ck_assert_int_eq(host_range_expand(pattern, 435, collect, &b, &err), -EINVAL);
    ck_assert_str_eq(err.text,
                     "a name of more than 431 characters outside its brackets; shorten it");
    strbuf_fini(&b);
}
END_TEST

/* ---- hostfiles and -H ---- */

static const struct {
    const char *text, *hosts, *sentence;
} file_rows[] = {
    { "a\nb\n", "a b", NULL },
    { "a", "a", NULL },
    { "a slots=4\nb:4\nc 4\nd slots = 2 max_slots=8\ne max-slots=3 slots=3\n",
      "a*4 b*4 c*4 d*2 e*3", NULL },
    { "# all\n\n  a  slots=2 # two\r\n\tb\r\n", "a*2 b", NULL },
    { "\xef\xbb\xbf"
      "a:2\n",
      "a*2", NULL },
    { "a slots=1\nb\na slots=2\n", "a*3 b", NULL },
    { "a\na\nA\nb\n", "a*3 b", NULL },
    { "a\na:2", "a*3", NULL },
    { "c[01-03] slots=2\nc02\n", "c01*2 c02*3 c03*2", NULL },
    { "ml@a\nb slots=1", "ml@a b*1", NULL },
    { "ml@a\na", "ml@a*2", NULL },
    { "fd00::1\n[fd00::2]:3\n[fd00::4] slots=2", "fd00::1 fd00::2*3 fd00::4*2", NULL },
    { "10.0.0.1:2", "10.0.0.1*2", NULL },
    { "", NULL, "hosts:1: the file names no host; write one host per line" },
    { "# none\n\n", NULL, "hosts:1: the file names no host; write one host per line" },
    { "a\nb slots=0\n", NULL,
      "hosts:2: \"0\" is not a number of slots from 1 to 1024; write slots=4" },
    { "a slots=", NULL, "hosts:1: \"\" is not a number of slots from 1 to 1024; write slots=4" },
    { "a slots=9999", NULL,
      "hosts:1: \"9999\" is not a number of slots from 1 to 1024; write slots=4" },
    { "a many", NULL, "hosts:1: \"many\" is not a number of slots from 1 to 1024; write slots=4" },
    { "a gpus=4", NULL, "hosts:1: \"gpus\" is unknown; write slots=4" },
    { "a:2 slots=2", NULL, "hosts:1: a second number of slots; write only one" },
    { "a slots=2 slots=2", NULL, "hosts:1: a second number of slots; write only one" },
    { "a 2 3", NULL, "hosts:1: a second number of slots; write only one" },
    { "a slots=4 max_slots=2", NULL,
      "hosts:1: max_slots is less than slots; write slots of at most max_slots" },
    { "a:x", NULL, "hosts:1: \"a:x\" has no number of workers from 1 to 1024 after the colon" },
    { "-oProxyCommand=id", NULL,
      "hosts:1: \"-oProxyCommand=id\" is not a name or address of a host; write letters, digits, "
      "'.', '-' and '_', or an IPv4 or IPv6 address" },
    { "-x@a", NULL,
      "hosts:1: \"-x\" is not a name of a user; write letters, digits, '.', '_' and '-'" },
    { "@a", NULL,
      "hosts:1: \"\" is not a name of a user; write letters, digits, '.', '_' and '-'" },
    { "a\nc[4-1]", NULL, "hosts:2: the range [4-1] runs backwards; write the lower number first" },
    { "a@b\nc@b", NULL,
      "hosts: host \"b\" is listed twice, with different users: \"a\" and \"c\"" },
    { "a slots=1000\na slots=1000", NULL, "hosts: host \"a\" has more than 1024 workers" },
    { "a\xff", NULL, "hosts:1: not text in UTF-8; this must be a list of hosts" },
};

START_TEST(files)
{
    const char *text = file_rows[_i].text;
    struct host_list l = { 0 };
    int rc = hostfile_parse(text, strlen(text), "hosts", &l, &err);

    if (file_rows[_i].hosts) {
        cleanup_free char *words = words_of(l.at, l.n);

        ck_assert_msg(rc == 0, "%s", err.text);
        ck_assert_str_eq(words, file_rows[_i].hosts);
    } else {
        ck_assert_int_eq(rc, -EINVAL);
        ck_assert_str_eq(err.text, file_rows[_i].sentence);
    }
    host_list_fini(&l);
}
END_TEST

START_TEST(binary_files)
{
    struct host_list l = { 0 };

    ck_assert_int_eq(hostfile_parse("a\0b", 3, "hosts", &l, &err), -EINVAL);
    host_list_fini(&l);
    for (unsigned state = 1, round = 0; round < 2000; round++) {
        static const char bits[] = "ab01-[],:@#= \n\t.slots\xc3\xa9";
        char text[60];

        for (size_t i = 0; i < sizeof text; i++) {
            state = state * 1103515245 + 12345;
            text[i] = bits[(state >> 16) % (sizeof bits - 1)];
        }
        if (hostfile_parse(text, sizeof text, "hosts", &l, &err) < 0)
            ck_assert_msg(strncmp(err.text, "hosts:", 6) == 0, "%s", err.text);
        for (size_t i = 0; i < l.n; i++)
            ck_assert(!l.at[i].host || host_name_check(l.at[i].host, NULL) == 0);
        host_list_fini(&l);
    }
}
END_TEST

static const struct {
    const char *text, *hosts, *sentence;
} line_rows[] = {
    { "a:2,b", "a*2 b", NULL },
    { "a, b ,c[01-02]:3", "a b c01*3 c02*3", NULL },
    { "a,a,b:2,a:2", "a*4 b*2", NULL },
    { "v-[1,3-4]", "v-1 v-3 v-4", NULL },
    { "[fd00::7]:2,::1", "fd00::7*2 ::1", NULL },
    { "ml@a:2", "ml@a*2", NULL },
    { "", NULL, "-H: a host is missing; write a list like a:2,c[01-04]" },
    { "a,,b", NULL, "-H: a host is missing; write a list like a:2,c[01-04]" },
    { "a,", NULL, "-H: a host is missing; write a list like a:2,c[01-04]" },
    { "a:0", NULL, "-H: \"a:0\" has no number of workers from 1 to 1024 after the colon" },
    { "a;b", NULL,
      "-H: \"a;b\" is not a name or address of a host; write letters, digits, '.', '-' and '_', or "
      "an IPv4 or IPv6 address" },
};

START_TEST(lines)
{
    int rc;

    read_job(C);
    rc = job_set_text(job, "nodes", line_rows[_i].text, "-H", &err);
    if (line_rows[_i].hosts) {
        cleanup_free char *words = words_of(job->host, job->n_hosts);
        char origin[40];

        ck_assert_msg(rc == 0, "%s", err.text);
        ck_assert_str_eq(words, line_rows[_i].hosts);
        job_origin_text(job, "nodes", origin, sizeof origin);
        ck_assert_str_eq(origin, "-H");
    } else {
        ck_assert_int_eq(rc, -EINVAL);
        ck_assert_str_eq(err.text, line_rows[_i].sentence);
    }
}
END_TEST

/* ---- nodes ---- */

static const char several[] =
    "command: [a]\n"
    "setup: |\n"
    "  module load cuda\n"
    "\n"
    "  source venv/bin/activate\n"
    "nodes:\n"
    "  - a100-1\n"
    "  - host: v100-[1-2]\n"
    "    workers: 2\n"
    "    batch: {max: 64}\n"
    "    devices: [3, 0]\n"
    "    address: fd00::7\n"
    "    emulate: [{rate: 1, a_ms: 2, c_ms: 0.1}, {rate: 2}, {rate: 3}, {rate: 4}]\n"
    "    eddis: /opt/eddis\n"
    "    ssh: {user: ml, port: 2222, identity: ~/.ssh/lab, command: ssh -4}\n"
    "  - {host: \"x\", workers: auto, devices: auto, address: auto, emulate: [], eddis: auto, ssh: "
    "{user: auto}}\n"
    "ssh: {user: root, port: 22, identity: keys/one, command: [my ssh, -v]}\n"
    "checkpoint: {dir: /shared}\n"
    "communication: {interface: 10.1.0.0/24}\n"
    "restarts: 0\n"
    "timeouts: {lease: 1s, hang: none}\n"
    "env_pass: [\"WANDB_*\", HF_TOKEN]\n"
    "logs: {prefix: \"{node} {rank}| \"}\n";

START_TEST(nodes)
{
    cleanup_free char *words = NULL;
    const struct job_ssh *ssh;

    read_job(several);
    words = words_of(job->host, job->n_hosts);
    ssh = &job->host[1].ssh;
    ck_assert_str_eq(words, "a100-1 ml@v100-1*2 ml@v100-2*2 x");
    ck_assert_str_eq(job->setup[0], "module load cuda");
    ck_assert_str_eq(job->setup[1], "source venv/bin/activate");
    ck_assert_ptr_null(job->setup[2]);
    ck_assert_uint_eq(job->host[2].n_device, 2);
    ck_assert_int_eq(job->host[2].device[0], 3);
    ck_assert_str_eq(job->host[2].address, "fd00::7");
    ck_assert_uint_eq(job->host[2].n_emulate, 4);
    ck_assert(job->host[2].emulate[3].rate == 4);
    ck_assert_str_eq(job->host[2].eddis, "/opt/eddis");
    ck_assert_ptr_null(job->host[3].device);
    ck_assert_ptr_null(job->host[3].address);
    ck_assert_ptr_null(job->host[3].emulate);
    ck_assert_ptr_null(job->host[3].eddis);
    ck_assert_str_eq(ssh->user, "ml");
    ck_assert_int_eq(ssh->port, 2222);
    ck_assert_str_eq(ssh->identity, "~/.ssh/lab");
    ck_assert_str_eq(ssh->command[1], "-4");
    ssh = &job->host[0].ssh; /* the job's */
    ck_assert(!ssh->user && !ssh->port && !ssh->identity && !ssh->command);
    ck_assert_str_eq(job->ssh.user, "root");
    ck_assert_int_eq(job->ssh.port, 22);
    ck_assert_str_eq(job->ssh.identity, "/home/ada/digits/keys/one");
    ck_assert_str_eq(job->ssh.command[0], "my ssh");
    ck_assert_str_eq(job->communication.interface, "10.1.0.0/24");
    ck_assert_int_eq(job->restarts, 0);
    ck_assert_int_eq(job->timeouts.node_lost_ns, 1500 * CLOCK_MS);
    ck_assert_int_eq(job->timeouts.heartbeat_ns, 125 * CLOCK_MS);
    ck_assert_int_eq(job->timeouts.hang_ns, CLOCK_NEVER);
    ck_assert_str_eq(job->env_pass[1], "HF_TOKEN");
}
END_TEST

START_TEST(nothing_said)
{
    read_job("command: [a]\n");
    ck_assert_ptr_null(job->host);
    ck_assert_uint_eq(job->n_hosts, 0);
    ck_assert_ptr_null(job->hostfile);
    ck_assert_ptr_null(job->setup[0]);
    ck_assert_ptr_null(job->ssh.user);
    ck_assert_int_eq(job->ssh.port, 0);
    ck_assert_ptr_null(job->ssh.identity);
    ck_assert_str_eq(job->ssh.command[0], "ssh");
    ck_assert_ptr_null(job->ssh.command[1]);
    ck_assert_int_eq(job->restarts, 3);
    ck_assert_int_eq(job->timeouts.node_lost_ns, 15 * CLOCK_S);
    ck_assert_int_eq(job->timeouts.heartbeat_ns, CLOCK_S);
    ck_assert_int_eq(job->timeouts.hang_ns, 300 * CLOCK_S);
    ck_assert_str_eq(job->communication.interface, "auto");
    ck_assert_str_eq(job->logs.prefix, "auto");
}
END_TEST

/* An optional member of emulate that the first entry gives holds for the others, unless they say 0.
 */
START_TEST(jitter_again)
{
    static const char text[] = "command: [t]\nnodes: [{host: a, emulate: [{rate: 1, a_ms: 2, c_ms: "
                               "0.1%s}, {rate: 2}, {rate: 3, jitter: %s}]}]\n";
    static const struct {
        const char *first, *third;
        double jitter[3];
    } rows[] = { { "", "0.1", { 0, 0, 0.1 } }, { ", jitter: 0.05", "0", { 0.05, 0.05, 0 } } };

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char first[300];

        snprintf(first, sizeof first, text, rows[k].first, rows[k].third);
        read_job(first);
        read_again();
        for (int i = 0; i < 3; i++)
            ck_assert_double_eq(job->host[0].emulate[i].jitter, rows[k].jitter[i]);
    }
}
END_TEST

/* The text of a job reads as the same hosts. */
START_TEST(text_again)
{
    char before[1000], after[1000];

    read_job(several);
    job_value_text(job, "nodes", before, sizeof before);
    read_again();
    job_value_text(job, "nodes", after, sizeof after);
    ck_assert_str_eq(before, after);
    ck_assert_str_eq(
        before, "[a100-1, {host: v100-1, workers: 2, batch: {max: 64}, devices: [3, 0], address: "
                "\"fd00::7\", emulate: [{rate: 1, a_ms: 2, c_ms: 0.1}, {rate: 2, a_ms: 2, c_ms: "
                "0.1}, {rate: 3, a_ms: 2, c_ms: 0.1}, {rate: 4, a_ms: 2, c_ms: 0.1}], eddis: "
                "/opt/eddis, ssh: {user: ml, port: 2222, identity: \"~/.ssh/lab\", command: [ssh, "
                "\"-4\"]}}, {host: v100-2, workers: 2, batch: {max: 64}, devices: [3, 0], address: "
                "\"fd00::7\", emulate: [{rate: 1, a_ms: 2, c_ms: 0.1}, {rate: 2, a_ms: 2, c_ms: "
                "0.1}, {rate: 3, a_ms: 2, c_ms: 0.1}, {rate: 4, a_ms: 2, c_ms: 0.1}], eddis: "
                "/opt/eddis, ssh: {user: ml, port: 2222, identity: \"~/.ssh/lab\", command: [ssh, "
                "\"-4\"]}}, x]");
}
END_TEST

START_TEST(largest)
{
    read_job(C "nodes: [\"r[1-128]c[1-128]\"]");
    ck_assert_uint_eq(job->n_hosts, JOB_MAX_HOSTS);
    ck_assert_str_eq(job->host[JOB_MAX_HOSTS - 1].host, "r128c128");
    read_again();
    ck_assert_uint_eq(job->n_hosts, JOB_MAX_HOSTS);
    ck_assert_str_eq(job->host[129].host, "r2c2");
}
END_TEST

static const struct {
    const char *text, *sentence;
} bad_rows[] = {
    { "nodes: [a, b, A]",
      "3:15: node \"A\" is listed a second time, first on line 3; remove one, or write "
      "its workers" },
    { "nodes:\n- c[1-3]\n- c2",
      "5:3: node \"c2\" is listed a second time, first on line 4; remove one, or "
      "write its workers" },
    { "nodes: [\"a:2\"]", "3:9: \"nodes\": \"a:2\" has a number after a colon; write {host: a, "
                          "workers: 2}" },
    { "nodes: [-oProxyCommand=x]",
      "3:9: \"nodes\": \"-oProxyCommand=x\" is not a name or address of a host; write letters, "
      "digits, '.', '-' and '_', or an IPv4 or IPv6 address" },
    { "nodes: {a: 1}", "3:9: unknown key \"a\" in \"nodes\"; the known keys are drop, hosts" },
    { "nodes: {hosts: {a: 1}}", "3:16: \"nodes\" is a map; write a list like [a100-1, {host: "
                                "\"v100-[1-4]\", workers: 2}]" },
    { "nodes:", "3:7: \"nodes\" is empty; write a list like [a100-1, {host: \"v100-[1-4]\", "
                "workers: 2}]" },
    { "nodes: [{workers: 2}]", "3:9: \"host\" is missing in an entry of \"nodes\"; add it, as in "
                               "{host: v100-1, workers: 2}" },
    { "nodes: [[a]]", "3:9: a host of \"nodes\" is a list; write its name, or a map like {host: "
                      "v100-1, workers: 2}" },
    { "nodes: [a, ~]", "3:12: a host of \"nodes\" is empty; write its name, or a map like {host: "
                       "v100-1, workers: 2}" },
    { "nodes: [{host: a, worker: 2}]",
      "3:19: unknown key \"worker\" in \"nodes\"; did you mean \"workers\"?" },
    { "nodes: [{host: a, ssh: {usr: x}}]",
      "3:25: unknown key \"usr\" in \"nodes.ssh\"; did you mean \"user\"?" },
    { "nodes: [{host: a, ssh: x}]",
      "3:24: \"nodes.ssh\" is \"x\"; write its keys, as in ssh: {user: ...}" },
    { "nodes: [{host: a, workers: 0}]", "3:28: \"nodes.workers\" is \"0\"; write a whole number "
                                        "from 1 to 1024 or auto" },
    { "nodes: [{host: a, batch: {maxx: 4}}]",
      "3:27: unknown key \"maxx\" in \"nodes.batch\"; did you mean \"max\"?" },
    { "nodes: [{host: a, batch.max: 4}]",
      "3:19: unknown key \"batch.max\" in \"nodes\"; write batch: {max: 4}" },
    { "nodes: [{host: a, batch: {max: 0}}]", "3:32: \"nodes.batch.max\" is \"0\"; write a whole "
                                             "number from 1 to 1000000000 or auto" },
    { "nodes: [{host: a, devices: [0, 0]}]", "3:32: \"nodes.devices\" names device 0 twice" },
    { "nodes: [{host: a, devices: []}]", "3:28: \"nodes.devices\" is a list; write a list of "
                                         "whole numbers from 0, like [0, 1], or auto" },
    { "nodes: [{host: a, devices: [-1]}]", "3:29: \"nodes.devices\" is \"-1\"; write a list of "
                                           "whole numbers from 0, like [0, 1], or auto" },
    { "nodes: [{host: a, address: b}]",
      "3:28: \"nodes.address\": \"b\" is not an address; write one "
      "like 10.1.0.7 or fd00::7, or auto" },
    { "nodes: [{host: a, eddis: ../x}]", "3:26: \"nodes.eddis\": \"../x\" is not a path on another "
                                         "machine; write one that begins with /, or auto" },
    { "nodes: [{host: a, python: venv/bin/python3}]",
      "3:27: \"nodes.python\": \"venv/bin/python3\" is not the path of a Python; write one like "
      "/opt/venv/bin/python3, or auto" },
    { "nodes: [{host: a, python: /opt/venv}]",
      "3:27: \"nodes.python\": \"/opt/venv\" is not the path of a Python; write one like "
      "/opt/venv/bin/python3, or auto" },
    { "nodes: [{host: a, python: python3}]",
      "3:27: \"nodes.python\": \"python3\" is not the path of a Python; write one like "
      "/opt/venv/bin/python3, or auto" },
    { "nodes: [{host: a, python: /opt/python3/}]",
      "3:27: \"nodes.python\": \"/opt/python3/\" is not the path of a Python; write one like "
      "/opt/venv/bin/python3, or auto" },
    { "nodes: [{host: a, python: \"\"}]", "3:27: \"nodes.python\": \"\" is not the path of a "
                                          "Python; write one like /opt/venv/bin/python3, or auto" },
    { "nodes: [{host: a, python: }]", "3:27: \"nodes.python\" is empty; write a text or auto" },
    { "nodes: [{host: a, python: [/a/python]}]",
      "3:27: \"nodes.python\" is a list; write a text or auto" },
    { "nodes: [{host: a, python: \"/a\\n/python\"}]",
      "3:27: \"nodes.python\": a control character; write plain text" },
    { "nodes: [{host: a, python: /b/python, python: /c/python}]",
      "3:38: the key \"python\" is given a second time, first on line 3; remove one" },
    { "nodes: [{host: a, env: {A=B: x}}]",
      "3:25: \"A=B\" in \"nodes.env\" is not a name; write letters, digits and _" },
    { "nodes: [{host: a, env: {A: 1, A: 2}}]",
      "3:31: the key \"A\" is given a second time, first on line 3; remove one" },
    { "nodes: [{host: a, env: {RANK: 1}}]",
      "3:25: \"RANK\" is set by eddis itself; choose another name" },
    { "nodes: [{host: a, env: {A: }}]",
      "3:25: \"A\" in \"nodes.env\" has no value; write \"\" for an empty one" },
    { "nodes: [{host: a, env: [A]}]", "3:24: \"nodes.env\" is a list; write a map like {NAME: "
                                      "value}" },
    { "nodes: [{host: a, setup: {b: c}}]",
      "3:26: \"nodes.setup\" is a map; write a list of lines, like [source venv/bin/activate], or "
      "a text of them" },
    { "nodes: [{host: a, ssh: {user: -l}}]", "3:31: \"nodes.ssh.user\": \"-l\" is not a name of a "
                                             "user; write letters, digits, '.', '_' and "
                                             "'-'" },
    { "nodes: [{host: a, ssh: {command: []}}]",
      "3:34: \"nodes.ssh.command\" names no program; write a list like [python3, train.py]" },
    { "nodes: [{host: a, emulate: [{rate: 1}]}]",
      "3:29: \"a_ms\" is missing in the first entry of \"nodes.emulate\"; add it, as in {rate: "
      "1.0, a_ms: 2, c_ms: 0.1}" },
    { "nodes: [{host: a, devices: [2], emulate: [{rate: 1, a_ms: 1, c_ms: 1}]}]",
      "3:1: node \"a\" is set to use device 2, but the number of devices emulated on it is 1, "
      "counted from 0" },
    { "nodes: [{host: a, workers: 2, emulate: [{rate: 1, a_ms: 1, c_ms: 1}]}]",
      "3:1: node \"a\" is set to have 2 workers, but has 1 emulated device, each for one worker" },
    { "nodes: [a]\nhostfile: b", "4:1: \"nodes\" and \"hostfile\" exclude each other; remove one" },
    { "hostfile: /nonexistent/hosts", NULL },
    { "hostfile: /dev/zero", NULL },
    { "hostfile: [a]", "3:11: \"hostfile\" is a list; write a path or none" },
    { "ssh: {port: 65536}", "3:13: \"ssh.port\" is \"65536\"; write a whole number from 1 to "
                            "65535 or auto" },
    { "ssh: {user: \"a b\"}", "3:13: \"ssh.user\": \"a b\" is not a name of a user; write letters, "
                              "digits, '.', '_' and '-'" },
    { "ssh: {command: \"\"}",
      "3:16: \"ssh.command\" names no program; write a list like [python3, train.py]" },
    { "communication: {interface: \"-x\"}",
      "3:28: \"communication.interface\": \"-x\" is not a network; write an interface's name, an "
      "address of this machine or a network like 10.1.0.0/24, or auto" },
    { "communication: {interface: 10.1.0.0/33}",
      "3:28: \"communication.interface\": \"10.1.0.0/33\" is not a network; write an interface's "
      "name, an address of this machine or a network like 10.1.0.0/24, or auto" },
    { "env_pass: [A B]", "3:12: \"env_pass\": \"A B\" is not a pattern of names; write letters, "
                         "digits and _, with * for any characters" },
    { "env_pass: [\"A=1\"]", "3:12: \"env_pass\": \"A=1\" is not a pattern of names; write "
                             "letters, digits and _, with * for any characters" },
    { "progress: {pattern: \"step ([0-9]+\"}",
      "3:21: \"progress.pattern\": \"step ([0-9]+\" is not a POSIX extended regular expression: "
      "Unmatched ( or \\(, at its column 6" },
    { "progress: {pattern: \"\u00e9(a)[z\"}",
      "3:21: \"progress.pattern\": \"\u00e9(a)[z\" is not a POSIX extended regular expression: "
      "Unmatched [, [^, [:, [., or [=, at its column 5" },
    { "progress: {pattern: \"(a)b{2,1}\"}",
      "3:21: \"progress.pattern\": \"(a)b{2,1}\" is not a POSIX extended regular expression: "
      "Invalid content of \\{\\}, at its column 5" },
    { "progress: {pattern: \"step [0-9]+\"}",
      "3:21: \"progress.pattern\": \"step [0-9]+\" has no group; put the number of the step in "
      "one, as in \"step[ =]+([0-9]+)\"" },
    { "progress: {samples: 0}",
      "3:21: \"progress.samples\" is \"0\"; write a whole number from 1 to 1000000000 or none" },
    { "progress: {steps: -1}",
      "3:19: \"progress.steps\" is \"-1\"; write a whole number from 1 to 1000000000 or none" },
    { "logs: {prefix: \"{host}\"}",
      "3:16: \"logs.prefix\": \"{host}\" is unknown; write {node} or {rank}" },
    { "logs: {prefix: \"\\e[1m\"}",
      "3:16: \"logs.prefix\": a control character; write plain text" },
    { "setup: {a: b}", "3:8: \"setup\" is a map; write a list of lines, like [source "
                       "venv/bin/activate], or a text of them" },
    { "restarts: 1001", "3:11: \"restarts\" is \"1001\"; write a whole number from 0 to 1000" },
};

START_TEST(bad)
{
    char text[400];

    snprintf(text, sizeof text, C "%s", bad_rows[_i].text);
    check_refused(text, bad_rows[_i].sentence);
}
END_TEST

/* On several hosts there is no folder for checkpoints unless it is named: whoever asks for them is
 * told so, and who does not has none.
 */
START_TEST(checkpoints)
{
    check_refused("command: [a]\nnodes: [a, b]\ncheckpoint: {every: 7}\n",
                  "2:1: checkpoints on several hosts need a folder that "
                  "all hosts share; set \"checkpoint.dir\" to it");
    read_job("command: [a]\nnodes: [a]\n");
    ck_assert_int_eq(job->checkpoint.every.ns, 300 * CLOCK_S);
    ck_assert_int_eq(job_set_text(job, "nodes", "a,b", "-H", &err), 0);
    ck_assert_int_eq(job_check(job, &err), 0);
    ck_assert(job_period_is_never(&job->checkpoint.every));
    ck_assert_int_eq(job_set(job, "checkpoint.every", "9", "--set", &err), 0);
    ck_assert_int_eq(job_check(job, &err), -EINVAL);
    ck_assert_msg(strncmp(err.text, "-H: checkpoints on several", 26) == 0, "%s", err.text);
    ck_assert_int_eq(job_set(job, "checkpoint.dir", "/x", "--set", &err), 0);
    ck_assert_int_eq(job_check(job, &err), 0);
    ck_assert_int_eq(job->checkpoint.every.steps, 9);
    ck_assert_int_eq(job->checkpoint.every.ns, 0);
    read_job("command: [a]\nnodes: [a, b]\ncheckpoint: {dir: /x}\n");
    ck_assert_int_eq(job->checkpoint.every.ns, 300 * CLOCK_S);
}
END_TEST

/* Steps or a time, and nothing that is neither. */
START_TEST(checkpoint_period)
{
    static const char *const wrong[] = { "5 m", "-1m", "5x", "1e400s", "0s", "none", "-1" };

    read_job("command: [a]\ncheckpoint: {every: 90s}\n");
    ck_assert_int_eq(job->checkpoint.every.ns, 90 * CLOCK_S);
    ck_assert_int_eq(job->checkpoint.every.steps, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char want[200];

        (void)snprintf(
            want, sizeof want,
            "--set: \"checkpoint.every\" is \"%s\"; write a whole number of steps from 0 "
            "to 1000000000 or a duration from 1s to 3650d, like 30s, 5m or 2h",
            wrong[i]);
        ck_assert_int_eq(job_set(job, "checkpoint.every", wrong[i], "--set", &err), -EINVAL);
        ck_assert_str_eq(err.text, want);
    }
    ck_assert_int_eq(job->checkpoint.every.ns, 90 * CLOCK_S);
}
END_TEST

START_TEST(hostfile_key)
{
    cleanup_free char *path = file_join(scratch, "hosts"), *text = NULL, *words = NULL;
    char origin[80];

    scratch_write("hosts", "a slots=2\nb\n", 0600);
    ck_assert_msg(job_parse(C "hostfile: hosts\nnodes: []", strlen(C) + 25, "train.yaml", scratch,
                            &job, &err) == 0,
                  "%s", err.text);
    ck_assert_str_eq(job->hostfile, path);
    job_origin_text(job, "nodes", origin, sizeof origin);
    ck_assert_str_eq(origin, path);
    text = job_text(job);
    /* a flag takes the place of the file's key, whichever it was */
    ck_assert_int_eq(job_set_text(job, "nodes", "x", "-H", &err), 0);
    ck_assert_ptr_null(job->hostfile);
    ck_assert_uint_eq(job->n_hosts, 1);
    ck_assert_int_eq(job_set(job, "hostfile", path, "--hostfile", &err), 0);
    ck_assert_str_eq(job->host[0].host, "a");
    ck_assert_int_eq(job_set(job, "hostfile", "none", "--set", &err), 0);
    ck_assert_uint_eq(job->n_hosts, 0);
    ck_assert_int_eq(truncate(path, 0), 0);
    ck_assert_int_eq(job_set(job, "hostfile", path, "--hostfile", &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "hosts:1: the file names no host"));
    read_job(text); /* the hosts are written out, the file is not read again */
    words = words_of(job->host, job->n_hosts);
    ck_assert_str_eq(words, "a*2 b");
    ck_assert_ptr_null(job->hostfile);
}
END_TEST

/* A flag for the lease alone moves what hangs on it; what was written stays. */
START_TEST(follow)
{
    read_job(C);
    ck_assert_int_eq(job_set(job, "timeouts.lease", "2s", "--set", &err), 0);
    ck_assert_int_eq(job_check(job, &err), 0);
    ck_assert_int_eq(job->timeouts.heartbeat_ns, 250 * CLOCK_MS);
    ck_assert_int_eq(job->timeouts.node_lost_ns, 3 * CLOCK_S);
    ck_assert_int_eq(job_set(job, "timeouts.node_lost", "2s", "--set", &err), 0);
    ck_assert_int_eq(job_check(job, &err), -EINVAL);
    ck_assert_int_eq(job_set(job, "timeouts.lease", "1s", "--set", &err), 0);
    ck_assert_int_eq(job_check(job, &err), 0);
    ck_assert_int_eq(job->timeouts.node_lost_ns, 2 * CLOCK_S);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    jobs_add(tc);
    tcase_add_loop_test(tc, hosts, 0, sizeof host_rows / sizeof *host_rows);
    tcase_add_test(tc, long_hosts);
    tcase_add_test(tc, every_byte);
    tcase_add_loop_test(tc, ranges, 0, sizeof range_rows / sizeof *range_rows);
    tcase_add_test(tc, long_ranges);
    tcase_add_loop_test(tc, files, 0, sizeof file_rows / sizeof *file_rows);
    tcase_add_test(tc, binary_files);
    tcase_add_loop_test(tc, lines, 0, sizeof line_rows / sizeof *line_rows);
    tcase_add_test(tc, nodes);
    tcase_add_test(tc, nothing_said);
    tcase_add_test(tc, text_again);
    tcase_add_test(tc, jitter_again);
    tcase_add_test(tc, largest);
    tcase_add_loop_test(tc, bad, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, checkpoints);
    tcase_add_test(tc, checkpoint_period);
    tcase_add_test(tc, hostfile_key);
    tcase_add_test(tc, follow);
}

SUITE_MAIN("job_hosts", add_tests)
