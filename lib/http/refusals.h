/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.h - how often which peer came without a valid token */
#ifndef EDDIS_HTTP_REFUSALS_H
#define EDDIS_HTTP_REFUSALS_H

#include <stdint.h>

enum {
    HTTP_REFUSAL_PEERS = 32, /* that are told apart; the last one stands for all further ones */
    HTTP_PEER_CHARS = 46,
};

struct http_refusal {
    char peer[HTTP_PEER_CHARS]; /* an address, or "others" */
    int64_t n;
};

struct http_refusals {
    int64_t total;
    int n_peers;
    struct http_refusal peer[HTTP_REFUSAL_PEERS];
};

/* Count n more requests of a peer; a zeroed struct is empty. */
void http_refusals_add(struct http_refusals *r, const char *peer, int64_t n);

#endif
