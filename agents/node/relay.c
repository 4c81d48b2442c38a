/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - reads mpirun's call for a daemon, and sends it to the agent */
#include "relay.h"

#include "agents/protocol/protocol_relay.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/trust.h"
#include "openmpi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Time limit of sending a message, in seconds; limit of its size, in bytes. */
enum { SEND_S = 10, RELAY_BYTES = 192 << 10 };

/* ---- mpirun's arguments ---- */

/* Return a copy of a value without the quotes that mpirun puts around it for a shell; the caller
 * frees it.  NULL: no memory.
 */
static char *unquoted(const char *value)
{
    size_t n = strlen(value);

    if (n >= 2 && value[0] == '"' && value[n - 1] == '"')
        return strndup(value + 1, n - 2);
    return strdup(value);
}

/* Check whether a word is the flag that precedes a parameter's name and value: -mca or -prtemca,
 * with one or two dashes.
 */
static bool is_flag(const char *word)
{
    word += word[0] == '-' && word[1] == '-';
    return strcmp(word, "-mca") == 0 || strcmp(word, "-prtemca") == 0;
}

/* Return a copy of a parameter's value, without quotes, which the caller frees.  NULL: the
 * parameter is missing, name is NULL, or no memory.
 */
static char *value_of(int argc, char *const *argv, const char *name)
{
    for (int i = 1; name && i + 2 < argc; i++)
        if (is_flag(argv[i]) && strcmp(argv[i + 1], name) == 0)
            return unquoted(argv[i + 2]);
    return NULL;
}

/* Store a parameter's value, a daemon's number or the number of daemons, in *ret.  Return 0 or
 * -EINVAL.
 */
static int number_of(int argc, char *const *argv, const char *name, int *ret,
                     struct eddis_error *err)
{
    cleanup_free char *text = value_of(argc, argv, name);
    char *end;
    long n;

    if (!text)
        return eddis_fail(err, -EINVAL, "mpirun gave no '%s'", name);
    n = strtol(text, &end, 10);
    if (end == text || *end || n < 0 || n > PROTOCOL_MAX_AGENTS)
        return eddis_fail(err, -EINVAL, "'%s' of mpirun is not a number: '%s'", name, text);
    *ret = (int)n;
    return 0;
}

/* Fill *r from mpirun's arguments, for one version of Open MPI, and check it. argv[0] is the host.
 * Return 0 or a negative errno; the caller frees r also after an error.
 */
static int fill(int argc, char *const *argv, const struct openmpi *mpi, struct relay *r,
                struct eddis_error *err)
{
    cleanup_free char *space = value_of(argc, argv, mpi->space);
    int rc;

    if (!space || strlen(space) >= sizeof r->space || strlen(argv[0]) >= sizeof r->host)
        return eddis_fail(err, -EINVAL, "a name is missing in mpirun's arguments, or is too long");
    strcpy(r->space, space);
    strcpy(r->host, argv[0]);
    r->uri = value_of(argc, argv, mpi->uri);
    r->nodes = value_of(argc, argv, mpi->nodes);
    if (!r->nodes)
        r->nodes = strdup("");
    if (!r->uri || !r->nodes)
        return eddis_fail(err, -EINVAL, "mpirun gave no '%s'", mpi->uri);
    if ((rc = number_of(argc, argv, mpi->number, &r->daemon, err)) < 0 ||
        (rc = number_of(argc, argv, mpi->count, &r->daemons, err)) < 0)
        return rc;
    return relay_check(r, err);
}

int relay_parse(int argc, char *const *argv, struct relay *ret, struct eddis_error *err)
{
    struct relay r = { .daemon = 0 };
    int rc = eddis_fail(err, -EINVAL, "only mpirun starts this program, with a host and a command");

    for (int major = 4; argc > 1 && rc < 0 && major <= 5; major++) {
        cleanup_free char *mine = value_of(argc, argv, openmpi_row(major)->space);

        if (!mine)
            continue;
        rc = fill(argc, argv, openmpi_row(major), &r, err);
        break;
    }
    if (rc < 0)
        relay_free(&r);
    else
        *ret = r;
    return rc;
}

/* ---- mpirun's address ---- */

/* Return word n, counted from 0, of a list separated by commas; NULL: it has fewer words.
 * Overwrites the list.
 */
static char *nth_word(char *list, int n)
{
    while (n-- > 0)
        if (!strsep(&list, ","))
            return NULL;
    return strsep(&list, ",");
}

/* Check whether s consists of one or more decimal digits. */
static bool is_digits(const char *s)
{
    return *s && !s[strspn(s, "0123456789")];
}

/* Return the index, from 0, of an address in a list separated by commas, which may have brackets
 * around each address or around the whole list; -1: not in it.
 */
