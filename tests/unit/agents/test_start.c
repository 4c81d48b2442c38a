/* SPDX-License-Identifier: Apache-2.0 */
/* test_start.c - starts through a shell in the place of ssh: what it says and does is each test's
 * script. */
#include "agents/driver/start/localhost.h"
#include "agents/driver/start/ssh_messages.h"
#include "agents/driver/start/start.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/suite.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 64 };

/* The model's strings can be written to. */
#define TEXT(s) ((char *)(uintptr_t)(s))

/* n hosts "c0", "c1", ... that the same script logs in to; its $dir is a folder of this test. */
static struct hosts {
    struct job_host host[MOST];
    char name[MOST][16];
    char *command[6], *script;
    struct starter *s;
    struct start_event event[MOST]; /* the last of each host */
    int n_events[MOST];
} h;

static void setup(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
}

static void close_hosts(void)
{
    if (h.s)
        ck_assert_int_eq(starter_clean(h.s, 0, clock_now_ns() + 10 * CLOCK_S, NULL), 0);
    starter_close(h.s);
    free(h.script);
    h = (struct hosts){ 0 };
}

/* Begin, or begin anew, with these hosts. */
static void open_hosts(int n, const char *script)
{
    struct start_options o = { .host = h.host, .n = n, .launch_ns = 60 * CLOCK_S };

    close_hosts();
    ck_assert_int_gt(asprintf(&h.script, "dir='%s'; %s", scratch, script), 0);
    h.command[0] = TEXT("/bin/sh");
    h.command[1] = TEXT("-c");
    h.command[2] = h.script;
    h.command[3] = TEXT("fake-ssh");
    for (int i = 0; i < n; i++) {
        snprintf(h.name[i], sizeof h.name[i], "c%d", i);
        h.host[i] = (struct job_host){ .host = h.name[i],
                                       .eddis = scratch,
                                       .ssh = { .command = h.command } };
    }
    ck_assert_int_eq(starter_open(&o, &h.s, NULL), 0);
}

static void add(int i, const char *input, int64_t wait_ns)
{
    static const char *const args[] = { "1000000000", "0123456789abcdef0123456789abcdef", NULL };
    struct eddis_error err = { 0 };

    ck_assert_msg(starter_add(h.s, i, args, input, clock_now_ns() + wait_ns, &err) == 0, "%s",
                  err.text);
}

/* One round of a driver's loop. */
static void turn(void)
{
    struct pollfd fd = { .fd = starter_fd(h.s), .events = POLLIN };
    int64_t next = starter_next_ns(h.s), most = clock_now_ns() + 20 * CLOCK_MS;
    struct start_event e;

    (void)poll(&fd, 1, clock_poll_ms(next < most ? next : most));
    starter_turn(h.s, clock_now_ns());
    while (starter_event(h.s, &e)) {
        h.event[e.host] = e;
        h.n_events[e.host]++;
    }
}

/* Wait for an event of a host, which must be this one. */
static void wait_event(int i, enum start_event_type type)
{
    int64_t end = clock_now_ns() + 60 * CLOCK_S;

    while (h.n_events[i] == 0) {
        ck_assert_msg(clock_now_ns() < end, "no event of host %d", i);
        turn();
    }
    ck_assert_msg(h.event[i].type == type, "event %d of %s: %s", (int)h.event[i].type, h.name[i],
                  h.event[i].text);
}

static void wait_waiting(const char *part)
{
    int64_t end = clock_now_ns() + 60 * CLOCK_S;
    char text[1024] = "";

    while (!strstr(text, part)) {
        ck_assert_msg(clock_now_ns() < end, "'%s' is not in '%s'", part, text);
        turn();
        (void)starter_waiting(h.s, text, sizeof text);
    }
}

/* Add the first host, whose next event must be this. */
static void expect(const char *input, enum start_event_type type)
{
    add(0, input, 60 * CLOCK_S);
    wait_event(0, type);
}

/* ---- failures ---- */

