/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - one failure as a code and one sentence
 *
 * Every function that can fail returns 0 or a count on success and a negative errno value on
 * failure; its last parameter receives the sentence.  The sentence begins in lower case, puts
 * names in quotes, ends without a full stop and says what to do when that is known.
 */
#ifndef EDDIS_BASE_ERROR_H
#define EDDIS_BASE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* The same words stand in eddis.h, which is installed alone and so cannot include this file. */
#ifndef EDDIS_ERROR_DEFINED
#define EDDIS_ERROR_DEFINED
struct eddis_error {
    int code;       /* negative errno value; 0 while unset */
    char text[512]; /* one sentence, no newline */
};
#endif

/* Record a failure and return code, so that callers write
 *     return eddis_fail(err, -ENOENT, "no host '%s' in the cluster file", name);
 * err may be NULL: the code still travels, the sentence is dropped.
 */
int eddis_fail(struct eddis_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As eddis_fail, and append ": " and the words of errno value -code. */
int eddis_fail_errno(struct eddis_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "<fmt>: " before the sentence that is there; returns err's code, or code when err is NULL.
 * For a caller that knows the place of a failure, where the callee knew its nature.
 */
int eddis_fail_prefix(struct eddis_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
