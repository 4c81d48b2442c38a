/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json.c - any bytes as each JSON document that comes from a file or a socket
 *
 * What is taken must be taken again, and be the same bytes, after it was written back.
 */
#include "target.h"

#include "agents/protocol/protocol.h"
#include "agents/protocol/protocol_join.h"
#include "lib/model/network.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each returns the text of what was parsed, NULL when the input was refused. */
typedef char *(*again_fn)(const char *text, size_t n, struct eddis_error *err);

#define AGAIN(name)                                                                                \
    static char *name##_again(const char *text, size_t n, struct eddis_error *err)                 \
    {                                                                                              \
        struct name *x;                                                                            \
        char *ret;                                                                                 \
                                                                                                   \
        if (name##_parse(text, n, &x, err) < 0)                                                    \
            return NULL;                                                                           \
        ret = name##_text(x);                                                                      \
        name##_free(x);                                                                            \
        return ret;                                                                                \
    }

AGAIN(agent_config)
AGAIN(order)
AGAIN(report)
AGAIN(invitation)

static char *hello_again(const char *text, size_t n, struct eddis_error *err)
{
    struct hello h;

    return hello_parse(text, n, &h, err) < 0 ? NULL : hello_text(&h);
}

static char *join_again(const char *text, size_t n, struct eddis_error *err)
{
    struct join j;

    return join_parse(text, n, &j, err) < 0 ? NULL : join_text(&j);
}

static char *plan_again(const char *text, size_t n, struct eddis_error *err)
{
    struct plan *p;
    char *ret;

    if (plan_parse(text, n, "plan", &p, err) < 0)
        return NULL;
    ret = plan_text(p);
    plan_free(p);
    return ret;
}

static char *network_again(const char *text, size_t n, struct eddis_error *err)
{
    struct network *net;
    char *ret;

    if (network_parse(text, n, "network", &net, err) < 0)
        return NULL;
    ret = network_text(net);
    network_free(net);
    return ret;
}

static char *profile_again(const char *text, size_t n, struct eddis_error *err)
{
    struct node_profile *p = malloc(sizeof *p); /* large */
    char *ret = NULL;

    if (p && profile_parse(text, n, "profile", p, err) == 0)
        ret = profile_text(p);
    free(p);
    return ret;
}

static const struct {
    const char *name;
    again_fn again;
} parsers[] = {
    { "brief", agent_config_again }, { "hello", hello_again },
    { "order", order_again },        { "report", report_again },
    { "plan", plan_again },          { "profile", profile_again },
    { "network", network_again },    { "invitation", invitation_again },
    { "join", join_again },
};

static int taken;

bool fuzz_taken(void)
{
    return taken > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    taken = 0;
    for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++) {
        struct eddis_error err = { 0 };
        char *once = parsers[i].again((const char *)data, n, &err), *twice;

        if (!once) {
            if (!*err.text)
                abort();
            continue;
        }
        taken++;
        twice = parsers[i].again(once, strlen(once), &err);
        if (!twice || strcmp(once, twice) != 0) {
            fprintf(stderr, "fuzz_json: %s is not stable: %s\n%s\n%s\n", parsers[i].name, err.text,
                    once, twice ? twice : "");
            abort();
        }
        free(once);
        free(twice);
    }
    return 0;
}
