/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - format error messages: limited in length, on one line */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Replace all control characters of s by spaces, so that a message stays on one line whatever host
 * name or file name it quotes.
 */
static void one_line(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = ' ';
}

int eddis_fail(struct eddis_error *err, int code, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return code;
    err->code = code;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    one_line(err->text);
    return code;
}

int eddis_fail_errno(struct eddis_error *err, int code, const char *fmt, ...)
{
    char reason[128];
    size_t used;
    va_list ap;

    if (!err)
        return code;
    err->code = code;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s",
             strerror_r(-code, reason, sizeof reason));
    one_line(err->text);
    return code;
}

int eddis_fail_prefix(struct eddis_error *err, int code, const char *fmt, ...)
{
    char old[sizeof err->text];
    size_t used;
    va_list ap;

    if (!err)
        return code;
    memcpy(old, err->text, sizeof old);
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", old);
    one_line(err->text);
    if (!err->code)
        err->code = code;
    return err->code;
}
