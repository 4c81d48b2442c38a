/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_job.c - parses what "scontrol show job" prints */
#include "slurm_job.h"
#include "lib/base/exit_code.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one field ---- */

/* Check whether a field such as "Power=" begins at `at`, in a text that ends at `end`. */
static bool is_field(const char *at, const char *end)
{
    const char *s = at;

    while (s < end && (isalpha((unsigned char)*s) || *s == ':' || *s == '/'))
        s++;
    return s > at && s < end && *s == '=';
}

/* Copy the value of field `name`, written " Name=", of the line of n bytes into ret [size]. The
 * value ends before the next field and may contain blanks, as a path may. If the line does not have
 * the field, store "" and return false.
 */
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

/* ---- records of more than one line ---- */

static const char indent[] = "\n   "; /* precedes each line of a record except the first */

/* Borrow the line of the record of n bytes that begins with field `name` ("Name="), from the blank
 * before the field on, and store its length in *ret_n. NULL: there is no such line, and *ret_n is
 * unchanged.
 */
static const char *line_of(const char *record, size_t n, const char *name, size_t *ret_n)
{
    const char *end = record + n;

    for (const char *at = record; (at = memmem(at, (size_t)(end - at), indent, 4)); at++) {
        const char *stop = memchr(at + 1, '\n', (size_t)(end - at - 1));

        if ((size_t)(end - at) < 4 + strlen(name) || strncmp(at + 4, name, strlen(name)) != 0)
            continue;
        *ret_n = (size_t)((stop ? stop : end) - (at + 3));
        return at + 3;
    }
    return NULL;
}

/* Copy the value of field `name` (" Name=") into ret [size], from the record's line that begins
 * with field `first` ("Name="). Store "" if there is no such line or field.
 */
static void field(const char *record, size_t n, const char *first, const char *name, char *ret,
                  size_t size)
{
    size_t line_n = 0;
    const char *line = line_of(record, n, first, &line_n);

    *ret = '\0';
    if (line)
        (void)take(line, line_n, name, ret, size);
}

/* Copy the rest of the record's line that begins with field `name` ("Name="), which is the field's
 * value, into ret [size]. Store "" if there is no such line.
 */
static void whole(const char *record, size_t n, const char *name, char *ret, size_t size)
{
    size_t line_n = 0;
    const char *line = line_of(record, n, name, &line_n);

    *ret = '\0';
    if (line)
        (void)snprintf(ret, size, "%.*s", (int)(line_n - 1 - strlen(name)),
                       line + 1 + strlen(name));
}

/* Set the job's exit code and signal from a text "code:signal", such as "1:0". */
static void set_code(struct slurm_job *j, const char *code)
{
    const char *colon = strchr(code, ':');

    j->code = atoi(code);
    j->signal = colon ? atoi(colon + 1) : 0;
}

/* If the job's state is SIGNALING, set it to RUNNING: Slurm reports SIGNALING for a running job
 * while it sends a signal to the job.
 */
static void settle_state(struct slurm_job *j)
{
    if (strcmp(j->state, "SIGNALING") == 0)
        strcpy(j->state, "RUNNING");
}

/* Set the job's user name and user id from a text like "ada(1000)". If the text has no id, change
 * nothing.
 */
static void set_user(struct slurm_job *j, const char *user)
{
    const char *uid = strrchr(user, '(');

    if (!uid)
        return;
    (void)snprintf(j->user, sizeof j->user, "%.*s", (int)(uid - user), user);
    j->uid = (uid_t)strtoul(uid + 1, NULL, 10);
}

/* Set the job's id, its array and task, and its heterogeneous job and component, from a line of n
 * bytes like "JobId=15 ArrayJobId=12 ArrayTaskId=3 JobName=...". Parse only up to the job's name,
 * since a user may write anything there.
 */
