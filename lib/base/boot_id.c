/* SPDX-License-Identifier: Apache-2.0 */
/* boot_id.c - read the kernel's boot id, which shows whether processes run on one machine */
#include "boot_id.h"

#include "cleanup.h"

#include <stdio.h>
#include <string.h>

void boot_id_read(char ret[BOOT_ID_CHARS])
{
    cleanup_file FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    memset(ret, 0, BOOT_ID_CHARS);
    if (f && !fgets(ret, BOOT_ID_CHARS, f))
        ret[0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}
