/* SPDX-License-Identifier: Apache-2.0 */
/* stack_inspect.c - finds the source line that a Python program executes, with py-spy */
#include "stack_inspect.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/proctree.h"
#include "lib/base/spawn.h"
#include "lib/base/text.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Time limit of a run of py-spy. */
static const int64_t patience_ns = 5 * CLOCK_S;
static const char program[] = "py-spy";

enum { MOST_BYTES = 4 << 20 };

/* ---- running py-spy ---- */

/* Check whether a process runs a Python interpreter. */
static bool is_python(pid_t pid)
{
    char path[64], exe[PATH_MAX];
    const char *name;
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    n = readlink(path, exe, sizeof exe - 1);
    if (n <= 0)
        return false;
    exe[n] = '\0';
    name = strrchr(exe, '/');
    return name && (strncmp(name + 1, "python", 6) == 0 || strncmp(name + 1, "pypy", 4) == 0);
}

/* Return the pid of the process that runs Python: pid itself, or else its first descendant that
 * does, because a shell or a launcher may have started it; 0: none.
 */
static pid_t python_of(pid_t pid)
{
    cleanup_free struct proctree_process *all = NULL;
    int n;

    if (is_python(pid))
        return pid;
    n = proctree_list(pid, &all, NULL);
    for (int i = 0; i < n; i++)
        if (is_python(all[i].pid))
            return all[i].pid;
    return 0;
}

/* Write the path of py-spy in a folder, given by its first n bytes.  Return false if py-spy is not
 * there.
 */
static bool try_folder(const char *folder, size_t n, char *ret, size_t size)
{
    int k = snprintf(ret, size, "%.*s/%s", (int)n, folder, program);

    return n > 0 && n < PATH_MAX && folder[0] == '/' && k > 0 && (size_t)k < size &&
           access(ret, X_OK) == 0;
}

/* Write to ret [size] the path of py-spy in the first folder of a PATH that has it; return false if
 * no folder has it.
 */
static bool try_path(const char *path, char *ret, size_t size)
{
    for (const char *at = path; *at; at += at[strcspn(at, ":")] == ':') {
        size_t n = strcspn(at, ":");

        if (try_folder(at, n, ret, size))
            return true;
        at += n;
    }
    return false;
}

/* Write to ret [size] the path of py-spy in the PATH of process pid; return false if it is not
 * there or the PATH is unknown.
 */
static bool in_its_path(pid_t pid, char *ret, size_t size)
{
    size_t n = 0;
    cleanup_free char *text = proctree_read(pid, "environ", &n);
    const char *path = text ? proctree_value(text, n, "PATH") : NULL;

    return path && try_path(path, ret, size);
}

/* Write to ret [size] the path of py-spy in the folder of the interpreter that process pid was
 * started with.  Return false if it is not there.
 */
static bool beside_it(pid_t pid, char *ret, size_t size)
{
    cleanup_free char *text = proctree_read(pid, "cmdline", NULL);
    const char *end = text ? strrchr(text, '/') : NULL;

    return end && try_folder(text, (size_t)(end - text), ret, size);
}

int stack_inspect_start(struct stack_inspect *l, pid_t rank, int64_t now_ns)
{
    char path[PATH_MAX], number[16];
    const char *argv[] = { path, "dump", "--json", "--nonblocking", "--pid", number, NULL };
    struct spawn s = {
        .argv = argv, .in = -1, .err = -1, .own_group = true, .parent_death_signal = SIGKILL
    };
    pid_t pid = python_of(rank);
    int rc;

    if (pid <= 0 || (!in_its_path(pid, path, sizeof path) && !beside_it(pid, path, sizeof path) &&
                     spawn_find(program, path, sizeof path, NULL) < 0))
        return -ENOENT;
    (void)snprintf(number, sizeof number, "%d", (int)pid);
    s.out = memfd_create("eddis-stack", MFD_CLOEXEC);
    if (s.out < 0)
        return -errno;
    rc = spawn_start(&s, &l->pid, NULL);
    if (rc < 0) {
        (void)close(s.out);
        l->pid = 0;
        return rc;
    }
    l->out = s.out;
    l->deadline_ns = clock_after_ns(now_ns, patience_ns);
    return 0;
}

void stack_inspect_report_soon(const struct stack_inspect *l, int64_t now_ns)
{
    if (l->pid > 0 && now_ns >= l->deadline_ns)
        (void)kill(-l->pid, SIGKILL);
}

/* ---- the output of py-spy ---- */

/* Return a string member of a JSON object, borrowed from it; "": it is missing or not a string. */
static const char *member(const json_t *frame, const char *key)
{
    const char *text = json_string_value(json_object_get(frame, key));

    return text ? text : "";
}

