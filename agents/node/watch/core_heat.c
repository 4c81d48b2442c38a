/* SPDX-License-Identifier: Apache-2.0 */
/* core_heat.c - reads counters of thermal_throttle, and sensors of hwmon and thermal zones */
#include "core_heat.h"

#include "lib/base/cleanup.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    CORES = 8,           /* most cores of a rank whose counters are read */
    SENSORS = 32,        /* sensors of each kind that are looked for */
    PATH = 1536,         /* size of a path */
    MOST_MILLI = 200000, /* highest valid temperature, in thousandths of a degree */
};

FILE *core_heat_open(const char *root, const char *format, ...)
{
    char path[PATH], all[2 * PATH];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(path, sizeof path, format, args);
    va_end(args);
    (void)snprintf(all, sizeof all, "%s/%s", root, path);
    return fopen(all, "re");
}

/* Store in *ret for how many milliseconds since boot heat has throttled a core. what: "core" for
 * the core's own heat, "package" for the heat of the whole processor.  Return false if the kernel
 * does not count this time.
 */
static bool read_ms(const char *root, int core, const char *what, int64_t *ret)
{
    cleanup_file FILE *f = core_heat_open(
        root, "sys/devices/system/cpu/cpu%d/thermal_throttle/%s_throttle_total_time_ms", core,
        what);

    return f && fscanf(f, "%" SCNd64, ret) == 1;
}

void core_heat_read(const char *root, const cpu_set_t *cores, struct core_heat *ret)
{
    int n_read = 0;

    *ret = (struct core_heat){ 0 };
    for (int i = 0; i < CPU_SETSIZE && n_read < CORES; i++) {
        int64_t core_ms, package_ms = 0;

        if (!CPU_ISSET(i, cores))
            continue;
        n_read++;
        if (!read_ms(root, i, "core", &core_ms))
            continue;
        (void)read_ms(root, i, "package", &package_ms);
        ret->core_ms += core_ms;
        ret->package_ms += package_ms;
        ret->n++;
    }
}

/* ---- temperature ---- */

/* Write to ret the first word of the file root/sys/class/<folder><i>/<file>; return false if there
 * is none.
 */
static bool read_word(const char *root, const char *folder, int i, const char *file, char ret[64])
{
    cleanup_file FILE *f = core_heat_open(root, "sys/class/%s%d/%s", folder, i, file);

    return f && fscanf(f, "%63s", ret) == 1;
}

/* Check whether a sensor's driver, by its name, measures processors.  Only the first sensor of a
 * driver is read, which is that of the whole processor: reading those of the cores would interrupt
 * each core.
 */
static bool is_processor(const char *name)
{
    static const char *const known[] = { "coretemp",    "k10temp",     "zenpower",
                                         "cpu_thermal", "cpu-thermal", "x86_pkg_temp" };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return false;
}

double core_heat_celsius(const char *root)
{
    static const struct {
        const char *folder, *name, *value;
    } kind[] = { { "hwmon/hwmon", "name", "temp1_input" },
                 { "thermal/thermal_zone", "type", "temp" } };
    double hottest = NAN, milli;
    char word[64];

    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++)
        for (int i = 0; i < SENSORS; i++)
            if (read_word(root, kind[k].folder, i, kind[k].name, word) && is_processor(word) &&
                read_word(root, kind[k].folder, i, kind[k].value, word) &&
                sscanf(word, "%lf", &milli) == 1 && milli > 0 && milli <= MOST_MILLI)
                hottest = fmax(hottest, milli / 1000);
    return hottest;
}
