/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - replaces bind, listen, connect and accept in Open MPI's daemons, see guard.h
 *
 * Nothing but libc is used here, for this is preloaded into programs of others.  The guard file is
 * read whenever it is needed: the secret stays in no memory that a core file would show.
 */
#include "guard.h"

#include "guard_peer.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

enum {
    CONNECT_MS = 10000, /* for another node to answer */
    SECRET_MS = 100,    /* for the secret where the kernel does not wait for it */
    DEFER_S = 30,       /* the kernel keeps a silent connection from the listener */
};

/* Set once, before main. */
static char guard_path[PATH_MAX]; /* "": this process is none of Open MPI's daemons */

/* ---- which process, which code ---- */

static bool begins_with_any(const char *path, const char *const *names)
{
    const char *slash = strrchr(path, '/');

    for (path = slash ? slash + 1 : path; *names; names++)
        if (strncmp(path, *names, strlen(*names)) == 0)
            return true;
    return false;
}

static int is_daemons(struct dl_phdr_info *info, size_t size, void *ctx)
{
    static const char *const libraries[] = { "libopen-rte.", "libprrte.", NULL };

    return info->dlpi_name && begins_with_any(info->dlpi_name, libraries);
}

static bool has_code_of(void *caller, const char *const *names)
{
    Dl_info info;

    return dladdr(caller, &info) && info.dli_fname && begins_with_any(info.dli_fname, names);
}

/* The channel between mpirun and its daemons. */
static bool is_channel(void *caller)
{
    static const char *const names[] = { "mca_oob_", "prte_mca_oob_", "libopen-rte.", "libprrte.",
                                         NULL };

    return has_code_of(caller, names);
}

/* Open MPI's own code, and not that of a name service's module, say. */
static bool is_of_mpi(void *caller)
{
    static const char *const names[] = { "mca_",     "prte_mca_", "pmix_mca_", "libopen-",
                                         "libprrte", "libpmix",   NULL };

    return has_code_of(caller, names);
}

/* Take our own path out of LD_PRELOAD, so that what this process starts is as without us. */
static void leave_environment(void)
{
    const char *list = getenv("LD_PRELOAD");
    const char *end = list ? strpbrk(list, ": ") : NULL;

    if (end)
        (void)setenv("LD_PRELOAD", end + 1, 1); /* the agent has put us first */
    else
        (void)unsetenv("LD_PRELOAD");
    (void)unsetenv(GUARD_VARIABLE);
}

/* Scripts and wrappers on the way to mpirun hand both variables on. */
__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(GUARD_VARIABLE);

    if (!path || strlen(path) >= sizeof guard_path || dl_iterate_phdr(is_daemons, NULL) == 0)
        return;
    if (strcmp(path, GUARD_ASK) == 0)
        (void)!write(STDOUT_FILENO, GUARD_ANSWER, sizeof GUARD_ANSWER - 1);
    else
        strcpy(guard_path, path);
    leave_environment();
}

/* ---- the guard file ---- */

/* Returns 0 or a negative errno value; the caller wipes *ret. */
static int read_guard(struct guard_file *ret)
{
    int fd = open(guard_path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, sizeof *ret);

    if (fd >= 0)
        (void)close(fd);
    if (n != sizeof *ret) {
        explicit_bzero(ret, sizeof *ret);
        return -EACCES;
    }
    ret->address[sizeof ret->address - 1] = '\0';
    ret->secret[sizeof ret->secret - 1] = '\0';
    ret->socket[sizeof ret->socket - 1] = '\0';
    return 0;
}

static void write_peer(const struct sockaddr *peer, char *ret, socklen_t size)
{
    const struct sockaddr_in6 *v6 = (const void *)peer;
    const struct sockaddr_in *v4 = (const void *)peer;

    ret[0] = '\0';
    if (peer->sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &v4->sin_addr, ret, size);
    else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        (void)inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], ret, size);
    else
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, ret, size);
}

/* Never waits: an agent that is busy counts the next one. */
static void tell_refusal(const char *path, const struct sockaddr *peer)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    struct guard_refusal m = { .magic = GUARD_MAGIC };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    write_peer(peer, m.peer, sizeof m.peer);
    memcpy(to.sun_path, path, strlen(path) + 1);
    if (fd < 0)
        return;
    (void)sendto(fd, &m, sizeof m, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to);
    (void)close(fd);
}

/* ---- addresses ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool is_inet(const struct sockaddr *a, socklen_t n)
{
    return a && ((a->sa_family == AF_INET && n >= sizeof(struct sockaddr_in)) ||
                 (a->sa_family == AF_INET6 && n >= sizeof(struct sockaddr_in6)));
}

static bool is_all_addresses(const union address *a)
{
    return a->any.sa_family == AF_INET ? a->v4.sin_addr.s_addr == htonl(INADDR_ANY)
                                       : IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr) != 0;
}

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr) &&
            a->v6.sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

/* Put the address in the place of "all"; one of the other family leaves loopback. */
static void narrow(union address *a, const char *address)
{
    if (strcmp(address, "*") == 0)
        return;
    if (a->any.sa_family == AF_INET && inet_pton(AF_INET, address, &a->v4.sin_addr) != 1)
        a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (a->any.sa_family == AF_INET6 && inet_pton(AF_INET6, address, &a->v6.sin6_addr) != 1)
        a->v6.sin6_addr = in6addr_loopback;
}

/* ---- what is replaced ---- */

typedef int bind_function(int, const struct sockaddr *, socklen_t);
typedef int accept_function(int, struct sockaddr *, socklen_t *, int);

