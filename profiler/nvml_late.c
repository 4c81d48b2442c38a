/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_late.c - keep whether NVML answered in time */
#include "nvml_late.h"

#include "lib/base/boot_id.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/crc32.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LATE_S = 3600, LINE = 256 };

/* Return the path of the machine's file, for the caller to free; NULL without memory. */
static char *path_of(const char *dir, const struct machine *m)
{
    if (text_is_name(m->host, 128))
        return file_join(dir, "nvml-late-%s", m->host);
    return file_join(dir, "nvml-late-%08x", crc32_update(0, m->host, strlen(m->host)));
}

/* Write the line that the file has on this start of the machine, with its driver, to ret. */
static void line_of(const struct machine *m, char ret[LINE])
{
    char boot[BOOT_ID_CHARS];

    boot_id_read(boot);
    (void)snprintf(ret, LINE, "%s %s\n", boot, m->driver);
}

bool nvml_late_known(const char *dir, const struct machine *m)
{
    cleanup_free char *path = path_of(dir, m), *text = NULL;
    char line[LINE];
    struct stat st;
    int64_t age_s;

    if (!path || lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || !trust_is_own(&st) ||
        file_read(path, LINE, &text, NULL, NULL) < 0)
        return false;
    age_s = clock_wall_ns() / CLOCK_S - st.st_mtime;
    line_of(m, line);
    return age_s >= 0 && age_s < LATE_S && strcmp(text, line) == 0;
}

void nvml_late_keep(const char *dir, const struct machine *m, bool late)
{
    cleanup_free char *path = path_of(dir, m);
    char line[LINE];

    if (!path)
        return;
    line_of(m, line);
    if (late)
        (void)file_write_atomic(path, line, strlen(line), 0600, NULL);
    else
        (void)unlink(path);
}
