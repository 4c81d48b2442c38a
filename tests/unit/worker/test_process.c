/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c - the last words of a process that eddis_abort ends, and exits without eddis_close
 */
#include "lib/base/file.h"
#include "lib/eddis.h"
#include "suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE = 7 };

/* A child whose standard output is the write end of a pipe, and fully buffered, does `end`. */
static pid_t child(int out, void (*end)(void))
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        static char buffer[BUFSIZ];

        (void)alarm(60); /* which the library may set anew */
        (void)dup2(out, STDOUT_FILENO);
        (void)setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
        end();
        _exit(1);
    }
    return pid;
}

static int code_of(pid_t pid)
{
    int status = 0;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void speak(void)
{
    (void)fputs("last words", stdout);
    eddis_abort(NULL, CODE);
}

static void *hold(void *arg)
{
    flockfile(arg);
    (void)pause();
    return NULL;
}

/* Another thread is amidst a write that does not end. */
static void speak_in_vain(void)
{
    pthread_t thread;

    (void)fputs("last words", stdout);
    ck_assert_int_eq(pthread_create(&thread, NULL, hold, stdout), 0);
    while (ftrylockfile(stdout) == 0) {
        funlockfile(stdout);
        (void)usleep(1000);
    }
    eddis_abort(NULL, CODE);
}

START_TEST(test_words_are_kept)
{
    char said[32] = "";
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(code_of(child(ends[1], speak)), CODE);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(read(ends[0], said, sizeof said - 1), 10);
    ck_assert_str_eq(said, "last words");
    (void)close(ends[0]);
    (void)close(ends[1]);
}
END_TEST

/* Nobody reads, or the buffer's lock is held: the end comes all the same, with the same code.  A
 * signal that the program has blocked or handles is no hindrance.
 */
START_TEST(test_no_wait_without_end)
{
    char page[4096] = "";
    sigset_t all, old;
    pid_t unread, locked;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], page, sizeof page) > 0)
        ;
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, 0), 0);
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &old);
    unread = child(ends[1], speak);
    locked = child(ends[1], speak_in_vain);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    ck_assert_int_eq(code_of(unread), CODE);
    ck_assert_int_eq(code_of(locked), CODE);
    (void)close(ends[0]);
    (void)close(ends[1]);
}
END_TEST

/* ---- exits of a worker that is alone ---- */

enum place {
    BEFORE_COMMIT,
    BEFORE_STEPS,
    IN_STEP,
    BETWEEN_STEPS,
    IN_LAST_STEP,
    BEHIND_LAST_STEP,
    STOPPED,
    STOPPED_IN_STEP,
    FINISHED,
    AT_END,
    WENT_BACK,
    CLOSED,
    CHILD
};

static const struct leaving {
    enum place place;
    int close_at_exit, status, code;
    bool said;    /* that it is amidst the steps */
    bool unknown; /* how many epochs there are */
} leaving[] = {
    { BEFORE_COMMIT, 1, 0, 0, false },
    { BEFORE_COMMIT, 1, 3, 3, false },
    { BEFORE_STEPS, 1, 0, 1, true },
    { BEFORE_STEPS, 1, 3, 3, false },
    { IN_STEP, 1, 0, 1, true },
    { IN_STEP, 1, 3, 3, false },
    { BETWEEN_STEPS, 1, 0, 1, true },
    { BETWEEN_STEPS, 1, 79, 79, false },
    { STOPPED, 1, 0, 1, true },
    { FINISHED, 1, 0, 0, false },
    { FINISHED, 1, 3, 3, false },
    { FINISHED, 1, 256, 0, false },
    { AT_END, 1, 0, 0, false },
    { AT_END, 1, 3, 3, false },
    { BETWEEN_STEPS, 1, 256, 1, true },
    { WENT_BACK, 1, 0, 1, true },
    { CLOSED, 1, 0, 0, false },
    { CLOSED, 1, 3, 3, false },
    { CHILD, 1, 0, 0, false },
    { IN_STEP, 0, 0, 0, false },
    { IN_STEP, 0, 3, 3, false },

    { BEHIND_LAST_STEP, 1, 0, 1, true },
    { IN_STEP, 1, 0, 1, true, true },

    { BEFORE_COMMIT, 2, 0, 0, false },
    { BEFORE_STEPS, 2, 0, 1, true },
    { IN_STEP, 2, 0, 1, true },
    { BETWEEN_STEPS, 2, 0, 1, true },
    { IN_LAST_STEP, 2, 0, 0, false },
    { BEHIND_LAST_STEP, 2, 0, 0, false },
    { BEHIND_LAST_STEP, 2, 3, 3, false },
    { STOPPED, 2, 0, 0, false },
    { STOPPED_IN_STEP, 2, 0, 0, false },
    { STOPPED_IN_STEP, 2, 3, 3, false },
    { FINISHED, 2, 0, 0, false },
    { AT_END, 2, 0, 0, false },
    { WENT_BACK, 2, 0, 1, true },
    { CLOSED, 2, 0, 0, false },
    { CHILD, 2, 0, 0, false },
    { BEFORE_COMMIT, 2, 0, 0, false, true },
    { BEFORE_STEPS, 2, 0, 0, false, true },
    { IN_STEP, 2, 0, 0, false, true },
    { IN_STEP, 2, 79, 79, false, true },
    { BETWEEN_STEPS, 2, 0, 0, false, true },
    { BETWEEN_STEPS, 2, 256, 0, false, true },
    { BETWEEN_STEPS, 2, 3, 3, false, true },
    { FINISHED, 2, 0, 0, false, true },
};