/* Check whether a frame's file belongs to Python or an installed package, not to the user. */
static bool is_of_library(const json_t *frame)
{
    static const char *const parts[] = { "/site-packages/", "/dist-packages/", "/lib/python3",
                                         "/lib64/python3" };
    const char *file = member(frame, "filename");

    return text_has_any(file, parts, sizeof parts / sizeof *parts) ||
           strncmp(file, "<frozen", 7) == 0;
}

/* Check whether a frame is in a library's code that waits for other ranks.  A backward pass waits
 * inside torch.autograd.
 */
static bool is_collective(const json_t *frame)
{
    static const char *const parts[] = { "/torch/distributed/", "/torch/nn/parallel/distributed.py",
                                         "/torch/autograd/graph.py", "/horovod/", "/mpi4py/" };

    return text_has_any(member(frame, "filename"), parts, sizeof parts / sizeof *parts);
}

/* Check whether a frame is of the marks that eddis.torch makes around a wait of the program. */
static bool is_of_marks(const json_t *frame)
{
    return strstr(member(frame, "filename"), "/eddis/torch/_script_waits.py") != NULL;
}

/* Return the list of stack frames, borrowed, of the program's thread "MainThread", or else of the
 * first thread; NULL: there is none.
 */
static const json_t *frames_of(const json_t *threads)
{
    const json_t *found = json_array_get(threads, 0);

    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *t = json_array_get(threads, i);

        if (strcmp(member(t, "thread_name"), "MainThread") == 0) {
            found = t;
            break;
        }
    }
    return json_object_get(found, "frames");
}

/* Write a frame's function, file and line to ret [size], such as "load (train.py:33)". */
static void frame_text(const json_t *frame, char *ret, size_t size)
{
    const char *file = member(frame, "short_filename");

    if (!*file)
        file = member(frame, "filename");
    (void)snprintf(ret, size, "%.48s (%.60s:%lld)", member(frame, "name"), file,
                   (long long)json_integer_value(json_object_get(frame, "line")));
    text_make_plain(ret);
}

/* Write to ret [size] which code a thread executes and which of the user's lines called it, from
 * its frames, innermost first.  Return STACK_COLLECTIVE if the thread is in a collective operation,
 * otherwise STACK_ELSEWHERE; 0, with ret unchanged, if there are no frames.
 */
static int place_of(const json_t *frames, char *ret, size_t size)
{
    const json_t *inner = NULL, *users = NULL;
    bool collective = false;
    char at[128], from[128];

    for (size_t i = 0; !users && i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);

        if (is_of_marks(frame))
            continue;
        inner = inner ? inner : frame;
        if (!is_of_library(frame))
            users = frame;
        collective = collective || (!users && is_collective(frame));
    }
    if (!inner)
        return 0;
    frame_text(inner, at, sizeof at);
    if (users)
        frame_text(users, from, sizeof from);
    (void)snprintf(ret, size, "it %s %s%s%s", collective ? "waits in" : "is in", at,
                   users && users != inner ? ", called in " : "",
                   users && users != inner ? from : "");
    return collective ? STACK_COLLECTIVE : STACK_ELSEWHERE;
}

int stack_inspect_text(const char *text, size_t n, char *ret, size_t size)
{
    cleanup_json json_t *threads = NULL;

    ret[0] = '\0';
    if (json_parse(text, n, program, &threads, NULL) < 0 || !json_is_array(threads))
        return 0;
    return place_of(frames_of(threads), ret, size);
}

int stack_inspect_finish(struct stack_inspect *l, int status, char *ret, size_t size)
{
    cleanup_free char *text = NULL;
    size_t n = 0;
    int code = 0;

    ret[0] = '\0';
    if (status == 0 && lseek(l->out, 0, SEEK_SET) == 0 &&
        file_read_fd(l->out, program, MOST_BYTES, &text, &n, NULL) == 0)
        code = stack_inspect_text(text, n, ret, size);
    (void)close(l->out);
    l->pid = 0;
    return code;
}

const char *stack_inspect_forbidden(int scope, bool root)
{
    if (scope >= 3)
        return "kernel.yama.ptrace_scope is 3, which forbids it to everybody; it cannot be changed "
               "until the next boot";
    if (scope == 2 && !root)
        return "kernel.yama.ptrace_scope is 2, which allows it only to root; set it to 1";
    if (scope == 1 && !root)
        return "kernel.yama.ptrace_scope is 1, so only the process of the job's command itself "
               "can be read; if this is a script, start the program in its last line with exec";
    return NULL;
}

int stack_inspect_scope(void)
{
    static const char path[] = "/proc/sys/kernel/yama/ptrace_scope";
    cleanup_free char *text = NULL;

    return file_read(path, 16, &text, NULL, NULL) == 0 ? atoi(text) : 0;
}

void stack_inspect_drop(struct stack_inspect *l)
{
    if (l->pid <= 0)
        return;
    (void)kill(-l->pid, SIGKILL);
    (void)close(l->out);
    l->pid = 0;
}