static void take_numbers(const char *line, size_t n, struct slurm_job *j)
{
    const char *name = memmem(line, n, " JobName=", 9);
    char number[16];

    if (name)
        n = (size_t)(name - line);
    (void)snprintf(j->id, sizeof j->id, "%.*s", (int)strspn(line + 6, "0123456789"), line + 6);
    (void)take(line, n, " ArrayJobId=", j->array, sizeof j->array);
    (void)take(line, n, " ArrayTaskId=", j->task, sizeof j->task);
    (void)take(line, n, " HetJobId=", j->het, sizeof j->het);
    (void)take(line, n, " HetJobOffset=", number, sizeof number);
    j->component = atoi(number);
}

/* Parse a record of n bytes that has several lines, and store it in *ret. If it has no state, leave
 * *ret and return false.
 */
static bool parse_record(const char *record, size_t n, struct slurm_job *ret)
{
    struct slurm_job j = { .state = "" };
    char code[32], batch[16], user[96];

    take_numbers(record, strcspn(record, "\n"), &j);
    field(record, n, "JobState=", " JobState=", j.state, sizeof j.state);
    if (!*j.state)
        return false;
    settle_state(&j);
    field(record, n, "UserId=", " UserId=", user, sizeof user);
    set_user(&j, user);
    field(record, n, "JobState=", " Reason=", j.reason, sizeof j.reason);
    field(record, n, "StartTime=", " StartTime=", j.start, sizeof j.start);
    whole(record, n, "NodeList=", j.nodes, sizeof j.nodes);
    field(record, n, "Requeue=", " BatchFlag=", batch, sizeof batch);
    if (atoi(batch))
        whole(record, n, "BatchHost=", j.first, sizeof j.first);
    whole(record, n, "StdOut=", j.out, sizeof j.out);
    field(record, n, "Requeue=", " ExitCode=", code, sizeof code);
    set_code(&j, code);
    *ret = j;
    return true;
}

/* Parse a record in one line, the first of text, as scontrol -o prints it, and store it in *ret.
 * Search fields except the numbers only after " UserId=", since the job's name before it may
 * contain anything. If the record has no state, leave *ret and return false.
 */
static bool parse_line(const char *text, struct slurm_job *ret)
{
    const char *user = strstr(text, " UserId=");
    size_t n = strcspn(text, "\n");
    struct slurm_job j = { .state = "" };
    char code[32];

    if (strncmp(text, "JobId=", 6) == 0)
        take_numbers(text, n, &j);
    if (user && user < text + n) {
        n -= (size_t)(user - text);
        text = user;
    }
    if (!take(text, n, " JobState=", j.state, sizeof j.state))
        return false;
    settle_state(&j);
    (void)take(text, n, " Reason=", j.reason, sizeof j.reason);
    (void)take(text, n, " StartTime=", j.start, sizeof j.start);
    (void)take(text, n, " NodeList=", j.nodes, sizeof j.nodes);
    (void)take(text, n, " StdOut=", j.out, sizeof j.out);
    (void)take(text, n, " ExitCode=", code, sizeof code);
    set_code(&j, code);
    *ret = j;
    return true;
}

/* ---- entry points ---- */

bool slurm_job_next(const char **text, struct slurm_job *ret)
{
    static const char head[] = "JobId=";
    const char *at = *text, *end;

    while (strncmp(at, head, sizeof head - 1) != 0) {
        at = strstr(at, "\nJobId=");
        if (!at)
            return false;
        at++;
    }
    end = strstr(at, "\nJobId=");
    *text = end ? end + 1 : at + strlen(at);
    return parse_record(at, (size_t)(*text - at), ret);
}

bool slurm_job_parse(const char *text, struct slurm_job *ret)
{
    const char *at = text;

    return slurm_job_next(&at, ret) || parse_line(text, ret);
}

bool slurm_job_is_unknown(const char *said)
{
    static const char job[] = "Job ";

    for (const char *line = said, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if (memmem(line, (size_t)(end - line), "Invalid job id", 14) ||
            (strncmp(line, job, sizeof job - 1) == 0 &&
             memmem(line, (size_t)(end - line), " not found", 10)))
            return true;
    }
    return false;
}

