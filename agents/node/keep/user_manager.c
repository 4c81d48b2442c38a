/* SPDX-License-Identifier: Apache-2.0 */
/* user_manager.c - sends one D-Bus message and reads its answer */
#include "user_manager.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- values of D-Bus: each begins at a multiple of its size, counted from the message's start */

enum { MOST = 1024, HEAD = 16, MOST_ANSWER = 1 << 16 };
enum { CALL = 1, RETURN = 2, FAILURE = 3 };                        /* kinds of messages */
enum { PATH = 1, INTERFACE = 2, MEMBER = 3, TO = 6, CONTENT = 8 }; /* header fields */

struct message {
    char at[MOST];
    size_t n;
    bool full;
};

/* Append n bytes; set m->full if there is no room. */
static void add(struct message *m, const void *data, size_t n)
{
    m->full = m->full || n > sizeof m->at - m->n;
    if (m->full)
        return;
    memcpy(m->at + m->n, data, n);
    m->n += n;
}

/* Append zeros up to a multiple of `to`. */
static void align(struct message *m, size_t to)
{
    static const char none[8];

    add(m, none, (to - m->n % to) % to);
}

/* Append an aligned UINT32. */
static void add_u32(struct message *m, uint32_t x)
{
    align(m, sizeof x);
    add(m, &x, sizeof x);
}

/* Append a STRING: length, bytes and 0. */
static void add_text(struct message *m, const char *s)
{
    add_u32(m, (uint32_t)strlen(s));
    add(m, s, strlen(s) + 1);
}

/* Append a SIGNATURE: length in one byte, characters and 0. */
static void add_signature(struct message *m, const char *s)
{
    add(m, &(uint8_t){ (uint8_t)strlen(s) }, 1);
    add(m, s, strlen(s) + 1);
}

/* Begin an array of structures, whose first one is aligned.  Return the place for end_array. */
static size_t begin_array(struct message *m)
{
    size_t place;

    add_u32(m, 0);
    place = m->n;
    align(m, 8);
    return place;
}

/* Set the length of an array begun at place; padding before the first structure does not count. */
static void end_array(struct message *m, size_t place)
{
    uint32_t n = (uint32_t)(m->n - (place + 7) / 8 * 8);

    if (!m->full)
        memcpy(m->at + place - sizeof n, &n, sizeof n);
}

/* Append a header field. */
static void add_field(struct message *m, uint8_t code, const char *signature, const char *value)
{
    align(m, 8);
    add(m, &code, 1);
    add_signature(m, signature);
    if (*signature == 'g')
        add_signature(m, value);
    else
        add_text(m, value);
}

/* ---- the call ---- */

/* Append the name and the signature of a property; its value follows. */
static void add_property(struct message *m, const char *name, const char *signature)
{
    align(m, 8);
    add_text(m, name);
    add_signature(m, signature);
}

/* Append the arguments of StartTransientUnit, for a scope of this name with this process. */
static void add_body(struct message *m, const char *name)
{
    size_t properties;

    add_text(m, name);
    add_text(m, "fail"); /* mode: fail rather than replace another job of the manager */
    properties = begin_array(m);
    add_property(m, "Description", "s");
    add_text(m, "eddis-keeper");
    add_property(m, "CollectMode", "s");
    add_text(m, "inactive-or-failed");
    add_property(m, "Delegate", "b");
    add_u32(m, 1);
    add_property(m, "PIDs", "au");
    add_u32(m, sizeof(uint32_t)); /* the length of the array */
    add_u32(m, (uint32_t)getpid());
    end_array(m, properties);
    end_array(m, begin_array(m)); /* no other units */
}

/* Make the whole message, header and body. */
static void make_call(struct message *m, const char *name)
{
    const uint8_t begin[] = { __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 'l' : 'B', CALL, 0, 1 };
    struct message body = { .n = 0 };
    size_t fields;

    add_body(&body, name);
    m->full = body.full;
    add(m, begin, sizeof begin);
    add_u32(m, (uint32_t)body.n);
    add_u32(m, 1); /* serial number */
    fields = begin_array(m);
    add_field(m, PATH, "o", "/org/freedesktop/systemd1");
    add_field(m, INTERFACE, "s", "org.freedesktop.systemd1.Manager");
    add_field(m, MEMBER, "s", "StartTransientUnit");
    add_field(m, TO, "s", "org.freedesktop.systemd1");
    add_field(m, CONTENT, "g", "ssa(sv)a(sa(sv))");
    end_array(m, fields);
    align(m, 8);
    add(m, body.at, body.n);
}

/* ---- the connection ---- */

