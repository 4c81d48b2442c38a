/* SPDX-License-Identifier: Apache-2.0 */
/* start_ssh.c - agents on other machines: ssh -> the user's shell there -> supervisor -> agent
 *
 * The user's known_hosts and configuration apply as for any login; only options are excluded that
 * could block or leave a process behind.  The ssh client dies with the driver.  The supervisor
 * survives the end of its session, since its lease limits it.
 */
#include "start_impl.h"

#include "ssh_messages.h"

#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/program.h"
#include "lib/base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { EXIT_SSH = 255 }; /* exit code of ssh for a failure of its own */

struct job_ssh start_ssh_settings(const struct start_place *at)
{
    static const struct job_ssh nothing;
    const struct job_ssh *own = &at->host->ssh, *all = at->ssh ? at->ssh : &nothing;

    return (struct job_ssh){
        .user = own->user ? own->user : all->user,
        .port = own->port ? own->port : all->port,
        .identity = own->identity ? own->identity : all->identity,
        .command = own->command ? own->command : all->command,
    };
}

bool start_ssh_needed(const struct job_host *h)
{
    return h->ssh.user || h->ssh.port || h->ssh.identity || h->ssh.command;
}

/* Only the node can tell where the supervisor is below a prefix: installed or in a build folder. */
static const char find_keeper[] =
    "p=$1; shift; for d in libexec/eddis cmd/libexec; do "
    "test -x \"$p/$d/eddis-keeper\" && exec \"$p/$d/eddis-keeper\" \"$@\"; done; exit 127";

int start_keeper_command(const struct job_host *h, char *const *args, struct strlist *ret,
                         struct eddis_error *err)
{
    char keeper[PATH_MAX], real[PATH_MAX];
    int rc = h->eddis ? 0 : program_path("eddis-keeper", keeper, sizeof keeper, err);

    if (rc < 0)
        return rc;
    if (h->eddis) {
        strlist_addf(ret, "/bin/sh");
        strlist_addf(ret, "-c");
        strlist_addf(ret, "%s", find_keeper);
        strlist_addf(ret, "eddis");
        strlist_addf(ret, "%s", h->eddis);
    } else {
        strlist_addf(ret, "%s", realpath(keeper, real) ? real : keeper);
    }
    strlist_add_all(ret, args);
    return 0;
}

/* Append the shell command that runs the supervisor on the node to ret.  Return 0, -ENOMEM, or
 * another negative errno if eddis-keeper is not found.
 */
static int remote_command(const struct job_host *h, char *const *args, struct strbuf *ret,
                          struct eddis_error *err)
{
    struct strlist words = { 0 };
    int rc = start_keeper_command(h, args, &words, err);

    strbuf_add(ret, "exec");
    for (size_t i = 0; i < words.n; i++) {
        strbuf_add(ret, " ");
        strbuf_add_quoted(ret, words.item[i]);
    }
    if (rc == 0 && (words.failed || ret->failed))
        rc = eddis_fail(err, -ENOMEM, "no memory for ssh's command");
    strlist_fini(&words);
    return rc;
}

/* Check that a host or user name has only safe characters: alphanumeric, or in `more`.  Return 0 or
 * -EINVAL. ssh expands %h and %r in commands of its configuration, and a leading '-' would be read
 * as an option by programs used in place of ssh. what: "host" or "user".
 */
static int check_word(const char *what, const char *word, const char *more, struct eddis_error *err)
{
    bool good = *word && *word != '-' && strlen(word) < 256;

    for (const char *c = word; *c; c++)
        good = good && (isalnum((unsigned char)*c) || strchr(more, *c));
    return good ? 0
                : eddis_fail(err, -EINVAL, "'%.100s' is not a valid %s name for ssh", word, what);
}

/* Append the ssh command that runs the supervisor with args on the node places[0]; n is 1
 * (start_ops.argv).  Return 0 or a negative error.
 */
static int ssh_argv(const struct start_place *const *places, int n, char *const *args,
                    struct strlist *ret, struct eddis_error *err)
{
    const struct start_place *at = places[0];
    const struct job_host *h = at->host;
    struct job_ssh o = start_ssh_settings(at);
    /* Half the launch time: if the first 32 hosts all fail, there is time for others. */
    int64_t wait_s = at->launch_ns / 2 / CLOCK_S;
    struct strbuf command = { 0 };
    int rc = check_word("host", h->host, "._-:%", err);

