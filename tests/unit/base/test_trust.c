/* SPDX-License-Identifier: Apache-2.0 */
/* test_trust.c - tests of lib/base/trust.h */
#include "lib/base/trust.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { STRANGER = 54321 };

static struct eddis_error err, warning;

static void set_up(void)
{
    err = warning = (struct eddis_error){ 0 };
}

/* Returns the group of this user's name, which Debian gives to each; -1: there is none. */
static gid_t private_group(void)
{
    const struct passwd *u = getpwuid(geteuid());
    const struct group *g = u ? getgrnam(u->pw_name) : NULL;

    return g && g->gr_gid == u->pw_gid && !g->gr_mem[0] ? g->gr_gid : (gid_t)-1;
}

/* By owner and mode alone.  warns: with a group that is not the user's own. */
static const struct {
    mode_t mode;
    uid_t owner; /* added to this user's */
    int result;
    const char *words;
} rows[] = {
    { S_IFREG | 0644, 0, 0, "" },
    { S_IFREG | 0600, 0, 0, "" },
    { S_IFDIR | 0755, 0, 0, "" },
    { S_IFDIR | 01777, 0, 0, "" }, /* /tmp */
    { S_IFREG | 0664, 0, 1, "mode 0664), and so run programs in your name; chmod g-w it" },
    { S_IFDIR | 0775, 0, 1, "mode 0775), and so run programs in your name; chmod g-w it" },
    { S_IFREG | 0666, 0, -EPERM, "mode 0666); if its contents are right, chmod go-w it" },
    { S_IFREG | 01666, 0, -EPERM, "all users may write" }, /* sticky means nothing here */
    { S_IFREG | 0602, 0, -EPERM, "mode 0602); if its contents are right, chmod o-w it" },
    { S_IFDIR | 0777, 0, -EPERM, "all users may write" },
    { S_IFDIR | 0777, 0, -EPERM, "if that changes nothing, mount it with file_mode=0644" },
    { S_IFREG | 0600, STRANGER, -EPERM, "belongs to user number" },
    { S_IFDIR | 0755, STRANGER, -EPERM, "(mode 0755)" },
};

START_TEST(by_owner_and_mode)
{
    struct stat st = { .st_mode = rows[_i].mode,
                       .st_uid = rows[_i].owner ? rows[_i].owner : geteuid(),
                       .st_gid = STRANGER };
    int rc = trust_stat(&st, "/no/file", &warning, &err);

    ck_assert_int_eq(rc, rows[_i].result);
    ck_assert_msg(strstr(rc < 0 ? err.text : warning.text, rows[_i].words) != NULL, "%s%s",
                  err.text, warning.text);
    ck_assert_int_eq(rc > 0, warning.code != 0);
    ck_assert_int_eq(trust_stat(&st, "/no/file", NULL, NULL), rc);
}
END_TEST

START_TEST(root_and_the_private_group)
{
    gid_t own = private_group();
    struct stat st = { .st_mode = S_IFREG | 0664, .st_uid = 0, .st_gid = own };

    if (own == (gid_t)-1)
        return;
    ck_assert_int_eq(trust_stat(&st, "/no/file", &warning, &err), 0);
    st.st_uid = geteuid();
    ck_assert_int_eq(trust_stat(&st, "/no/file", &warning, &err), 0);
    ck_assert(!trust_is_own(&st) && trust_is_user(0) && !trust_is_user(STRANGER));
}
END_TEST

/* What mends it is what this user can do. */
START_TEST(advice)
{
    static const char run_as[] = "run eddis as user number 54321, or",
                      copy[] = "make a copy of your own with cp -r";
    struct stat st = { .st_mode = S_IFREG | 0644, .st_uid = STRANGER };
    uid_t self = geteuid();

    ck_assert_int_eq(trust_stat(&st, "/no/file", NULL, &err), -EPERM);
    ck_assert_msg(strstr(err.text, self == 0 ? run_as : copy) != NULL, "%s", err.text);
    if (self == 0)
        ck_assert_int_eq(seteuid(STRANGER + 1), 0);
    ck_assert_int_eq(trust_stat(&st, "/no/file", NULL, &err), -EPERM);
    ck_assert_msg(strstr(err.text, copy) && !strstr(err.text, "chown"), "%s", err.text);
    st = (struct stat){ .st_mode = S_IFDIR | 0777 };
    ck_assert_int_eq(trust_stat(&st, "/no", NULL, &err), -EPERM);
    ck_assert_msg(strstr(err.text, "name a folder of your own in it") && !strstr(err.text, "chmod"),
                  "%s", err.text);
    ck_assert_int_eq(seteuid(self), 0);
}
END_TEST