/* Connect to the manager's private socket.  Return a descriptor or a negative errno value. */
static int connect_to(const char *runtime_dir, int64_t deadline_ns, struct eddis_error *err)
{
    int wait_ms = clock_poll_ms(deadline_ns);
    struct timeval wait = { wait_ms / 1000, wait_ms % 1000 * 1000 + 1 };
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (snprintf(a.sun_path, sizeof a.sun_path, "%s/systemd/private", runtime_dir) >=
        (int)sizeof a.sun_path)
        return eddis_fail(err, -ENAMETOOLONG, "the path '%s' is too long", runtime_dir);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) < 0 ||
        connect(fd, (const struct sockaddr *)&a, sizeof a) < 0)
        return eddis_fail_errno(err, -errno, "cannot connect to '%s'", a.sun_path);
    return cleanup_keep_fd(fd);
}

/* Send n bytes; block.  Return 0 or a negative errno value. */
static int send_all(int fd, const char *data, size_t n, struct eddis_error *err)
{
    while (n > 0) {
        ssize_t some = send(fd, data, n, MSG_NOSIGNAL);

        if (some < 0 && errno != EINTR)
            return eddis_fail_errno(err, -errno, "cannot write to the user's service manager");
        data += some > 0 ? some : 0;
        n -= some > 0 ? (size_t)some : 0;
    }
    return 0;
}

/* Receive exactly n bytes before the deadline.  Return 0 or a negative errno value. */
static int receive_all(int fd, void *ret, size_t n, int64_t deadline_ns, struct eddis_error *err)
{
    char *at = ret;

    while (n > 0) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        ssize_t some = poll(&p, 1, clock_poll_ms(deadline_ns)) > 0 ? recv(fd, at, n, 0) : -1;

        if (some == 0)
            return eddis_fail(err, -EPIPE, "the user's service manager has hung up");
        if (clock_now_ns() >= deadline_ns) /* also if the manager sends without an end */
            return eddis_fail(err, -ETIMEDOUT, "the user's service manager did not answer in time");
        if (some < 0 && errno != EINTR && errno != EAGAIN && p.revents)
            return eddis_fail_errno(err, -errno, "cannot read from the user's service manager");
        at += some > 0 ? some : 0;
        n -= some > 0 ? (size_t)some : 0;
    }
    return 0;
}

/* Authenticate by the user's number, which the socket proves; the answer is "OK ...". */
static int introduce(int fd, int64_t deadline_ns, struct eddis_error *err)
{
    char uid[16], hello[80], line[256] = "";
    size_t n = 0;
    int rc, k;

    (void)snprintf(uid, sizeof uid, "%u", (unsigned)geteuid());
    k = 1 + snprintf(hello + 1, sizeof hello - 1, "AUTH EXTERNAL ");
    hello[0] = '\0';
    for (const char *d = uid; *d; d++)
        k += snprintf(hello + k, sizeof hello - (size_t)k, "%02x", (unsigned)*d);
    k += snprintf(hello + k, sizeof hello - (size_t)k, "\r\n");
    rc = send_all(fd, hello, (size_t)k, err);
    while (rc == 0 && n < sizeof line - 1 && (n == 0 || line[n - 1] != '\n'))
        if ((rc = receive_all(fd, line + n, 1, deadline_ns, err)) == 0)
            n++;
    if (rc < 0)
        return rc;
    return strncmp(line, "OK", 2) == 0
               ? send_all(fd, "BEGIN\r\n", 7, err)
               : eddis_fail(err, -EACCES, "the user's service manager does not accept this user");
}

/* Read the next message, drop its content, and return its kind or a negative errno value. */
static int receive_kind(int fd, int64_t deadline_ns, struct eddis_error *err)
{
    char head[HEAD], part[256];
    uint32_t body, fields;
    size_t left;
    int rc = receive_all(fd, head, sizeof head, deadline_ns, err);

    if (rc < 0)
        return rc;
    memcpy(&body, head + 4, sizeof body);
    memcpy(&fields, head + 12, sizeof fields);
    if (body > MOST_ANSWER || fields > MOST_ANSWER)
        return eddis_fail(err, -EPROTO, "the answer of the user's service manager is too long");
    left = (fields + 7) / 8 * 8 + body;
    while (rc == 0 && left > 0) {
        size_t some = left < sizeof part ? left : sizeof part;

        rc = receive_all(fd, part, some, deadline_ns, err);
        left -= some;
    }
    return rc < 0 ? rc : (uint8_t)head[1];
}

int user_manager_scope(const char *runtime_dir, const char *name, int64_t deadline_ns,
                       struct eddis_error *err)
{
    cleanup_fd int fd = connect_to(runtime_dir, deadline_ns, err);
    struct message m = { .n = 0 };
    int rc = fd < 0 ? fd : introduce(fd, deadline_ns, err);

    make_call(&m, name);
    if (rc == 0 && m.full)
        rc = eddis_fail(err, -ENAMETOOLONG, "the scope's name is too long");
    if (rc == 0)
        rc = send_all(fd, m.at, m.n, err);
    while (rc == 0 || (rc > 0 && rc != RETURN && rc != FAILURE))
        rc = receive_kind(fd, deadline_ns, err);
    if (rc < 0)
        return rc;
    return rc == RETURN
               ? 0
               : eddis_fail(err, -EPERM, "the user's service manager did not make the scope");
}
