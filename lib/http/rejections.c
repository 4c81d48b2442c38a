/* SPDX-License-Identifier: Apache-2.0 */
/* rejections.c - count rejected requests by peer; further peers are counted together */
#include "rejections.h"

#include <stdio.h>
#include <string.h>

void http_rejections_add(struct http_rejections *r, const char *peer, int64_t n)
{
    int i = 0;

    if (n > INT64_MAX / 2 - r->total)
        n = 0;
    r->total += n;
    while (i < r->n_peers && strcmp(r->peer[i].peer, peer) != 0)
        i++;
    if (i >= HTTP_REFUSAL_PEERS - 1) {
        i = HTTP_REFUSAL_PEERS - 1;
        peer = "others";
    }
    if (i >= r->n_peers) {
        r->n_peers = i + 1;
        r->peer[i].n = 0;
        (void)snprintf(r->peer[i].peer, sizeof r->peer[i].peer, "%s", peer);
    }
    r->peer[i].n += n;
}
