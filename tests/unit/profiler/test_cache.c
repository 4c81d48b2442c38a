/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache.c - tests of profiler/cache.h */
#include "profiler/cache.h"

#include "fake_root.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t day = INT64_C(86400) * CLOCK_S;
static const int64_t measured = INT64_C(1795000000) * CLOCK_S;

struct kept {
    struct fake_root root;
    char *dir, *file;
    struct machine machine;
    struct node_profile profile;
};

static void keep(struct kept *k, bool complete)
{
    struct eddis_error err = { 0 };

    memset(k, 0, sizeof *k);
    fake_root_init(&k->root);
    k->dir = file_join(k->root.path, "cache/eddis");
    k->file = file_join(k->dir, "profile-node-1.json");
    strcpy(k->machine.host, "node-1");
    strcpy(k->machine.machine_id, "abc");
    strcpy(k->machine.cpu_model, "Gr\xf6\xdf\x65r");
    strcpy(k->machine.cpus, "0-1");
    strcpy(k->profile.host, "node-1");
    k->profile.measured_s = measured / CLOCK_S;
    k->profile.cpu_quota = k->profile.load = NAN;
    k->profile.cores = 42;
    ck_assert_msg(cache_store(k->dir, &k->machine, &k->profile, complete, &err) == 0, "%s",
                  err.text);
}

static void drop(struct kept *k)
{
    fake_root_fini(&k->root);
    free(k->dir);
    free(k->file);
}

static int load(struct kept *k, int64_t age_ns, int64_t now_ns, const char *words)
{
    struct node_profile p = { .cores = 7 };
    struct eddis_error err = { 0 };
    int rc = cache_load(k->dir, &k->machine, age_ns, now_ns, &p, &err);

    ck_assert_int_eq(p.cores, rc == 0 ? 42 : 7);
    ck_assert(rc < 0 || p.cached);
    ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
    return rc;
}

