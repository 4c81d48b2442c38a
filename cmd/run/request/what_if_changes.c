/* SPDX-License-Identifier: Apache-2.0 */
/* what_if_changes.c - parses the changes of --what-if */
#include "what_if_changes.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A unit and its value in bytes per second, or in seconds */
struct unit {
    const char *name;
    double value;
};

static const struct unit rates[] = {
    { "kbit", 1e3 / 8 }, { "mbit", 1e6 / 8 }, { "gbit", 1e9 / 8 }, { "tbit", 1e12 / 8 }
};
static const struct unit times[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 } };

#define N(table) (sizeof table / sizeof *table)

/* Limits of the network, in bytes per second and in seconds */
#define MAX_BYTES_PER_S 1e15
#define MAX_LATENCY_S   1e3

/* Parse a decimal number at `text`, without sign or blanks. Return the end of the number; NULL:
 * there is none, or it is not finite.
 */
static const char *parse_number(const char *text, double *ret)
{
    char *end;

    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return NULL;
    *ret = strtod(text, &end);
    return end != text && isfinite(*ret) ? end : NULL;
}

/* Parse a number with one of n units into *ret. Return false if it is none, 0, or above `most`. */
static bool parse_with_unit(const char *text, const struct unit *unit, size_t n, double most,
                            double *ret)
{
    double x;
    const char *end = parse_number(text, &x);

    for (size_t i = 0; end && i < n; i++)
        if (strcasecmp(end, unit[i].name) == 0) {
            *ret = x * unit[i].value;
            return *ret > 0 && *ret <= most;
        }
    return false;
}

/* Append a change of a node. Return 0; -EINVAL: it is no name of a node; -ENOMEM. */
static int add_node(struct what_if_changes *c, const char *word, const char *host, size_t n,
                    struct what_if_node change, struct eddis_error *err)
{
    struct what_if_node *more;

    if (n >= sizeof change.host)
        return eddis_fail(err, -EINVAL, "\"%.80s\": the name of the node is too long", word);
    memcpy(change.host, host, n);
    change.host[n] = '\0';
    if (n == 0)
        return eddis_fail(err, -EINVAL, "\"%.80s\" names no node; write it as %s", word,
                          change.kind == WHAT_IF_LEAVE ? "-node3"
                          : change.kind == WHAT_IF_ADD ? "+node1 or +2xnode1"
                                                       : "node4.rate=0.5");
    more = realloc(c->node, ((size_t)c->n_nodes + 1) * sizeof *more);
    if (!more)
        return eddis_fail(err, -ENOMEM, "no memory for a change");
    c->node = more;
    c->node[c->n_nodes++] = change;
    c->copies += change.copies;
    return 0;
}

/* Take "+HOST" or "+KxHOST". Return 0 or a negative error. */
static int take_copies(struct what_if_changes *c, const char *word, struct eddis_error *err)
{
    const char *host = word + 1;
    char *end;
    long n = strtol(host, &end, 10);

    if (!isdigit((unsigned char)*host) || *end != 'x' || !end[1])
        n = 1;
    else
        host = end + 1;
    if (n < 1 || n > WHAT_IF_MAX_COPIES - c->copies)
        return eddis_fail(err, -EINVAL, "\"%.80s\": the number of copies is not from 1 to %d", word,
                          WHAT_IF_MAX_COPIES - c->copies);
    return add_node(c, word, host, strlen(host),
                    (struct what_if_node){ .kind = WHAT_IF_ADD, .copies = (int)n }, err);
}

/* Take "HOST.rate=FACTOR", whose host has n characters. Return 0 or a negative error. */
static int take_rate(struct what_if_changes *c, const char *word, size_t n, const char *value,
                     struct eddis_error *err)
{
    struct what_if_node change = { .kind = WHAT_IF_RATE };
    const char *end = parse_number(value, &change.rate);

    if (!end || *end || change.rate < WHAT_IF_MIN_RATE || change.rate > WHAT_IF_MAX_RATE)
        return eddis_fail(err, -EINVAL,
                          "\"%.80s\": the rate is not a number from %g to %g; node4.rate=0.5 makes "
                          "the devices of node4 half as fast",
                          word, WHAT_IF_MIN_RATE, WHAT_IF_MAX_RATE);
    return add_node(c, word, word, n, change, err);
}

/* Check whether the first n characters of word are this text. */
static bool is(const char *word, size_t n, const char *text)
{
    return strlen(text) == n && strncmp(word, text, n) == 0;
}

/* Keys that cannot be changed, because no earlier job has measured what they would give */
static const struct {
    const char *key, *advice;
} unmeasured[] = {
    { "nodes", "write -NODE to leave a node out, +NODE to add one like it" },
    { "nodes.hosts", "write -NODE to leave a node out, +NODE to add one like it" },
    { "hostfile", "write -NODE to leave a node out, +NODE to add one like it" },
    { "command", "no earlier job has measured another program" },
    { "workdir", "no earlier job has measured another program" },
    { "profile.emulate", "no earlier job has measured other devices; write NODE.rate=0.5" },
};

