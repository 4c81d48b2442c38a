/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_threads.c - calls of any thread beside the steps, over the loop in every mode */
#include "loop_job.h"

int main(void)
{
    const struct loop_job rows[] = {
        { .n = 1, .each.batch = 8 },
        { .n = 4, .share = 8, NODES(0, 0, 1, 1) },
        { .n = 3, .share = 8, .per_group = ASYNC, NODES(0, 0, 1) },
        { .n = 4, .share = 8, .per_group = 2, NODES(0, 0, 0, 1) },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loop_job j = rows[i];

        j.run = scenario_threads;
        loop_job_run(&j);
    }
    return check_result();
}
