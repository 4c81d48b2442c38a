/* SPDX-License-Identifier: Apache-2.0 */
/* program_probe.c - starts the interpreter of the job's command, and reads the versions it prints
 */
#include "program_probe.h"

#include "agents/protocol/program_versions.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/program.h"
#include "lib/base/spawn.h"
#include "lib/base/strlist.h"
#include "lib/base/text.h"
#include "lib/base/user_env.h"
#include "rank_file.h"
#include "shell_setup.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_OUTPUT = 1 << 20 };

#define MARK "eddis-versions "

/* Program for any Python: it prints what is known, first without torch, whose import may crash. */
static const char script[] =
    "import json, platform, sys\n"
    "v = {'python': platform.python_version()[:30], 'torch': '', 'cuda': '', 'nccl': '', "
    "'trouble': ''}\n"
    "def say():\n"
    "    sys.stdout.write('\\n" MARK "' + json.dumps(v) + '\\n')\n"
    "    sys.stdout.flush()\n"
    "say()\n"
    "try:\n"
    "    import torch\n"
    "    v['torch'] = str(torch.__version__)[:60]\n"
    "    hip = getattr(torch.version, 'hip', None)\n"
    "    v['cuda'] = ('ROCm ' + hip if hip else str(torch.version.cuda or ''))[:30]\n"
    "    if v['cuda']:\n"
    "        v['nccl'] = '.'.join(str(n) for n in torch.cuda.nccl.version())[:25]\n"
    "        if hip:\n"
    "            v['nccl'] = 'RCCL ' + v['nccl']\n"
    "except BaseException as e:\n"
    "    absent = isinstance(e, ImportError) and getattr(e, 'name', None) == 'torch'\n"
    "    if not absent and not v['torch']:\n"
    "        v['trouble'] = ascii(type(e).__name__ + ': ' + str(e))[1:200]\n"
    "say()\n";

/* Program for /bin/sh: it fails if the program $0 of the job is not in PATH; $1: addition to the
 * message. If the first line of $0 names a Python as its interpreter, itself or by env, run that
 * with the arguments that the kernel would give it, and the program $2. A line that gives this
 * Python a program, as "-m name", is left alone: that would run.
 */
static const char search[] =
    "path=$(command -v \"$0\" 2>/dev/null) || {\n"
    "    echo \"eddis: no program '$0' in PATH$1; install it, or correct the command\"\n"
    "    exit 127\n"
    "}\n"
    "case $path in */*) ;; *) exit 0 ;; esac\n"
    "[ \"$(head -c 2 -- \"$path\" 2>/dev/null)\" = '#!' ] || exit 0\n"
    "IFS= read -r line <\"$path\" || [ \"$line\" ] || exit 0\n"
    "set -f\n"
    "to=$1 script=$2\n"
    "set -- ${line#??}\n"
    "case ${1##*/} in env) shift; [ \"$1\" != -S ] || shift ;; esac\n"
    "case ${1##*/} in python | python[0-9]* | pypy | pypy[0-9]*) shift ;; *) exit 0 ;; esac\n"
    "for word; do\n"
    "    case $word in -c* | -m* | [!-]*) exit 0 ;; esac\n"
    "done\n"
    "line=${line#??}\n"
    "line=${line#\"${line%%[![:blank:]]*}\"}\n"
    "interpreter=${line%%[[:blank:]]*}\n"
    "argument=${line#\"$interpreter\"}\n"
    "argument=${argument#\"${argument%%[![:blank:]]*}\"}\n"
    "argument=${argument%\"${argument##*[![:blank:]]}\"}\n"
    "if ! command -v \"$interpreter\" >/dev/null 2>&1; then\n"
    "    echo \"eddis: no program '$interpreter'$to, which the first line of '$0' names; install "
    "it, or correct the line\"\n"
    "    exit 127\n"
    "fi\n"
    "exec \"$interpreter\" ${argument:+\"$argument\"} -c \"$script\"\n";

