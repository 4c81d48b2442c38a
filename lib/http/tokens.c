/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.c - draw tokens, and find the owner of a token in constant time */
#include "tokens.h"

#include "lib/base/cleanup.h"
#include "lib/base/random.h"
#include "lib/base/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* digits of a token: the owner's number, then the random ones */
enum { NUMBER_CHARS = 8, SECRET_CHARS = HTTP_TOKEN_CHARS - NUMBER_CHARS };

/* The tokens' random digits, by the owner's number. */
struct http_tokens {
    pthread_mutex_t lock; /* protects `secret`, which http_tokens_renew changes */
    int n;
    char (*secret)[SECRET_CHARS + 1]; /* [n] */
};

int http_tokens_new(int n, struct http_tokens **ret, struct eddis_error *err)
{
    struct http_tokens *t = calloc(1, sizeof *t);
    int rc = 0;

    if (!t)
        return eddis_fail(err, -ENOMEM, "no memory for tokens");
    pthread_mutex_init(&t->lock, NULL);
    t->n = n;
    t->secret = calloc((size_t)n, sizeof *t->secret);
    if (!t->secret)
        rc = eddis_fail(err, -ENOMEM, "no memory for %d tokens", n);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = random_hex(t->secret[i], SECRET_CHARS, err);
    if (rc < 0)
        http_tokens_free(t);
    else
        *ret = t;
    return rc;
}

void http_tokens_text(struct http_tokens *t, int who, char ret[HTTP_TOKEN_CHARS + 1])
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->lock);

    (void)snprintf(ret, HTTP_TOKEN_CHARS + 1, "%08x%s", (unsigned)who, t->secret[who]);
}

int http_tokens_renew(struct http_tokens *t, int who, struct eddis_error *err)
{
    char secret[SECRET_CHARS + 1];
    int rc = random_hex(secret, SECRET_CHARS, err);

    if (rc == 0) {
        pthread_mutex_lock(&t->lock);
        memcpy(t->secret[who], secret, sizeof secret);
        pthread_mutex_unlock(&t->lock);
    }
    explicit_bzero(secret, sizeof secret);
    return rc;
}

/* Return the owner's number at the start of a token; -1: it does not begin with eight lower-case
 * hexadecimal digits, or no token has this number.
 */
static int number(const struct http_tokens *t, const char *given)
{
    char text[NUMBER_CHARS + 1];
    unsigned long n;

    (void)snprintf(text, sizeof text, "%.*s", NUMBER_CHARS, given);
    n = strtoul(text, NULL, 16);
    return text_is_hex(text, NUMBER_CHARS) && n < (unsigned long)t->n ? (int)n : -1;
}

int http_tokens_who(struct http_tokens *t, const char *given)
{
    unsigned char differ = 0;
    int who;

    if (strlen(given) != HTTP_TOKEN_CHARS || (who = number(t, given)) < 0)
        return -1;
    pthread_mutex_lock(&t->lock);
    /* compare all digits, so that the duration does not show how many are correct */
    for (int i = 0; i < SECRET_CHARS; i++)
        differ |= (unsigned char)(t->secret[who][i] ^ given[NUMBER_CHARS + i]);
    pthread_mutex_unlock(&t->lock);
    return differ ? -1 : who;
}

void http_tokens_free(struct http_tokens *t)
{
    if (!t)
        return;
    if (t->secret)
        explicit_bzero(t->secret, (size_t)t->n * sizeof *t->secret);
    free(t->secret);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