/* Where there is no ::1 a socket of IPv6 takes 127.0.0.1. */
static int bind_narrow(bind_function *real, int fd, const union address *a, socklen_t n)
{
    static const struct in6_addr mapped = { .s6_addr = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
                                                         127, 0, 0, 1 } };
    union address other = *a;
    int rc = real(fd, &a->any, n);

    if (rc == 0 || errno != EADDRNOTAVAIL || a->any.sa_family != AF_INET6)
        return rc;
    other.v6.sin6_addr = mapped;
    return real(fd, &other.any, n);
}

REPLACES int bind(int fd, const struct sockaddr *a, socklen_t n)
{
    void *caller = __builtin_return_address(0);
    bind_function *real = (bind_function *)dlsym(RTLD_NEXT, "bind");
    struct guard_file guard;
    union address at;

    if (!guard_path[0] || !is_inet(a, n) || n > sizeof at || !is_of_mpi(caller))
        return real(fd, a, n);
    memcpy(&at, a, n);
    if (!is_all_addresses(&at))
        return real(fd, a, n);
    if (read_guard(&guard) < 0) {
        errno = EACCES;
        return -1;
    }
    explicit_bzero(guard.secret, sizeof guard.secret);
    narrow(&at, is_channel(caller) ? guard.address : "");
    return bind_narrow(real, fd, &at, n);
}

/* Whether connections of this code begin with a secret, which is then in *ret. */
static bool has_secret(void *caller, struct guard_file *ret)
{
    return is_channel(caller) && read_guard(ret) == 0 && ret->secret[0];
}

/* The kernel hands a connection over when its first bytes are there, so that nobody who is silent
 * keeps the daemon waiting.
 */
REPLACES int listen(int fd, int backlog)
{
    void *caller = __builtin_return_address(0);
    int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
    struct guard_file guard;
    int wait_s = DEFER_S;

    if (guard_path[0] && has_secret(caller, &guard)) {
        explicit_bzero(&guard, sizeof guard);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &wait_s, sizeof wait_s);
    }
    return real(fd, backlog);
}

/* Finish a connection that was begun, also of a socket that does not wait. */
static int finish_connect(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    int why = ETIMEDOUT;
    socklen_t n = sizeof why;
    int ready;

    do
        ready = poll(&p, 1, CONNECT_MS);
    while (ready < 0 && errno == EINTR);
    if (ready > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) < 0)
        why = errno;
    errno = why;
    return why ? -1 : 0;
}

REPLACES int connect(int fd, const struct sockaddr *a, socklen_t n)
{
    void *caller = __builtin_return_address(0);
    bind_function *real = (bind_function *)dlsym(RTLD_NEXT, "connect");
    struct guard_file guard;
    int rc;

    if (!guard_path[0] || !is_inet(a, n) || !has_secret(caller, &guard))
        return real(fd, a, n);
    rc = real(fd, a, n);
    if (rc < 0 && errno == EINPROGRESS)
        rc = finish_connect(fd);
    if (rc == 0 && send(fd, guard.secret, GUARD_SECRET_CHARS, MSG_NOSIGNAL) != GUARD_SECRET_CHARS) {
        errno = ECONNRESET;
        rc = -1;
    }
    explicit_bzero(&guard, sizeof guard);
    return rc;
}

static bool is_equal(const char *x, const char *y, size_t n)
{
    unsigned char unlike = 0;

    for (size_t i = 0; i < n; i++)
        unlike |= (unsigned char)(x[i] ^ y[i]);
    return unlike == 0;
}

/* Take the secret off the connection. */
static bool shows_secret(int fd, const char *secret)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char given[GUARD_SECRET_CHARS];
    ssize_t n = recv(fd, given, sizeof given, MSG_DONTWAIT);
    bool is_same;

    if (n < 0 && errno == EAGAIN && poll(&p, 1, SECRET_MS) > 0)
        n = recv(fd, given, sizeof given, MSG_DONTWAIT);
    is_same = n == sizeof given && is_equal(given, secret, sizeof given);
    explicit_bzero(given, sizeof given);
    return is_same;
}

/* Whether a connection that was accepted may stay. */
static bool is_welcome(int fd, void *caller, struct guard_file *guard)
{
    union address peer, self;
    socklen_t n = sizeof peer, m = sizeof self;

    if (getpeername(fd, &peer.any, &n) < 0 || getsockname(fd, &self.any, &m) < 0)
        return false;
    if (!is_inet(&peer.any, n) || !is_inet(&self.any, m))
        return true;
    if (is_channel(caller) && guard->secret[0]
            ? shows_secret(fd, guard->secret)
            : !is_loopback(&self) || guard_peer_is_ours(&peer.any, &self.any))
        return true;
    tell_refusal(guard->socket, &peer.any);
    return false;
}

static int accept_some(int fd, struct sockaddr *a, socklen_t *n, int flags, void *caller)
{
    accept_function *real = (accept_function *)dlsym(RTLD_NEXT, "accept4");
    struct guard_file guard;
    int got = real(fd, a, n, flags);
    bool stays;

    if (got < 0 || !guard_path[0])
        return got;
    stays = read_guard(&guard) == 0 && is_welcome(got, caller, &guard);
    explicit_bzero(&guard, sizeof guard);
    if (stays)
        return got;
    (void)close(got);
    errno = EAGAIN; /* as if nobody had come */
    return -1;
}

REPLACES int accept(int fd, struct sockaddr *a, socklen_t *n)
{
    return accept_some(fd, a, n, 0, __builtin_return_address(0));
}

REPLACES int accept4(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
    return accept_some(fd, a, n, flags, __builtin_return_address(0));
}