static const struct {
    const char *script, *says, *not_says;
} failures[] = {
    { "echo 'ml@c0: Permission denied (publickey).' >&2; exit 255",
      "c0: ssh: permission denied (ml@c0: Permission denied (publickey).); log in there" },
    { "echo 'ssh: Could not resolve hostname c0: Name or service not known' >&2; exit 255",
      "c0: ssh: no such host", "tried" },
    { "echo 'ssh: connect to host c0 port 22: Connection refused' >&2; exit 255",
      "connection refused" },
    { "echo 'ssh: connect to host c0 port 22: No route to host' >&2; exit 255",
      "no route to the host" },
    { "echo 'ssh: connect to host c0 port 22: Connection timed out' >&2; exit 255", "no answer" },
    { "echo 'Host key verification failed.' >&2; exit 255", "its host key is unknown" },
    /* the final failure counts, not the limit's words behind it */
    { "echo 'Host key verification failed.\nConnection closed by 10.1.0.7' >&2; exit 255",
      "its host key is unknown" },
    { "printf 'welcome\\n\\033[31mno luck\\r\\n' >&2; exit 255", "c0: ssh: ?[31mno luck" },
    { "exit 255", "c0: ssh: the login failed and printed nothing" },
    { "exit 127", "no eddis at" },
    { "exit 126", "set its folder with `eddis:`" },
    { "echo 'exec: Command not found.' >&2; exit 1", "no eddis at" },
    { "echo hm >&2; exit 9", "the login ended with code 9 before eddis started: hm" },
    { "exit 0", "the login ended with code 0 before eddis started: it printed nothing" },
    { "kill -TERM $$", "ssh was killed by signal 15 during the login" },
    { "echo 'eddis-keeper 0.0.9' >&2; sleep 60", "node c0 runs eddis 0.0.9 and this is eddis" },
    { "echo 'eddis-keeper ' >&2; sleep 60", "install one version on both" },
};

START_TEST(failure)
{
    const char *text = h.event[0].text;

    open_hosts(1, failures[_i].script);
    expect("secret", START_FAILED);
    ck_assert_msg(strstr(text, failures[_i].says), "%s", text);
    if (failures[_i].not_says)
        ck_assert_ptr_null(strstr(text, failures[_i].not_says));
}
END_TEST

/* Whatever answers without being eddis of this version gets no secret. */
START_TEST(no_secret_for_strangers)
{
    static const char *const scripts[] = {
        "echo 'eddis-keeper 9.9.9' >&2; cat > $dir/got",
        "echo eddis-keeper " EDDIS_VERSION "; cat > $dir/got", /* a shell's noise */
        "echo ' eddis-keeper " EDDIS_VERSION "' >&2; cat > $dir/got",
        "cat > $dir/got",
    };

    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        cleanup_free char *got = NULL;

        open_hosts(1, scripts[i]);
        add(0, "secret", CLOCK_S / 2);
        while (h.n_events[0] == 0)
            turn();
        ck_assert_int_ne(h.event[0].type, START_ENDED);
        close_hosts();
        got = scratch_content("got");
        ck_assert_msg(!got || !*got, "%s", scripts[i]);
    }
}
END_TEST

START_TEST(missing_program)
{
    open_hosts(1, "true");
    h.command[0] = TEXT("/no/such/ssh");
    expect(NULL, START_FAILED);
    ck_assert_ptr_nonnull(strstr(h.event[0].text, "c0: cannot execute '/no/such/ssh'"));
}
END_TEST

/* As a host, and as the user there. */
START_TEST(hostile)
{
    static const char *const words[] = {
        "-oProxyCommand=touch pwned", "-x", "a b", "a;b", "$(id)", "`id`", "a\nb", "", "a'b", "a/b"
    };

    for (size_t i = 0; i < sizeof words / sizeof *words * 2; i++) {
        const char *word = words[i / 2];

        open_hosts(1, "touch $dir/run");
        *(i % 2 ? &h.host[0].ssh.user : &h.host[0].host) = TEXT(word);
        expect(NULL, START_FAILED);
        ck_assert_msg(!scratch_content("run"), "%s '%s'", i % 2 ? "user" : "host", word);
    }
}
END_TEST

/* ---- limits of connections ---- */

START_TEST(again)
{
    open_hosts(
        1, "echo x >> $dir/tries; if [ $(wc -l < $dir/tries) -lt 3 ]; then "
           "echo 'kex_exchange_identification: Connection closed by remote host' >&2; exit 255; "
           "fi; echo eddis-keeper " EDDIS_VERSION " >&2; cat > $dir/got");
    expect("secret", START_ENDED);
    ck_assert_int_eq(h.event[0].code, 0);
    scratch_expect("tries", "x\nx\nx\n");
    scratch_expect("got", "secret");
}
END_TEST