/* Set the variables of a NULL-ended list in an environment; remove those given by NAME alone. */
static void apply(struct strlist *env, char *const *list)
{
    for (; *list; list++) {
        size_t n = strcspn(*list, "=");
        cleanup_free char *name = strndup(*list, n);

        env->failed = env->failed || !name;
        if (name && (*list)[n]) {
            strlist_set(env, name, *list + n + 1);
            continue;
        }
        for (size_t i = 0; name && i < env->n; i++)
            if (strncmp(env->item[i], *list, n) == 0 && env->item[i][n] == '=') {
                free(env->item[i]);
                memmove(&env->item[i], &env->item[i + 1], (env->n - i) * sizeof *env->item);
                env->n--;
                break;
            }
    }
}

/* Append to ret what the child runs behind the lines of setup. */
static void add_command(const struct program_probe *p, const struct rank_file *f,
                        struct strlist *ret)
{
    strlist_addf(ret, "%s", p->python ? f->command[0] : "/bin/sh");
    strlist_addf(ret, "-c");
    strlist_addf(ret, "%s", p->python ? script : search);
    if (p->python)
        return;
    strlist_addf(ret, "%s", f->command[0]);
    strlist_addf(ret, "%s", p->setup ? " after setup" : "");
    strlist_addf(ret, "%s", script);
}

/* Fill argv and env with what the child gets. Return 0 or -ENOMEM. */
static int fill(struct program_probe *p, const struct rank_file *f, struct strlist *argv,
                struct strlist *env, struct eddis_error *err)
{
    cleanup_strlist struct strlist command = { 0 };

    p->python = program_is_python(f->command[0]);
    p->setup = f->setup[0];
    (void)snprintf(p->program, sizeof p->program, "%s", f->command[0]);
    add_command(p, f, &command);
    user_env_add(env);
    apply(env, f->env);
    apply(env, f->rank[0].env);
    apply(env, f->user_env);
    if (env->failed || command.failed)
        return eddis_fail(err, -ENOMEM, "no memory for the check of the program");
    return setup_argv(f->setup, command.item, strlist_value(env->item, "SHELL"), argv, err);
}

int program_probe_start(struct program_probe *p, const char *rank_file, int rank, int64_t within_ns,
                        struct eddis_error *err)
{
    cleanup_strlist struct strlist argv = { 0 };
    cleanup_strlist struct strlist env = { 0 };
    struct rank_file *f = NULL;
    struct spawn s = { .in = -1, .own_session = true, .parent_death_signal = SIGKILL };
    int rc;

    if (p->pid)
        return eddis_fail(err, -EALREADY, "the program is being checked already");
    *p = (struct program_probe){ .out = -1 };
    rc = rank_file_read(rank_file, rank, &f, err);
    if (rc == 0)
        rc = fill(p, f, &argv, &env, err);
    if (rc == 0 && (p->out = memfd_create("eddis-program", MFD_CLOEXEC)) < 0)
        rc = eddis_fail_errno(err, -errno, "cannot make a file in memory");
    if (rc == 0) {
        s.argv = (const char *const *)argv.item;
        s.envp = (const char *const *)env.item;
        s.dir = f->workdir;
        s.out = s.err = p->out;
        rc = spawn_start(&s, &p->pid, err);
    }
    rank_file_free(f);
    if (rc < 0 && p->out >= 0)
        (void)close(p->out);
    p->within_ns = within_ns;
    p->deadline_ns = clock_after_ns(clock_now_ns(), within_ns);
    return rc;
}

/* Check whether the child has printed too much. */
static bool is_full(const struct program_probe *p)
{
    struct stat st;

    return fstat(p->out, &st) == 0 && st.st_size > MAX_OUTPUT;
}

void program_probe_look(struct program_probe *p, int64_t now_ns)
{
    if (p->pid <= 0 || p->killed)
        return;
    p->full = is_full(p);
    if (now_ns < p->deadline_ns && !p->full)
        return;
    p->killed = true;
    (void)kill(-p->pid, SIGKILL); /* its group: it leads a session */
}

