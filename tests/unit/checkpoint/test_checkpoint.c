/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint.c - tests of lib/checkpoint/checkpoint.h */
#include "suite.h"

#include "lib/base/file.h"
#include "lib/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static char weights[5000];
static struct eddis_error err;
static struct fence fence;
static const struct checkpoint_meta meta = { 0, 42, 1437, 256, 2, 1 };

static void set_up(void)
{
    strcpy(dir, "/tmp/eddis-checkpoint-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    for (size_t i = 0; i < sizeof weights; i++)
        weights[i] = (char)(i * 7);
    ck_assert_int_eq(fence_open(dir, "test", 1, &fence, &err), 0);
}

static void tear_down(void)
{
    ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
}

/* Borrows "<dir>/<fmt>" until the next call but seven. */
static const char *in_dir(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *in_dir(const char *fmt, ...)
{
    static char path[8][512];
    static int turn;
    char *p = path[++turn % 8];
    int n = snprintf(p, sizeof *path, "%s/", dir);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p + n, sizeof *path - (size_t)n, fmt, ap);
    va_end(ap);
    return p;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

/* Two ranks and files of the program's own, one of them in a subfolder. */
static int save(int64_t step, int keep)
{
    struct checkpoint *zero, *one;
    char *list;

    ck_assert_msg(checkpoint_begin(dir, step, &fence, &zero, &err) == 0, "%s", err.text);
    ck_assert_msg(checkpoint_join(dir, step, 1, &one, &err) == 0, "%s", err.text);
    ck_assert_int_eq(checkpoint_put(zero, 0, "weights", weights, sizeof weights, NULL), 0);
    ck_assert_int_eq(checkpoint_put(one, 1, "weights", weights, 10, NULL), 0);
    ck_assert_int_eq(checkpoint_put(one, 1, "empty", NULL, 0, NULL), 0);
    write_text(in_dir("step-%08lld.g1.part/optimizer.pt", (long long)step), "own");
    ck_assert_int_eq(mkdir(in_dir("step-%08lld.g1.part/dcp", (long long)step), 0777), 0);
    write_text(in_dir("step-%08lld.g1.part/dcp/.metadata", (long long)step), "large");
    list = checkpoint_list(one);
    ck_assert_int_eq(checkpoint_add_list(zero, list, strlen(list), NULL), 0);
    free(list);
    checkpoint_abandon_take(one);
    return checkpoint_commit_take(zero, &meta, keep, &err);
}

static void found_step(int64_t step)
{
    struct checkpoint *c = NULL;
    char want[512];

    ck_assert_int_eq(checkpoint_open_newest(dir, &c, NULL, &err), step >= 0);
    if (step < 0)
        return;
    snprintf(want, sizeof want, "%s/step-%08lld", dir, (long long)step);
    ck_assert_str_eq(checkpoint_folder(c), want);
    checkpoint_close(c);
}

START_TEST(there_and_back)
{
    struct checkpoint *c;
    char got[sizeof weights];

    found_step(-1);
    ck_assert_msg(save(500, 3) == 0, "%s", err.text);
    ck_assert(!is_there(in_dir("step-00000500.g1.part")));
    found_step(500);
    ck_assert_msg(checkpoint_open(in_dir("step-00000500"), true, &c, &err) == 0, "%s", err.text);
    ck_assert_int_eq(checkpoint_meta(c)->step, 500);
    ck_assert_int_eq(checkpoint_meta(c)->samples, 1437);
    ck_assert_int_eq(checkpoint_size(c, 0, "weights"), sizeof weights);
    ck_assert_int_eq(checkpoint_size(c, 1, "weights"), 10);
    ck_assert_int_eq(checkpoint_size(c, 2, "weights"), -ENOENT);
    ck_assert_int_eq(checkpoint_get(c, 0, "weights", got, sizeof got, &err), 0);
    ck_assert_mem_eq(got, weights, sizeof got);
    ck_assert_int_eq(checkpoint_get(c, 1, "empty", NULL, 0, NULL), 0);
    ck_assert_int_eq(checkpoint_get(c, 0, "weights", got, 10, &err), -EMSGSIZE);
    ck_assert_int_eq(checkpoint_get(c, 0, "bias", got, 10, &err), -ENOENT);
    ck_assert_int_eq(checkpoint_get(c, 0, "../x", got, 10, &err), -ENOENT);
    write_text(in_dir("step-00000500/rank-0001.weights"), "0123456789");
    ck_assert_int_eq(checkpoint_get(c, 1, "weights", got, 10, &err), -EBADMSG);
    checkpoint_close(c);
    checkpoint_close(NULL);
    ck_assert_int_eq(checkpoint_open(in_dir("step-00000600"), true, &c, &err), -ENOENT);
}
END_TEST

START_TEST(names)
{
    static const char *const bad[] = { "", ".", "..", "-x", ".x", "a/b", "a b", "a\n" };
    char longest[CHECKPOINT_MAX_NAME + 2];
    struct checkpoint *c;

    memset(longest, 'x', sizeof longest);
    longest[CHECKPOINT_MAX_NAME + 1] = '\0';
    ck_assert_int_eq(checkpoint_begin(dir, 1, &fence, &c, NULL), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(checkpoint_put(c, 0, bad[i], "x", 1, NULL), -EINVAL);
    ck_assert_int_eq(checkpoint_put(c, 0, longest, "x", 1, NULL), -EINVAL);
    longest[CHECKPOINT_MAX_NAME] = '\0';
    ck_assert_int_eq(checkpoint_put(c, 0, longest, "x", 1, NULL), 0);
    ck_assert_int_eq(checkpoint_put(c, -1, "a", "x", 1, NULL), -EINVAL);
    ck_assert_int_eq(checkpoint_put(c, 0, "a", "x", 1, NULL), 0);
    ck_assert_int_eq(checkpoint_put(c, 0, "a", "y", 1, NULL), -EEXIST);
    ck_assert_int_eq(checkpoint_put(c, 12345, "a", "x", 1, NULL), 0);
    ck_assert_int_eq(checkpoint_commit_take(c, &meta, 3, &err), 0);
    ck_assert(is_there(in_dir("step-00000001/rank-0000.a")));
    ck_assert(is_there(in_dir("step-00000001/rank-12345.a")));
    ck_assert_int_eq(checkpoint_join(dir, 7, 1, &c, &err), -ENOENT);
}
END_TEST

START_TEST(kept_and_pruned)
{
    for (int64_t step = 100; step <= 500; step += 100)
        ck_assert_int_eq(save(step, 3), 0);
    ck_assert(!is_there(in_dir("step-00000200")));
    ck_assert(is_there(in_dir("step-00000300")));
    /* A part left by a crash goes; other files stay. */
    ck_assert_int_eq(mkdir(in_dir("step-00000550.g1.part"), 0700), 0);
    write_text(in_dir("step-00000550.g1.part/rank-0000.weights"), "half");
    write_text(in_dir("step-00000560.g1.part"), "a file");
    write_text(in_dir("notes.txt"), "mine");
    ck_assert_int_eq(mkdir(in_dir("step-1"), 0700), 0);
    /* A damaged one does not count among those kept. */
    ck_assert_int_eq(truncate(in_dir("step-00000400/MANIFEST"), 100), 0);
    ck_assert_int_eq(save(600, 3), 0);
    ck_assert(!is_there(in_dir("step-00000550.g1.part")));
    ck_assert(!is_there(in_dir("step-00000560.g1.part")));
    ck_assert(is_there(in_dir("notes.txt")));
    ck_assert(is_there(in_dir("step-1")));
    ck_assert(is_there(in_dir("step-00000300")));
    ck_assert_int_eq(save(700, 1), 0);
    ck_assert(!is_there(in_dir("step-00000300")));
    ck_assert(!is_there(in_dir("step-00000600")));
    found_step(700);
    /* Going back: what is further on stays, and the new one is not pruned for it. */
    ck_assert_int_eq(save(200, 1), 0);
    ck_assert(is_there(in_dir("step-00000200")));
    ck_assert(is_there(in_dir("step-00000700")));
    ck_assert_int_eq(save(300, 0), 0);
    ck_assert(is_there(in_dir("step-00000200")));
}
END_TEST

START_TEST(way_left)
{
    struct checkpoint *c;

    for (int64_t step = 100; step <= 500; step += 100)
        ck_assert_int_eq(save(step, 0), 0);
    ck_assert_int_eq(checkpoint_begin(dir, 250, &fence, &c, NULL), 0);
    checkpoint_drop_later(c, 400);
    found_step(500);
    ck_assert_int_eq(checkpoint_commit_take(c, &meta, 0, &err), 0);
    ck_assert(is_there(in_dir("step-00000200")));
    ck_assert(is_there(in_dir("step-00000250")));
    ck_assert(!is_there(in_dir("step-00000300")));
    ck_assert(!is_there(in_dir("step-00000400")));
    ck_assert(is_there(in_dir("step-00000500"))); /* of a run that went further */
}
END_TEST

START_TEST(same_step_again)
{
    struct checkpoint *c;

    ck_assert_int_eq(save(100, 3), 0);
    ck_assert_int_eq(checkpoint_begin(dir, 100, &fence, &c, NULL), 0);
    ck_assert_int_eq(checkpoint_put(c, 0, "new", "x", 1, NULL), 0);
    found_step(100); /* the old one, as long as the new one is not complete */
    ck_assert_int_eq(checkpoint_commit_take(c, &meta, 3, &err), 0);
    ck_assert(is_there(in_dir("step-00000100/rank-0000.new")));
    ck_assert(!is_there(in_dir("step-00000100/optimizer.pt")));
    ck_assert(!is_there(in_dir("step-00000100.g1.part")));
    found_step(100);
}
END_TEST

START_TEST(abandoned)
{
    struct checkpoint *c, *other;

    ck_assert_int_eq(checkpoint_begin(dir, 100, &fence, &c, NULL), 0);
    ck_assert_int_eq(checkpoint_put(c, 0, "a", "x", 1, NULL), 0);
    ck_assert_int_eq(checkpoint_join(dir, 100, 1, &other, NULL), 0);
    checkpoint_abandon_take(other);
    ck_assert(is_there(in_dir("step-00000100.g1.part")));
    /* A second attempt begins from nothing. */
    checkpoint_abandon_take(c);
    ck_assert(!is_there(in_dir("step-00000100.g1.part")));
    ck_assert_int_eq(mkdir(in_dir("step-00000100.g1.part"), 0700), 0);
    write_text(in_dir("step-00000100.g1.part/rank-0000.weights"), "stale");
    ck_assert_int_eq(save(100, 3), 0);
    found_step(100);
    checkpoint_abandon_take(NULL);
}
END_TEST

/* What happens to a folder between begin and commit, and that nothing whole comes of it. */
static void remove_entry(void)
{
    ck_assert_int_eq(unlink(in_dir("step-00000100.g1.part/rank-0000.a")), 0);
}
static void change_length(void)
{
    ck_assert_int_eq(truncate(in_dir("step-00000100.g1.part/rank-0000.a"), 0), 0);
}
static void add_folder(const char *name)
{
    ck_assert_int_eq(mkdir(in_dir("step-00000100.g1.part/%s", name), 0700), 0);
}
static void add_folder_of_link(void)
{
    add_folder("sub");
    ck_assert_int_eq(symlink("/etc/passwd", in_dir("step-00000100.g1.part/sub/link")), 0);
}
static void add_folder_of_manifest(void)
{
    add_folder("sub");
    write_text(in_dir("step-00000100.g1.part/sub/MANIFEST"), "");
}
static void add_bad_folder(void)
{
    add_folder("a b");
}
static void add_deep_folder(void)
{
    char name[] = "1/2/3/4/5/6/7/8/9";

    for (size_t n = 1; n < sizeof name; n += 2) {
        name[n] = '\0';
        add_folder(name);
        name[n] = '/';
    }
    write_text(in_dir("step-00000100.g1.part/1/2/3/4/5/6/7/8/9/file"), "");
}
static void add_link(void)
{
    ck_assert_int_eq(symlink("/etc/passwd", in_dir("step-00000100.g1.part/link")), 0);
}
static void add_fifo(void)
{
    ck_assert_int_eq(mkfifo(in_dir("step-00000100.g1.part/fifo"), 0600), 0);
}
static void add_manifest(void)
{
    write_text(in_dir("step-00000100.g1.part/MANIFEST"), "");
}
static void add_bad_name(void)
{
    write_text(in_dir("step-00000100.g1.part/a b"), "");
}
static void remove_folder(void)
{
    ck_assert_int_eq(file_remove_tree(in_dir("step-00000100.g1.part"), NULL), 0);
}

START_TEST(spoiled_before_commit)
{
    static void (*const spoil[])(
        void) = { remove_entry,   change_length,   add_folder_of_link, add_folder_of_manifest,
                  add_bad_folder, add_deep_folder, add_link,           add_fifo,
                  add_manifest,   add_bad_name,    remove_folder };
    struct checkpoint *c;

    ck_assert_int_eq(checkpoint_begin(dir, 100, &fence, &c, NULL), 0);
    ck_assert_int_eq(checkpoint_put(c, 0, "a", "x", 1, NULL), 0);
    spoil[_i]();
    ck_assert_int_lt(checkpoint_commit_take(c, &meta, 3, &err), 0);
    ck_assert_int_ne(strlen(err.text), 0);
    ck_assert(!is_there(in_dir("step-00000100")));
    ck_assert(!is_there(in_dir("step-00000100.g1.part")));
    found_step(-1);
}
END_TEST

/* Removes, renames or changes what is in a subfolder of step 200. */
static void remove_inner(void)
{
    ck_assert_int_eq(unlink(in_dir("step-00000200/dcp/.metadata")), 0);
}
static void cut_inner(void)
{
    ck_assert_int_eq(truncate(in_dir("step-00000200/dcp/.metadata"), 4), 0);
}
static void rename_inner(void)
{
    ck_assert_int_eq(rename(in_dir("step-00000200/dcp"), in_dir("step-00000200/other")), 0);
}
static void link_inner(void)
{
    rename_inner();
    ck_assert_int_eq(symlink("other", in_dir("step-00000200/dcp")), 0);
}

START_TEST(damaged_subfolder_is_not_whole)
{
    static void (*const damage[])(void) = { remove_inner, cut_inner, rename_inner, link_inner };

    ck_assert_int_eq(save(100, 3), 0);
    ck_assert_int_eq(save(200, 3), 0);
    found_step(200);
    damage[_i]();
    found_step(100);
}
END_TEST

/* It is there with its size, and whatever is not in the list does not count. */
START_TEST(subfolders)
{
    struct checkpoint *c;
    char *text;

    ck_assert_int_eq(save(200, 1), 0);
    ck_assert_int_eq(file_read(in_dir("step-00000200/MANIFEST"), 1 << 20, &text, NULL, NULL), 0);
    ck_assert_ptr_nonnull(strstr(text, "\n-------- 5 dcp/.metadata\n"));
    free(text);
    write_text(in_dir("step-00000200/dcp/later"), "");
    found_step(200);
    ck_assert_int_eq(checkpoint_open(in_dir("step-00000200"), true, &c, &err), 0);
    ck_assert_int_eq(checkpoint_bytes(c), sizeof weights + 10 + 3 + 5);
    checkpoint_close(c);
    ck_assert_int_eq(save(300, 1), 0);
    ck_assert_msg(!is_there(in_dir("step-00000200")), "not removed with its subfolder");
    ck_assert_int_eq(save(300, 1), 0);
    found_step(300);
}
END_TEST

START_TEST(put_twice_by_two_ranks)
{
    struct checkpoint *c;
    const char *list = "00000000 1 rank-0000.a\n";

    ck_assert_int_eq(checkpoint_begin(dir, 100, &fence, &c, NULL), 0);
    ck_assert_int_eq(checkpoint_put(c, 0, "a", "x", 1, NULL), 0);
    ck_assert_int_eq(checkpoint_add_list(c, list, strlen(list) - 1, NULL), -EINVAL);
    ck_assert_int_eq(checkpoint_add_list(c, list, strlen(list), NULL), 0);
    ck_assert_int_eq(checkpoint_commit_take(c, &meta, 3, &err), -EEXIST);
    found_step(-1);
}
END_TEST

static void flip(const char *path, off_t at, int bit)
{
    int fd = open(path, O_RDWR);
    unsigned char c;

    ck_assert_int_eq(pread(fd, &c, 1, at), 1);
    c ^= (unsigned char)(1 << bit);
    ck_assert_int_eq(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

/* The older checkpoint is taken whenever the newer one has the least damage. */
START_TEST(damaged_is_not_whole)
{
    static const char *const files[] = { "MANIFEST", "rank-0000.weights", "rank-0001.weights",
                                         "optimizer.pt" };
    struct checkpoint *c;
    struct stat st;

    ck_assert_int_eq(save(100, 3), 0);
    ck_assert_int_eq(save(200, 3), 0);
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[128], *text;
        size_t n;

        snprintf(path, sizeof path, "%s/step-00000200/%s", dir, files[f]);
        ck_assert_int_eq(stat(path, &st), 0);
        for (off_t at = 0; at < st.st_size; at += 1 + st.st_size / 300) {
            flip(path, at, (int)(at % 8));
            ck_assert_int_eq(checkpoint_open(in_dir("step-00000200"), true, &c, &err), -EBADMSG);
            flip(path, at, (int)(at % 8));
        }
        ck_assert_int_eq(file_read(path, 1 << 20, &text, &n, NULL), 0);
        for (off_t cut = 0; cut < st.st_size; cut += f == 0 ? 1 : 1 + st.st_size / 20) {
            ck_assert_int_eq(truncate(path, cut), 0);
            found_step(100);
            ck_assert_int_eq(file_write_atomic(path, text, n, 0600, NULL), 0);
        }
        ck_assert_int_eq(rename(path, in_dir("away")), 0);
        found_step(100);
        ck_assert_int_eq(mkfifo(path, 0600), 0);
        found_step(100);
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_int_eq(rename(in_dir("away"), path), 0);
        found_step(200);
        free(text);
    }
}
END_TEST

START_TEST(renamed_is_not_whole)
{
    struct checkpoint *c;

    ck_assert_int_eq(save(100, 3), 0);
    ck_assert_int_eq(rename(in_dir("step-00000100"), in_dir("step-00000900")), 0);
    found_step(-1);
    ck_assert_int_eq(checkpoint_open(in_dir("step-00000900/"), true, &c, &err), -EBADMSG);
    ck_assert_int_eq(rename(in_dir("step-00000900"), in_dir("step-00000100.g1.part")), 0);
    ck_assert_int_eq(checkpoint_open(in_dir("step-00000100.g1.part"), true, &c, &err), -EBADMSG);
    ck_assert_int_eq(checkpoint_open(in_dir("step-00000100.g1.part//"), true, &c, &err), -EBADMSG);
    found_step(-1);
    /* A name that tells no step can be asked for. */
    ck_assert_int_eq(rename(in_dir("step-00000100.g1.part"), in_dir("best")), 0);
    ck_assert_int_eq(checkpoint_open(in_dir("best/"), true, &c, &err), 0);
    ck_assert_int_eq(checkpoint_meta(c)->step, 100);
    checkpoint_close(c);
    ck_assert_int_eq(mkdir(in_dir("step-00000300"), 0700), 0);
    write_text(in_dir("step-00000400"), "a file");
    found_step(-1);
    ck_assert_int_eq(checkpoint_open_newest("/nonexistent", &c, NULL, NULL), 0);
}
END_TEST

/* A full disk, by the limit of file sizes: at any limit all is refused or all is there. */
START_TEST(disk_full)
{
    int whole = 0, refused = 0;

    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < 6000; limit += limit < 400 ? 25 : 700) {
        struct rlimit old, small;
        struct checkpoint *c;
        int rc;

        ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
        small = (struct rlimit){ limit, old.rlim_max };
        ck_assert_int_eq(checkpoint_begin(dir, 100, &fence, &c, NULL), 0);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        rc = checkpoint_put(c, 0, "small", weights, 20, &err);
        ck_assert_int_eq(rc, limit < 20 ? -EFBIG : 0);
        rc = checkpoint_put(c, 0, "weights", weights, sizeof weights, &err);
        ck_assert_int_eq(rc, limit < sizeof weights ? -EFBIG : 0);
        ck_assert(rc == 0 || !is_there(in_dir("step-00000100.g1.part/rank-0000.weights")));
        rc = checkpoint_commit_take(c, &meta, 3, &err);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
        if (rc == 0) {
            whole++;
            found_step(100);
            ck_assert_int_eq(file_remove_tree(in_dir("step-00000100"), NULL), 0);
        } else {
            refused++;
            ck_assert_int_eq(rc, -EFBIG);
            ck_assert(!is_there(in_dir("step-00000100")));
        }
        ck_assert(!is_there(in_dir("step-00000100.g1.part")));
    }
    ck_assert_int_gt(whole, 0);
    ck_assert_int_gt(refused, 0);
}
END_TEST

/* Killed at any moment while saving one after another: what is found is whole. */
START_TEST(killed_while_saving)
{
    for (int round = 0; round < 8; round++) {
        struct checkpoint *c;
        int status, seen[2];
        char one;
        pid_t pid;

        ck_assert_int_eq(pipe(seen), 0);
        pid = fork();
        if (pid == 0) {
            for (int64_t step = 100 * round + 1;; step++)
                if (save(step, 2) < 0 || write(seen[1], "x", 1) != 1)
                    _exit(1);
        }
        for (int i = 0; i <= round; i++)
            ck_assert_int_eq(read(seen[0], &one, 1), 1);
        usleep((useconds_t)(round * 731 % 2000));
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        close(seen[0]);
        close(seen[1]);
        ck_assert_int_eq(checkpoint_open_newest(dir, &c, NULL, NULL), 1);
        ck_assert_int_ge(checkpoint_meta(c)->step, 100 * round + 1 + round);
        checkpoint_close(c);
    }
}
END_TEST

/* ---- who else can have written it ---- */

static mode_t mode_of(const char *path)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_mode & 0777;
}

START_TEST(umask_that_takes_nothing)
{
    static const char *const files[] = { "MANIFEST", "rank-0000.weights", "rank-0001.empty",
                                         "optimizer.pt", "dcp/.metadata" };
    struct checkpoint *c;
    mode_t before = umask(0);

    ck_assert_int_eq(fence_open(in_dir("all/of/them"), "test", 1, &fence, &err), 0);
    ck_assert_uint_eq(mode_of(in_dir("all")) | mode_of(in_dir("all/of/them")), 0775);
    ck_assert_uint_eq(mode_of(in_dir("all/of/them/.generation")), 0664);
    ck_assert_int_eq(fence_open(dir, "test", 1, &fence, &err), 0);
    ck_assert_msg(save(500, 3) == 0, "%s", err.text);
    umask(before);
    ck_assert_uint_eq(mode_of(in_dir("step-00000500")), 0775);
    ck_assert_uint_eq(mode_of(in_dir("step-00000500/dcp")), 0775);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        ck_assert_uint_eq(mode_of(in_dir("step-00000500/%s", files[i])), 0664);
    ck_assert_int_eq(checkpoint_open_newest(dir, &c, NULL, &err), 1);
    checkpoint_close(c);
}
END_TEST

/* What of a checkpoint is changed, as from which mode, or as by whom. */
static const struct {
    const char *what;
    mode_t mode;
    const char *words;
} strange[] = {
    { "", 0777, "' is not trusted: all users may write to it" },
    { "/", 0777, "' is not trusted: all users may write to it" }, /* the folder of all */
    { "/MANIFEST", 0666, "MANIFEST' is not trusted" },
    { "/rank-0000.weights", 0646, "weights' is not trusted" },
    { "/optimizer.pt", 0666, "optimizer.pt' is not trusted" },
    { "/dcp", 0777, "dcp' is not trusted" },
    { "/dcp/.metadata", 0666, "metadata' is not trusted" },
    { "/MANIFEST", 0, "MANIFEST' is not trusted: it belongs to" },
    { "/rank-0000.weights", 0, "weights' is not trusted: it belongs to" },
    { "/optimizer.pt", 0, "optimizer.pt' is not trusted: it belongs to" },
    { "/dcp", 0, "dcp' is not trusted: it belongs to" },
    { "/dcp/.metadata", 0, "metadata' is not trusted: it belongs to" },
};

/* An older one would be the wrong answer, as would be none. */
START_TEST(of_others_is_refused)
{
    const char *what = strange[_i].what;
    const char *path = what[0] == '/' && !what[1] ? dir : in_dir("step-00000500%s", what);
    struct checkpoint *c = NULL;
    char got[sizeof weights];

    if (!strange[_i].mode && geteuid() != 0)
        return;
    ck_assert_int_eq(save(400, 3), 0);
    ck_assert_msg(save(500, 3) == 0, "%s", err.text);
    ck_assert_int_eq(checkpoint_open(in_dir("step-00000500"), true, &c, &err), 0);
    ck_assert_int_eq(strange[_i].mode ? chmod(path, strange[_i].mode) : chown(path, 54321, 0), 0);
    if (strstr(what, "weights"))
        ck_assert_int_eq(checkpoint_get(c, 0, "weights", got, sizeof got, &err), -EPERM);
    checkpoint_close(c);
    for (int sums = 0; sums < 2; sums++) {
        ck_assert_int_eq(checkpoint_open(in_dir("step-00000500"), sums, &c, &err), -EPERM);
        ck_assert_msg(strstr(err.text, strange[_i].words) != NULL, "%s", err.text);
    }
    ck_assert_int_eq(checkpoint_open_newest(dir, &c, NULL, &err), -EPERM);
    if (path == dir) /* nor is anything written there */
        ck_assert_int_eq(fence_open(dir, "test", 2, &fence, &err), -EPERM);
}
END_TEST

/* Whoever may make a folder beside the checkpoints, as in a sticky one, does not stop the job. */
START_TEST(folder_of_another_is_passed_over)
{
    struct checkpoint *c = NULL;
    struct eddis_error passed;
    const char *path = in_dir("step-99999999");

    if (geteuid() != 0)
        return;
    ck_assert_int_eq(save(400, 3), 0);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(chown(path, 54321, 54321), 0);
    ck_assert(checkpoint_is_foreign(path));
    ck_assert_msg(checkpoint_open_newest(dir, &c, &passed, &err) == 1, "%s", err.text);
    ck_assert_int_eq(checkpoint_meta(c)->step, 400);
    ck_assert_ptr_nonnull(strstr(passed.text, "' is not trusted: it belongs to user number"));
    checkpoint_close(c);
    ck_assert_int_eq(checkpoint_open(path, true, &c, &err), -EPERM);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, there_and_back);
    tcase_add_test(tc, names);
    tcase_add_test(tc, kept_and_pruned);
    tcase_add_test(tc, way_left);
    tcase_add_test(tc, same_step_again);
    tcase_add_test(tc, abandoned);
    tcase_add_loop_test(tc, spoiled_before_commit, 0, 11);
    tcase_add_test(tc, put_twice_by_two_ranks);
    tcase_add_test(tc, damaged_is_not_whole);
    tcase_add_loop_test(tc, damaged_subfolder_is_not_whole, 0, 4);
    tcase_add_test(tc, subfolders);
    tcase_add_test(tc, renamed_is_not_whole);
    tcase_add_test(tc, umask_that_takes_nothing);
    tcase_add_loop_test(tc, of_others_is_refused, 0, sizeof strange / sizeof *strange);
    tcase_add_test(tc, disk_full);
    tcase_add_test(tc, killed_while_saving);
    tcase_add_test(tc, folder_of_another_is_passed_over);
}

SUITE_MAIN("checkpoint", add_tests)
