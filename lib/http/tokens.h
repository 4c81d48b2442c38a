/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.h - who may speak to a server: one random bearer token for each of n numbers
 *
 * A token is 64 hexadecimal digits: eight with the number of whom it was given to, 56 random ones
 * (224 bits).  The number makes finding the right one a look into a table, so that a request costs
 * the same with 10 000 agents as with one; the random digits are then compared in constant time.
 * The number itself is no secret.  Tokens are drawn one by one and not derived from a common
 * secret: nobody's says anything about another's, and one can be renewed, which shuts out whoever
 * still has the old one (an agent that was given up and started again).
 */
#ifndef EDDIS_HTTP_TOKENS_H
#define EDDIS_HTTP_TOKENS_H

#include "lib/base/error.h"

enum { HTTP_TOKEN_CHARS = 64 };

struct http_tokens;

/* Draw tokens for the numbers 0 .. n-1. */
int http_tokens_new(int n, struct http_tokens **ret, struct eddis_error *err);

/* Write the token of number who and a 0; the caller wipes it.  Any thread. */
void http_tokens_text(struct http_tokens *t, int who, char ret[HTTP_TOKEN_CHARS + 1]);

/* Draw another token for number who; the old one is worth nothing from now on.  Any thread. */
int http_tokens_renew(struct http_tokens *t, int who, struct eddis_error *err);

/* Return the number whose token is given, or -1: nobody's.  Any thread. */
int http_tokens_who(struct http_tokens *t, const char *given);

/* Wipe and free t; accepts NULL. */
void http_tokens_free(struct http_tokens *t);

#endif
