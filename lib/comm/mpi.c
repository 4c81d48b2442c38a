/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.c - messages over MPI's point-to-point calls; the only file that includes mpi.h
 *
 * MPI can be started only once in a process.  So a root endpoint represents MPI itself.  The
 * endpoints of workers, which open and close, are derived from it; each has its own communicators.
 */
#include "transport.h"

#include "lib/base/address_space.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANCEL_NS (CLOCK_S / 10) /* limit of the wait of mpi_cancel, for messages in transit */

enum { MPI_CHUNK_BYTES = 1 << 30 }; /* MPI's counts are int */

/* Open MPI 4.1 takes 208 MB of address space; with less it crashes by SIGSEGV at its start, or
 * hangs.
 */
enum { MPI_ROOM_BYTES = 224000000 };

/* An operation: chunks is the number of its chunks under way, and got for a receive the bytes that
 * have arrived so far.  In a free slot next_free is the next free one; -1: none.
 */
struct mpi_slot {
    struct comm_op op;
    size_t got;
    int chunks;
    int next_free;
};

/* One endpoint: the root, or a worker's. */
struct mpi_end {
    struct transport base;
    struct mpi_end *root; /* the root that this one was derived from; NULL: this is a root */
    bool owns_root;       /* close closes the root too */
    MPI_Comm comm[COMM_CHANNELS]; /* one for each channel; all MPI_COMM_NULL in a root */
    MPI_Request dup;              /* request of the channel that is being opened */
    int channels;                 /* channels opened so far */
    MPI_Request *request;         /* [n], one for each chunk */
    int *slot_of;                 /* [n] slot of each chunk's operation */
    int *index;                   /* [n] scratch of MPI_Testsome */
    MPI_Status *status;           /* [n] scratch of MPI_Testsome */
    int n, cap;                   /* requests under way; room in the four arrays */
    struct mpi_slot *slot;        /* [slots] */
    int slots, first_free;        /* first_free -1: none */
    bool by_mpirun;               /* mpirun started this process */
    /* Used in a root only. */
    bool finalize; /* MPI was started here, so close must finalise it */
    bool disorder; /* some endpoint was closed with messages under way */
    int near;      /* ranks on this rank's host; 0: not known yet */
};

static const struct transport_ops mpi_ops; /* at the end */

/* Return t, which must be an endpoint over MPI, cast to its own struct; t still owns it. */
static struct mpi_end *mpi_end(struct transport *t)
{
    return (struct mpi_end *)t;
}

/* Fill err with MPI's text for mpi_code and return `code`. */
static int mpi_fail(struct eddis_error *err, int code, const char *what, int mpi_code)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int n = 0;

    MPI_Error_string(mpi_code, text, &n);
    return eddis_fail(err, code, "%s failed: %s", what, text);
}

/* Double the room in the arrays of requests.  Return 0 or -ENOMEM. */
static int mpi_grow_requests(struct mpi_end *e)
{
    int cap = e->cap ? 2 * e->cap : 64;
    MPI_Request *request = realloc(e->request, (size_t)cap * sizeof *request);
    int *slot_of = realloc(e->slot_of, (size_t)cap * sizeof *slot_of);
    int *index = realloc(e->index, (size_t)cap * sizeof *index);
    MPI_Status *status = realloc(e->status, (size_t)cap * sizeof *status);

    e->request = request ? request : e->request;
    e->slot_of = slot_of ? slot_of : e->slot_of;
    e->index = index ? index : e->index;
    e->status = status ? status : e->status;
    if (!request || !slot_of || !index || !status)
        return -ENOMEM;
    e->cap = cap;
    return 0;
}

/* Take a free slot, enlarging the array if there is none.  Return its index, or -ENOMEM. */
static int mpi_slot_take(struct mpi_end *e)
{
    int s = e->first_free;

    if (s < 0) {
        int slots = e->slots ? 2 * e->slots : 64;
        struct mpi_slot *slot = realloc(e->slot, (size_t)slots * sizeof *slot);

        if (!slot)
            return -ENOMEM;
        e->slot = slot;
        for (int i = e->slots; i < slots; i++)
            slot[i].next_free = i + 1 < slots ? i + 1 : -1;
        s = e->slots;
        e->slots = slots;
    }
    e->first_free = e->slot[s].next_free;
    return s;
}

