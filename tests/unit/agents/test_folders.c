/* SPDX-License-Identifier: Apache-2.0 */
/* test_folders.c - tests of agents/node/keep/folders.h, with somebody who takes names before us */
#include "agents/node/keep/folders.h"

#include "lib/base/boot_id.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"
#include "own_tmp.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char dir[FOLDERS_BASE];
static struct node_identity id;
static struct tick_page *keeper; /* of every test */
static struct folders made;      /* its folders, once it has made them */

static int races_lost; /* how often somebody else makes the folder in the moment before us */
static char taken[8][FOLDERS_PATH];

int mkdir(const char *path, mode_t mode)
{
    if (races_lost > 0) {
        races_lost--;
        snprintf(taken[races_lost % 8], FOLDERS_PATH, "%s", path);
        ck_assert_int_eq(syscall(SYS_mkdirat, AT_FDCWD, path, 0755), 0);
    }
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

static struct tick_page *page(void)
{
    struct tick_page *p;
    int fd;

    ck_assert_int_eq(tick_create(&p, &fd, NULL), 0);
    (void)close(fd);
    return p;
}

static void make_dir(void)
{
    (void)own_tmp();
    strcpy(dir, "/tmp/eddis-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(node_identity_make(&id, NULL), 0);
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", dir, 1), 0);
    keeper = page();
    made = (struct folders){ .lock = { -1, -1 } };
}

static void let_go(struct folders *f)
{
    for (int i = 0; i < 2; i++) {
        (void)close(f->lock[i]);
        f->lock[i] = -1;
    }
}

static void leave(const struct tick_page *p, struct folders *f)
{
    ck_assert_int_eq(folders_remove(p, NULL), 0);
    ck_assert_int_eq(access(f->run, F_OK), -1);
    ck_assert_int_eq(access(f->shm, F_OK), -1);
    let_go(f);
}

static void remove_dir(void)
{
    leave(keeper, &made);
    ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
}

static void make(struct tick_page *p, const char *runtime_dir, struct folders *ret)
{
    struct eddis_error err = { 0 };

    ck_assert_msg(folders_make(p, &id, runtime_dir, ret, &err) == 0, "%s", err.text);
}

static int find(char (**ret)[FOLDERS_PATH])
{
    bool late;
    int n = folders_find(&id, 1, CLOCK_NEVER, ret, &late, NULL);

    ck_assert_int_ge(n, 0);
    ck_assert(!late);
    return n;
}

/* A folder of this name in `dir` whose mark is ours, as anybody can make one. */
static void plant(const char *name, const char *mark, char ret[FOLDERS_PATH])
{
    cleanup_free char *path = file_join(dir, "%s/mark", name);
    FILE *f;

    snprintf(ret, FOLDERS_PATH, "%.39s/%.23s", dir, name);
    ck_assert_int_eq(mkdir(ret, 0700), 0);
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(mark, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(made_and_removed)
{
    struct stat st;
    char g[FOLDERS_PATH + 8];

    make(keeper, dir, &made);
    ck_assert_int_eq(strncmp(made.run, dir, strlen(dir)), 0);
    ck_assert_int_eq(stat(made.run, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
    snprintf(g, sizeof g, "%s/mark", made.run);
    ck_assert_int_eq(stat(g, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(folders_begin(&made, 1, NULL), 0);
    ck_assert_int_eq(folders_begin(&made, 1, NULL), -EEXIST);
    snprintf(g, sizeof g, "%s/g1", made.shm);
    ck_assert_int_eq(access(g, F_OK), 0);
    folders_end(&made, 1);
    folders_end(&made, 1);
    ck_assert_int_eq(access(g, F_OK), -1);
    snprintf(g, sizeof g, "%s/g1", made.run);
    ck_assert_int_eq(access(g, F_OK), -1);
}
END_TEST

/* Nothing that others can see of a start tells its folders' names. */
START_TEST(unlike_the_mark)
{
    struct tick_page *p[2] = { page(), page() };
    struct folders f[2];
    char part[9];

    for (int i = 0; i < 2; i++)
        make(p[i], dir, &f[i]);
    ck_assert_str_ne(f[0].run, f[1].run);
    ck_assert_str_ne(f[0].shm, f[1].shm);
    for (int i = 0; i + 8 <= NODE_IDENTITY_DIGITS; i++) {
        snprintf(part, sizeof part, "%.8s", id.mark + i);
        ck_assert(!strstr(f[0].run, part) && !strstr(f[0].shm, part));
    }
    for (int i = 0; i < 2; i++)
        leave(p[i], &f[i]);
}
END_TEST

/* What another made first stays his. */
START_TEST(lost_races)
{
    struct eddis_error err = { 0 };
    struct folders other;

    races_lost = 5;
    make(keeper, dir, &made);
    ck_assert_int_eq(races_lost, 0);
    leave(keeper, &made);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(rmdir(taken[i]), 0);
    races_lost = 1000;
    ck_assert_int_eq(folders_make(page(), &id, dir, &other, &err), -EEXIST);
    ck_assert_msg(strstr(err.text, "names were taken"), "%s", err.text);
    races_lost = 0;
}
END_TEST

/* What was removed is there again, in the page too, and what was not is the same as before. */
START_TEST(renewed)
{
    struct folders agents;
    char mark[FOLDERS_PATH + 8], run[FOLDERS_PATH], shm[FOLDERS_PATH];
    struct stat before, now;

    make(keeper, dir, &made);
    ck_assert_int_eq(folders_take(keeper, &agents, NULL), 0);
    ck_assert_int_eq(stat(made.run, &before), 0);
    ck_assert_int_eq(folders_renew(keeper, id.mark, dir, &agents, NULL), 0);

    ck_assert_int_eq(file_remove_tree(made.shm, NULL), 0);
    ck_assert_int_eq(folders_begin(&agents, 1, NULL), -ENOENT);
    ck_assert_int_eq(folders_renew(keeper, id.mark, dir, &agents, NULL), 1);
    ck_assert_str_eq(agents.run, made.run);
    ck_assert_str_eq(agents.shm, made.shm);
    ck_assert_int_eq(stat(made.run, &now), 0);
    ck_assert_int_eq(now.st_ino, before.st_ino);
    ck_assert_int_eq(stat(made.shm, &now), 0);
    ck_assert_int_eq(now.st_mode & 0777, 0700);
    ck_assert_int_eq(flock(made.lock[0], LOCK_EX | LOCK_NB), -1); /* both still hold it */

    ck_assert_int_eq(file_remove_tree(made.run, NULL), 0);
    ck_assert_int_eq(file_remove_tree(made.shm, NULL), 0);
    ck_assert_int_eq(mkdir(made.run, 0700), 0); /* by somebody else */
    ck_assert_int_eq(folders_renew(keeper, id.mark, dir, &agents, NULL), 2);
    ck_assert_str_ne(agents.run, made.run);
    ck_assert_str_eq(tick_folder(keeper, 0), agents.run);
    ck_assert_int_eq(rmdir(made.run), 0);

    snprintf(mark, sizeof mark, "%s/mark", agents.run);
    ck_assert_int_eq(unlink(mark), 0);
    ck_assert_int_eq(folders_renew(keeper, id.mark, dir, &agents, NULL), 0);
    ck_assert_int_eq(access(mark, F_OK), 0);
    ck_assert_int_eq(folders_begin(&agents, 2, NULL), 0);
    strcpy(run, agents.run);
    strcpy(shm, agents.shm);
    let_go(&made);
    leave(keeper, &agents);
    ck_assert_int_eq(access(run, F_OK), -1);
    ck_assert_int_eq(access(shm, F_OK), -1);
}
END_TEST

/* Where the place itself has gone, as XDG_RUNTIME_DIR at the last logout, /tmp takes its place. */
START_TEST(renewed_elsewhere)
{
    char runtime[] = "/tmp/eddis-run-XXXXXX";

    ck_assert_ptr_nonnull(mkdtemp(runtime));
    make(keeper, runtime, &made);
    ck_assert_int_eq(strncmp(made.run, runtime, strlen(runtime)), 0);
    ck_assert_int_eq(file_remove_tree(runtime, NULL), 0);
    ck_assert_int_eq(folders_renew(keeper, id.mark, runtime, &made, NULL), 1);
    ck_assert_int_eq(strncmp(made.run, "/tmp/eddis-", 11), 0);
    ck_assert_str_eq(tick_folder(keeper, 0), made.run);
    ck_assert_int_eq(folders_begin(&made, 2, NULL), 0);
}
END_TEST

START_TEST(taken_by_the_agent)
{
    struct folders agents;

    ck_assert_int_eq(folders_take(keeper, &agents, NULL), -EPROTO);
    make(keeper, dir, &made);
    ck_assert_int_eq(folders_take(keeper, &agents, NULL), 0);
    ck_assert_str_eq(agents.run, made.run);
    ck_assert_str_eq(agents.shm, made.shm);
    (void)close(made.lock[0]); /* the keeper is dead: the agent's lock is there still */
    made.lock[0] = open(made.run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(flock(made.lock[0], LOCK_EX | LOCK_NB), -1);
    let_go(&agents);
}
END_TEST

/* By its mark, and by nothing that another could have put there. */
START_TEST(found)
{
    char(*path)[FOLDERS_PATH] = NULL, foreign[FOLDERS_PATH], link[FOLDERS_PATH],
    other[FOLDERS_PATH], inside[FOLDERS_PATH];
    int n;

    ck_assert_int_eq(find(&path), 0);
    make(keeper, dir, &made);
    plant("eddis-0123456789abcdef", id.mark, foreign);
    plant("victim", id.mark, inside);
    plant("eddis-00000000000000ff", "0123456789abcdef0123456789abcdef", other);
    snprintf(link, sizeof link, "%.39s/eddis-0000000000000001", dir);
    ck_assert_int_eq(symlink(inside, link), 0);
    n = find(&path);
    if (geteuid() == 0) {
        ck_assert_int_eq(n, 3);
        free(path);
        ck_assert_int_eq(chown(foreign, 65534, 65534), 0);
        n = find(&path);
    } else {
        n--; /* the foreign one is ours, too */
    }
    ck_assert_int_eq(n, 2);
    for (int i = 0; i < n; i++)
        ck_assert(strcmp(path[i], link) != 0 && strcmp(path[i], inside) != 0 &&
                  strcmp(path[i], other) != 0);
    free(path);
}
END_TEST

/* Others may have made folders without number. */
START_TEST(found_no_longer)
{
    char(*path)[FOLDERS_PATH] = NULL, ours[FOLDERS_PATH];
    bool late = false;

    plant("eddis-0123456789abcdef", id.mark, ours);
    ck_assert_int_le(folders_find(&id, 1, clock_now_ns(), &path, &late, NULL), 1);
    ck_assert(late);
    free(path);
}
END_TEST

static const struct {
    const char *dir;
    mode_t mode;
} unusable_rows[] = {
    { NULL, 0700 },
    { "relative", 0700 },
    { "/no/such/folder", 0700 },
    { "/tmp/a/path/that/is/much/too/long/for/a/socket", 0700 },
    { dir, 0777 }, /* others may write to it */
};

START_TEST(unusable_runtime_dir)
{
    ck_assert_int_eq(chmod(dir, unusable_rows[_i].mode), 0);
    make(keeper, unusable_rows[_i].dir, &made);
    ck_assert_int_eq(strncmp(made.run, "/tmp/eddis-", 11), 0);
    ck_assert_int_eq(strlen(made.run), 27);
}
END_TEST

static const struct {
    mode_t mode;
    bool unsafe;
} base_rows[] = {
    { 0700, false }, { 0755, false }, { 0777, true }, { 0775, true }, { 01777, false }
};

START_TEST(unsafe)
{
    struct folders f;
    int n = 0;

    snprintf(f.run, sizeof f.run, "/nowhere/eddis-0123456789abcdef");
    snprintf(f.shm, sizeof f.shm, "%.39s/eddis-0123456789abcdef", dir);
    ck_assert_int_eq(chmod(dir, base_rows[_i].mode), 0);
    ck_assert_int_eq(folders_unsafe(&f, &n) != NULL, base_rows[_i].unsafe);
    if (base_rows[_i].unsafe)
        ck_assert_int_eq(n, (int)strlen(dir));
}
END_TEST

/* Leave a file in a folder. */
static void fill(const char *path)
{
    cleanup_free char *name = file_join(path, "file");
    cleanup_fd int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
}

/* What is young and not empty, in use or not of our making stays. */
START_TEST(young_and_foreign_stay)
{
    static const char *const names[] = { "eddis-0123456789abcdef", "eddis-0123", "other",
                                         "eddis-0123456789ABCDEF" };
    char path[4][80];

    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", dir, names[i]);
        ck_assert_int_eq(mkdir(path[i], 0700), 0);
    }
    fill(path[0]);
    make(keeper, dir, &made);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(access(path[i], F_OK), 0);
}
END_TEST

/* Whether both of a start's folders are there; one alone fails. */
static bool there(const struct folders *f)
{
    bool run = access(f->run, F_OK) == 0;

    ck_assert_int_eq(access(f->shm, F_OK) == 0, run);
    return run;
}

/* Where no keeper and no agent lives any more, the next start removes the folders at once, wherever
 * they are: those of the living stay, and those that an agent alone holds.
 */
START_TEST(left_behind)
{
    struct tick_page *p[4] = { page(), page(), page(), page() };
    struct folders f[4], agents;

    make(p[0], NULL, &f[0]);
    make(p[1], dir, &f[1]);
    make(p[2], dir, &f[2]);
    ck_assert(there(&f[0]) && there(&f[1]) && there(&f[2]));
    ck_assert_int_eq(folders_begin(&f[0], 1, NULL), 0);
    ck_assert_int_eq(folders_take(p[2], &agents, NULL), 0);
    for (int i = 0; i < 3; i += 2)
        let_go(&f[i]);
    make(p[3], dir, &f[3]);
    ck_assert(!there(&f[0]) && there(&f[1]) && there(&f[2]) && there(&f[3]));
    let_go(&agents);
    leave(p[3], &f[3]);
    make(p[3] = page(), dir, &f[3]);
    ck_assert(there(&f[1]) && !there(&f[2]));
    leave(p[1], &f[1]);
    leave(p[3], &f[3]);
}
END_TEST

/* What a rank makes use of still, whose keeper and agent are dead, goes after it. */
START_TEST(used_by_a_rank)
{
    static const struct spawn_rung kill_it[] = { { SIGKILL, 60 * CLOCK_S } };
    const char *const argv[] = { "sleep", "1000", NULL };
    struct tick_page *p[2] = { page(), page() };
    struct folders f[2];
    pid_t rank;

    make(p[0], dir, &f[0]);
    ck_assert_int_eq(setenv(NODE_IDENTITY_VARIABLE, id.mark, 1), 0);
    ck_assert_int_eq(
        spawn_start(&(struct spawn){ .argv = argv, .in = -1, .out = -1, .err = -1 }, &rank, NULL),
        0);
    ck_assert_int_eq(unsetenv(NODE_IDENTITY_VARIABLE), 0);
    ck_assert_int_eq(node_identity_make(&id, NULL), 0); /* of another job */
    let_go(&f[0]);
    make(p[1], dir, &f[1]);
    ck_assert(there(&f[0]));
    leave(p[1], &f[1]);
    ck_assert_int_eq(spawn_stop(rank, kill_it, 1, NULL, NULL), 0);
    make(p[1] = page(), dir, &f[1]);
    ck_assert(!there(&f[0]));
    leave(p[1], &f[1]);
}
END_TEST

/* On a file system that several machines share locks may hold on one of them alone, and processes
 * of the others are not seen.
 */
static const struct {
    const char *machine; /* %s: this one */
    bool stays;
} machine_rows[] = {
    { "", false }, /* it could not be read */
    { "\n", false },
    { "\n%s\n", false },
    { "\n00000000-0000-4000-8000-000000000000\n", true },
};

START_TEST(left_on_a_machine)
{
    char own[BOOT_ID_CHARS], mark[NODE_IDENTITY_DIGITS + 2 * BOOT_ID_CHARS], left[FOLDERS_PATH];
    cleanup_free char *machine = NULL;
    char(*path)[FOLDERS_PATH] = NULL;

    boot_id_read(own);
    ck_assert_str_ne(own, "");
    if (strchr(machine_rows[_i].machine, '%'))
        ck_assert_int_ge(asprintf(&machine, "\n%s\n", own), 0);
    snprintf(mark, sizeof mark, "%s%s", id.mark, machine ? machine : machine_rows[_i].machine);
    plant("eddis-0123456789abcdef", mark, left);
    ck_assert_int_eq(find(&path), 1);
    free(path);
    make(keeper, dir, &made);
    ck_assert_int_eq(access(left, F_OK) == 0, machine_rows[_i].stays);
}
END_TEST

START_TEST(marked)
{
    char own[BOOT_ID_CHARS], want[NODE_IDENTITY_DIGITS + BOOT_ID_CHARS + 2];
    cleanup_free char *path = NULL, *text = NULL;

    make(keeper, dir, &made);
    boot_id_read(own);
    snprintf(want, sizeof want, "%s\n%s\n", id.mark, own);
    path = file_join(made.shm, "mark");
    ck_assert_int_eq(file_read(path, 4096, &text, NULL, NULL), 0);
    ck_assert_str_eq(text, want);
}
END_TEST

/* A marked folder of another user's stays, and one with files whose mark somebody has removed. */
START_TEST(left_by_others)
{
    char foreign[FOLDERS_PATH], unmarked[FOLDERS_PATH], path[FOLDERS_PATH + 8];

    if (geteuid() != 0) {
        printf("SKIP left_by_others: only root can make another user's folder\n");
        return;
    }
    plant("eddis-0123456789abcdef", id.mark, foreign);
    ck_assert_int_eq(chown(foreign, 65534, 65534), 0);
    plant("eddis-0123456789abcde0", id.mark, unmarked);
    snprintf(path, sizeof path, "%s/mark", unmarked);
    ck_assert_int_eq(unlink(path), 0);
    fill(unmarked);
    make(keeper, dir, &made);
    ck_assert_int_eq(access(foreign, F_OK), 0);
    ck_assert_int_eq(access(unmarked, F_OK), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, make_dir, remove_dir);
    tcase_add_test(tc, made_and_removed);
    tcase_add_test(tc, unlike_the_mark);
    tcase_add_test(tc, lost_races);
    tcase_add_test(tc, renewed);
    tcase_add_test(tc, renewed_elsewhere);
    tcase_add_test(tc, taken_by_the_agent);
    tcase_add_test(tc, found);
    tcase_add_test(tc, found_no_longer);
    tcase_add_loop_test(tc, unusable_runtime_dir, 0, sizeof unusable_rows / sizeof *unusable_rows);
    tcase_add_loop_test(tc, unsafe, 0, sizeof base_rows / sizeof *base_rows);
    tcase_add_test(tc, young_and_foreign_stay);
    tcase_add_test(tc, left_behind);
    tcase_add_test(tc, used_by_a_rank);
    tcase_add_loop_test(tc, left_on_a_machine, 0, sizeof machine_rows / sizeof *machine_rows);
    tcase_add_test(tc, marked);
    tcase_add_test(tc, left_by_others);
}

SUITE_MAIN("folders", add_tests)
