/* SPDX-License-Identifier: Apache-2.0 */
/* number.c - writes rates, times, sizes and percentages for people */
#include "number.h"

#include "lib/base/text.h"

#include <math.h>
#include <stdio.h>

/* Write "-", for a value that is not known, to ret [NUMBER_SIZE]. Return ret. */
static char *dash(char *ret)
{
    snprintf(ret, NUMBER_SIZE, "-");
    return ret;
}

char *number_rate(double x, char *ret)
{
    double size = fabs(x);
    int decimals;

    if (!isfinite(x))
        return dash(ret);
    if (size >= 999.5) {
        double unit = pow(10, floor(log10(size)) - 2);

        return text_grouped(round(x / unit) * unit, ret, NUMBER_SIZE);
    }
    decimals = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;
    if (size > 0 && size < 0.0995)
        snprintf(ret, NUMBER_SIZE, "%.2g", x);
    else
        snprintf(ret, NUMBER_SIZE, "%.*f", decimals, x);
    return ret;
}

char *number_percent(double part, double whole, char *ret)
{
    double percent = 100 * part / whole;

    if (!isfinite(percent))
        return dash(ret);
    snprintf(ret, NUMBER_SIZE, "%.0f %%", percent);
    return ret;
}

char *number_times(double x, double other, char *ret)
{
    double times = x / other;

    if (!isfinite(times))
        return dash(ret);
    snprintf(ret, NUMBER_SIZE, times >= 9.95 ? "%.0fx" : "%.1fx", times);
    return ret;
}

char *number_bytes(double bytes, char *ret)
{
    static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
    size_t u = 0;

    if (!isfinite(bytes) || bytes < 0)
        return dash(ret);
    for (; bytes >= 999.5 && u + 1 < sizeof unit / sizeof *unit; u++)
        bytes /= 1000;
    snprintf(ret, NUMBER_SIZE, u > 0 && bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes, unit[u]);
    return ret;
}

char *number_age(int64_t seconds, char *ret)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } unit[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };

    for (size_t u = 0; u < sizeof unit / sizeof *unit; u++)
        if (seconds >= unit[u].seconds) {
            snprintf(ret, NUMBER_SIZE, "%lld %s", (long long)(seconds / unit[u].seconds),
                     unit[u].name);
            return ret;
        }
    snprintf(ret, NUMBER_SIZE, "now");
    return ret;
}

char *number_of(int64_t n, const char *thing, char *ret)
{
    char digits[NUMBER_SIZE];

    snprintf(ret, NUMBER_SIZE, "%.20s %.20s%s", text_grouped((double)n, digits, sizeof digits),
             thing, n == 1 ? "" : "s");
    return ret;
}
