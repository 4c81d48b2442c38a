/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.h - authentication by one random bearer token for each of n numbers
 *
 * A token has 64 hexadecimal digits: eight for the owner's number and 56 random ones (224 bits).
 * By the number the token is found in a table, so that a request costs the same with 10 000 agents
 * as with one; the random digits are then compared in constant time.  The number is not secret.
 * Tokens are drawn independently, not derived from a common secret: one reveals nothing about
 * another.  A token can be renewed, which locks out whoever has the old one, such as an agent that
 * was given up and has been replaced by a new one.
 */
#ifndef EDDIS_HTTP_TOKENS_H
#define EDDIS_HTTP_TOKENS_H

#include "lib/base/error.h"

enum { HTTP_TOKEN_CHARS = 64 };

struct http_tokens;

/* Draw tokens for the numbers 0 .. n - 1; the caller frees *ret by http_tokens_free.  Return 0 or a
 * negative errno.
 */
int http_tokens_new(int n, struct http_tokens **ret, struct eddis_error *err);

/* Write the token of number `who` and a 0 to ret; the caller wipes it.  Any thread may call this.
 */
void http_tokens_text(struct http_tokens *t, int who, char ret[HTTP_TOKEN_CHARS + 1]);

/* Draw a new token for number `who`; the old one becomes invalid.  Any thread may call this.
 * Return 0 or a negative errno, and then the old token stays valid.
 */
int http_tokens_renew(struct http_tokens *t, int who, struct eddis_error *err);

/* Return the number of the given token; -1: it is invalid.  Any thread may call this. */
int http_tokens_who(struct http_tokens *t, const char *given);

/* Wipe and free t.  Accepts NULL. */
void http_tokens_free(struct http_tokens *t);

#endif
