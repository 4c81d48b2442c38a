/* SPDX-License-Identifier: Apache-2.0 */
/* leaver.c - a rank without libeddis that does its work and leaves without MPI_Finalize
 *
 *     leaver FOLDER
 *
 * It writes a line to "runs" in FOLDER, for the test to see how often it ran.  mpirun is stopped
 * before the first rank leaves, or it would end the others for that: the test lets it go on.
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Number four in /proc/PID/stat; the program's name before it has no spaces. */
static pid_t parent_of(pid_t pid)
{
    char path[64];
    int parent = -1;
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (!f || fscanf(f, "%*d %*s %*c %d", &parent) != 1)
        _exit(91);
    (void)fclose(f);
    return parent;
}

static void note_run(const char *folder, int rank)
{
    char path[512], line[32];
    int n = snprintf(line, sizeof line, "rank %d\n", rank), fd;

    (void)snprintf(path, sizeof path, "%s/runs", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        _exit(92);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    note_run(argv[1], rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        (void)kill(parent_of(getppid()), SIGSTOP); /* above the wrapper */
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
}
