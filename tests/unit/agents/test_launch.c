/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/node/launch.h"

#include "lib/base/cleanup.h"
#include "suite.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define S(literal) ((char[]){ literal })

static char *no_words[] = { NULL };

struct case_ {
    struct brief brief;
    struct order_rank rank[2];
    struct board_plan plan;
    struct order order;
    struct launch launch;
    struct folders folders;
    char dir[64], file[80];
};

static struct case_ *make(void)
{
    static char *command[] = { NULL, NULL };
    struct case_ *c = calloc(1, sizeof *c);

    command[0] = strdup("sh");
    strcpy(c->dir, "/tmp/eddis-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(c->dir));
    snprintf(c->file, sizeof c->file, "%s/ranks.json", c->dir);
    strcpy(c->brief.job_id, "job-1");
    c->brief.command = command;
    c->brief.env = c->brief.mpi_args = c->brief.mpi_mca = no_words;
    c->brief.workdir = c->brief.log_dir = c->dir;
    c->brief.log_max_bytes = 1000;
    c->brief.bind = true;
    c->rank[0] = (struct order_rank){ 0, 0, "numa:0", "0-3,8", 6, 0.75, 0, 0 };
    c->rank[1] = (struct order_rank){ 1, 1, "GPU-12ab", "", 2, 0.25, 0, 0 };
    c->plan = (struct board_plan){ .version = 1, .global_batch = 8, .batch = { 6, 2 } };
    c->order = (struct order){ .number = 1,
                               .type = ORDER_PREPARE,
                               .generation = 3,
                               .n_ranks = 2,
                               .rank = c->rank,
                               .n_local = 2,
                               .mode = "sync",
                               .plan = &c->plan };
    c->launch = (struct launch){ .brief = &c->brief,
                                 .order = &c->order,
                                 .run_dir = "/run/x",
                                 .shm_dir = "/shm/x",
                                 .rank_program = "/lib/eddis-rank",
                                 .rank_file = c->file,
                                 .socket = "/run/x/agent",
                                 .board = "/shm/x/board",
                                 .bin = "/opt/eddis/bin",
                                 .master_port = 4242,
                                 .cores = 8,
                                 .agent_pid = 99 };
    c->launch.folders = &c->folders;
    return c;
}

static void drop(struct case_ *c)
{
    (void)unlink(c->file);
    (void)rmdir(c->dir);
    free(c->brief.command[0]);
    free(c);
}

/* The value behind "--mca NAME", and how often it is there. */
static const char *mca(const struct strlist *a, const char *name, int *times)
{
    const char *value = NULL;

    *times = 0;
    for (size_t i = 0; i + 2 < a->n; i++)
        if (strcmp(a->item[i], "--mca") == 0 && strcmp(a->item[i + 1], name) == 0) {
            value = a->item[i + 2];
            ++*times;
        }
    return value;
}

START_TEST(arguments)
{
    struct case_ *c = make();
    char *user[] = { S("btl"), S("self,tcp"), S("mine"), S("1 2"), NULL };
    char *words[] = { S("--report-bindings"), NULL };
    struct strlist a = { 0 };
    int times;

    c->brief.mpi_mca = user;
    c->brief.mpi_args = words;
    ck_assert_int_eq(launch_argv(&c->launch, &a, NULL), 0);
    ck_assert_str_eq(a.item[0], "mpirun");
    ck_assert_str_eq(a.item[a.n - 1], c->file);
    ck_assert_str_eq(a.item[a.n - 2], "/lib/eddis-rank");
    ck_assert_str_eq(a.item[a.n - 3], "--report-bindings");
    ck_assert_str_eq(mca(&a, "orte_tmpdir_base", &times), "/run/x");
    ck_assert_str_eq(mca(&a, "btl_vader_backing_directory", &times), "/shm/x");
    ck_assert_str_eq(mca(&a, "btl", &times), "self,tcp");
    ck_assert_int_eq(times, 1);
    ck_assert_str_eq(mca(&a, "mine", &times), "1 2");
    ck_assert_ptr_null(mca(&a, "mpi_yield_when_idle", &times));
    strlist_fini(&a);
    c->launch.cores = 3;
    ck_assert_int_eq(launch_argv(&c->launch, &a, NULL), 0);
    ck_assert_str_eq(mca(&a, "mpi_yield_when_idle", &times), "1");
    strlist_fini(&a);
    drop(c);
}
END_TEST

START_TEST(variables)
{
    struct case_ *c = make();
    char *user[] = { S("RANK=5"), S("PATH=/usr/bin"), S("EMPTY="), NULL };
    struct rank_file *f;
    struct stat st;

    (void)unsetenv("OMP_NUM_THREADS");
    c->brief.env = user;
    ck_assert_int_eq(launch_write_rank_file(&c->launch, NULL), 0);
    ck_assert_int_eq(launch_write_rank_file(&c->launch, NULL), -EEXIST);
    ck_assert_int_eq(stat(c->file, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(rank_file_read(c->file, 2, &f, NULL), -ENOENT);
    ck_assert_int_eq(rank_file_read(c->file, 1, &f, NULL), 0);
    ck_assert_int_eq(f->generation, 3);
    ck_assert_int_eq(f->agent_pid, 99);
    ck_assert_str_eq(f->rank->cpus, "");
    ck_assert_str_eq(strlist_value(f->rank->env, "RANK"), "1");
    ck_assert_str_eq(strlist_value(f->rank->env, "EDDIS_BATCH_SIZE"), "2");
    ck_assert_str_eq(strlist_value(f->rank->env, "EDDIS_GRAD_WEIGHT"), "0.25");
    ck_assert_str_eq(strlist_value(f->rank->env, "CUDA_VISIBLE_DEVICES"), "GPU-12ab");
    ck_assert_str_eq(strlist_value(f->rank->env, "OMP_NUM_THREADS"), "4");
    ck_assert_str_eq(strlist_value(f->env, "MASTER_PORT"), "4242");
    ck_assert_str_eq(strlist_value(f->env, "TORCHELASTIC_RESTART_COUNT"), "2");
    ck_assert_str_eq(strlist_value(f->env, "PATH"), "/usr/bin:/opt/eddis/bin");
    ck_assert_str_eq(strlist_value(f->user_env, "RANK"), "5");
    ck_assert_str_eq(strlist_value(f->user_env, "EMPTY"), "");
    ck_assert_ptr_null(strlist_value(f->user_env, "PATH"));
    rank_file_free(f);
    ck_assert_int_eq(rank_file_read(c->file, 0, &f, NULL), 0);
    ck_assert_str_eq(f->rank->cpus, "0-3,8");
    ck_assert_str_eq(strlist_value(f->rank->env, "OMP_NUM_THREADS"), "5");
    ck_assert_ptr_null(strlist_value(f->rank->env, "CUDA_VISIBLE_DEVICES"));
    rank_file_free(f);
    drop(c);
}
END_TEST

static const struct {
    const char *cpus[2]; /* of the two ranks */
    int cores;
    const char *threads; /* of the first */
} thread_rows[] = {
    { { "0-3", "0-3" }, 4, "2" }, { { "0-2", "0-2" }, 3, "1" }, { { "0", "0" }, 1, "1" },
    { { "0-3", "4-7" }, 8, "4" }, { { "", "" }, 5, "2" },       { { "", "" }, 1, "1" },
};

START_TEST(threads)
{
    struct case_ *c = make();
    struct rank_file *f;

    (void)unsetenv("OMP_NUM_THREADS");
    for (int i = 0; i < 2; i++)
        strcpy(c->rank[i].cpus, thread_rows[_i].cpus[i]);
    c->launch.cores = thread_rows[_i].cores;
    ck_assert_int_eq(launch_write_rank_file(&c->launch, NULL), 0);
    ck_assert_int_eq(rank_file_read(c->file, 0, &f, NULL), 0);
    ck_assert_str_eq(strlist_value(f->rank->env, "OMP_NUM_THREADS"), thread_rows[_i].threads);
    rank_file_free(f);
    drop(c);
}
END_TEST

static const struct {
    const char *cpus;
    int n;
} cpus_rows[] = {
    { "", 0 },  { "0", 1 },   { "0-3", 4 }, { "0-3,8", 5 }, { "1,3,5", 3 },
    { "x", 0 }, { "3-1", 0 }, { "1-", 0 },  { "1,,2", 0 },  { "0-99999999", 0 },
};

START_TEST(count_cpus)
{
    ck_assert_int_eq(launch_count_cpus(cpus_rows[_i].cpus), cpus_rows[_i].n);
}
END_TEST

static const struct {
    const char *program;
    int rc;
} check_rows[] = {
    { "sh", 0 },
    { "/bin/sh", 0 },
    { "no-such-program", -ENOENT },
    { "./sh", -ENOENT },
    { "/etc", -EACCES },
    { "/etc/passwd", -EACCES },
    { "/bin/", -EACCES },
    { "eddis-test-script", -ENOENT },
    { "./eddis-test-script", 0 },
};

START_TEST(check)
{
    struct case_ *c = make();
    char script[96];
    struct eddis_error err = { 0 };

    snprintf(script, sizeof script, "%s/eddis-test-script", c->dir);
    ck_assert_int_eq(symlink("/bin/sh", script), 0);
    free(c->brief.command[0]);
    c->brief.command[0] = strdup(check_rows[_i].program);
    ck_assert_int_eq(launch_check(&c->launch, &err), check_rows[_i].rc);
    ck_assert_int_eq(err.text[0] != '\0', check_rows[_i].rc != 0);
    c->brief.workdir = script;
    ck_assert_int_eq(launch_check(&c->launch, NULL), -ENOTDIR);
    c->brief.workdir = c->dir;
    (void)unlink(script);
    drop(c);
}
END_TEST

START_TEST(environment)
{
    ck_assert_int_eq(setenv("PMIX_RANK", "3", 1), 0);
    ck_assert_int_eq(setenv("OMPI_COMM_WORLD_RANK", "3", 1), 0);
    ck_assert_int_eq(setenv("OMPI_MCA_btl_base_verbose", "1", 1), 0);
    ck_assert_int_eq(launch_clean_environment(NULL), 0);
    ck_assert_ptr_null(getenv("PMIX_RANK"));
    ck_assert_ptr_null(getenv("OMPI_COMM_WORLD_RANK"));
    ck_assert_str_eq(getenv("OMPI_MCA_btl_base_verbose"), "1"); /* the user's wish */
    (void)unsetenv("OMPI_MCA_btl_base_verbose");
}
END_TEST

/* A rank file is ours alone, but a full disk may have cut it. */
START_TEST(truncated_rank_file)
{
    struct case_ *c = make();
    struct rank_file *f;
    struct stat st;

    ck_assert_int_eq(launch_write_rank_file(&c->launch, NULL), 0);
    ck_assert_int_eq(stat(c->file, &st), 0);
    for (off_t n = st.st_size - 1; n >= 0; n -= 7) {
        ck_assert_int_eq(truncate(c->file, n), 0);
        ck_assert_int_eq(rank_file_read(c->file, 0, &f, NULL), -EINVAL);
    }
    drop(c);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, arguments);
    tcase_add_test(tc, variables);
    tcase_add_loop_test(tc, threads, 0, sizeof thread_rows / sizeof *thread_rows);
    tcase_add_loop_test(tc, count_cpus, 0, sizeof cpus_rows / sizeof *cpus_rows);
    tcase_add_loop_test(tc, check, 0, sizeof check_rows / sizeof *check_rows);
    tcase_add_test(tc, environment);
    tcase_add_test(tc, truncated_rank_file);
}

SUITE_MAIN("launch", add_tests)
