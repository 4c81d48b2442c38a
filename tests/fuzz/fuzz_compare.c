/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_compare.c - any bytes as a comparison, compare.json of an earlier start
 *
 * What is taken must be taken again, and be the same bytes, after it was written back; and it can
 * be evaluated and printed.
 */
#include "target.h"

#include "cmd/run/compare/compare_json.h"
#include "cmd/run/compare/compare_rows.h"
#include "cmd/run/compare/compare_table.h"
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
    struct compare *c = NULL;
    char *ret;

    if (compare_parse(text, n, "comparison", &c, NULL) < 0)
        return NULL;
    ret = compare_text(c);
    compare_rows_fill(c);
    compare_table(c, &b);
    for (int i = 0; i < c->n_runs; i++)
        compare_run_line(c, &c->run[i], &b);
    if (strpbrk(strbuf_text(&b), "\033\a\b\r")) {
        fputs("fuzz_compare: a control character was printed\n", stderr);
        abort();
    }
    strbuf_fini(&b);
    free(c);
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
        fputs("fuzz_compare: the comparison's own text is refused or differs\n", stderr);
        abort();
    }
    free(once);
    free(twice);
    return 0;
}