/* However many others it serves: only timeouts.launch ends that, with what to do. */
START_TEST(always_busy)
{
    open_hosts(1, "echo 'Connection closed by 10.1.0.7 port 22' >&2; exit 255");
    add(0, NULL, CLOCK_S);
    wait_event(0, START_LATE);
    ck_assert_ptr_nonnull(
        strstr(h.event[0].text, "the server accepts no more connections, attempt "));
    ck_assert_ptr_nonnull(strstr(h.event[0].text, "; raise MaxStartups there"));
}
END_TEST

START_TEST(most_at_a_time)
{
    cleanup_free char *seen = NULL;
    int most = 0, n = 0;

    open_hosts(
        MOST,
        "mkdir $dir/at-$$; ls -d $dir/at-* | wc -l >> $dir/seen; sleep 0.2; rmdir $dir/at-$$; "
        "echo 'Permission denied' >&2; exit 255");
    for (int i = 0; i < MOST; i++)
        add(i, NULL, 60 * CLOCK_S);
    for (int i = 0; i < MOST; i++)
        wait_event(i, START_FAILED);
    seen = scratch_content("seen");
    for (char *line = strtok(seen, "\n"); line; line = strtok(NULL, "\n"), n++)
        if (atoi(line) > most)
            most = atoi(line);
    ck_assert_int_eq(n, MOST);
    ck_assert_int_le(most, START_LOGINS);
    ck_assert_int_gt(most, 1);
}
END_TEST

/* ---- starts that work ---- */

#define ANSWER "echo eddis-keeper " EDDIS_VERSION " >&2; "

START_TEST(large_input)
{
    size_t n = 3 << 20;
    cleanup_free char *input = malloc(n + 1);

    memset(input, 'x', n);
    input[n] = '\0';
    open_hosts(1, ANSWER "sleep 0.3; cat > $dir/got");
    expect(input, START_ENDED);
    scratch_expect("got", input);
}
END_TEST

START_TEST(waiting_says_why)
{
    char text[1024];

    open_hosts(3,
               ANSWER "cat > /dev/null; echo 'eddis-agent 0.1.0 started' >&2; echo 'eddis-agent: "
                      "cannot reach driver at 10.1.0.7:41233: connection refused' >&2; sleep 60");
    for (int i = 0; i < 3; i++)
        add(i, "secret", 60 * CLOCK_S);
    wait_waiting("c0 (started, cannot reach driver at 10.1.0.7:41233");
    wait_waiting("c1 (started, cannot reach driver");
    wait_waiting("c2 (started, cannot reach driver");
    starter_registered(h.s, 0);
    ck_assert_int_eq(starter_waiting(h.s, text, sizeof text), 2);
    ck_assert_int_eq(strncmp(text, "agents 1/3 up; waiting for c1 (", 31), 0);
}
END_TEST

START_TEST(late)
{
    open_hosts(2, "sleep 60");
    add(0, NULL, CLOCK_S / 5);
    add(1, NULL, 60 * CLOCK_S);
    wait_event(0, START_LATE);
    ck_assert_ptr_nonnull(strstr(h.event[0].text, "the agent of c0 was not up within 60 s"));
    ck_assert_ptr_nonnull(strstr(h.event[0].text, "ssh: logging in"));
    ck_assert_int_eq(h.n_events[1], 0);
}
END_TEST

/* Kill what stands for ssh, each of which has left its pid. */
static int kill_sessions(void)
{
    DIR *dir = opendir(scratch);
    struct dirent *e;
    int n = 0;

    while ((e = readdir(dir)))
        if (strncmp(e->d_name, "up-", 3) == 0 && kill(atoi(e->d_name + 3), SIGTERM) == 0)
            n++;
    (void)closedir(dir);
    return n;
}

START_TEST(cut_before_and_after)
{
    open_hosts(2,
               "echo 'Connection to c0 closed.' >&2; " ANSWER
               "cat > /dev/null; touch $dir/up-$$; echo 'eddis-agent: briefed' >&2; exec sleep 60");
    add(0, "secret", 60 * CLOCK_S);
    add(1, "secret", 60 * CLOCK_S);
    wait_waiting("c0 (started, briefed), c1 (started, briefed)");
    starter_registered(h.s, 1);
    for (int n = 0; n < 2; n += kill_sessions())
        clock_sleep_until_ns(clock_now_ns() + 10 * CLOCK_MS);
    wait_event(0, START_CUT);
    wait_event(1, START_CUT);
    ck_assert_str_eq(h.event[1].text, "its ssh session has ended: Connection to c0 closed.");
    wait_waiting("c0 (started, but its ssh session has ended)");
    starter_registered(h.s, 0); /* it has come nevertheless */
}
END_TEST

