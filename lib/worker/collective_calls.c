/* SPDX-License-Identifier: Apache-2.0 */
/* collective_calls.c - the functions of eddis.h for collectives of all workers */
#include "lib/eddis.h"

/* Return the arguments of an all-reduce of all workers. */
static struct eddis_collective allreduce(void *buffer, size_t n, enum eddis_dtype dtype,
                                         enum eddis_op op)
{
    return (struct eddis_collective){ .size = sizeof(struct eddis_collective),
                                      .kind = EDDIS_ALLREDUCE,
                                      .buffer = buffer,
                                      .n = n,
                                      .dtype = dtype,
                                      .op = op };
}

/* Return the arguments of a broadcast to all workers. */
static struct eddis_collective broadcast(void *buffer, size_t bytes, int root)
{
    return (struct eddis_collective){ .size = sizeof(struct eddis_collective),
                                      .kind = EDDIS_BROADCAST,
                                      .buffer = buffer,
                                      .n = bytes,
                                      .root = root };
}

/* Return the arguments of an allgather of all workers. */
static struct eddis_collective allgather(const void *in, void *out, size_t bytes)
{
    return (struct eddis_collective){ .size = sizeof(struct eddis_collective),
                                      .kind = EDDIS_ALLGATHER,
                                      .buffer = out,
                                      .in = in,
                                      .n = bytes };
}

static const struct eddis_collective barrier = { .size = sizeof barrier, .kind = EDDIS_BARRIER };

int eddis_allreduce_start(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                          enum eddis_op op, struct eddis_request **ret, struct eddis_error *err)
{
    const struct eddis_collective c = allreduce(buffer, n, dtype, op);

    return eddis_collective_start(e, &c, ret, err);
}

int eddis_broadcast_start(struct eddis *e, void *buffer, size_t bytes, int root,
                          struct eddis_request **ret, struct eddis_error *err)
{
    const struct eddis_collective c = broadcast(buffer, bytes, root);

    return eddis_collective_start(e, &c, ret, err);
}

int eddis_allgather_start(struct eddis *e, const void *in, void *out, size_t bytes,
                          struct eddis_request **ret, struct eddis_error *err)
{
    const struct eddis_collective c = allgather(in, out, bytes);

    return eddis_collective_start(e, &c, ret, err);
}

int eddis_barrier_start(struct eddis *e, struct eddis_request **ret, struct eddis_error *err)
{
    return eddis_collective_start(e, &barrier, ret, err);
}

int eddis_allreduce(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                    enum eddis_op op, int64_t timeout_ns, struct eddis_error *err)
{
    const struct eddis_collective c = allreduce(buffer, n, dtype, op);

    return eddis_collective(e, &c, timeout_ns, err);
}

int eddis_broadcast(struct eddis *e, void *buffer, size_t bytes, int root, int64_t timeout_ns,
                    struct eddis_error *err)
{
    const struct eddis_collective c = broadcast(buffer, bytes, root);

    return eddis_collective(e, &c, timeout_ns, err);
}

int eddis_allgather(struct eddis *e, const void *in, void *out, size_t bytes, int64_t timeout_ns,
                    struct eddis_error *err)
{
    const struct eddis_collective c = allgather(in, out, bytes);

    return eddis_collective(e, &c, timeout_ns, err);
}

int eddis_barrier(struct eddis *e, int64_t timeout_ns, struct eddis_error *err)
{
    return eddis_collective(e, &barrier, timeout_ns, err);
}
