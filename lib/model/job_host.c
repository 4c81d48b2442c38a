/* SPDX-License-Identifier: Apache-2.0 */
/* job_host.c - check hosts, users, addresses and other texts that are passed to programs
 *
 * Each becomes an argument of ssh or of Open MPI.  So none may look like an option, and none may
 * need quotes in a shell.
 */
#include "host_list.h"
#include "job_impl.h"
#include "lib/base/ip.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS  "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

enum { HOST_MAX_BYTES = 253, LABEL_MAX_BYTES = 63, USER_MAX_BYTES = 64 };

/* Check whether s is a numeric address of this family. */
static bool is_address(int family, const char *s)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(family, s, address) == 1;
}

/* Check whether s is a host name: labels of letters, digits, '-' and '_', separated by dots; a
 * final dot is allowed.
 */
static bool is_host_name(const char *s)
{
    if (!*s || strlen(s) > HOST_MAX_BYTES)
        return false;
    while (*s) {
        size_t n = strspn(s, LETTERS DIGITS "-_");

        if (n == 0 || n > LABEL_MAX_BYTES || *s == '-' || (s[n] && s[n] != '.'))
            return false;
        s += n + (s[n] == '.');
    }
    return true;
}

/* Return why an IPv6 address cannot be used from other machines; NULL: it can, or it is not an IPv6
 * address.
 */
static const char *why_not(const char *s)
{
    size_t n = strcspn(s, "%");
    char address[IP_CHARS];
    struct ip a;

    (void)snprintf(address, sizeof address, "%.*s", (int)n, s);
    if (n >= sizeof address || !strchr(address, ':') || !ip_parse(address, &a))
        return NULL;
    if (ip_is_link_local(&a))
        return "is a link-local address, which leads elsewhere from each machine";
    if (!ip_is_unicast(&a))
        return "is the address of no single machine";
    return s[n] ? "names an interface behind its '%'" : NULL;
}

/* Return -EINVAL for an IPv6 address that other machines cannot use. */
static int check_reach(const char *address, struct eddis_error *err)
{
    const char *why = why_not(address);

    return why ? eddis_fail(err, -EINVAL,
                            "\"%.60s\" %s; write a name, or an address like fd00::7 that all "
                            "nodes reach",
                            address, why)
               : 0;
}

int job_check_host(const char *host, struct eddis_error *err)
{
    bool numbers = host[strspn(host, DIGITS ".")] == '\0'; /* then only an IPv4 address is valid */
    int rc = check_reach(host, err);

    if (rc < 0)
        return rc;
    if (is_address(AF_INET6, host) || is_address(AF_INET, host) || (!numbers && is_host_name(host)))
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is no name or address of a host; write letters, digits, '.', '-' "
                      "and '_', or an IPv4 or IPv6 address",
                      host);
}

int job_check_address(const char *address, struct eddis_error *err)
{
    int rc = check_reach(address, err);

    if (rc < 0 || is_address(AF_INET6, address) || is_address(AF_INET, address))
        return rc;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is no address; write one like 10.1.0.7 or fd00::7, or auto",
                      address);
}

int job_check_user(const char *user, struct eddis_error *err)
{
    size_t n = strspn(user, LETTERS DIGITS "._-+@");

    if (n > 0 && n <= USER_MAX_BYTES && !user[n] && *user != '-' && *user != '+' && *user != '@')
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is no name of a user; write letters, digits, '.', '_' and '-'",
                      user);
}

/* Check whether s is a network like "10.1.0.0/24" or "fd00::/64". */
static bool is_network(const char *s)
{
    const char *slash = strchr(s, '/');
    char address[64];
    int64_t bits;

    if (!slash || (size_t)(slash - s) >= sizeof address || !job_whole_parse(slash + 1, &bits))
        return false;
    (void)snprintf(address, sizeof address, "%.*s", (int)(slash - s), s);
    return bits >= 0 && ((is_address(AF_INET, address) && bits <= 32) ||
                         (is_address(AF_INET6, address) && bits <= 128));
}

int job_check_interface(const char *text, struct eddis_error *err)
{
    size_t n = strspn(text, LETTERS DIGITS "._-@");

    if ((n > 0 && n < 16 && !text[n] && *text != '-' && *text != '.') ||
        is_address(AF_INET, text) || is_address(AF_INET6, text) || is_network(text))
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is no network; write an interface's name, an address of this "
                      "machine or a network like 10.1.0.0/24, or auto",
                      text);
}

int job_check_eddis(const char *path, struct eddis_error *err)
{
    if (*path == '/' && strlen(path) < 1024 && !strpbrk(path, "\n\r"))
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is no path on another machine; write one from / on, or auto",
                      path);
}

int job_check_pattern(const char *pattern, struct eddis_error *err)
{
    size_t n = strspn(pattern, LETTERS DIGITS "_*?");

    if (n > 0 && !pattern[n] && !isdigit((unsigned char)*pattern))
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is no pattern of names; write letters, digits and _, with * for "
                      "any others",
                      pattern);
}

int job_check_prefix(const char *text, struct eddis_error *err)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return eddis_fail(err, -EINVAL, "a control character; write plain text");
    if (strlen(text) > 64)
        return eddis_fail(err, -EINVAL, "longer than 64 bytes; shorten it");
    for (const char *c = strchr(text, '{'); c; c = strchr(c + 1, '{'))
        if (strncmp(c, "{node}", 6) != 0 && strncmp(c, "{rank}", 6) != 0)
            return eddis_fail(err, -EINVAL,
                              "\"%.10s\" stands for nothing; known are {node} and "
                              "{rank}",
                              c);
    return 0;
}

struct job_ssh job_host_ssh(const struct job *job, const struct job_host *host)
{
    struct job_ssh s = host->ssh;

    if (!s.user)
        s.user = job->ssh.user;
    if (!s.port)
        s.port = job->ssh.port;
    if (!s.identity)
        s.identity = job->ssh.identity;
    if (!s.command || !s.command[0])
        s.command = job->ssh.command;
    return s;
}

void job_hosts_free(struct job_host *host, size_t n)
{
    for (size_t i = 0; host && i < n; i++)
        job_members_free(&job_host_table, &host[i]);
    free(host);
}
