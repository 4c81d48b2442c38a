/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - a TLS key made for one job
 *
 * There is no authority that would vouch for a driver, and none is needed: whoever starts an agent
 * tells it, over the same private way as its token, the hash of the driver's public key.  That hash
 * is the pin; an agent speaks to no server that shows another key.  The certificate around the key
 * is there because TLS wants one: self-signed, its names and dates mean nothing.
 *
 * The key is ECDSA over P-256, made in memory from the kernel's randomness, and never written.
 */
#ifndef EDDIS_HTTP_KEY_H
#define EDDIS_HTTP_KEY_H

#include "lib/base/error.h"

enum { HTTP_PIN_CHARS = 52 }; /* "sha256//" and 44 characters of base64 */

struct http_key;

/* Make a key and its certificate. */
int http_key_new(struct http_key **ret, struct eddis_error *err);

/* Borrow the pin until http_key_free: "sha256//...", as libcurl takes it. */
const char *http_key_pin(const struct http_key *k);

/* Borrow the private key and the certificate in PEM, for the server. */
const char *http_key_private(const struct http_key *k);
const char *http_key_certificate(const struct http_key *k);

/* Wipe and free k; accepts NULL.  Servers started with the key need it no longer. */
void http_key_free(struct http_key *k);

#endif