/* Add slot s to the free slots. */
static void mpi_slot_put(struct mpi_end *e, int s)
{
    e->slot[s].next_free = e->first_free;
    e->first_free = s;
}

/* Start a send or receive, in chunks of at most MPI_CHUNK_BYTES; transport_post.  Return 0, -ENOMEM
 * or -EIO; some chunks may then be under way.
 */
static int mpi_post(struct transport *t, const struct comm_op *op, struct eddis_error *err)
{
    struct mpi_end *e = mpi_end(t);
    MPI_Comm comm = e->comm[op->channel];
    int s = mpi_slot_take(e);
    size_t at = 0;

    if (s < 0)
        return eddis_fail(err, s, "no memory for a message");
    e->slot[s] = (struct mpi_slot){ .op = *op };
    do {
        int bytes = op->bytes - at < MPI_CHUNK_BYTES ? (int)(op->bytes - at) : MPI_CHUNK_BYTES;
        char *p = (char *)op->data + at;
        int rc;

        if (e->n == e->cap && mpi_grow_requests(e) < 0)
            return eddis_fail(err, -ENOMEM, "no memory for a message");
        rc = op->kind == COMM_SEND
                 ? MPI_Isend(p, bytes, MPI_BYTE, op->peer, op->tag, comm, &e->request[e->n])
                 : MPI_Irecv(p, bytes, MPI_BYTE, op->peer, op->tag, comm, &e->request[e->n]);
        if (rc != MPI_SUCCESS)
            return mpi_fail(err, -EIO, op->kind == COMM_SEND ? "MPI_Isend" : "MPI_Irecv", rc);
        e->slot_of[e->n++] = s;
        e->slot[s].chunks++;
        at += (size_t)bytes;
    } while (at < op->bytes);
    return 0;
}

/* Remove the requests that MPI_Testsome has completed from the arrays; the other ones keep their
 * order.
 */
static void mpi_compact(struct mpi_end *e)
{
    int kept = 0;

    for (int i = 0; i < e->n; i++) {
        if (e->request[i] == MPI_REQUEST_NULL)
            continue;
        e->request[kept] = e->request[i];
        e->slot_of[kept++] = e->slot_of[i];
    }
    e->n = kept;
}

/* Fill err for a failed MPI_Testsome, which tested requests from `first` on, returned rc, and
 * stored the statuses of `finished` requests.  Return -EMSGSIZE if a message was too long,
 * otherwise -EIO.
 */
static int mpi_fail_some(const struct mpi_end *e, int first, int finished, int rc,
                         struct eddis_error *err)
{
    int code = MPI_SUCCESS;

    for (int i = 0; rc == MPI_ERR_IN_STATUS && i < finished; i++) {
        MPI_Error_class(e->status[i].MPI_ERROR, &code);
        if (code == MPI_ERR_TRUNCATE)
            return transport_fail_length(&e->slot[e->slot_of[first + e->index[i]]].op, SIZE_MAX,
                                         err);
        if (code != MPI_SUCCESS)
            return mpi_fail(err, -EIO, "receiving from another worker", e->status[i].MPI_ERROR);
    }
    return mpi_fail(err, -EIO, "receiving from another worker", rc);
}

/* Count a chunk of the slot's operation as done; s: its status.  Return 1 if the operation is
 * complete, else 0; -EMSGSIZE: the received length differs.
 */
static int mpi_chunk_done(struct mpi_slot *slot, const MPI_Status *s, struct eddis_error *err)
{
    int got = 0;

    if (slot->op.kind == COMM_RECEIVE) {
        MPI_Get_count(s, MPI_BYTE, &got);
        slot->got += (size_t)got;
    }
    if (--slot->chunks)
        return 0;
    return slot->op.kind == COMM_SEND || slot->got == slot->op.bytes
               ? 1
               : transport_fail_length(&slot->op, slot->got, err);
}

