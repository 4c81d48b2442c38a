/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hostfile.c - any bytes as a hostfile: refused with a line, or hosts that are no options */
#include "target.h"

#include "lib/hosts/host_name.h"
#include "lib/job/types/hostfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static _Noreturn void broken(const char *what, const char *text)
{
    fprintf(stderr, "fuzz_hostfile: %s: %s\n", what, text);
    abort();
}

/* What every later user of a host relies on. */
static void check(const struct host_list *l)
{
    if (l->n == 0 || l->n > JOB_MAX_HOSTS)
        broken("how many hosts", "");
    for (size_t i = 0; i < l->n; i++) {
        const struct job_host *h = &l->at[i];

        if (host_name_check(h->host, NULL) < 0 || *h->host == '-')
            broken("no host", h->host);
        if (h->ssh.user && (host_user_check(h->ssh.user, NULL) < 0 || *h->ssh.user == '-'))
            broken("no user", h->ssh.user);
        if (h->workers < 0 || h->workers > 1024)
            broken("workers", h->host);
        if (i && strcasecmp(h->host, l->at[i - 1].host) == 0)
            broken("twice", h->host);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct eddis_error err = { 0 };
    struct host_list l = { 0 };

    if (hostfile_parse((const char *)data, n, "f", &l, &err) == 0)
        check(&l);
    else if (strncmp(err.text, "f:", 2) != 0)
        broken("no place in the sentence", err.text);
    host_list_fini(&l);
    return 0;
}
