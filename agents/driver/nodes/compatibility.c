/* SPDX-License-Identifier: Apache-2.0 */
/* compatibility.c - compare the versions of two machines */
#include "compatibility.h"

#include "lib/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Set an error that names two machines and their different versions of something; return -EPROTO.
 */
static int differ(const struct versions *a, const struct versions *b, const char *what,
                  const char *of_a, const char *of_b, struct eddis_error *err)
{
    char node[2][65], version[2][65];

    (void)snprintf(node[0], sizeof node[0], "%s", a->node);
    (void)snprintf(node[1], sizeof node[1], "%s", b->node);
    (void)snprintf(version[0], sizeof version[0], "%s", of_a);
    (void)snprintf(version[1], sizeof version[1], "%s", of_b);
    for (int i = 0; i < 2; i++) {
        text_strip_control(node[i]);
        text_strip_control(version[i]);
    }
    return eddis_fail(err, -EPROTO, "%s has %s%s and %s has %s%s; install one version on both",
                      node[0], what, version[0], node[1], what, version[1]);
}

int compatibility_check(const struct versions *a, const struct versions *b, struct eddis_error *err)
{
    if (*a->eddis && *b->eddis && strcmp(a->eddis, b->eddis) != 0)
        return differ(a, b, "eddis ", a->eddis, b->eddis, err);
    /* Two development builds can have the same version but different protocols. */
    if (a->protocol && b->protocol && a->protocol != b->protocol) {
        char of_a[16], of_b[16];

        (void)snprintf(of_a, sizeof of_a, "%d", a->protocol);
        (void)snprintf(of_b, sizeof of_b, "%d", b->protocol);
        return differ(a, b, "eddis with protocol ", of_a, of_b, err);
    }
    if (*a->mpi && *b->mpi && strcmp(a->mpi, b->mpi) != 0)
        return differ(a, b, "", a->mpi, b->mpi, err);
    return 0;
}