bool slurm_job_waits(const struct slurm_job *j)
{
    return strcmp(j->state, "PENDING") == 0;
}

bool slurm_job_never_starts(const struct slurm_job *j)
{
    static const char *const reason[] = { "PartitionConfig", "PartitionNodeLimit",
                                          "PartitionTimeLimit", "BadConstraints" };

    for (size_t i = 0; i < sizeof reason / sizeof *reason; i++)
        if (slurm_job_waits(j) && strcmp(j->reason, reason[i]) == 0)
            return true;
    return false;
}

/* The final states of a job, each with eddis-run's exit code for a job without an exit code of its
 * script.
 */
static const struct {
    const char *state;
    int code;
} ends[] = {
    { "COMPLETED", 0 },
    { "FAILED", EXIT_FAULT },
    { "CANCELLED", EXIT_TERMINATED },
    { "TIMEOUT", EXIT_TIMEOUT },
    { "NODE_FAIL", EXIT_FAULT },
    { "PREEMPTED", EXIT_TERMINATED },
    { "OUT_OF_MEMORY", EXIT_KILLED },
    { "DEADLINE", EXIT_TIMEOUT },
    { "BOOT_FAIL", EXIT_START },
    { "REVOKED", EXIT_FAULT },
};

bool slurm_job_is_over(const struct slurm_job *j)
{
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(j->state, ends[i].state) == 0)
            return true;
    return false;
}

bool slurm_job_has_ended(const struct slurm_job *j)
{
    return slurm_job_is_over(j) || (strcmp(j->state, "COMPLETING") == 0 && (j->code || j->signal));
}

int slurm_job_code(const struct slurm_job *j)
{
    bool by_limit = strcmp(j->state, "TIMEOUT") == 0 || strcmp(j->state, "OUT_OF_MEMORY") == 0;

    if (j->code && !by_limit)
        return j->code;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(j->state, ends[i].state) == 0 && (by_limit || !j->signal))
            return ends[i].code;
    return j->signal ? 128 + j->signal : 0;
}

const char *slurm_job_why(const struct slurm_job *j, char *ret, size_t size)
{
    static const struct {
        const char *reason, *words;
    } row[] = {
        { "Resources", "its nodes are busy" },
        { "Priority", "other jobs come first" },
        { "BeginTime", "its start time has not come" },
        { "Dependency", "it waits for another job" },
        { "JobHeldUser", "it is held until you run scontrol release" },
        { "JobHeldAdmin", "an administrator holds it" },
        { "ReqNodeNotAvail", "nodes that it needs are down, drained or reserved" },
        { "Nodes_required", "nodes that it needs are down, drained or reserved" },
        { "PartitionTimeLimit",
          "it requests more time than its partition allows, so it never starts" },
        { "PartitionNodeLimit",
          "it requests more nodes than its partition allows, so it never starts" },
        { "PartitionConfig",
          "its partition does not have enough nodes, or large enough nodes, so it never starts" },
        { "BadConstraints", "no nodes match its request, so it never starts" },
        { "PartitionDown", "its partition is down" },
        { "PartitionInactive", "its partition starts no jobs" },
    };
    const char *words = NULL;
    bool known = strncmp(j->start, "20", 2) == 0;
    bool is_sentence =
        strncmp(j->reason, "Nodes_required", 14) == 0; /* the reason itself is a sentence */

    for (size_t i = 0; i < sizeof row / sizeof *row && !words; i++)
        if (strncmp(j->reason, row[i].reason, strlen(row[i].reason)) == 0)
            words = row[i].words;
    (void)snprintf(ret, size, "%s%s%s%s%s%s", words ? words : "", words && !is_sentence ? " (" : "",
                   is_sentence ? "" : j->reason, words && !is_sentence ? ")" : "",
                   known ? ", to start at about " : "", known ? j->start : "");
    return ret;
}