/* Test the requests and store completed operations in ret, at most max, without blocking.  Return
 * their number, -EIO, or -EMSGSIZE: a message has another length; transport_poll.
 */
static int mpi_poll(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err)
{
    struct mpi_end *e = mpi_end(t);
    int finished = 0, first, n = 0, rc;

    if (!e->n) {
        /* Let MPI progress operations of other ranks, for instance data that a connection could not
         * take at once.
         */
        int flag;

        rc = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, e->channels ? e->comm[0] : MPI_COMM_SELF,
                        &flag, MPI_STATUS_IGNORE);
        return rc == MPI_SUCCESS ? 0 : mpi_fail(err, -EIO, "MPI_Iprobe", rc);
    }
    /* Test a window of requests at a time: each completes at most one operation, so ret cannot
     * overflow.
     */
    for (first = 0; first < e->n && finished <= 0; first += max) {
        int tested = e->n - first < max ? e->n - first : max;

        rc = MPI_Testsome(tested, e->request + first, &finished, e->index, e->status);
        if (rc != MPI_SUCCESS)
            return mpi_fail_some(e, first, finished, rc, err);
    }
    first -= max;
    for (int i = 0; i < finished; i++) {
        int s = e->slot_of[first + e->index[i]];

        rc = mpi_chunk_done(&e->slot[s], &e->status[i], err);
        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        ret[n++] = e->slot[s].op;
        mpi_slot_put(e, s);
    }
    if (finished > 0)
        mpi_compact(e);
    return n;
}

/* End all ranks.  Under mpirun exit with the code: mpirun then ends the job.  MPI_Abort would first
 * send mpirun a message, which mpirun 4.1 copies while another of its threads frees it
 * (orte/mca/rml/oob, the message to itself).  Now and then that kills mpirun, and the workers' last
 * output is lost.  Other launchers may let other ranks run on, so there call MPI_Abort.
 */
static void mpi_abort(struct transport *t, int code)
{
    if (mpi_end(t)->by_mpirun)
        _exit(code);
    MPI_Abort(MPI_COMM_WORLD, code);
}

/* Check whether request i is a receive that is under way. */
static bool mpi_is_receiving(const struct mpi_end *e, int i)
{
    return e->request[i] != MPI_REQUEST_NULL && e->slot[e->slot_of[i]].op.kind == COMM_RECEIVE;
}

/* Check whether any receive is under way. */
static bool mpi_receives(const struct mpi_end *e)
{
    for (int i = 0; i < e->n; i++)
        if (mpi_is_receiving(e, i))
            return true;
    return false;
}

/* Cancel all receives, so that their buffers are not written any more; wait up to CANCEL_NS for
 * that.  A receive whose message is in transit completes instead, if its sender is still there.  A
 * receive that is neither by then stays under way.
 */
static void mpi_cancel(struct transport *t)
{
    struct mpi_end *e = mpi_end(t);
    int64_t end = clock_now_ns() + CANCEL_NS;
    int done = 0;

    for (int i = 0; i < e->n; i++)
        if (mpi_is_receiving(e, i))
            MPI_Cancel(&e->request[i]);
    do
        for (int i = 0; i < e->n; i++)
            if (mpi_is_receiving(e, i))
                MPI_Test(&e->request[i], &done, MPI_STATUS_IGNORE);
    while (mpi_receives(e) && clock_now_ns() < end);
}

/* Close a worker's endpoint: free its communicators.  If not orderly, or messages or channels are
 * not done, instead cancel its receives and note this in the root, so that MPI is not finalised.
 */
static void mpi_leave(struct mpi_end *e, bool orderly)
{
    if (!orderly || e->n || e->channels < COMM_CHANNELS) {
        mpi_cancel(&e->base);
        e->root->disorder = true;
        return;
    }
    for (int i = 0; i < e->channels; i++)
        if (e->comm[i] != MPI_COMM_WORLD)
            MPI_Comm_free(&e->comm[i]);
}