/* Borrow the rest of the last line of text that begins so; NULL: there is none. Cut text there. */
static char *find_line(char *text, const char *begins)
{
    char *found = NULL;

    for (char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, begins, strlen(begins)) == 0)
            found = at + strlen(begins);
    if (found)
        found[strcspn(found, "\n")] = '\0';
    return found;
}

/* Borrow the last line of text that is not empty, and cut text there; "": none. */
static char *last_line(char *text)
{
    char *end = text + strlen(text), *line;

    while (end > text && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
        *--end = '\0';
    line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

/* Set err to why the child failed: it was late, a line of setup failed, the program is missing, or
 * the interpreter itself fails. Return -EIO.
 */
static int explain(const struct program_probe *p, int status, char *words, struct eddis_error *err)
{
    char *own = find_line(words, "eddis: ");

    if (p->killed)
        return eddis_fail(err, -EIO,
                          "%s'%s' %s within %g s (3/4 of timeouts.launch); correct it, or allow "
                          "more time with --set timeouts.launch=5m",
                          p->setup ? "setup and " : "", p->program,
                          p->python ? "did not print its versions" : "did not end",
                          (double)p->within_ns / CLOCK_S);
    text_strip_control(own ? own : (own = last_line(words)));
    if (strncmp(own, "setup failed", 12) == 0 || strncmp(own, "no program", 10) == 0)
        return eddis_fail(err, -EIO, "%.300s", own);
    if (WIFSIGNALED(status))
        return eddis_fail(err, -EIO, "'%s' was killed by signal %d: %.200s", p->program,
                          WTERMSIG(status), own);
    return eddis_fail(err, -EIO, "'%s' failed with code %d: %.200s", p->program,
                      WEXITSTATUS(status), *own ? own : "it printed nothing");
}

/* Note in v how the import of torch has ended the child. */
static void note_crash(int status, struct program_versions *v)
{
    if (WIFSIGNALED(status))
        (void)snprintf(v->trouble, sizeof v->trouble, "it ends with signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)snprintf(v->trouble, sizeof v->trouble, "it ends with code %d", WEXITSTATUS(status));
}

/* Store what the child has printed, with spaces for zero bytes, in *ret, which the caller frees.
 * Return 0 or a negative errno; -EIO: it is too much.
 */
static int read_words(const struct program_probe *p, char **ret, struct eddis_error *err)
{
    char *text;
    size_t n;
    int rc;

    if (p->full || is_full(p))
        return eddis_fail(err, -EIO, "%s'%s' printed more than %d MiB; have it print less",
                          p->setup ? "setup or " : "", p->program, MAX_OUTPUT >> 20);
    if (lseek(p->out, 0, SEEK_SET) < 0)
        return eddis_fail_errno(err, -errno, "cannot read the versions");
    rc = file_read_fd(p->out, p->program, 2 * MAX_OUTPUT, &text, &n, err);
    if (rc < 0)
        return rc;
    for (char *zero = text; (zero = memchr(zero, '\0', n - (size_t)(zero - text)));)
        *zero = ' ';
    *ret = text;
    return 0;
}

int program_probe_finish(struct program_probe *p, int status, char **ret, struct eddis_error *err)
{
    cleanup_free char *words = NULL, *kept = NULL;
    struct program_versions v = { 0 };
    const char *found;
    int rc;

    p->pid = 0;
    rc = read_words(p, &words, err);
    (void)close(p->out);
    if (rc < 0)
        return rc;
    if (!(kept = strdup(words)))
        return eddis_fail(err, -ENOMEM, "no memory for the versions");
    found = find_line(kept, MARK);
    if (p->killed || (status != 0 && !found) || (p->python && !found))
        return explain(p, status, words, err);
    if (found && (rc = program_versions_parse(found, strlen(found), &v, err)) < 0)
        return rc;
    if (status != 0) /* the first line was printed, so that only torch can have failed */
        note_crash(status, &v);
    *ret = found ? program_versions_text(&v) : strdup("");
    return *ret ? 0 : eddis_fail(err, -ENOMEM, "no memory for the versions");
}
