/* SPDX-License-Identifier: Apache-2.0 */
/* job_types.h - the types of values in a job file, and macros for the fields of the table's rows */
#ifndef EDDIS_JOB_TYPES_JOB_TYPES_H
#define EDDIS_JOB_TYPES_JOB_TYPES_H

#include "lib/base/clock.h"
#include "lib/base/strlist.h"
#include "lib/job/tree/job_field.h"

extern const struct job_type job_type_name, job_type_path, job_type_text, job_type_whole,
    job_type_number, job_type_duration, job_type_period, job_type_word;       /* job_scalar.c */
extern const struct job_type job_type_command, job_type_list, job_type_lines; /* job_list.c */
extern const struct job_type job_type_env, job_type_mca;                      /* job_map.c */
extern const struct job_type job_type_emulate;                                /* job_emulate.c */
extern const struct job_type job_type_groups;                                 /* job_groups.c */
extern const struct job_type job_type_components;                             /* job_components.c */
extern const struct job_type job_type_nodes, job_type_hostfile;               /* job_nodes.c */
extern const struct job_type job_type_host, job_type_devices;                 /* job_host_keys.c */

/* Set two members of a struct job_field: the type, and the offset of the member of struct `what`
 * that the key fills.
 */
#define JOB_AT(what, kind, member) .type = &job_type_##kind, .offset = offsetof(struct what, member)

/* Make the field of a key whose value is passed to sbatch. */
#define JOB_SBATCH(what, member, w)                                                                \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        JOB_AT(what, text, member), .word = w, .check = job_check_slurm_text, .value = w           \
    }
#define JOB_SBATCH_CPUS(what, member, initial)                                                     \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        JOB_AT(what, whole, member), .value = initial, .word = "auto", .words = { "all" },         \
                                     .min = 1, .max = 65536                                        \
    }

/* Read a path, make it absolute and return it in *ret, for the caller to free.  Return 0, -EINVAL
 * or -ENOMEM.
 */
int job_path_read(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                  char **ret, struct eddis_error *err);

/* Append the key's text as YAML; NULL is its special word (job_type.write). */
void job_text_write(const void *base, const struct job_key *key, struct strbuf *b);

/* ---- NULL-ended lists of words ---- */

/* If rc is 0 and no append failed, make these words the key's member, an empty list if there are
 * none, and return 0.  Otherwise free them and return rc or -ENOMEM.
 */
int job_words_keep(const struct job_reader *r, const struct job_key *key, struct strlist *w, int rc,
                   struct eddis_error *err);

/* Free the key's list of words (job_type.free). */
void job_words_member_free(void *base, const struct job_key *key);

#endif
