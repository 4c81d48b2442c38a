/* SPDX-License-Identifier: Apache-2.0 */
/* host_name.c - check names and addresses of hosts, and names of users */
#include "host_name.h"

#include "lib/base/ip.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DIGITS  "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* limits of the lengths of a host name, of a label between its dots, and of a user name */
enum { HOST_MAX_BYTES = 253, LABEL_MAX_BYTES = 63, USER_MAX_BYTES = 64 };

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

/* Return the reason, a static text, why other machines cannot use s if it is an IPv6 address.
 * NULL: they can, or s is not an IPv6 address.
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
        return "is a link-local address, which is valid on one network link only";
    if (!ip_is_unicast(&a))
        return "is not the address of a single machine";
    return s[n] ? "names an interface after its '%'" : NULL;
}

/* Return -EINVAL with a message if `address` is an IPv6 address that other machines cannot use,
 * else 0.
 */
static int check_reach(const char *address, struct eddis_error *err)
{
    const char *why = why_not(address);

    return why ? eddis_fail(err, -EINVAL,
                            "\"%.60s\" %s; write a name, or an address like fd00::7 that all "
                            "nodes reach",
                            address, why)
               : 0;
}

int host_name_check(const char *host, struct eddis_error *err)
{
    bool numbers = host[strspn(host, DIGITS ".")] == '\0'; /* if so, it must be an IPv4 address */
    int rc = check_reach(host, err);
    struct ip a;

    if (rc < 0)
        return rc;
    if (ip_parse(host, &a) || (!numbers && is_host_name(host)))
        return 0;
    return eddis_fail(
        err, -EINVAL,
        "\"%.60s\" is not a name or address of a host; write letters, digits, '.', '-' "
        "and '_', or an IPv4 or IPv6 address",
        host);
}

int host_address_check(const char *address, struct eddis_error *err)
{
    int rc = check_reach(address, err);
    struct ip a;

    if (rc < 0 || ip_parse(address, &a))
        return rc;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is not an address; write one like 10.1.0.7 or fd00::7, or auto",
                      address);
}

int host_user_check(const char *user, struct eddis_error *err)
{
    size_t n = strspn(user, LETTERS DIGITS "._-+@");

    if (n > 0 && n <= USER_MAX_BYTES && !user[n] && *user != '-' && *user != '+' && *user != '@')
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is not a name of a user; write letters, digits, '.', '_' and '-'",
                      user);
}
