/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - read what identifies a machine, for the cache's key */
#include "machine.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"
#include "lib/base/strlist.h"
#include "lib/base/text.h"
#include "lib/gpu/gpu.h"
#include "lib/topo/topo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>

/* Read the beginning of root/path into ret, up to size - 1 bytes. Return false, with ret "", if
 * nothing could be read. A single read is enough: only the beginning of these files is needed.
 */
static bool head_of(const char *root, const char *path, char *ret, size_t size)
{
    cleanup_free char *full = file_join(root, "%s", path);
    cleanup_fd int fd = full ? open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

    ret[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Copy the first line of text to ret without its newline; control characters are replaced. */
static void first_line(const char *text, char *ret, size_t size)
{
    (void)snprintf(ret, size, "%.*s", (int)strcspn(text, "\n"), text);
    text_strip_control(ret);
}

/* Copy the value after "key  : " from a text of such lines to ret. Return false if it is missing or
 * empty.
 */
static bool value_of(const char *text, const char *key, char *ret, size_t size)
{
    const char *at = strstr(text, key);

    at = at ? strchr(at, ':') : NULL;
    if (!at)
        return false;
    first_line(at + 1 + strspn(at + 1, " \t"), ret, size);
    return ret[0] != 0;
}

/* Copy the value after "key " from a text of such lines to ret. Return false if it is missing. */
static bool property(const char *text, const char *key, char *ret, size_t size)
{
    size_t n = strlen(key);

    while (text && (strncmp(text, key, n) != 0 || text[n] != ' ')) {
        text = strchr(text, '\n');
        if (text)
            text++;
    }
    if (!text)
        return false;
    first_line(text + n + 1, ret, size);
    return true;
}

/* Append the names in the folder root/path, sorted, without hidden ones. */
static void names_in(const char *root, const char *path, struct strlist *ret)
{
    cleanup_free char *full = file_join(root, "%s", path);
    cleanup_dir DIR *dir = full ? opendir(full) : NULL;
    const struct dirent *e;

    while (dir && ret->n < 256 && (e = readdir(dir)))
        if (e->d_name[0] != '.')
            strlist_addf(ret, "%s", e->d_name);
    strlist_sort(ret);
}

/* Write to ret the hardware address of the first physical network card, for machines without an id
 * file. Return false if there is none.
 */
static bool first_mac(const char *root, char *ret, size_t size)
{
    struct strlist names = { 0 };
    char text[64], path[512];
    bool found = false;

    names_in(root, "sys/class/net", &names);
    for (size_t i = 0; i < names.n && !found; i++) {
        (void)snprintf(path, sizeof path, "sys/class/net/%s/address", names.item[i]);
        /* Bit 2 of the first byte: assigned by software, perhaps different at each boot. */
        found = head_of(root, path, text, sizeof text) && strspn(text, "0:\n") != strlen(text) &&
                !(strtol(text, NULL, 16) & 2);
        if (found)
            first_line(text, ret, size);
    }
    strlist_fini(&names);
    return found;
}

/* Write the id of this machine to ret; "" if there is none. */
static void read_machine_id(const char *root, char *ret, size_t size)
{
    static const char *const paths[] = { "etc/machine-id", "var/lib/dbus/machine-id",
                                         "sys/class/dmi/id/product_uuid" };
    char text[128];

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        /* A shorter text is "uninitialized", at the first boot of an image. */
        if (head_of(root, paths[i], text, sizeof text) && strlen(text) >= 32) {
            first_line(text, ret, size);
            return;
        }
    if (!first_mac(root, ret, size))
        ret[0] = 0;
}

/* Fill m->gpus and m->driver from NVIDIA's /proc files, because initialising CUDA for this takes
 * long.
 */
static void read_gpus(const char *root, struct machine *m)
{
    struct strlist names = { 0 };
    char path[512], text[1024], uuid[96];
    size_t at = 0;

    names_in(root, "proc/driver/nvidia/gpus", &names);
    for (size_t i = 0; i < names.n; i++) {
        (void)snprintf(path, sizeof path, "proc/driver/nvidia/gpus/%s/information", names.item[i]);
        if (!head_of(root, path, text, sizeof text) ||
            !value_of(text, "GPU UUID", uuid, sizeof uuid))
            uuid[0] = 0;
        if (at < sizeof m->gpus)
            at += (size_t)snprintf(m->gpus + at, sizeof m->gpus - at, "%s%s %s", i ? "," : "",
                                   names.item[i], uuid);
    }
    strlist_fini(&names);
    text_strip_control(m->gpus);
    if (head_of(root, "proc/driver/nvidia/version", text, sizeof text))
        (void)value_of(text, "NVRM version", m->driver, sizeof m->driver);
}

/* Append the GPUs of the kernel's AMD driver to m->amd_gpus. A node of its topology
 * with vector units is a GPU.
 */
static void read_amd_gpus(const char *root, struct machine *m)
{
    static const char folder[] = "sys/class/kfd/kfd/topology/nodes";
    struct strlist names = { 0 };
    char path[512], text[4096], id[32];
    size_t at = 0;

    names_in(root, folder, &names);
    for (size_t i = 0; i < names.n && at < sizeof m->amd_gpus; i++) {
        (void)snprintf(path, sizeof path, "%s/%s/properties", folder, names.item[i]);
        if (!head_of(root, path, text, sizeof text) ||
            !property(text, "simd_count", id, sizeof id) || strcmp(id, "0") == 0 ||
            !property(text, "unique_id", id, sizeof id))
            continue;
        at += (size_t)snprintf(m->amd_gpus + at, sizeof m->amd_gpus - at, "%s%s %s", at ? "," : "",
                               names.item[i], id);
    }
    strlist_fini(&names);
    text_strip_control(m->amd_gpus);
    if (!m->driver[0] && m->amd_gpus[0] &&
        head_of(root, "sys/module/amdgpu/version", text, sizeof text))
        first_line(text, m->driver, sizeof m->driver);
}

void machine_read(const char *root, const char *visible, struct machine *ret)
{
    struct utsname u;
    char text[4096];

    *ret = (struct machine){ 0 };
    if (gethostname(ret->host, sizeof ret->host - 1) < 0 || !ret->host[0])
        strcpy(ret->host, "localhost");
    text_strip_control(ret->host);
    if (uname(&u) == 0)
        (void)snprintf(ret->kernel, sizeof ret->kernel, "%.16s %.60s %.16s", u.sysname, u.release,
                       u.machine);
    read_machine_id(root, ret->machine_id, sizeof ret->machine_id);
    if (head_of(root, "proc/cpuinfo", text, sizeof text) &&
        !value_of(text, "model name", ret->cpu_model, sizeof ret->cpu_model))
        (void)value_of(text, "CPU part", ret->cpu_model, sizeof ret->cpu_model);
    (void)topo_allowed(ret->cpus, sizeof ret->cpus, NULL);
    read_gpus(root, ret);
    read_amd_gpus(root, ret);
    gpu_amd_visible(ret->amd_visible, sizeof ret->amd_visible);
    if (visible && !*visible)
        visible = "-1"; /* empty hides all GPUs, like -1; unset hides none */
    (void)snprintf(ret->visible, sizeof ret->visible, "%s", visible ? visible : "");
}

/* Read a program's output from fd into ret [size], until its end, the deadline or a full buffer. */
static void read_output(int fd, int64_t deadline_ns, char *ret, size_t size)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    size_t at = 0;
    ssize_t n;

    while (at + 1 < size && poll(&poll_fd, 1, clock_poll_ms(deadline_ns)) == 1 &&
           (n = read(fd, ret + at, size - 1 - at)) > 0)
        at += (size_t)n;
    ret[at] = 0;
}

void machine_mpi_version(char *ret, size_t size)
{
    static const char *const argv[] = { "mpirun", "--version", NULL };
    static const struct spawn_rung end[] = { { 0, 100 * CLOCK_MS }, { SIGKILL, CLOCK_S } };
    char text[256] = "", *at;
    int fd[2];
    pid_t pid;

    ret[0] = 0;
    if (pipe2(fd, O_CLOEXEC) < 0)
        return;
    if (spawn_start(&(struct spawn){ .argv = argv, .in = -1, .out = fd[1], .err = -1 }, &pid,
                    NULL) == 0) {
        (void)close(fd[1]);
        read_output(fd[0], clock_now_ns() + 2 * CLOCK_S, text, sizeof text);
        (void)spawn_stop(pid, end, 2, NULL, NULL);
    } else {
        (void)close(fd[1]);
    }
    (void)close(fd[0]);
    at = strstr(text, ") ");
    if (strncmp(text, "mpirun (Open MPI) ", 18) == 0 && at) {
        char version[48];

        first_line(at + 2, version, sizeof version);
        (void)snprintf(ret, size, "Open MPI %s", version);
    }
}
