/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - what tests of a whole worker share: checks, parameters, steps, checkpoints
 *
 * A check that fails is printed and counted; the worker goes on, so that no other one waits for it
 * for ever.
 */
#ifndef EDDIS_TESTS_FIXTURE_H
#define EDDIS_TESTS_FIXTURE_H

#include "lib/base/error.h"
#include "lib/eddis.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Enough for every call that must return. */
#define TIMEOUT_NS (INT64_C(60) * 1000000000)

/* Set the rank of the calling thread, for what checks print. */
void check_set_rank(int rank);

/* Have the first check that fails end the process with this exit code. */
void check_set_exit(int code);

/* Count and print a check that has failed. */
void check_failed(const char *file, int line, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Return how many checks of this process have failed. */
int check_failures(void);

/* Print how many checks have failed, if one has.  Return the exit status of main. */
int check_result(void);

/* Check a condition; a format and its values may follow. */
#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond))                                                                               \
            check_failed(__FILE__, __LINE__, #cond, " " __VA_ARGS__);                              \
    } while (0)

#define CHECK_CALL(call, right)                                                                    \
    do {                                                                                           \
        struct eddis_error err = { 0 };                                                            \
        int rc_ = (call);                                                                          \
                                                                                                   \
        if (!(right))                                                                              \
            check_failed(__FILE__, __LINE__, #call, "%d %s", rc_, err.text);                       \
    } while (0)

/* Check what a call returns that gets &err: this value, 0, or no error. */
#define GIVES(value, call) CHECK_CALL(call, rc_ == (value))
#define OK(call)           CHECK_CALL(call, rc_ == 0)
#define SUCCEEDS(call)     CHECK_CALL(call, rc_ >= 0)

/* Check that a call that gets &err fails with this code and one sentence that has these words. */
#define REFUSED(want, words, call)                                                                 \
    CHECK_CALL(call, rc_ == (want) && err.code == rc_ && strstr(err.text, words) &&                \
                         !strchr(err.text, '\n'))

/* Return what eddis_world says. */
struct eddis_world world_of(struct eddis *e);

/* Return a parameter of n float32 numbers. */
struct eddis_parameter vector_of(void *value, int64_t n);

/* Add a parameter in a layer of its own, which is called "only".  Return its number. */
int add_parameter(struct eddis *e, const struct eddis_parameter *p);
int add_vector(struct eddis *e, void *value, int64_t n);

/* Add a vector, and commit.  Return the vector's number. */
int commit_vector(struct eddis *e, void *value, int64_t n);

/* Request a stop by another thread. */
void stop_by_thread(struct eddis *e);

/* Return a collective of these workers; it sums up int64. */
struct eddis_collective collective_of(enum eddis_scope scope, enum eddis_collective_kind kind,
                                      void *buffer, size_t n);

/* Check that all workers of the scope have the bytes of the first one. */
void check_same(struct eddis *e, enum eddis_scope scope, const void *data, size_t bytes);

/* Check that all workers together have counted 1 in each of n places, and write the sums there. */
void check_once(struct eddis *e, int32_t *count, size_t n);

/* Begin the next step.  Return whether there is one. */
bool step_begin(struct eddis *e, struct eddis_step *ret);

/* Check whether no step comes behind this one. */
bool step_is_last(struct eddis *e, const struct eddis_step *s);

/* Announce a gradient, whose result comes to its place. */
void step_announce(struct eddis *e, int parameter, void *gradient);

/* Wait for the gradients and end the step. */
void step_end(struct eddis *e);

/* Make the next step, and all that are left, with nothing in them. */
void make_step(struct eddis *e);
void make_steps(struct eddis *e);

/* Write a checkpoint with one entry, "w" (data NULL: with none), and read it.  folder NULL: that of
 * the job.
 */
void save(struct eddis *e, const char *folder, const void *data, size_t bytes);
void restore(struct eddis *e, const char *folder, void *data, size_t bytes);

#endif
