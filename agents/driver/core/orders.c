/* SPDX-License-Identifier: Apache-2.0 */
/* orders.c - numbered orders to one agent, kept until it asks for what comes after them */
#include "orders.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reply to an agent's poll that there is no order. */
static void answer_none(struct http_exchange *x)
{
    const struct order none = { .type = ORDER_NONE };
    cleanup_free char *text = order_text(&none);

    if (text)
        http_reply(x, 200, text);
    else
        http_reply_error(x, 503, "no memory");
}

/* If the order that an agent's pending poll waits for exists, reply to the poll with it. */
static void hand_out(struct orders *o)
{
    int64_t i = o->poll_after + 1 - o->first;

    if (!o->poll || i >= o->n)
        return;
    http_reply(o->poll, 200, o->text[i]);
    o->poll = NULL;
}

int orders_add(struct orders *o, struct order *order, struct eddis_error *err)
{
    if (o->n == ORDERS_KEPT)
        return eddis_fail(err, -EOVERFLOW, "an agent has not fetched its last %d orders",
                          ORDERS_KEPT);
    order->number = o->first + o->n;
    o->text[o->n] = order_text(order);
    if (!o->text[o->n])
        return eddis_fail(err, -ENOMEM, "no memory for an order");
    o->n++;
    hand_out(o);
    return 0;
}

/* Overwrite the text of an order, which may hold the secret of mpirun's daemons, and free it. */
static void free_text(char *text)
{
    explicit_bzero(text, strlen(text));
    free(text);
}

/* Free the orders of an agent up to this number, which the agent has received. */
static void forget_until(struct orders *o, int64_t number)
{
    int k = (int)(number - o->first + 1);

    for (int i = 0; i < k; i++)
        free_text(o->text[i]);
    memmove(o->text, o->text + k, (size_t)(o->n - k) * sizeof *o->text);
    o->n -= k;
    o->first += k;
}

void orders_poll(struct orders *o, int64_t after, struct http_exchange *x, int64_t deadline_ns)
{
    if (after < o->first - 1 || after >= o->first + o->n) {
        http_reply_error(x, 409, "there is no order with this number");
        return;
    }
    forget_until(o, after);
    if (o->poll) /* the agent has given up the older poll */
        answer_none(o->poll);
    o->poll = x;
    o->poll_after = after;
    o->poll_deadline_ns = deadline_ns;
    hand_out(o);
}

void orders_tick(struct orders *o, int64_t now_ns)
{
    if (!o->poll || now_ns < o->poll_deadline_ns)
        return;
    answer_none(o->poll);
    o->poll = NULL;
}

void orders_fini(struct orders *o)
{
    if (o->poll)
        answer_none(o->poll);
    for (int i = 0; i < o->n; i++)
        free_text(o->text[i]);
    *o = (struct orders){ .first = 1 };
}
