/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c - make and check the secrets that nodes join with */
#include "admission.h"

#include "agent_config_make.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int admission_secrets(const struct job_run *r)
{
    const struct slurm_allocation *slurm = r->o->slurm;

    if (!slurm)
        return 0;
    return r->n_agents + (slurm->groups ? slurm->groups : 1);
}

/* Return the number of join secrets; 0: admission_open made none. */
static int n_secrets(const struct admission *a)
{
    return a->secret ? a->run->n_agents + a->n_groups : 0;
}

int admission_open(struct admission *a, struct eddis_error *err)
{
    int n = a->run->n_agents, secrets = admission_secrets(a->run);

    if (!secrets)
        return 0;
    a->n_groups = secrets - n;
    a->secret = calloc((size_t)secrets, sizeof *a->secret);
    a->seat = calloc((size_t)n, sizeof *a->seat);
    if (!a->secret || !a->seat)
        return eddis_fail(err, -ENOMEM, "no memory for the starts of %d nodes", n);
    for (int i = 0; i < n; i++)
        a->seat[i].secret = -1;
    return 0;
}

void admission_close(struct admission *a)
{
    free(a->secret);
    free(a->seat);
    a->secret = NULL;
    a->seat = NULL;
}

/* ---- join secrets ---- */

/* Return the index of a join secret's token in listeners->agent_tokens. */
static int token_of(const struct admission *a, int secret)
{
    return a->run->n_agents + secret;
}

/* Invalidate a join secret: replace its token by a random one that nobody knows.  If no random
 * number can be drawn, the secret is still marked as not valid.
 */
static void shut(struct admission *a, int secret)
{
    a->secret[secret] = (struct admission_secret){ 0 };
    (void)http_tokens_renew(a->listeners->agent_tokens, token_of(a, secret), NULL);
}

/* Cancel the invitation of a node, if it has one, and invalidate its join secret if no other node
 * needs that secret.
 */
static void leave_door(struct admission *a, int agent)
{
    int secret = a->seat[agent].secret;

    a->seat[agent].secret = -1;
    if (secret >= 0 && a->secret[secret].until_ns && --a->secret[secret].missing == 0)
        shut(a, secret);
}

/* Draw a new join secret, valid until until_ns.  Do nothing if the present secret is valid.  Return
 * 0 or a negative error.
 */
static int open_door(struct admission *a, int secret, int64_t until_ns, struct eddis_error *err)
{
    int rc;

    if (a->secret[secret].until_ns)
        return 0; /* made for another node of its group */
    rc = http_tokens_renew(a->listeners->agent_tokens, token_of(a, secret), err);
    if (rc == 0)
        a->secret[secret].until_ns = until_ns;
    return rc;
}

void admission_registered(struct admission *a, int agent)
{
    if (a->seat)
        leave_door(a, agent);
}

void admission_tick(struct admission *a, int64_t now_ns)
{
    for (int i = 0; i < n_secrets(a); i++)
        if (a->secret[i].until_ns && now_ns >= a->secret[i].until_ns)
            shut(a, i);
}

void admission_shut(struct admission *a)
{
    for (int i = a->run->n_agents; i < n_secrets(a); i++)
        if (a->secret[i].until_ns)
            shut(a, i);
}

/* ---- inviting ---- */

/* Return the text of an invitation: the driver's URLs, the certificate's pin, the lease and the
 * join secret.  The caller wipes and frees it; NULL: no memory.
 */
static char *write_invitation(const struct admission *a, int secret)
{
    const struct listeners *l = a->listeners;
    char *url[HTTP_MAX_BASES + 1] = { NULL }, *text;
    struct invitation i = { .url = url, .lease_ns = a->run->o->job->timeouts.lease_ns };

    for (int k = 0; k < l->n_agent_listeners; k++)
        url[k] = (char *)(uintptr_t)l->url[k];
    (void)snprintf(i.pin, sizeof i.pin, "%s", l->pin);
    http_tokens_text(l->agent_tokens, token_of(a, secret), i.secret);
    text = invitation_text(&i);
    explicit_bzero(i.secret, sizeof i.secret);
    return text;
}

int admission_invite(struct admission *a, int agent, int group, int64_t until_ns, char **ret,
                     struct eddis_error *err)
{
    int secret = group < 0 ? agent : a->run->n_agents + group, rc;
    char *text;

    leave_door(a, agent); /* the secret of an earlier start */
    rc = open_door(a, secret, until_ns, err);
    if (rc < 0)
        return rc;
    text = write_invitation(a, secret);
    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory for an invitation");
    a->seat[agent] = (struct admission_seat){ .secret = secret };
    a->secret[secret].missing++;
    *ret = text;
    return 0;
}

/* ---- joining ---- */

/* Return the agent of the node with this name (case is ignored) that may join with this secret; -1:
 * none.
 */
static int find_seat(const struct admission *a, int secret, const char *name)
{
    const struct job *job = a->run->o->job;

    for (int i = 0; i < a->run->n_agents; i++)
        if (a->seat[i].secret == secret && strcasecmp(job->host[i].host, name) == 0)
            return i;
    return -1;
}

/* Reply to a join request with the agent's configuration, or with 503 if it cannot be made. */
static void answer(const struct admission *a, int agent, struct http_exchange *x)
{
    struct eddis_error err = { 0 };
    char *agent_config = NULL;

    if (agent_config_make(a->run, agent, a->listeners, a->log_marker, &agent_config, &err) < 0) {
        http_reply_error(x, 503, err.text);
        return;
    }
    http_reply(x, 200, agent_config);
    explicit_bzero(agent_config, strlen(agent_config));
    free(agent_config);
}

int admission_hear(struct admission *a, const struct request_item *i, struct eddis_error *err)
{
    int secret = i->agent - a->run->n_agents, agent;
    struct admission_seat *seat;

    if (secret < 0 || secret >= n_secrets(a) || clock_now_ns() >= a->secret[secret].until_ns) {
        http_reply_error(i->x, 403, "the time to join has passed");
        return 0;
    }
    agent = find_seat(a, secret, i->join.node);
    if (agent < 0) {
        http_reply_error(i->x, 403, "this node was not invited, or has already registered");
        return 0;
    }
    seat = &a->seat[agent];
    if (seat->nonce[0] && strcmp(seat->nonce, i->join.nonce) != 0) {
        http_reply_error(i->x, 409, "another agent has joined as this node");
        return eddis_fail(
            err, -EACCES,
            "two agents claim to be node %.200s, one from %s and one from %s, and one "
            "of them is not ours: somebody else has the secret of this start",
            a->run->o->job->host[agent].host, seat->peer, i->peer);
    }
    (void)snprintf(seat->nonce, sizeof seat->nonce, "%s", i->join.nonce);
    (void)snprintf(seat->peer, sizeof seat->peer, "%s", i->peer);
    answer(a, agent, i->x);
    return 0;
}
