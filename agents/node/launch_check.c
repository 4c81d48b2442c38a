/* SPDX-License-Identifier: Apache-2.0 */
/* launch_check.c - checks for missing files and limits before anything is started */
#include "launch.h"

#include "lib/base/program.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int launch_check_workdir(const char *dir, struct eddis_error *err)
{
    struct stat st;

    if (stat(dir, &st) < 0 && errno == ENOENT)
        return eddis_fail(err, -ENOENT,
                          "the working folder '%s' does not exist; make it there, or name another "
                          "one with `workdir:`",
                          dir);
    if (access(dir, X_OK) < 0)
        return eddis_fail_errno(err, -errno, "cannot work in the folder '%s'", dir);
    if (!S_ISDIR(st.st_mode))
        return eddis_fail(err, -ENOTDIR, "the working folder '%s' is not a folder", dir);
    return 0;
}

/* Check that the ranks will find the program.  Return 0 or a negative errno. */
static int check_program(const struct launch *l, struct eddis_error *err)
{
    const char *path =
        l->agent_config->setup[0] ? NULL : launch_search_path(l); /* setup lines may change PATH */

    if (l->agent_config->python_from)
        return program_check_python(l->agent_config->command[0], l->agent_config->python_from, err);
    return program_check(l->agent_config->command[0], l->agent_config->workdir, path, l->bin, err);
}

/* Check that the job's data, if any is configured, can be read.  Return 0 or a negative errno. */
static int check_data(const struct launch *l, struct eddis_error *err)
{
    if (!l->agent_config->data_path || access(l->agent_config->data_path, R_OK) == 0)
        return 0;
    return eddis_fail_errno(err, -errno, "cannot read the data '%s'", l->agent_config->data_path);
}

/* Raise this process's limit of open files, which mpirun inherits, to what mpirun needs.  Return 0,
 * or -EMFILE if that is not allowed: with too low a limit Open MPI's mpirun and daemon wait for
 * ever.  Measured need: 26 descriptors, and 4.3 for each rank; mpirun also has connections to other
 * nodes.
 */
static int check_descriptors(const struct launch *l, struct eddis_error *err)
{
    const struct order *o = l->order;
    const rlim_t need = 32 + 5 * (rlim_t)o->n_local + (l->node == 0 ? 2 * (rlim_t)o->n_nodes : 0);
    struct rlimit now;

    if (getrlimit(RLIMIT_NOFILE, &now) < 0 || now.rlim_cur >= need)
        return 0;
    now.rlim_cur = need; /* not higher: programs that use select() rely on the usual limit */
    if (now.rlim_max >= need && setrlimit(RLIMIT_NOFILE, &now) == 0)
        return 0;
    return eddis_fail(err, -EMFILE,
                      "only %llu files may be open at a time here, and mpirun may need %llu for %d "
                      "rank%s; raise the limit (ulimit -n, limits.conf, LimitNOFILE=)",
                      (unsigned long long)now.rlim_max, (unsigned long long)need, o->n_local,
                      o->n_local == 1 ? "" : "s");
}

int launch_check(const struct launch *l, struct eddis_error *err)
{
    int rc = check_descriptors(l, err);

    if (rc == 0)
        rc = launch_check_workdir(l->agent_config->workdir, err);
    /* Setup lines may change PATH: their shell checks for the program itself. */
    if (rc == 0 && (!l->agent_config->setup[0] || strchr(l->agent_config->command[0], '/')))
        rc = check_program(l, err);
    return rc < 0 ? rc : check_data(l, err);
}