static int make(const char *name, mode_t mode)
{
    cleanup_free char *path = file_join(scratch, "%s", name);

    ck_assert_int_eq(
        mode & S_IFDIR ? mkdir(path, 0700) : file_write_atomic(path, "x", 1, 0600, NULL), 0);
    return chmod(path, mode & 07777);
}

/* The folder that holds it is refused, one above that is told of. */
START_TEST(those_who_can_replace_it)
{
    cleanup_free char *file = NULL, *holder = NULL, *above = NULL, *link = NULL;

    ck_assert_int_eq(make("a", S_IFDIR | 0755), 0);
    ck_assert_int_eq(make("a/b", S_IFDIR | 0755), 0);
    ck_assert_int_eq(make("a/b/c", 0644), 0);
    above = file_join(scratch, "a");
    holder = file_join(scratch, "a/b");
    file = file_join(scratch, "a/b/c");
    link = file_join(scratch, "link");
    ck_assert_int_eq(symlink(file, link), 0);
    ck_assert_int_eq(trust_path(file, &warning, &err), 0);
    ck_assert_int_eq(chmod(above, 0777), 0);
    ck_assert_int_eq(trust_path(file, &warning, &err), 1);
    ck_assert_ptr_nonnull(strstr(warning.text, "all users may replace the contents of"));
    ck_assert_int_eq(trust_holder(holder, &warning, &err), 1);
    ck_assert_int_eq(trust_holder(above, &warning, &err), -EPERM);
    ck_assert_int_eq(chmod(above, 01777), 0);
    ck_assert_int_eq(trust_path(file, &warning, &err), 0);
    ck_assert_int_eq(chmod(holder, 0777), 0);
    ck_assert_int_eq(trust_path(file, &warning, &err), -EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "a/b'"));
    ck_assert_int_eq(trust_path(link, &warning, &err),
                     -EPERM); /* it is what counts, not the link */
    ck_assert_int_eq(chmod(holder, 0755), 0);
    ck_assert_int_eq(chmod(file, 0666), 0);
    ck_assert_int_eq(trust_path(file, &warning, &err), -EPERM);
    ck_assert_int_eq(unlink(file), 0);
    ck_assert_int_eq(trust_path(file, &warning, &err), -ENOENT);
    ck_assert_int_eq(trust_path("/", NULL, &err), 0);
    ck_assert_int_eq(trust_path("/tmp", NULL, &err), 0);
}
END_TEST

/* In a namespace with one mapping root's folders above show as those of a user without a name. */
static int warned_in_namespace(const char *path)
{
    uid_t uid = geteuid() == 0 ? STRANGER : geteuid();
    cleanup_free char *map = NULL;
    cleanup_fd int fd = -1;
    int n = asprintf(&map, "%u %u 1", (unsigned)uid, (unsigned)uid);

    if (n < 0 || (geteuid() == 0 && setresuid(uid, uid, uid) < 0) || prctl(PR_SET_DUMPABLE, 1) ||
        unshare(CLONE_NEWUSER) < 0)
        return -EPERM;
    fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, map, (size_t)n) != n)
        return -EPERM;
    return trust_holder(path, NULL, NULL);
}

