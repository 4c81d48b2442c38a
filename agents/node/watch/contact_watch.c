/* SPDX-License-Identifier: Apache-2.0 */
/* contact_watch.c - reads which ports are listened on, and which libraries ranks have loaded */
#include "contact_watch.h"

#include "sock_diag.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Least number of polls of a port for the finding that no process has listened on it: fewer polls
 * may have missed a listener between two of them.
 */
enum { POLLS_SURE = 5 };

/* Parts of the paths of training frameworks' libraries in a memory map. */
static const char *const frameworks[] = { "/libtorch", "/libtensorflow", "/jaxlib/", "/paddle/" };
/* Parts of the paths of libraries by which a rank takes part in the job. */
static const char *const joins[] = { "/libeddis.so", "/libmpi" };

/* Record whether a rank has loaded a training framework, and libeddis or MPI, from its memory map.
 */
static void look_at_memory(struct contact_watch_rank *r, pid_t pid)
{
    char path[64], line[4096 + 128];
    cleanup_file FILE *f = NULL;

    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        r->trains |= text_has_any(line, frameworks, sizeof frameworks / sizeof *frameworks);
        r->joined |= text_has_any(line, joins, sizeof joins / sizeof *joins);
    }
}

/* Check whether a process has any of the listening sockets in l open, so that other ranks may
 * connect to it.
 */
static bool listens(pid_t pid, const struct contact_watch_listeners *l)
{
    char path[64], to[64];
    const struct dirent *e;
    bool found = false;
    cleanup_dir DIR *d = NULL;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    d = opendir(path);
    while (d && !found && (e = readdir(d))) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof to - 1);
        unsigned inode;

        to[n > 0 ? n : 0] = '\0';
        if (sscanf(to, "socket:[%u]", &inode) == 1)
            for (int i = 0; i < l->n; i++)
                found = found || l->one[i].inode == inode;
    }
    return found;
}

void contact_watch_inspect_rank(struct contact_watch_rank *r, pid_t pid,
                                const struct contact_watch_listeners *l)
{
    if (!r->joined)
        look_at_memory(r, pid);
    if (!r->joined && r->trains)
        r->joined = !l || listens(pid, l);
}

/* Add a listener to the list ctx, unless the list is full. Return true: the listing goes on
 * (sock_diag_fn).
 */
static bool take(void *ctx, const struct inet_diag_msg *m, int n)
{
    struct contact_watch_listeners *l = ctx;

    if (l->n < MEETING_LISTENERS)
        l->one[l->n++] =
            (struct contact_watch_listener){ m->idiag_inode, ntohs(m->id.idiag_sport) };
    return true;
}

/* Listening sockets are few, however many connections there are. */
int contact_watch_find_listeners(struct contact_watch_listeners *ret)
{
    int rc;

    ret->n = 0;
    rc = sock_diag_list(AF_INET, TCP_LISTEN, 0, take, ret);
    return rc < 0 ? rc : sock_diag_list(AF_INET6, TCP_LISTEN, 0, take, ret);
}

bool contact_watch_is_listened_on(const struct contact_watch_listeners *l, int port)
{
    for (int i = 0; i < l->n; i++)
        if (l->one[i].port == port)
            return true;
    return false;
}

void contact_watch_inspect_port(struct contact_watch *m, const struct contact_watch_listeners *l)
{
    m->polls++;
    m->listened = m->listened || !l || l->n == MEETING_LISTENERS ||
                  (m->port && contact_watch_is_listened_on(l, m->port));
}

bool contact_watch_was_alone(const struct contact_watch *m, const struct contact_watch_rank *r,
                             bool is_first)
{
    return r->trains && !r->joined && (!is_first || (m->polls >= POLLS_SURE && !m->listened));
}
