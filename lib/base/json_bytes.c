/* SPDX-License-Identifier: Apache-2.0 */
/* json_bytes.c - convert strings that may not be UTF-8 to and from JSON */
#include "json_bytes.h"

#include "cleanup.h"
#include "strbuf.h"

#include <stdlib.h>
#include <string.h>

json_t *json_bytes(const char *s)
{
    json_t *j = json_string(s);
    struct strbuf b = { 0 };
    cleanup_free char *hex = NULL;

    if (j)
        return j;
    for (; *s; s++)
        strbuf_addf(&b, "%02x", (unsigned char)*s);
    hex = strbuf_steal(&b);
    return hex ? json_pack("{s:s}", "hex", hex) : NULL;
}

/* Return the length in bytes of the UTF-8 character at s; 0: invalid. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    char one[5] = { 0 };
    json_t *j;

    if (n == 0 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if (n <= 2)
        return n;
    /* jansson rejects surrogates, overlong forms and numbers that are too large. */
    memcpy(one, s, n);
    j = json_stringn(one, n);
    json_decref(j);
    return j ? n : 0;
}

json_t *json_sentence(const char *s)
{
    json_t *j = json_string(s);
    cleanup_free char *clean = NULL;

    if (j)
        return j;
    clean = strdup(s);
    if (!clean)
        return NULL;
    for (char *c = clean; *c;) {
        size_t n = utf8_length((const unsigned char *)c);

        if (n == 0)
            *c = '?';
        c += n ? n : 1;
    }
    return json_string(clean);
}

/* Return the value of a lower-case hexadecimal digit; -1: it is none. */
static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *json_bytes_copy(const json_t *j)
{
    const char *hex;
    size_t n;
    char *s;

    if (json_is_string(j))
        return strdup(json_string_value(j));
    hex = json_string_value(json_object_get(j, "hex"));
    if (!hex || json_object_size(j) != 1 || strlen(hex) % 2)
        return NULL;
    n = strlen(hex) / 2;
    s = calloc(1, n + 1);
    for (size_t i = 0; s && i < n; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

        if (high < 0 || low < 0 || high + low == 0) {
            free(s);
            return NULL;
        }
        s[i] = (char)(high * 16 + low);
    }
    return s;
}
