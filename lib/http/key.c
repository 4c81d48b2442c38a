/* SPDX-License-Identifier: Apache-2.0 */
/* key.c - make a key, its certificate and its pin with GnuTLS */
#include "key.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHA256_BYTES = 32, YEAR_S = 365 * 86400, DAY_S = 86400 };

/* A key with its certificate and pin. */
struct http_key {
    gnutls_datum_t key, certificate; /* PEM, followed by a 0 that size does not count */
    char pin[HTTP_PIN_CHARS + 1];
};

/* Overwrite the data with zeros, free it, and make *d empty. */
static void wipe(gnutls_datum_t *d)
{
    if (d->data)
        gnutls_memset(d->data, 0, d->size);
    gnutls_free(d->data);
    *d = (gnutls_datum_t){ 0 };
}

/* Fill in c as the certificate of key k, signed by k itself.  Return 0 or a negative GnuTLS code.
 * Peers with the pin ignore its names and dates.  It is valid from yesterday on, so that a slow
 * clock does not matter.
 */
static int sign(gnutls_x509_crt_t c, gnutls_x509_privkey_t k)
{
    const unsigned char serial = 1;
    time_t now = time(NULL);
    int rc = gnutls_x509_crt_set_version(c, 3);

    if (rc == 0)
        rc = gnutls_x509_crt_set_key(c, k);
    if (rc == 0)
        rc = gnutls_x509_crt_set_serial(c, &serial, sizeof serial);
    if (rc == 0)
        rc = gnutls_x509_crt_set_dn(c, "CN=eddis job", NULL);
    if (rc == 0)
        rc = gnutls_x509_crt_set_activation_time(c, now - DAY_S);
    if (rc == 0)
        rc = gnutls_x509_crt_set_expiration_time(c, now + 10 * (time_t)YEAR_S);
    return rc ? rc : gnutls_x509_crt_sign2(c, c, k, GNUTLS_DIG_SHA256, 0);
}

/* Write the pin of certificate c to ret: the SHA-256 hash of its public key as DER, in base64,
 * which is the form that libcurl compares.  Return 0 or a negative GnuTLS code.
 */
static int make_pin(gnutls_x509_crt_t c, char ret[HTTP_PIN_CHARS + 1])
{
    gnutls_datum_t der = { 0 }, text = { 0 };
    unsigned char hash[SHA256_BYTES];
    const gnutls_datum_t hashed = { hash, sizeof hash };
    gnutls_pubkey_t p;
    int rc = gnutls_pubkey_init(&p);

    if (rc < 0)
        return rc;
    rc = gnutls_pubkey_import_x509(p, c, 0);
    if (rc == 0)
        rc = gnutls_pubkey_export2(p, GNUTLS_X509_FMT_DER, &der);
    if (rc == 0)
        rc = gnutls_hash_fast(GNUTLS_DIG_SHA256, der.data, der.size, hash);
    if (rc == 0)
        rc = gnutls_base64_encode2(&hashed, &text);
    if (rc == 0 &&
        snprintf(ret, HTTP_PIN_CHARS + 1, "sha256//%s", (char *)text.data) != HTTP_PIN_CHARS)
        rc = GNUTLS_E_BASE64_ENCODING_ERROR;
    gnutls_free(der.data);
    gnutls_free(text.data);
    gnutls_pubkey_deinit(p);
    return rc;
}

/* Generate `key` and its certificate crt, both initialised, and store key, certificate and pin in
 * *k.  Return 0, or a negative GnuTLS code after which *k may be partly filled.
 */
static int generate(struct http_key *k, gnutls_x509_privkey_t key, gnutls_x509_crt_t crt)
{
    int rc = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                          GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);

    if (rc == 0)
        rc = sign(crt, key);
    if (rc == 0)
        rc = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &k->key);
    if (rc == 0)
        rc = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &k->certificate);
    return rc ? rc : make_pin(crt, k->pin);
}

int http_key_new(struct http_key **ret, struct eddis_error *err)
{
    struct http_key *k = calloc(1, sizeof *k);
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t crt = NULL;
    int rc;

    if (!k)
        return eddis_fail(err, -ENOMEM, "no memory for a TLS key");
    rc = gnutls_x509_privkey_init(&key);
    if (rc == 0)
        rc = gnutls_x509_crt_init(&crt);
    if (rc == 0)
        rc = generate(k, key, crt);
    if (crt)
        gnutls_x509_crt_deinit(crt);
    if (key)
        gnutls_x509_privkey_deinit(key); /* wipes GnuTLS's copy of the key */
    if (rc < 0) {
        http_key_free(k);
        return eddis_fail(err, -EIO, "cannot make a TLS key: %s", gnutls_strerror(rc));
    }
    *ret = k;
    return 0;
}

const char *http_key_pin(const struct http_key *k)
{
    return k->pin;
}

const char *http_key_private(const struct http_key *k)
{
    return (const char *)k->key.data;
}

const char *http_key_certificate(const struct http_key *k)
{
    return (const char *)k->certificate.data;
}

void http_key_free(struct http_key *k)
{
    if (!k)
        return;
    wipe(&k->key);
    wipe(&k->certificate);
    free(k);
}
