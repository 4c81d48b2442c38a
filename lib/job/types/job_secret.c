/* SPDX-License-Identifier: Apache-2.0 */
/* job_secret.c - recognise and mask values of variables with secret names */
#include "job_secret.h"

#include "lib/base/strbuf.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

bool job_is_secret(const char *name, size_t n)
{
    static const char *const parts[] = { "KEY",      "TOKEN",  "SECRET",
                                         "PASSWORD", "PASSWD", "CREDENTIAL" };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t at = 0; at + strlen(parts[i]) <= n; at++)
            if (strncasecmp(name + at, parts[i], strlen(parts[i])) == 0)
                return true;
    return false;
}

/* Return the end of a value in a shell line: the first blank outside quotes, or the end of s. */
static const char *end_of_value(const char *s)
{
    char quote = '\0';

    for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
        if (quote && *s == quote)
            quote = '\0';
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
    }
    return s;
}

char *job_masked(const char *text)
{
    static const char name_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    struct strbuf b = { 0 };
    const char *s = text;

    strbuf_add(&b, "");
    while (*s) {
        size_t n = strspn(s, name_letters);
        size_t other = n ? 0 : strcspn(s, name_letters);
        bool begins = s == text || !isalnum((unsigned char)s[-1]);

        strbuf_add_bytes(&b, s, n + other);
        if (n && s[n] == '=' && begins && job_is_secret(s, n)) {
            strbuf_add(&b, "=***");
            s = end_of_value(s + n + 1);
        } else {
            s += n + other;
        }
    }
    return strbuf_steal(&b);
}
