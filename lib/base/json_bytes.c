/* SPDX-License-Identifier: Apache-2.0 */
/* json_bytes.c - convert strings that may not be UTF-8 to and from JSON */
#include "json_bytes.h"

#include "cleanup.h"
#include "strbuf.h"
#include "text.h"

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

json_t *json_sentence(const char *s)
{
    json_t *j = json_string(s);
    cleanup_free char *clean = NULL;
    size_t n = strlen(s);

    if (j)
        return j;
    clean = strdup(s);
    if (!clean)
        return NULL;
    for (size_t at = text_utf8_bad(s, n); at < n; at += text_utf8_bad(s + at, n - at))
        clean[at++] = '?';
    return json_string(clean);
}

/* Return the value of the lower-case hexadecimal digit c; -1: c is no such digit. */
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
