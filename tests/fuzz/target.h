/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - the one function of a fuzz target, called by libFuzzer or by replay.c */
#ifndef EDDIS_TESTS_FUZZ_TARGET_H
#define EDDIS_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Try one input; aborts when a promise is broken.  Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
