/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_status.c - any bytes as a job's status, from its folder or its driver
 *
 * What is taken must be taken again, and be the same bytes, after it was written back; and it can
 * be printed.
 */
#include "target.h"

#include "agents/job/status_json.h"
#include "lib/base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool taken;

bool fuzz_taken(void)
{
    return taken;
}

static char *again(const char *text, size_t n)
{
    struct strbuf b = { 0 };
    struct job_status s;
    char *ret;

    if (job_status_parse(text, n, "status", &s, NULL) < 0)
        return NULL;
    ret = job_status_text(&s);
    job_status_print(&s, NULL, &b);
    job_status_print_more(&s, NULL, &b);
    if (strpbrk(strbuf_text(&b), "\033\a\b\r")) {
        fputs("fuzz_status: a control character was printed\n", stderr);
        abort();
    }
    strbuf_fini(&b);
    job_status_fini(&s);
    return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *once = again((const char *)data, n), *twice;

    taken = once != NULL;
    if (!once)
        return 0;
    twice = again(once, strlen(once));
    if (!twice || strcmp(once, twice) != 0) {
        fputs("fuzz_status: the status's own text is refused or differs\n", stderr);
        abort();
    }
    free(once);
    free(twice);
    return 0;
}