#define AGENT ANSWER "cat > /dev/null; echo 'eddis-agent: briefed' >&2; "

/* A farewell, then: the session ends by itself; does not; has ended before. */
START_TEST(leaves)
{
    static const char *const scripts[] = { AGENT "sleep 0.3; exit 0", AGENT "sleep 60",
                                           AGENT "sleep 0.1; exit 255" };
    static const char *const whys[] = { "", "its supervisor was lost" };

    for (size_t i = 0; i < 6; i++) {
        const char *why = whys[i % 2];

        open_hosts(1, scripts[i / 2]);
        add(0, "secret", 60 * CLOCK_S);
        wait_waiting("c0 (started, briefed)");
        starter_registered(h.s, 0);
        if (i / 2 == 2)
            wait_event(0, START_CUT);
        h.n_events[0] = 0;
        starter_left(h.s, 0, why, clock_now_ns());
        wait_event(0, START_ENDED);
        if (*why)
            ck_assert_str_eq(h.event[0].text, "agent has left: its supervisor was lost");
        add(0, NULL, 60 * CLOCK_S); /* may be started again */
    }
}
END_TEST

/* A lost one is dropped without a word, and its old session cannot disturb the new one. */
START_TEST(dropped)
{
    open_hosts(1, AGENT "sleep 60");
    for (int i = 0; i < 3; i++) {
        add(0, "secret", 60 * CLOCK_S);
        wait_waiting("c0 (started, briefed)");
        starter_registered(h.s, 0);
        starter_drop(h.s, 0);
    }
    ck_assert_int_eq(h.n_events[0], 0);
    starter_drop(h.s, 0);
}
END_TEST

START_TEST(abandoned)
{
    open_hosts(3, "sleep 60");
    for (int i = 0; i < 3; i++)
        add(i, "secret", 60 * CLOCK_S);
    turn();
    starter_abandon(h.s);
    for (int i = 0; i < 3; i++)
        wait_event(i, START_ENDED);
}
END_TEST

/* How it was lost is a sentence of its own; its exit code would say nothing. */
START_TEST(lost_words)
{
    open_hosts(1,
               ANSWER "cat > /dev/null; echo 'eddis-agent: agent heard nothing from eddis-run for "
                      "2.1 s' >&2; exit 3");
    expect("secret", START_ENDED);
    ck_assert_str_eq(h.event[0].text, "agent heard nothing from eddis-run for 2.1 s");
}
END_TEST

/* After its end a host can be started again, and what it said before is forgotten. */
START_TEST(once_more)
{
    struct eddis_error err = { 0 };
    const char *const args[] = { "x", NULL };

    open_hosts(1, ANSWER "cat > /dev/null; echo 'eddis-agent: no luck' >&2; exit 5");
    for (int i = 0; i < 3; i++) {
        h.n_events[0] = 0;
        add(0, "secret", 60 * CLOCK_S);
        ck_assert_int_eq(starter_add(h.s, 0, args, NULL, 0, &err), -16);
        wait_event(0, START_ENDED);
        ck_assert_str_eq(h.event[0].text, "agent exited 5: no luck");
        ck_assert_int_eq(h.event[0].code, 5);
    }
}
END_TEST

/* The command that ssh hands to the user's shell survives every prefix. */
START_TEST(quoting)
{
    static const char *const prefixes[] = { "plain", "with space", "it's", "a\"b$HOME`id`\\n;#&|" };
    static const char *const layouts[] = { "libexec/eddis", "cmd/libexec" };

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes * 2; i++) {
        const char *prefix = prefixes[i / 2], *layout = layouts[i % 2];
        cleanup_free char *base = file_join(scratch, "%s%zu", prefix, i);
        cleanup_free char *folder = file_join(base, "%s", layout);
        cleanup_free char *keeper = file_join(folder, "eddis-keeper");
        static const char text[] =
            "#!/bin/sh\n" ANSWER "echo \"eddis-keeper: $# $1 $2\" >&2; exit 1\n";

        ck_assert_int_eq(file_mkdirs(folder, 0700, NULL), 0);
        ck_assert_int_eq(file_write_atomic(keeper, text, strlen(text), 0700, NULL), 0);
        /* the last argument is what a server would give to the shell */
        open_hosts(1, "for a; do :; done; exec /bin/sh -c \"$a\"");
        h.host[0].eddis = base;
        expect(NULL, START_ENDED);
        ck_assert_str_eq(h.event[0].text,
                         "agent exited 1: 2 1000000000 0123456789abcdef0123456789abcdef");
    }
}
END_TEST

