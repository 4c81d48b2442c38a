/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - the one function of a fuzz target, called by libFuzzer or by replay.c */
#ifndef EDDIS_TESTS_FUZZ_TARGET_H
#define EDDIS_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Try one input; aborts when a promise is broken.  Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Where a target has it: whether the last input was taken, not refused.  Stored inputs are to be,
 * but for findings of libFuzzer (crash-*), or nothing behind the first member is tried any more.
 */
bool fuzz_taken(void) __attribute__((weak));

#endif
