/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_job.c - any bytes as train.yaml: refused with a place, or written back as a valid job */
#include "target.h"

#include "lib/job/job_read.h"
#include "lib/job/job_text.h"
#include "lib/model/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void broken(const char *what, const char *sentence)
{
    fprintf(stderr, "fuzz_job: %s: %s\n", what, sentence);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct eddis_error err = { 0 };
    struct job *job, *again;
    char *text;

    if (job_parse((const char *)data, n, "f", "/work", &job, &err) < 0) {
        if (strncmp(err.text, "f:", 2) != 0)
            broken("no place in the sentence", err.text);
        return 0;
    }
    text = job_text(job);
    if (!text || job_parse(text, strlen(text), "again", "/work", &again, &err) < 0)
        broken("the job's own text is refused", err.text);
    job_free(again);
    job_free(job);
    free(text);
    return 0;
}
