/* SPDX-License-Identifier: Apache-2.0 */
/* compare_modes.c - which modes a job can be trained in, and with which options for each */
#include "compare_modes.h"

#include "lib/job/job_keys.h"
#include "lib/job/job_read.h"
#include "lib/job/job_text.h"

#include <string.h>

#define WHOLE_OPTION(member, low, high, trait, help, otherwise)  { "sync." #member, trait },
#define NUMBER_OPTION(member, low, high, trait, help, otherwise) { "sync." #member, trait },
#define PLAIN_OPTION(member, high, trait, help, otherwise)       { "sync." #member, trait },
#define OFF_OPTION(member, high, trait, help, otherwise)         { "sync." #member, trait },
#define GROUPS_OPTION(help)                                      { "sync.groups", ALGORITHM_GROUPED },
#define WIRE_OPTION(member)
#define LATER_OPTION(name, type, initial, help, feature)

/* The keys that only algorithms with a trait have. */
static const struct {
    const char *key;
    enum algorithm_trait trait;
} option[] = {
#include "lib/model/sync_options_rows.h"
};

/* Set a key and append it to args. Return 0 or a negative error. */
static int set(struct job *job, const char *key, const char *value, struct strlist *args,
               struct eddis_error *err)
{
    strlist_addf(args, "--set=%s=%s", key, value);
    return job_set(job, key, value, "--compare", err);
}

int compare_mode_set(struct job *job, enum sync_mode mode, struct strlist *args,
                     struct eddis_error *err)
{
    int rc = set(job, "sync.mode", sync_mode_name(mode), args, err);

    for (size_t i = 0; rc == 0 && i < sizeof option / sizeof *option; i++) {
        const char *initial = job_key_find(&job_table, option[i].key)->initial;
        char value[32];

        job_value_text(job, option[i].key, value, sizeof value);
        if (!algorithm_may_have(job->sync.mode, job->sync.algorithm, option[i].trait) &&
            strcmp(value, initial) != 0)
            rc = set(job, option[i].key, initial, args, err);
    }
    return rc == 0 ? job_check(job, err) : rc;
}
