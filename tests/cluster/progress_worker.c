/* SPDX-License-Identifier: Apache-2.0 */
/* progress_worker.c - a rank that tells its steps, without a handle and without MPI
 *
 *     progress-worker FOLDER alive|stop|open|fork
 *
 * Tells of every second one of STEPS steps, of 10 samples each on rank 0 and 20 on rank 1, and then
 * that it is alive until there is a file "go" in FOLDER.  "stop": rank 1 does not.  "open": it
 * opens a handle before, tells of one step more after it has closed it.  "fork": a child tries to
 * tell.
 */
#include <eddis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 150 };

static void check(int rc, int wanted, const struct eddis_error *err)
{
    if (rc == wanted)
        return;
    (void)printf("%d instead of %d: %s\n", rc, wanted, err->text);
    exit(3);
}

static void tell(int64_t step, int64_t samples)
{
    struct eddis_error err = { 0 };

    check(eddis_progress(step, samples, &err), 0, &err);
}

static void pass(int64_t ms)
{
    const struct timespec t = { 0, ms * 1000000 };

    (void)nanosleep(&t, NULL);
}

static void wait_for_file(const char *folder)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/go", folder);
    for (; access(path, F_OK) < 0; pass(20))
        tell(STEPS - 1, 0);
}

static void open_handle(int64_t samples)
{
    struct eddis_options o = { .size = sizeof o, .samples = 100, .epochs = 1 };
    struct eddis_error err = { 0 };
    struct eddis *e;

    check(eddis_open(&o, &e, &err), 0, &err);
    check(eddis_progress(STEPS, samples, &err), -EBUSY, &err);
    check(eddis_close(e, &err), 0, &err);
    tell(STEPS, samples);
}

static void tell_in_child(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(eddis_progress(STEPS, 1, NULL) == -EPERM ? 0 : 4);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        exit(4);
}

/* What cannot be is refused, wherever the program runs. */
static void tell_nonsense(void)
{
    static const struct eddis_progress_report bad[] = {
        { .size = 0, .step = 1 },
        { .size = sizeof *bad, .step = -2 },
        { .size = sizeof *bad, .step = 1, .samples = -2 },
        { .size = sizeof *bad, .step = -1, .samples = 1 },
        { .size = sizeof *bad, .step = 1, .step_ns = -1 },
        { .size = sizeof *bad, .step = 1, .compute_ns = -1 },
        { .size = sizeof *bad, .step = 1, .wait_ns = -1 },
    };
    struct eddis_error err = { 0 };

    check(eddis_progress(-2, 0, &err), -EINVAL, &err);
    check(eddis_progress(-1, 1, &err), -EINVAL, &err);
    check(eddis_progress(0, -1, &err), -EINVAL, &err);
    check(eddis_progress_report(NULL, &err), -EINVAL, &err);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check(eddis_progress_report(&bad[i], &err), -EINVAL, &err);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("RANK");
    int64_t samples = rank && *rank == '1' ? 20 : 10;
    char how;

    if (argc != 3)
        return 2;
    how = *argv[2];
    tell_nonsense();
    tell(-1, 0);
    for (int64_t s = 1; s < STEPS; s += 2) {
        pass(4);
        tell(s, 2 * samples);
    }
    tell(3, 1000 * samples); /* a step back is a sign of life, and no more */
    if (how == 's' && samples == 20)
        for (;;)
            (void)pause();
    if (how == 'f')
        tell_in_child();
    wait_for_file(argv[1]);
    if (how == 'o')
        open_handle(samples);
    return 0;
}
