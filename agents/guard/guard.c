/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - replaces socket calls in Open MPI's daemons, see guard.h
 *
 * This library is preloaded into other programs.  So it uses only libc, and nettle for the proof.
 * The guard file is read each time it is needed, so that a core file does not contain the secret.
 */
#include "guard.h"

#include "guard_peer.h"
#include "guard_report.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <netinet/tcp.h>
#include <nettle/hmac.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

/* The original of a function that this library replaces. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum {
    DEFER_S = 30, /* time for which the kernel does not report a silent connection to accept */
    DESCRIPTORS = 65536, /* file descriptors below this number can need a proof */
};

/* Path of the guard file, set before main and constant from then on.  "": this process is not a
 * daemon of Open MPI.
 */
static char guard_path[PATH_MAX];

/* ---- which process, which code ---- */

/* Check whether the last part of a path begins with any of the words in the NULL-ended list names.
 */
static bool begins_with_any(const char *path, const char *const *names)
{
    const char *slash = strrchr(path, '/');

    for (path = slash ? slash + 1 : path; *names; names++)
        if (strncmp(path, *names, strlen(*names)) == 0)
            return true;
    return false;
}

/* Return 1 if a loaded library is one that only Open MPI's daemons have, otherwise 0 (callback of
 * dl_iterate_phdr, which stops at 1).
 */
static int is_daemons(struct dl_phdr_info *info, size_t size, void *ctx)
{
    static const char *const libraries[] = { "libopen-rte.", "libprrte.", NULL };

    return info->dlpi_name && begins_with_any(info->dlpi_name, libraries);
}

/* Check whether the address `caller` is in a program or library whose file name begins with one of
 * names.
 */
static bool has_code_of(void *caller, const char *const *names)
{
    Dl_info info;

    return dladdr(caller, &info) && info.dli_fname && begins_with_any(info.dli_fname, names);
}

/* Check whether the address `caller` is in code of the channel between mpirun and its daemons. */
static bool is_channel(void *caller)
{
    static const char *const names[] = { "mca_oob_", "prte_mca_oob_", "libopen-rte.", "libprrte.",
                                         NULL };

    return has_code_of(caller, names);
}

/* Check whether the address `caller` is in Open MPI's own code, and not, for example, in a module
 * of a name service.
 */
static bool is_of_mpi(void *caller)
{
    static const char *const names[] = { "mca_",     "prte_mca_", "pmix_mca_", "libopen-",
                                         "libprrte", "libpmix",   NULL };

    return has_code_of(caller, names);
}

/* Check whether the first n bytes of entry are a path of this library. */
static bool is_own(const char *entry, size_t n)
{
    const size_t own = sizeof GUARD_LIBRARY - 1;

    return n > own && entry[n - own - 1] == '/' && memcmp(entry + n - own, GUARD_LIBRARY, own) == 0;
}

/* Remove this library from LD_PRELOAD, whose value is list, so that child processes run without it.
 * Without memory LD_PRELOAD stays as it is.
 */
static void leave_preload(const char *list)
{
    size_t begin = 0, n = strcspn(list, ": ");
    char *rest = NULL;

    while (list[begin] && !is_own(list + begin, n)) {
        begin += n + (list[begin + n] != '\0');
        n = strcspn(list + begin, ": ");
    }
    if (!list[begin])
        return;
    if (begin == 0 && !list[n]) {
        (void)unsetenv("LD_PRELOAD");
        return;
    }
    n++; /* with the separator before it or, if it is first, after it */
    begin -= begin > 0;
    if (asprintf(&rest, "%.*s%s", (int)begin, list, list + begin + n) < 0)
        return;
    (void)setenv("LD_PRELOAD", rest, 1); /* also if no other library is left */
    free(rest);
}

/* Prepare this process before main, if it is a daemon of Open MPI: set guard_path from
 * GUARD_VARIABLE, or print GUARD_ANSWER for GUARD_ASK, and remove the variable and the preload for
 * child processes.  Other programs, such as scripts and wrappers that start mpirun, keep both
 * variables for their children.
 */
__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(GUARD_VARIABLE), *list = getenv("LD_PRELOAD");

    if (!path || strlen(path) >= sizeof guard_path || dl_iterate_phdr(is_daemons, NULL) == 0)
        return;
    if (strcmp(path, GUARD_ASK) == 0)
        (void)!write(STDOUT_FILENO, GUARD_ANSWER, sizeof GUARD_ANSWER - 1);
    else
        strcpy(guard_path, path);
    if (list)
        leave_preload(list);
    (void)unsetenv(GUARD_VARIABLE);
}