/* Close an endpoint and free it, with its root if it owns that.  A root that started MPI also
 * finalises MPI, if orderly and no message is under way.  Return 0, or -EIO if MPI_Finalize fails;
 * the endpoint is freed in any case.
 */
static int mpi_close(struct transport *t, bool orderly, struct eddis_error *err)
{
    struct mpi_end *e = mpi_end(t);
    int rc = MPI_SUCCESS, rc2 = 0;

    if (e->root)
        mpi_leave(e, orderly);
    /* MPI_Finalize with messages under way waits forever if their peer is gone. */
    else if (e->finalize && orderly && e->n == 0 && !e->disorder)
        rc = MPI_Finalize();
    if (e->owns_root)
        rc2 = mpi_close(&e->root->base, orderly, err);
    if (!e->root)
        wakeup_free(e->base.wakeup);
    free(e->request);
    free(e->slot_of);
    free(e->index);
    free(e->status);
    free(e->slot);
    free(e);
    return rc == MPI_SUCCESS ? rc2 : eddis_fail(err, -EIO, "MPI_Finalize failed with code %d", rc);
}

/* Start MPI with MPI_THREAD_MULTIPLE, unless the program has, and check that level.  Return 0 or a
 * negative errno; -ENODEV: MPI has ended, cannot start, or has a lower level.
 */
static int mpi_start(struct mpi_end *e, struct eddis_error *err)
{
    int there = 0, over = 0, level = 0, rc;

    MPI_Finalized(&over);
    if (over)
        return eddis_fail(err, -ENODEV,
                          "MPI has ended in this process and cannot be started a second time");
    MPI_Initialized(&there);
    if (there) {
        MPI_Query_thread(&level);
    } else {
        rc = address_space_check(MPI_ROOM_BYTES, "MPI", err);
        if (rc < 0)
            return rc;
        rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
        if (rc != MPI_SUCCESS)
            return mpi_fail(err, -ENODEV, "MPI_Init_thread", rc);
        e->finalize = true;
    }
    if (level < MPI_THREAD_MULTIPLE)
        return eddis_fail(err, -ENODEV,
                          "the program started MPI without MPI_THREAD_MULTIPLE; let eddis_open "
                          "start it, or ask for that level");
    return 0;
}

/* Return a new endpoint without channels; NULL with err: no memory. */
static struct mpi_end *mpi_new(struct eddis_error *err)
{
    struct mpi_end *e = calloc(1, sizeof *e);

    if (!e) {
        eddis_fail(err, -ENOMEM, "no memory for MPI");
        return NULL;
    }
    e->base.ops = &mpi_ops;
    for (int i = 0; i < COMM_CHANNELS; i++)
        e->comm[i] = MPI_COMM_NULL;
    e->first_free = -1;
    e->by_mpirun = getenv("OMPI_COMM_WORLD_RANK") != NULL;
    return e;
}

int transport_mpi_start(struct transport **ret, struct eddis_error *err)
{
    struct mpi_end *e = mpi_new(err);
    int rc;

    if (!e)
        return -ENOMEM;
    rc = mpi_start(e, err);
    if (rc < 0) {
        mpi_close(&e->base, false, NULL);
        return rc;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &e->base.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &e->base.n_ranks);
    e->base.lasts = e->finalize;
    *ret = &e->base;
    return 0;
}

/* Set root->near to the number of ranks on this rank's host, and make root->wakeup if there is only
 * this one.  Collective; blocks.  Return 0, -ENODEV or a failure of wakeup_new.
 */
static int mpi_find_near(struct mpi_end *root, struct eddis_error *err)
{
    MPI_Comm near = MPI_COMM_NULL;
    int rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);

    if (rc != MPI_SUCCESS)
        return mpi_fail(err, -ENODEV, "MPI_Comm_split_type", rc);
    MPI_Comm_size(near, &root->near);
    MPI_Comm_free(&near);
    /* Ranks of one host use shared memory, whose messages end no wait. */
    return root->near == 1 ? wakeup_new(&root->base.wakeup, err) : 0;
}