/* The next step; its number, or -1 when there is none. */
static int64_t one_step(struct eddis *e, bool whole)
{
    struct eddis_step s = { .size = sizeof s };

    if (eddis_step_begin(e, &s, NULL) != 1)
        return -1;
    if (whole && (eddis_wait(e, EDDIS_FOREVER, NULL) < 0 || eddis_step_end(e, NULL, NULL) < 0))
        _exit(90);
    return s.step;
}

static void go_back(struct eddis *e, const char *folder)
{
    struct eddis_checkpoint *c = NULL;

    if (eddis_restore_begin(e, folder, &c, NULL) != 1 || eddis_restore_end(c, NULL) < 0)
        _exit(91);
}

static void save(struct eddis *e, const char *folder)
{
    struct eddis_checkpoint *c = NULL;

    if (eddis_checkpoint_begin(e, folder, &c, NULL) < 0 || eddis_checkpoint_commit(c, 0, NULL) < 0)
        _exit(92);
}

/* Go to that place of a training of four steps. */
static void go_to(enum place place, struct eddis *e, const char *folder)
{
    if (place != BEFORE_COMMIT && place != CHILD && eddis_commit(e, NULL) < 0)
        _exit(93);
    if (place >= IN_STEP && place <= FINISHED)
        (void)one_step(e, place != IN_STEP && place != STOPPED_IN_STEP);
    for (int i = 1; (place == IN_LAST_STEP || place == BEHIND_LAST_STEP) && i < 4; i++)
        (void)one_step(e, place == BEHIND_LAST_STEP || i < 3);
    if (place >= STOPPED && place <= FINISHED && eddis_stop(e) < 0)
        _exit(97);
    if (place == FINISHED && eddis_finish(e, EDDIS_FOREVER, NULL) != 0)
        _exit(98);
    if (place == WENT_BACK)
        save(e, folder);
    while ((place == AT_END || place == WENT_BACK) && one_step(e, true) >= 0)
        ;
    if (place == WENT_BACK)
        go_back(e, folder);
    if (place == CLOSED && eddis_close(e, NULL) < 0)
        _exit(94);
}

static void leave(const struct leaving *l, const char *folder)
{
    struct eddis_options o = { .size = sizeof o, .samples = 8, .epochs = 1, .batch = 2 };
    static struct eddis *e;
    int status = 0;

    (void)alarm(60);
    o.close_at_exit = l->close_at_exit;
    o.epochs = !l->unknown;
    if (eddis_open(&o, &e, NULL) < 0)
        _exit(95);
    go_to(l->place, e, folder);
    if (l->place == CHILD) {
        pid_t pid = fork();

        if (pid == 0)
            exit(5); /* ends nothing but the child */
        if (waitpid(pid, &status, 0) != pid || status != 5 << 8)
            _exit(96);
    }
    exit(l->status);
}

/* What it has said on standard error, in ret [size]. */
static int leaving_run(const struct leaving *l, const char *folder, char *ret, size_t size)
{
    FILE *said = tmpfile();
    int code;
    pid_t pid;

    ck_assert_ptr_nonnull(said);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)dup2(fileno(said), STDERR_FILENO);
        leave(l, folder);
    }
    code = code_of(pid);
    rewind(said);
    ret[fread(ret, 1, size - 1, said)] = '\0';
    (void)fclose(said);
    return code;
}

START_TEST(test_exits)
{
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++) {
        char folder[] = "/tmp/eddis-exits.XXXXXX", said[1024];
        int code;

        ck_assert_ptr_nonnull(mkdtemp(folder));
        code = leaving_run(&leaving[i], folder, said, sizeof said);
        ck_assert_int_eq(file_remove_tree(folder, NULL), 0);
        ck_assert_msg(code == leaving[i].code &&
                          !strstr(said, "before its last step") == !leaving[i].said,
                      "row %zu: %d %s", i, code, said);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, test_exits);
    tcase_add_test(tc, test_words_are_kept);
    tcase_add_test(tc, test_no_wait_without_end);
}

SUITE_MAIN("process", add_tests)