START_TEST(arguments)
{
    static const char *const words[] = {
        "-T\n",   "-oBatchMode=yes\n", "-oConnectTimeout=30\n", "-p2222\n", "-lml\n",
        "-i/k\n", "--\nc0\n"
    };
    struct job_ssh all = { .user = TEXT("nobody"), .port = 22, .identity = TEXT("/k") };
    struct start_options o = { .n = 1, .ssh = &all, .launch_ns = 60 * CLOCK_S };
    cleanup_free char *got = NULL;

    open_hosts(1, "printf '%s\\n' \"$@\" > $dir/got; exit 1");
    starter_close(h.s);
    h.host[0].ssh.user = TEXT("ml");
    h.host[0].ssh.port = 2222;
    o.host = h.host;
    ck_assert_int_eq(starter_open(&o, &h.s, NULL), 0);
    expect(NULL, START_FAILED);
    got = scratch_content("got");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(strstr(got, words[i]), "%s is not in %s", words[i], got);
}
END_TEST

/* ---- this machine ---- */

START_TEST(here)
{
    static const char *const yes[] = { "localhost", "LOCALHOST",   "127.0.0.1",   "127.9.9.9",
                                       "::1",       "c07.cluster", "C07.Cluster", "c07" };
    static const char *const no[] = { "",
                                      "c0",
                                      "c07.other",
                                      "c070",
                                      "127.evil.com",
                                      "127.0.0",
                                      "192.0.2.1",
                                      "2001:db8::1",
                                      "localhost.evil.com",
                                      "c07.cluster.org",
                                      "0.0.0.0" };

    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        ck_assert_msg(localhost_is_named(yes[i], "c07.cluster"), "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        ck_assert_msg(!localhost_is_named(no[i], "c07.cluster"), "%s", no[i]);
    ck_assert(!localhost_is_named("c07.cluster", "c07"));
    ck_assert(!localhost_is_named("a", ""));
}
END_TEST

START_TEST(own_addresses)
{
    struct ifaddrs *all = NULL;
    char own[256] = "", name[NI_MAXHOST];

    ck_assert_int_eq(gethostname(own, sizeof own - 1), 0);
    ck_assert(localhost_is(own));
    ck_assert_int_eq(getifaddrs(&all), 0);
    for (struct ifaddrs *i = all; i; i = i->ifa_next) {
        int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
        socklen_t size = family == AF_INET ? 16 : 28;

        if (family != AF_INET && family != AF_INET6)
            continue;
        ck_assert_int_eq(getnameinfo(i->ifa_addr, size, name, sizeof name, NULL, 0, NI_NUMERICHOST),
                         0);
        if (!strchr(name, '%')) /* of one link: the interface is not part of the address */
            ck_assert_msg(localhost_is(name), "%s", name);
    }
    freeifaddrs(all);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, setup, close_hosts);
    tcase_add_loop_test(tc, failure, 0, (int)(sizeof failures / sizeof *failures));
    tcase_add_test(tc, no_secret_for_strangers);
    tcase_add_test(tc, missing_program);
    tcase_add_test(tc, hostile);
    tcase_add_test(tc, again);
    tcase_add_test(tc, always_busy);
    tcase_add_test(tc, most_at_a_time);
    tcase_add_test(tc, large_input);
    tcase_add_test(tc, waiting_says_why);
    tcase_add_test(tc, late);
    tcase_add_test(tc, cut_before_and_after);
    tcase_add_test(tc, leaves);
    tcase_add_test(tc, dropped);
    tcase_add_test(tc, abandoned);
    tcase_add_test(tc, lost_words);
    tcase_add_test(tc, once_more);
    tcase_add_test(tc, quoting);
    tcase_add_test(tc, arguments);
    tcase_add_test(tc, here);
    tcase_add_test(tc, own_addresses);
}

SUITE_MAIN("start", add_tests)