/* Begin to open the next channel, unless all are open.  Return 0 or -ENODEV.  This must not block,
 * as other endpoints' operations would stop meanwhile.
 */
static int mpi_begin_channel(struct mpi_end *e, struct eddis_error *err)
{
    int rc;

    if (e->channels == COMM_CHANNELS)
        return 0;
    rc = MPI_Comm_idup(MPI_COMM_WORLD, &e->comm[e->channels], &e->dup);
    return rc == MPI_SUCCESS ? 0 : mpi_fail(err, -ENODEV, "MPI_Comm_idup", rc);
}

/* Begin to open a worker's endpoint *ret, which mpi_close frees; transport_derive.  Return 0 or a
 * negative errno.
 */
static int mpi_derive(struct transport *t, struct transport **ret, struct eddis_error *err)
{
    struct mpi_end *root = mpi_end(t), *e = mpi_new(err);
    int rc = e ? 0 : -ENOMEM;

    if (rc == 0 && !root->near)
        rc = mpi_find_near(root, err);
    if (rc == 0)
        rc = mpi_begin_channel(e, err);
    if (rc < 0) {
        free(e);
        return rc;
    }
    e->root = root;
    e->base.rank = root->base.rank;
    e->base.n_ranks = root->base.n_ranks;
    e->base.hosts = root->near < root->base.n_ranks;
    /* The root owns it.  NULL: some ranks share a host, so waits would miss messages. */
    e->base.wakeup = root->base.wakeup;
    e->base.wakes = e->base.wakeup != NULL;
    *ret = &e->base;
    return 0;
}

/* Continue to open an endpoint's channels; transport_ready.  Return 1 once all are open, 0 to be
 * called again, or a failure.
 */
static int mpi_ready(struct transport *t, struct eddis_error *err)
{
    struct mpi_end *e = mpi_end(t);
    int done = 1, rc = MPI_SUCCESS;

    while (e->channels < COMM_CHANNELS) {
        rc = MPI_Test(&e->dup, &done, MPI_STATUS_IGNORE);
        if (rc != MPI_SUCCESS)
            return mpi_fail(err, -ENODEV, "MPI_Comm_idup", rc);
        if (!done)
            return 0;
        MPI_Comm_set_errhandler(e->comm[e->channels++], MPI_ERRORS_RETURN);
        rc = mpi_begin_channel(e, err);
        if (rc < 0)
            return rc;
    }
    return 1;
}

int transport_mpi_open(struct transport **ret, struct eddis_error *err)
{
    struct transport *root, *t = NULL;
    int rc = transport_mpi_start(&root, err);

    if (rc < 0)
        return rc;
    rc = transport_derive(root, &t, err);
    while (rc == 0 && (rc = transport_ready(t, err)) == 0)
        ;
    if (rc < 0) {
        transport_close(t, false, NULL);
        transport_close(root, false, NULL);
        return rc;
    }
    mpi_end(t)->owns_root = true;
    *ret = t;
    return 0;
}

int transport_mpi_open_world(struct transport **ret, struct eddis_error *err)
{
    struct transport *t;
    int rc = transport_mpi_start(&t, err);

    if (rc < 0)
        return rc;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < COMM_CHANNELS; i++)
        mpi_end(t)->comm[i] = MPI_COMM_WORLD;
    mpi_end(t)->channels = COMM_CHANNELS;
    t->hosts = true; /* assumed, since nothing may be sent to find out */
    *ret = t;
    return 0;
}

static const struct transport_ops mpi_ops = {
    .name = "mpi",
    .post = mpi_post,
    .poll = mpi_poll,
    .cancel = mpi_cancel,
    .abort = mpi_abort,
    .close = mpi_close,
    .derive = mpi_derive,
    .ready = mpi_ready,
};