    (void)n;
    if (rc == 0 && o.user)
        rc = check_word("user", o.user, "._-@+\\", err);
    if (rc == 0)
        rc = remote_command(h, args, &command, err);
    if (rc == 0) {
        strlist_add_all(ret, o.command);
        if (!o.command)
            strlist_addf(ret, "ssh");
        strlist_addf(ret, "-T");
        strlist_addf(ret, "-oBatchMode=yes");
        strlist_addf(ret, "-oConnectTimeout=%" PRId64,
                     wait_s < 1     ? 1
                     : wait_s > 600 ? (int64_t)600
                                    : wait_s);
        strlist_addf(ret, "-oControlMaster=no"); /* a master would stay and keep the pipe open */
        strlist_addf(ret, "-oForwardX11=no");
        if (o.port)
            strlist_addf(ret, "-p%" PRId64, o.port);
        if (o.user)
            strlist_addf(ret, "-l%s", o.user);
        if (o.identity)
            strlist_addf(ret, "-i%s", o.identity);
        strlist_addf(ret, "--");
        strlist_addf(ret, "%s", h->host);
        strlist_addf(ret, "%s", strbuf_text(&command));
    }
    strbuf_fini(&command);
    return rc;
}

/* Check whether the output says that a program was not found. */
static bool says_not_found(const char *said)
{
    return strcasestr(said, "not found") || strstr(said, "No such file or directory");
}

void start_say_missing(const struct start_place *at, char *ret, size_t size)
{
    const char *prefix = at->host->eddis;
    char keeper[PATH_MAX] = "", real[PATH_MAX];

    if (!prefix && program_path("eddis-keeper", keeper, sizeof keeper, NULL) == 0 &&
        realpath(keeper, real))
        prefix = real;
    (void)snprintf(
        ret, size,
        "no eddis at '%.200s' on %.100s; install eddis %s there, or set its folder with `eddis:`",
        prefix ? prefix : keeper, at->name, EDDIS_VERSION);
}

/* Write why ssh ended before the supervisor answered, to ret.  Return START_AGAIN if the server had
 * too many connections, else START_GIVE_UP (start_ops.judge).
 */
static enum start_verdict ssh_judge(const struct start_place *at, const struct session *p, int code,
                                    char *ret, size_t size)
{
    const struct ssh_message *w = code == EXIT_SSH ? ssh_words_find(p->said) : NULL;
    char last[SESSION_LINE];

    session_last_line(p, last);
    if (w) {
        (void)snprintf(ret, size, "%.100s: ssh: %s (%.200s); %s", at->name, w->reason, last,
                       w->advice);
        return w->again ? START_AGAIN : START_GIVE_UP;
    }
    if (code == EXIT_NOT_FOUND || code == EXIT_NOT_EXECUTABLE ||
        (code == 1 && says_not_found(p->said)))
        start_say_missing(at, ret, size);
    else if (code == EXIT_SSH)
        (void)snprintf(ret, size, "%.100s: ssh: %.300s", at->name,
                       *last ? last : "the login failed and printed nothing");
    else if (code > 128)
        (void)snprintf(ret, size, "%.100s: ssh was killed by signal %d during the login", at->name,
                       code - 128);
    else
        (void)snprintf(ret, size,
                       "%.100s: the login ended with code %d before eddis started: %.250s",
                       at->name, code, *last ? last : "it printed nothing");
    return START_GIVE_UP;
}

/* Check whether ssh's status may mean the end of the session alone, so that the agent still runs:
 * ssh returns the supervisor's exit code, but 255 for its own failures, or it was killed here
 * (start_ops.is_cut).
 */
static bool ssh_is_cut(int status)
{
    return WIFSIGNALED(status) || WEXITSTATUS(status) == EXIT_SSH;
}

const struct start_ops start_ssh = {
    .name = "ssh",
    .begins = "ssh: logging in",
    .logs_in = true,
    .argv = ssh_argv,
    .judge = ssh_judge,
    .is_cut = ssh_is_cut,
};
