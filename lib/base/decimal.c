/* SPDX-License-Identifier: Apache-2.0 */
/* decimal.c - numbers in decimal text */
#include "decimal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool decimal_whole(const char *s, int64_t *ret)
{
    const char *digits = s + (*s == '-');
    char *end;

    if (!isdigit((unsigned char)*digits) || (*digits == '0' && isdigit((unsigned char)digits[1])))
        return false;
    errno = 0;
    *ret = strtoll(s, &end, 10);
    return errno == 0 && *end == '\0';
}

bool decimal_number(const char *s, double *ret)
{
    char *end;

    if (!*s || s[strspn(s, "0123456789.eE+-")])
        return false;
    *ret = strtod(s, &end);
    return *end == '\0' && isfinite(*ret);
}

void decimal_add(struct strbuf *b, double x, double scale)
{
    double near[] = { x * scale, nextafter(x * scale, HUGE_VAL), nextafter(x * scale, -HUGE_VAL) };
    char text[40];

    if (fabs(near[0]) < 1e15 && near[0] == floor(near[0]) && near[0] / scale == x) {
        strbuf_addf(b, "%.0f", near[0]); /* not "2e+01" */
        return;
    }
    for (int digits = 1; digits <= 17; digits++)
        for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
            snprintf(text, sizeof text, "%.*g", digits, near[i]);
            if (strtod(text, NULL) / scale == x) {
                strbuf_add(b, text);
                return;
            }
        }
    strbuf_add(b, text);
}
