/* SPDX-License-Identifier: Apache-2.0 */
/* rejections.h - numbers of requests without a valid token, by peer */
#ifndef EDDIS_HTTP_REFUSALS_H
#define EDDIS_HTTP_REFUSALS_H

#include <stdint.h>

enum {
    HTTP_REFUSAL_PEERS = 32, /* peers counted separately; the last entry is for all others */
    HTTP_PEER_CHARS = 46,
};

/* Rejected requests of one peer */
struct http_refusal {
    char peer[HTTP_PEER_CHARS]; /* address, or "others" */
    int64_t n;
};

/* Rejected requests of all peers; empty if zeroed */
struct http_rejections {
    int64_t total;
    int n_peers;
    struct http_refusal peer[HTTP_REFUSAL_PEERS];
};

/* Count n more rejected requests of a peer. */
void http_rejections_add(struct http_rejections *r, const char *peer, int64_t n);

#endif