START_TEST(ages)
{
    struct kept k;
    struct stat st;

    keep(&k, true);
    ck_assert_int_eq(load(&k, day, measured, ""), 0);
    ck_assert_int_eq(load(&k, day, measured + day, ""), 0);
    ck_assert_int_eq(load(&k, day, measured + day + 2 * CLOCK_S, "24 h old"), -ESTALE);
    ck_assert_int_eq(load(&k, day, measured - 3600 * CLOCK_S, "future"), -ESTALE);
    ck_assert_int_eq(load(&k, INT64_MAX, measured + 1000 * day, ""), 0);
    ck_assert_int_eq(stat(k.file, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(stat(k.dir, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
    drop(&k);

    keep(&k, false);
    ck_assert_int_eq(load(&k, day, measured + 60 * CLOCK_S, ""), 0);
    ck_assert_int_eq(load(&k, day, measured + CACHE_PROVISIONAL_NS + 2 * CLOCK_S, "incomplete"),
                     -ESTALE);
    drop(&k);
}
END_TEST

static const struct {
    size_t offset;
    const char *words;
} members[] = {
    { offsetof(struct machine, machine_id), "another machine" },
    { offsetof(struct machine, cpu_model), "another processor" },
    { offsetof(struct machine, cpus), "another set of cores" },
    { offsetof(struct machine, gpus), "another set of GPUs" },
    { offsetof(struct machine, driver), "another GPU driver" },
    { offsetof(struct machine, visible), "another CUDA_VISIBLE_DEVICES" },
    { offsetof(struct machine, amd_gpus), "another set of AMD GPUs" },
    { offsetof(struct machine, amd_visible), "another set of visible AMD GPUs" },
};

START_TEST(foreign)
{
    struct kept k;

    keep(&k, true);
    strcpy((char *)&k.machine + members[_i].offset, "something else");
    ck_assert_int_eq(load(&k, day, measured, members[_i].words), -ESTALE);
    strcpy(k.machine.host, "node-2");
    ck_assert_int_eq(load(&k, day, measured, ""), -ENOENT);
    drop(&k);
}
END_TEST

/* Change the entry's text in one place. */
static void edit(struct kept *k, const char *from, const char *to)
{
    char *text, *at, *changed;
    size_t n;

    ck_assert_int_eq(file_read(k->file, 1 << 20, &text, &n, NULL), 0);
    at = strstr(text, from);
    ck_assert_ptr_nonnull(at);
    changed = malloc(n + strlen(to) + 1);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    ck_assert_int_eq(file_write_atomic(k->file, changed, strlen(changed), 0600, NULL), 0);
    free(text);
    free(changed);
}

static const struct {
    const char *from, *to;
    int rc;
    const char *words;
} edits[] = {
    { "\"probe_version\": 6", "\"probe_version\": 9999", -ESTALE, "version of the probe" },
    { "\"eddis_version\": \"" EDDIS_VERSION "\"", "\"eddis_version\": \"0.0.1\"", -ESTALE,
      "version of eddis" },
    { "{", "", -EINVAL, "corrupt" },
    { "\"key\"", "\"keys\"", -EINVAL, "corrupt" },
    { "\"complete\": true", "\"complete\": 1", -EINVAL, "corrupt" },
    { "\"cores\": 42", "\"cores\": -42", -EINVAL, "corrupt" },
    { "\"machine_id\": \"abc\"", "\"machine_id\": 7", -ESTALE, "another machine" },
};

START_TEST(corrupt)
{
    struct kept k;

    keep(&k, true);
    edit(&k, edits[_i].from, edits[_i].to);
    ck_assert_int_eq(load(&k, day, measured, edits[_i].words), edits[_i].rc);
    drop(&k);
}
END_TEST

START_TEST(unreadable)
{
    struct kept k;
    char *big = malloc(2 << 20);

    keep(&k, true);
    ck_assert_int_eq(file_write_atomic(k.file, "", 0, 0600, NULL), 0);
    ck_assert_int_eq(load(&k, day, measured, "corrupt"), -EINVAL);
    memset(big, ' ', 2 << 20);
    ck_assert_int_eq(file_write_atomic(k.file, big, 2 << 20, 0600, NULL), 0);
    ck_assert_int_eq(load(&k, day, measured, "corrupt"), -EFBIG);
    free(big);
    unlink(k.file);
    ck_assert_int_eq(mkfifo(k.file, 0600), 0);
    ck_assert_int_eq(load(&k, day, measured, "not a regular file"), -EPERM);
    unlink(k.file);
    ck_assert_int_eq(load(&k, day, measured, ""), -ENOENT);
    drop(&k);
}
END_TEST

/* Somebody else could have written it. */
START_TEST(not_ours)
{
    struct kept k;
    char *other;

    keep(&k, true);
    if (geteuid() == 0) { /* it may be the user's own group else */
        ck_assert_int_eq(chown(k.file, 0, 12345), 0);
        chmod(k.file, 0660);
        ck_assert_int_eq(load(&k, day, measured, "members of group number 12345 may write"),
                         -EPERM);
    }
    chmod(k.file, 0602);
    ck_assert_int_eq(load(&k, day, measured, "all users may write"), -EPERM);
    chmod(k.file, 0644);
    ck_assert_int_eq(load(&k, day, measured, ""), 0);
    chmod(k.dir, 0777);
    ck_assert_int_eq(load(&k, day, measured, "all users may write"), -EPERM);
    chmod(k.dir, 0700);
    other = file_join(k.root.path, "other.json");
    ck_assert_int_eq(rename(k.file, other), 0);
    ck_assert_int_eq(symlink(other, k.file), 0);
    ck_assert_int_eq(load(&k, day, measured, "is a link"), -EPERM);
    /* a store replaces the link, not what it points to */
    ck_assert_int_eq(cache_store(k.dir, &k.machine, &k.profile, true, NULL), 0);
    ck_assert_int_eq(load(&k, day, measured, ""), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(k.file, 12345, 12345), 0);
        ck_assert_int_eq(load(&k, day, measured, "belongs to user number 12345"), -EPERM);
    } else {
        printf("SKIP not_ours: only root gives a file to another user\n");
    }
    free(other);
    drop(&k);
}
END_TEST

/* A host's name is no path. */
START_TEST(strange_host)
{
    struct kept k;
    struct node_profile p;

    keep(&k, true);
    strcpy(k.machine.host, "../../../evil");
    ck_assert_int_eq(cache_store(k.dir, &k.machine, &k.profile, true, NULL), 0);
    ck_assert_int_eq(cache_load(k.dir, &k.machine, day, measured, &p, NULL), 0);
    strcpy(k.machine.host, "../../../evil2");
    ck_assert_int_eq(cache_load(k.dir, &k.machine, day, measured, &p, NULL), -ENOENT);
    drop(&k);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, ages);
    tcase_add_loop_test(tc, foreign, 0, sizeof members / sizeof *members);
    tcase_add_loop_test(tc, corrupt, 0, sizeof edits / sizeof *edits);
    tcase_add_test(tc, unreadable);
    tcase_add_test(tc, not_ours);
    tcase_add_test(tc, strange_host);
}

SUITE_MAIN("cache", add_tests)
