/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - a TLS key made for one job
 *
 * No authority certifies a driver, and none is needed.  Whoever starts an agent passes it the hash
 * of the driver's public key, over the same private channel as its token.  That hash is the pin; an
 * agent talks to no server with another key.  The certificate exists only because TLS requires one:
 * it is self-signed, and its names and dates mean nothing.
 *
 * The key is ECDSA over P-256, made in memory from the kernel's randomness, and never written to a
 * file.
 */
#ifndef EDDIS_HTTP_KEY_H
#define EDDIS_HTTP_KEY_H

#include "lib/base/error.h"

enum { HTTP_PIN_CHARS = 52 }; /* "sha256//" and 44 characters of base64 */

struct http_key;

/* Generate a key and its certificate.  The caller frees *ret by http_key_free.  Return 0, -ENOMEM
 * or -EIO.
 */
int http_key_new(struct http_key **ret, struct eddis_error *err);

/* Borrow the pin until http_key_free: "sha256//...", as libcurl expects it. */
const char *http_key_pin(const struct http_key *k);

/* Borrow the private key in PEM, for the server. */
const char *http_key_private(const struct http_key *k);

/* Borrow the certificate in PEM, for the server. */
const char *http_key_certificate(const struct http_key *k);

/* Wipe and free k.  Accepts NULL.  Running servers no longer need the key. */
void http_key_free(struct http_key *k);

#endif