/* ---- the guard file ---- */

/* Read the guard file into *ret, which holds the secret.  Return 0, or -EACCES if it cannot be
 * read; the caller wipes *ret.
 */
static int read_guard(struct guard_file *ret)
{
    int fd = open(guard_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : REAL(read)(fd, ret, sizeof *ret);

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

/* ---- the proof ---- */

/* Write the address and port of one end of a connection to ret [size] as "ADDRESS:PORT".  Return
 * the length.
 */
static int write_end(const union guard_address *a, char *ret, size_t size)
{
    char text[GUARD_ADDRESS_CHARS];

    guard_peer_text(a, text, sizeof text);
    return snprintf(ret, size, "%s:%d", text,
                    ntohs(a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port));
}

/* Write to ret the proof that the end `from` of a connection has to show the end `to`, see guard.h.
 */
static void make_proof(const char *secret, const union guard_address *from,
                       const union guard_address *to, uint8_t ret[static GUARD_PROOF])
{
    char text[2 * GUARD_ADDRESS_CHARS + 16];
    struct hmac_sha256_ctx c;
    int n = write_end(from, text, sizeof text);

    text[n++] = '>';
    n += write_end(to, text + n, sizeof text - (size_t)n);
    hmac_sha256_set_key(&c, strlen(secret), (const uint8_t *)secret);
    hmac_sha256_update(&c, (size_t)n, (const uint8_t *)text);
    hmac_sha256_digest(&c, GUARD_PROOF, ret);
    explicit_bzero(&c, sizeof c);
}

/* Check whether n bytes are equal, in a time that does not depend on the bytes. */
static bool is_equal(const uint8_t *x, const uint8_t *y, size_t n)
{
    unsigned char unlike = 0;

    for (size_t i = 0; i < n; i++)
        unlike |= (unsigned char)(x[i] ^ y[i]);
    return unlike == 0;
}

/* ---- connections that still have to send or receive a proof ---- */

/* What is due before data flow: TO_SEND: this side must send a proof; TO_SHOW: the peer must send
 * one; REFUSED: the peer sent a wrong proof or none, so nothing may be read.
 */
enum owes { NOTHING, TO_SEND, TO_SHOW, REFUSED };

/* State by file descriptor.  The inode detects a descriptor that was reused, since this library
 * does not replace close.
 */
static struct {
    _Atomic ino_t inode;
    _Atomic int owes;
} connection[DESCRIPTORS];

/* Record what is due on the connection fd.  Return false, with nothing recorded, if fd is too large
 * or invalid.
 */
static bool note(int fd, enum owes owes)
{
    struct stat st;

    if (fd < 0 || fd >= DESCRIPTORS || fstat(fd, &st) < 0)
        return false;
    connection[fd].inode = st.st_ino;
    connection[fd].owes = owes;
    return true;
}

/* Return what is due on the connection fd.  If fd is another socket now, forget the record and
 * return NOTHING.
 */
static enum owes owed(int fd)
{
    struct stat st;

    if (fd < 0 || fd >= DESCRIPTORS || connection[fd].owes == NOTHING)
        return NOTHING;
    if (fstat(fd, &st) == 0 && connection[fd].inode == st.st_ino)
        return connection[fd].owes;
    connection[fd].owes = NOTHING;
    return NOTHING;
}

/* Send the proof, before the connection's first bytes, and record that none is due any more.
 * Return false, with errno set, on failure.
 */
static bool send_proof(int fd)
{
    union guard_address peer, self;
    struct guard_file guard;
    uint8_t proof[GUARD_PROOF];
    ssize_t n = -1;

    if (!guard_peer_ends(fd, &peer, &self))
        return false; /* errno of getpeername: not connected */
    if (read_guard(&guard) < 0) {
        errno = EACCES;
        return false;
    }
    make_proof(guard.secret, &self, &peer, proof);
    explicit_bzero(&guard, sizeof guard);
    n = REAL(send)(fd, proof, sizeof proof, MSG_NOSIGNAL);
    if (n == sizeof proof)
        connection[fd].owes = NOTHING;
    else if (n >= 0) /* a partial send: the proof must be one segment */
        errno = ECONNRESET;
    return n == sizeof proof;
}

/* Send the proof if one is due on fd.  Return true if data may be sent then; otherwise false, with
 * errno set.
 */
static bool may_send(int fd)
{
    return owed(fd) != TO_SEND || send_proof(fd);
}

/* Receive and check the peer's proof, without waiting.  If it is valid, return true, and nothing is
 * due any more.  If nothing has arrived, return false with errno EAGAIN or EINTR.  If it is wrong
 * or incomplete, report the peer, shut the connection down, and return false with errno ECONNRESET.
 * A proof is sent as one segment, so an incomplete proof is wrong.
 */
static bool take_proof(int fd)
{
    union guard_address peer, self;
    struct guard_file guard;
    uint8_t given[GUARD_PROOF], proof[GUARD_PROOF];
    ssize_t n = REAL(recv)(fd, given, sizeof given, MSG_DONTWAIT);
    bool shown = false;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (guard_peer_ends(fd, &peer, &self) && read_guard(&guard) == 0) {
        make_proof(guard.secret, &peer, &self, proof);
        shown = n == sizeof given && is_equal(given, proof, sizeof given);
        if (!shown)
            guard_report(guard.socket, &peer);
        explicit_bzero(&guard, sizeof guard);
    }
    connection[fd].owes = shown ? NOTHING : REFUSED;
    if (!shown)
        (void)shutdown(fd, SHUT_RDWR);
    errno = ECONNRESET;
    return shown;
}

/* Check the peer's proof if one is due on fd.  Return true if data may be read then; otherwise
 * false, with errno set.
 */
static bool may_read(int fd)
{
    enum owes owes = owed(fd);

    if (owes == REFUSED)
        errno = ECONNRESET;
    return owes == TO_SHOW ? take_proof(fd) : owes != REFUSED;
}

/* Replacements of libc's functions.  If the peer's proof is due, recv and read fail until it has
 * been checked.  If this side's proof is due, send, write and writev first send it.  Otherwise each
 * calls the original function and returns its result.
 */
REPLACES ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    return may_read(fd) ? REAL(recv)(fd, buf, n, flags) : -1;
}

REPLACES ssize_t read(int fd, void *buf, size_t n)
{
    return may_read(fd) ? REAL(read)(fd, buf, n) : -1;
}

REPLACES ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    return may_send(fd) ? REAL(send)(fd, buf, n, flags) : -1;
}

