/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - one failure as a code and one sentence
 *
 * Every function that can fail returns 0 or a count on success and a negative errno value on
 * failure.  Its last parameter receives the sentence.  The sentence begins in lower case, puts
 * names in quotes, ends without a full stop, and states the remedy if one is known.
 */
#ifndef EDDIS_BASE_ERROR_H
#define EDDIS_BASE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* eddis.h has the same definition: it is installed alone and cannot include this file. */
#ifndef EDDIS_ERROR_DEFINED
#define EDDIS_ERROR_DEFINED
struct eddis_error {
    int code;       /* negative errno value; 0 while unset */
    char text[512]; /* one sentence, no newline */
};
#endif

/* Record a failure in err and return code, so that callers write
 *     return eddis_fail(err, -ENOENT, "no host '%s' in the cluster file", name);
 * err may be NULL: the sentence is then dropped.
 */
int eddis_fail(struct eddis_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Record a failure as eddis_fail does, and append ": " and strerror(-code). */
int eddis_fail_errno(struct eddis_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Prepend "<fmt>: " to the sentence in err.  Return err->code; if that is 0 or err is NULL, return
 * `code`.  For a caller that knows where the failure happened, while its callee has reported what
 * failed.
 */
int eddis_fail_prefix(struct eddis_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
