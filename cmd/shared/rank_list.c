/* SPDX-License-Identifier: Apache-2.0 */
/* rank_list.c - parses and writes sets of ranks, "0,5-7" */
#include "rank_list.h"

#include "lib/base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

int rank_list_parse(const char *text, struct rank_list *ret, struct eddis_error *err)
{
    struct rank_list l = { .n = 0 };
    const char *s = text;

    for (;;) {
        int first, last;

        if (!text_range(&s, INT_MAX - 1, &first, &last) || (*s && *s != ','))
            return eddis_fail(err, -EINVAL, "\"%s\" is not a list of ranks; write one like 0,5-7",
                              text);
        if (l.n == RANK_LIST_RANGES)
            return eddis_fail(err, -E2BIG, "more than %d ranges of ranks", RANK_LIST_RANGES);
        l.range[l.n].first = first;
        l.range[l.n++].last = last;
        if (!*s)
            break;
        s++;
    }
    *ret = l;
    return 0;
}

bool rank_list_has(const struct rank_list *l, int rank)
{
    for (int i = 0; i < l->n; i++)
        if (rank >= l->range[i].first && rank <= l->range[i].last)
            return true;
    return l->n == 0;
}

int rank_list_check(const struct rank_list *l, int n_ranks, struct eddis_error *err)
{
    for (int i = 0; i < l->n; i++) {
        int first = l->range[i].first;

        if (l->range[i].last >= n_ranks)
            return eddis_fail(err, -ERANGE,
                              "there is no rank %d; the last of the %d ranks is rank %d",
                              first < n_ranks ? n_ranks : first, n_ranks, n_ranks - 1);
    }
    return 0;
}

int rank_list_count(const struct rank_list *l, int n_ranks)
{
    int n = 0;

    for (int r = 0; r < n_ranks; r++)
        n += rank_list_has(l, r);
    return n;
}

/* Check whether rank r is below n_ranks and its bit is set. */
static bool has_bit(const unsigned char *bits, int n_ranks, int r)
{
    return r < n_ranks && bits[r / 8] & 1 << r % 8;
}

void rank_list_text(const unsigned char *bits, int n_ranks, char *ret, size_t size)
{
    size_t used = 0;

    *ret = '\0';
    for (int r = 0; r < n_ranks; r++) {
        char one[32];
        int last = r;

        if (!has_bit(bits, n_ranks, r))
            continue;
        while (has_bit(bits, n_ranks, last + 1))
            last++;
        if (last > r)
            (void)snprintf(one, sizeof one, "%s%d%s%d", used ? "," : "", r,
                           last == r + 1 ? "," : "-", last);
        else
            (void)snprintf(one, sizeof one, "%s%d", used ? "," : "", r);
        if (used + strlen(one) + sizeof ",..." > size) {
            (void)snprintf(ret + used, size - used, "%s...", used ? "," : "");
            return;
        }
        strcpy(ret + used, one);
        used += strlen(one);
        r = last;
    }
}
