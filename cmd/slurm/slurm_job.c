/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_job.c - reads what scontrol prints of a job */
#include "slurm_job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a field begins here: "Power=". */
static bool is_field(const char *at, const char *end)
{
    const char *s = at;

    while (s < end && (isalpha((unsigned char)*s) || *s == ':' || *s == '/'))
        s++;
    return s > at && s < end && *s == '=';
}

/* Copy the value of " Name=", which ends before the next field and may have blanks: a path does. */
static bool take(const char *line, size_t n, const char *name, char *ret, size_t size)
{
    const char *at = memmem(line, n, name, strlen(name)), *end = line + n, *stop;

    *ret = '\0';
    if (!at)
        return false;
    at += strlen(name);
    for (stop = at; stop < end && !(*stop == ' ' && is_field(stop + 1, end)); stop++)
        ;
    while (stop > at && stop[-1] == ' ')
        stop--;
    (void)snprintf(ret, size, "%.*s", (int)(stop - at), at);
    return true;
}

bool slurm_job_parse(const char *text, struct slurm_job *ret)
{
    size_t n = strcspn(text, "\n");
    struct slurm_job j = { .state = "" };
    char code[32], *colon;

    if (!take(text, n, " JobState=", j.state, sizeof j.state))
        return false;
    (void)take(text, n, " Reason=", j.reason, sizeof j.reason);
    (void)take(text, n, " StartTime=", j.start, sizeof j.start);
    (void)take(text, n, " NodeList=", j.nodes, sizeof j.nodes);
    (void)take(text, n, " StdOut=", j.out, sizeof j.out);
    if (take(text, n, " ExitCode=", code, sizeof code)) {
        colon = strchr(code, ':');
        j.code = atoi(code);
        j.signal = colon ? atoi(colon + 1) : 0;
    }
    *ret = j;
    return true;
}

bool slurm_job_waits(const struct slurm_job *j)
{
    return strcmp(j->state, "PENDING") == 0;
}

/* What a job ends as, and the code where the script's own says nothing; 0: it says it. */
static const struct {
    const char *state;
    int code;
} ends[] = {
    { "COMPLETED", 0 }, { "FAILED", 1 },      { "CANCELLED", 143 },     { "TIMEOUT", 124 },
    { "NODE_FAIL", 1 }, { "PREEMPTED", 143 }, { "OUT_OF_MEMORY", 137 }, { "DEADLINE", 124 },
    { "BOOT_FAIL", 3 }, { "REVOKED", 1 },
};

bool slurm_job_is_over(const struct slurm_job *j)
{
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(j->state, ends[i].state) == 0)
            return true;
    return false;
}

int slurm_job_code(const struct slurm_job *j)
{
    bool by_limit = strcmp(j->state, "TIMEOUT") == 0 || strcmp(j->state, "OUT_OF_MEMORY") == 0;

    if (j->code && !by_limit)
        return j->code;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(j->state, ends[i].state) == 0 && (by_limit || !j->signal))
            return ends[i].code;
    return 128 + j->signal;
}

const char *slurm_job_why(const struct slurm_job *j, char *ret, size_t size)
{
    static const struct {
        const char *reason, *words;
    } row[] = {
        { "Resources", "its nodes are busy" },
        { "Priority", "other jobs come first" },
        { "BeginTime", "it is not to start yet" },
        { "Dependency", "it waits for another job" },
        { "JobHeldUser", "it is held, until scontrol release" },
        { "JobHeldAdmin", "an administrator holds it" },
        { "ReqNodeNotAvail", "nodes that it needs are down or reserved" },
        { "PartitionTimeLimit", "it asks for more time than its partition allows, so it never "
                                "starts" },
        { "PartitionNodeLimit", "it asks for more nodes than its partition allows, so it never "
                                "starts" },
        { "PartitionDown", "its partition is down" },
        { "PartitionInactive", "its partition starts no jobs" },
    };
    const char *words = NULL;
    bool known = strncmp(j->start, "20", 2) == 0;

    for (size_t i = 0; i < sizeof row / sizeof *row && !words; i++)
        if (strncmp(j->reason, row[i].reason, strlen(row[i].reason)) == 0)
            words = row[i].words;
    (void)snprintf(ret, size, "%s%s%s%s%s%s", words ? words : "", words ? " (" : "", j->reason,
                   words ? ")" : "", known ? ", to start at about " : "", known ? j->start : "");
    return ret;
}