static int find_address(const char *list, const char *address)
{
    size_t n = strlen(address);

    for (int i = 0; n; i++) {
        size_t open = *list == '[', length = strcspn(list, ",");
        size_t end = length - (length > open && list[length - 1] == ']');

        if (end == n + open && strncmp(list + open, address, n) == 0)
            return i;
        if (!list[length])
            return -1;
        list += length + 1;
    }
    return -1;
}

/* Append a part of a URI to b, with `address` as the only item of its list.  The part is
 * "tcp://10.1.0.7,10.2.0.7:41231:24,16", or has no prefix lengths after the port.  Append nothing
 * if the address is not in the part or the part is invalid.  Overwrites the part.
 */
static void add_place(char *part, const char *address, struct strbuf *b)
{
    char *list = strstr(part, "://"), *port, *bits, *own;
    bool six = strncmp(part, "tcp6", 4) == 0;
    int at;

    if (!list || strncmp(part, "tcp", 3) != 0)
        return;
    *list = '\0';
    list += 3;
    port = six ? strrchr(list, ']') : list;
    port = port ? strchr(port, ':') : NULL;
    if (!port)
        return;
    *port++ = '\0';
    bits = strchr(port, ':');
    if (bits)
        *bits++ = '\0';
    at = find_address(list, address);
    own = bits && at >= 0 ? nth_word(bits, at) : NULL;
    if (at < 0 || !is_digits(port) || (bits && (!own || !is_digits(own))))
        return;
    strbuf_addf(b, ";%s://%s%s%s:%s%s%s", part, six ? "[" : "", address, six ? "]" : "", port,
                own ? ":" : "", own ? own : "");
}

char *relay_uri_at(const char *uri, const char *address, const char *host, struct eddis_error *err)
{
    cleanup_free char *copy = strdup(uri);
    char *rest = copy, *name = strsep(&rest, ";"), *part;
    struct strbuf b = { 0 };
    size_t before;

    strbuf_add(&b, name ? name : "");
    before = b.len;
    while ((part = strsep(&rest, ";")))
        add_place(part, address, &b);
    if (copy && !b.failed && b.len > before)
        return strbuf_steal(&b);
    strbuf_fini(&b);
    eddis_fail(err, -EACCES, "mpirun's daemon was to connect to '%.100s', which is not %s (%s)",
               uri, host, address);
    return NULL;
}

/* ---- from the relay to its agent ---- */

/* Convert a path to a socket address.  Return 0 or -ENAMETOOLONG. */
static int address_of(const char *path, struct sockaddr_un *ret, struct eddis_error *err)
{
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof ret->sun_path)
        return eddis_fail(err, -ENAMETOOLONG, "the path '%s' is too long for a socket", path);
    strcpy(ret->sun_path, path);
    return 0;
}

static const struct field message_fields[] = { FIELD_GROUP("relay", relay_table) };
static const struct fields message_table = FIELDS(struct relay, message_fields, .open = true);

int relay_send(const char *socket_path, const struct relay *r, struct eddis_error *err)
{
    struct timeval patience = { .tv_sec = SEND_S };
    cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cleanup_free char *text = fields_text(&message_table, r);
    struct sockaddr_un to;
    int rc = address_of(socket_path, &to, err);

    if (rc < 0)
        return rc;
    if (fd < 0 || !text)
        return eddis_fail(err, -ENOMEM, "no memory to tell the agent");
    if (strlen(text) > RELAY_BYTES)
        return eddis_fail(err, -E2BIG, "mpirun's list of nodes is too long");
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to) < 0)
        return eddis_fail_errno(err, -errno, "cannot reach the agent at '%s'", socket_path);
    return 0;
}

int relay_listen(const char *path, int option, int value, struct eddis_error *err)
{
    cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un at;
    int rc = address_of(path, &at, err);

    if (rc < 0)
        return rc;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, option, &value, sizeof value) < 0 ||
        fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0)
        return eddis_fail_errno(err, -errno, "cannot make the socket '%s'", path);
    return cleanup_keep_fd(fd);
}

/* Check whether the kernel attests that a message comes from a process of this user. */
static bool is_ours(struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        struct ucred who;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&who, CMSG_DATA(c), sizeof who);
        return trust_is_self(who.uid);
    }
    return false;
}

int relay_receive(int fd, struct relay *ret, struct eddis_error *err)
{
    cleanup_free char *text = malloc(RELAY_BYTES);
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec part = { text, RELAY_BYTES };
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    cleanup_json json_t *o = NULL;
    struct relay r = { .daemon = 0 };
    ssize_t n = text ? recvmsg(fd, &m, MSG_DONTWAIT) : -1;
    int rc;

    if (n < 0)
        return 0;
    if (!is_ours(&m))
        return eddis_fail(err, -EPERM, "a process of another user has sent a relay");
    if ((rc = json_parse(text, (size_t)n, "relay", &o, err)) < 0)
        return rc;
    if ((rc = fields_fill(&message_table, o, &r, err)) < 0) {
        relay_free(&r);
        return rc;
    }
    *ret = r;
    return 1;
}