/* Take "KEY=VALUE", a key of train.yaml of n characters. Return 0 or a negative error. */
static int take_key(struct what_if_changes *c, const char *word, size_t n, struct eddis_error *err)
{
    for (size_t i = 0; i < N(unmeasured); i++)
        if (is(word, n, unmeasured[i].key))
            return eddis_fail(err, -EINVAL, "\"%s\" cannot be changed: %s", unmeasured[i].key,
                              unmeasured[i].advice);
    strlist_addf(&c->key, "%s", word);
    return c->key.failed ? eddis_fail(err, -ENOMEM, "no memory for a change") : 0;
}

/* Take "NAME=VALUE", where '=' is at `equals`. Return 0 or a negative error. */
static int take_value(struct what_if_changes *c, const char *word, const char *equals,
                      struct eddis_error *err)
{
    static const char RATE[] = ".rate";
    const char *value = equals + 1;
    size_t n = (size_t)(equals - word), tail = sizeof RATE - 1;

    if (is(word, n, "network"))
        return parse_with_unit(value, rates, N(rates), MAX_BYTES_PER_S, &c->bytes_per_s)
                   ? 0
                   : eddis_fail(err, -EINVAL,
                                "\"%.80s\" is not a bandwidth above 0; write it as network=10gbit, "
                                "with kbit, mbit, gbit or tbit",
                                word);
    if (is(word, n, "latency"))
        return parse_with_unit(value, times, N(times), MAX_LATENCY_S, &c->latency_s)
                   ? 0
                   : eddis_fail(err, -EINVAL,
                                "\"%.80s\" is not a time above 0; write it as latency=50us, with "
                                "ns, us, ms or s",
                                word);
    if (n >= tail && is(word + n - tail, tail, RATE))
        return take_rate(c, word, n - tail, value, err);
    return take_key(c, word, n, err);
}

/* Take one change, without blanks around it. Return 0 or a negative error. */
static int take(struct what_if_changes *c, const char *word, struct eddis_error *err)
{
    const char *equals = strchr(word, '=');

    if (word[0] == '-')
        return add_node(c, word, word + 1, strlen(word + 1),
                        (struct what_if_node){ .kind = WHAT_IF_LEAVE }, err);
    if (word[0] == '+')
        return take_copies(c, word, err);
    if (equals && equals != word)
        return take_value(c, word, equals, err);
    return eddis_fail(err, -EINVAL,
                      "\"%.80s\" is no change; write -node3, +node1, +2xnode1, node4.rate=0.5, "
                      "network=10gbit, latency=50us, or a key of train.yaml as batch.global=1024",
                      word);
}

/* Return the length of the first change in text: up to a comma that stands in no brackets. */
static size_t length(const char *text)
{
    size_t n = 0;
    int depth = 0;

    for (; text[n] && (text[n] != ',' || depth > 0); n++)
        depth += text[n] == '[' || text[n] == '{' ? 1 : text[n] == ']' || text[n] == '}' ? -1 : 0;
    return n;
}

/* Take all changes of a text. Return 0 or a negative error. */
static int take_all(struct what_if_changes *c, const char *text, struct eddis_error *err)
{
    int rc = 0;

    if (!text[strspn(text, " \t")])
        return 0;
    for (size_t n; rc == 0; text += n + 1) {
        cleanup_free char *word = NULL;
        size_t blank = strspn(text, " \t"), k;

        n = length(text);
        k = n > blank ? n - blank : 0;
        while (k > 0 && strchr(" \t", text[blank + k - 1]))
            k--;
        word = strndup(text + blank, k);
        if (!word)
            return eddis_fail(err, -ENOMEM, "no memory for a change");
        text_strip_control(word);
        rc = take(c, word, err);
        if (!text[n])
            break;
    }
    return rc;
}

int what_if_changes_parse(const char *text, struct what_if_changes *ret, struct eddis_error *err)
{
    struct what_if_changes c = { 0 };
    int rc = take_all(&c, text, err);

    if (rc == 0)
        *ret = c;
    else
        what_if_changes_fini(&c);
    return rc < 0 ? eddis_fail_prefix(err, rc, "--what-if") : 0;
}

bool what_if_changes_are_none(const struct what_if_changes *c)
{
    return c->n_nodes == 0 && c->bytes_per_s == 0 && c->latency_s == 0 && c->key.n == 0;
}

void what_if_changes_fini(struct what_if_changes *c)
{
    free(c->node);
    strlist_fini(&c->key);
    *c = (struct what_if_changes){ 0 };
}