REPLACES ssize_t write(int fd, const void *buf, size_t n)
{
    return may_send(fd) ? REAL(write)(fd, buf, n) : -1;
}

REPLACES ssize_t writev(int fd, const struct iovec *v, int n)
{
    return may_send(fd) ? REAL(writev)(fd, v, n) : -1;
}

/* ---- listening ---- */

/* Check whether an address stands for all addresses of the machine, also as an IPv4 address that is
 * mapped into IPv6.
 */
static bool is_all_addresses(const union guard_address *a)
{
    const struct in6_addr *v6 = &a->v6.sin6_addr;

    if (a->any.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(v6) ||
           (IN6_IS_ADDR_V4MAPPED(v6) && !memcmp(&v6->s6_addr[12], "\0\0\0", 4));
}

/* Check whether an address is a loopback address. */
static bool is_loopback(const union guard_address *a)
{
    if (a->any.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

/* Replace the address in *a, but not its port, by `address`, or by the loopback address if
 * `address` is not of a's family.  "*" leaves *a as it is.
 */
static void narrow(union guard_address *a, const char *address)
{
    if (strcmp(address, "*") == 0)
        return;
    if (a->any.sa_family == AF_INET && inet_pton(AF_INET, address, &a->v4.sin_addr) != 1)
        a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (a->any.sa_family == AF_INET6 && inet_pton(AF_INET6, address, &a->v6.sin6_addr) != 1)
        a->v6.sin6_addr = in6addr_loopback;
}

/* Bind fd to an address of n bytes.  If the machine has no ::1, bind an IPv6 socket to 127.0.0.1.
 * Return as bind does.
 */
static int bind_narrow(int fd, const union guard_address *a, socklen_t n)
{
    union guard_address other = *a;
    int rc = REAL(bind)(fd, &a->any, n);

    if (rc == 0 || errno != EADDRNOTAVAIL || a->any.sa_family != AF_INET6)
        return rc;
    (void)inet_pton(AF_INET6, "::ffff:127.0.0.1", &other.v6.sin6_addr);
    return REAL(bind)(fd, &other.any, n);
}

/* Check whether a, of n bytes, is an IPv4 or IPv6 address. */
static bool is_inet(const struct sockaddr *a, socklen_t n)
{
    return a && ((a->sa_family == AF_INET && n >= sizeof(struct sockaddr_in)) ||
                 (a->sa_family == AF_INET6 && n >= sizeof(struct sockaddr_in6)));
}

/* Replacement of bind.  If Open MPI's own code binds to all addresses, bind to the guard file's
 * address (for the channel) or to loopback (for other listeners) instead.  Return as bind does;
 * EACCES: the guard file cannot be read.
 */
REPLACES int bind(int fd, const struct sockaddr *a, socklen_t n)
{
    void *caller = __builtin_return_address(0);
    struct guard_file guard;
    union guard_address at;

    if (!guard_path[0] || !is_inet(a, n) || n > sizeof at || !is_of_mpi(caller))
        return REAL(bind)(fd, a, n);
    memcpy(&at, a, n);
    if (!is_all_addresses(&at))
        return REAL(bind)(fd, a, n);
    if (read_guard(&guard) < 0) {
        errno = EACCES;
        return -1;
    }
    explicit_bzero(guard.secret, sizeof guard.secret);
    narrow(&at, is_channel(caller) ? guard.address : "");
    return bind_narrow(fd, &at, n);
}

/* Return 1 if connections made by the code at `caller` begin with a proof, 0 if not, or a negative
 * errno if the guard file cannot be read.
 */
static int has_proof(void *caller)
{
    struct guard_file guard;
    int rc = is_channel(caller) ? read_guard(&guard) : 1;

    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = guard.secret[0] != '\0';
    explicit_bzero(&guard, sizeof guard);
    return rc;
}

/* Replacement of listen.  For a listener that requires a proof, have the kernel hold back
 * connections until their first bytes, so that a silent peer does not keep the daemon busy.
 */
REPLACES int listen(int fd, int backlog)
{
    int wait_s = DEFER_S;

    if (guard_path[0] && has_proof(__builtin_return_address(0)) > 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &wait_s, sizeof wait_s);
    return REAL(listen)(fd, backlog);
}

/* ---- connecting and accepting ---- */

/* Replacement of connect.  For a connection that begins with a proof, record that the proof is due
 * before the first bytes.  Return as connect does; EMFILE: fd is too large; EACCES: the guard file
 * cannot be read.
 */
REPLACES int connect(int fd, const struct sockaddr *a, socklen_t n)
{
    int proof = guard_path[0] && is_inet(a, n) ? has_proof(__builtin_return_address(0)) : 0;

    if (proof < 0 || (proof && !note(fd, TO_SEND))) {
        errno = proof < 0 ? -proof : EMFILE;
        return -1;
    }
    return REAL(connect)(fd, a, n);
}

/* Check whether the accepted connection fd may be used.  If a proof is required, record that the
 * peer's proof is due, and return true.  Otherwise the peer must belong to this user or root; only
 * the channel accepts any peer over the network, in a job with a node that has no guard.
 */
static bool is_welcome(int fd, void *caller)
{
    union guard_address peer, self;
    int proof = has_proof(caller);

    if (proof < 0 || !guard_peer_ends(fd, &peer, &self))
        return false;
    if (proof)
        return note(fd, TO_SHOW);
    return (is_channel(caller) && !is_loopback(&self)) || guard_peer_is_ours(fd);
}

/* Report the peer of an accepted connection to the agent, and close the connection. */
static void refuse(int fd)
{
    union guard_address peer, self;
    struct guard_file guard;

    if (guard_peer_ends(fd, &peer, &self) && read_guard(&guard) == 0) {
        guard_report(guard.socket, &peer);
        explicit_bzero(&guard, sizeof guard);
    }
    (void)close(fd);
}

/* Check whether fd is an IPv4 or IPv6 socket. */
static bool is_tcp(int fd)
{
    int domain = 0;
    socklen_t n = sizeof domain;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 &&
           (domain == AF_INET || domain == AF_INET6);
}

/* Accept a connection as accept4 does; if is_welcome rejects it, close it, report it, and fail with
 * EAGAIN, as if nobody had connected. caller: the address that called accept or accept4.
 */
static int accept_some(int fd, struct sockaddr *a, socklen_t *n, int flags, void *caller)
{
    int got = REAL(accept4)(fd, a, n, flags);

    if (got < 0 || !guard_path[0] || !is_tcp(got) || is_welcome(got, caller))
        return got;
    refuse(got);
    errno = EAGAIN;
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
