/* SPDX-License-Identifier: Apache-2.0 */
/* stack_scan.h - checks that a function leaves no secret on the stack */
#ifndef EDDIS_TESTS_STACK_SCAN_H
#define EDDIS_TESTS_STACK_SCAN_H

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_SCAN_BYTES = 4 << 20, STACK_SCAN_ABOVE = 64 << 10 };

/* Call *fn from a place deep enough on the stack that the end of the thread overwrites nothing. */
static inline void *stack_scan_call(void *fn)
{
    char above[STACK_SCAN_ABOVE];

    explicit_bzero(above, sizeof above);
    (*(void (**)(void))fn)();
    return NULL;
}

/* Run fn in a thread with a stack of its own.  Return whether the secret is on that stack
 * afterwards.  fn should call nothing after what it tests, which could overwrite the secret.
 */
static inline bool stack_scan_finds(void (*fn)(void), const char *secret)
{
    void *stack =
        mmap(NULL, STACK_SCAN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attr;
    pthread_t thread;
    bool found;

    ck_assert_ptr_ne(stack, MAP_FAILED);
    ck_assert_int_eq(pthread_attr_init(&attr), 0);
    ck_assert_int_eq(pthread_attr_setstack(&attr, stack, STACK_SCAN_BYTES), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, stack_scan_call, &fn), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attr);
    found = memmem(stack, STACK_SCAN_BYTES, secret, strlen(secret)) != NULL;
    (void)munmap(stack, STACK_SCAN_BYTES);
    return found;
}

#endif