START_TEST(in_a_namespace)
{
    cleanup_free char *own = file_join(scratch, "n");
    struct stat st;
    int status;
    pid_t pid;

    ck_assert_int_eq(make("n", S_IFDIR | 0755), 0);
    if (geteuid() == 0) { /* root's own would be a stranger's there */
        ck_assert_int_eq(chown(own, STRANGER, STRANGER) + chown(scratch, STRANGER, STRANGER), 0);
        ck_assert_int_eq(chmod(scratch_base, 0711), 0);
    }
    pid = fork();
    if (pid == 0)
        _exit(-warned_in_namespace(own) & 0x7f);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(stat("/", &st) == 0 && st.st_uid == 0 && WIFEXITED(status));
    if (WEXITSTATUS(status) != EPERM) /* else none may be made here */
        ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* A list's mask shows as the group's bits. */
START_TEST(access_control_list)
{
    static const struct {
        uint32_t version;
        struct {
            uint16_t tag, may;
            uint32_t id;
        } e[5];
    } list = { 2,
               { { 0x01, 7, UINT32_MAX },
                 { 0x02, 7, STRANGER },
                 { 0x04, 5, UINT32_MAX },
                 { 0x10, 7, UINT32_MAX },
                 { 0x20, 5, UINT32_MAX } } };
    cleanup_free char *dir = file_join(scratch, "l");
    struct stat st;

    ck_assert_int_eq(make("l", S_IFDIR | 0755), 0);
    if (setxattr(dir, "system.posix_acl_access", &list, sizeof list, 0) < 0)
        return; /* not this file system */
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0775);
    ck_assert_int_eq(trust_stat(&st, dir, &warning, &err), 1);
    ck_assert_msg(
        strstr(warning.text, "that its access control list names (getfacl), may write to"), "%s",
        warning.text);
    ck_assert_int_eq(chmod(dir, 0755), 0); /* as the sentence says */
    ck_assert(stat(dir, &st) == 0 && trust_stat(&st, dir, NULL, &err) == 0);
}
END_TEST

/* What is read is what was checked, and in a folder of this user's or root's. */
START_TEST(read_by_one_opening)
{
    cleanup_free char *file = NULL, *holder = NULL, *text = NULL;
    uid_t self = geteuid();
    size_t n = 0;

    ck_assert_int_eq(make("h", S_IFDIR | 0755), 0);
    ck_assert_int_eq(make("h/job.yaml", 0644), 0);
    holder = file_join(scratch, "h");
    file = file_join(scratch, "h/job.yaml");
    ck_assert_int_eq(file_read_trusted(file, 10, &warning, &text, &n, &err), 0);
    ck_assert_int_eq(n, 1);
    ck_assert_int_eq(file_read_trusted(holder, 10, NULL, &text, &n, &err), -EISDIR);
    ck_assert_int_eq(chmod(file, 0666), 0);
    ck_assert_int_eq(file_read_trusted(file, 10, NULL, &text, &n, &err), -EPERM);
    ck_assert_int_eq(chmod(file, 0644), 0);
    if (self != 0)
        return;
    ck_assert_int_eq(chown(holder, STRANGER, STRANGER), 0);
    ck_assert_int_eq(trust_path(file, &warning, &err), 1); /* a colleague's folder of checkpoints */
    ck_assert_int_eq(file_read_trusted(file, 10, NULL, &text, &n, &err), -EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "/h' is not trusted: it belongs to user number"));
}
END_TEST

START_TEST(private_files)
{
    cleanup_free char *path = file_join(scratch, "key");
    cleanup_fd int fd = -1, folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_eq(make("key", 0600), 0);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(trust_private(fd, path, &err), 0);
    ck_assert_int_eq(fchmod(fd, 0640), 0);
    ck_assert_int_eq(trust_private(fd, path, &err), -EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "(mode 0640); chmod 600 it"));
    ck_assert_int_eq(trust_private(folder, scratch, &err), -EPERM);
}
END_TEST

/* A log that somebody has put there, or may change, is not written to. */
START_TEST(logs)
{
    cleanup_free char *path = file_join(scratch, "log"), *text = NULL;
    mode_t before = umask(0);
    int fd = file_open_append(path, 0666, &err); /* as a file system may show what it has made */

    (void)umask(before);
    ck_assert_msg(fd >= 0, "%s", err.text);
    ck_assert_int_eq(close(fd), 0);
    ck_assert_int_eq(file_open_append(path, 0600, &err), -EPERM);
    ck_assert_int_eq(file_append(path, "x", 1, 0600, &err), -EPERM);
    ck_assert_int_eq(file_mark_end(path, "x", &err), -EPERM);
    text = scratch_content("log");
    ck_assert_str_eq(text, "");
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_loop_test(tc, by_owner_and_mode, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, advice);
    tcase_add_test(tc, root_and_the_private_group);
    tcase_add_test(tc, those_who_can_replace_it);
    tcase_add_test(tc, in_a_namespace);
    tcase_add_test(tc, access_control_list);
    tcase_add_test(tc, read_by_one_opening);
    tcase_add_test(tc, private_files);
    tcase_add_test(tc, logs);
}

SUITE_MAIN("trust", add_tests)
