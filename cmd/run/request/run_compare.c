/* SPDX-License-Identifier: Apache-2.0 */
/* run_compare.c - the command line of a comparison */
#include "run_compare.h"

#include "cmd/shared/options.h"
#include "run_options.h"

#include <errno.h>

/* Check whether an option that only --compare has is given. */
static bool has_own(const struct compare_ask *a)
{
    return a->n_modes || a->rounds || a->target.goal != COMPARE_EPOCHS;
}

int run_compare_check(struct run_request *r, bool resumes, bool plan, struct eddis_error *err)
{
    const struct {
        bool given;
        const char *option, *why;
    } row[] = {
        { r->detach, "--detach", "the comparison is made here; run it under nohup or tmux" },
        { r->submit, "--slurm",
          "run eddis-run --compare inside an allocation, as in a batch script" },
        { resumes, "--resume", "each run begins with the first step" },
        { plan, "--plan", "each mode has a plan of its own" },
        { r->measure_equal != 0, "--measure-equal", "each run trains by its plan alone" },
        { r->dry_run, "--dry-run", "leave out --compare to see the plan of one mode" },
        { r->profile, "--profile", "nothing is trained" },
        { r->check, "--check", "nothing is trained; check first, then compare" },
        { r->what_if != NULL, r->only_today ? "--simulate" : "--what-if",
          "it predicts one job; give one of the two" },
        { r->ranks.n > 0, "--ranks", "the output of workers is only in their log files" },
    };

    if (!r->compare && has_own(&r->ask))
        return eddis_fail(err, -EINVAL, "--modes, --until and --rounds need --compare");
    for (size_t i = 0; r->compare && i < sizeof row / sizeof *row; i++)
        if (row[i].given)
            return eddis_fail(err, -EINVAL, "--compare and %s exclude each other: %s",
                              row[i].option, row[i].why);
    if (!r->ask.rounds)
        r->ask.rounds = 1;
    for (int m = 0; !r->ask.n_modes && m < SYNC_MODES; m++)
        r->ask.mode[m] = (enum sync_mode)m;
    if (!r->ask.n_modes)
        r->ask.n_modes = SYNC_MODES;
    return 0;
}

/* Check whether the runs do not get this option: it is about the comparison, or each run gets its
 * own value.
 */
static bool is_ours(const struct options_item *i)
{
    static const char *const ours[] = { "compare", "modes", "until", "rounds",  "job-dir",
                                        "log-dir", "seed",  "json",  "verbose", "quiet" };

    for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
        if (options_is(i, ours[k]))
            return true;
    return false;
}

int run_compare_words(int argc, char **argv, struct run_request *r, struct eddis_error *err)
{
    struct options o = { .table = &run_options, .argc = argc, .argv = argv };
    struct options_item i;

    while (options_next(&o, &i, NULL) == 1) {
        if (!i.row && o.behind) {
            strlist_addf(&r->words, "--");
            strlist_add_all(&r->words, &argv[o.at]);
            break;
        }
        if (!i.row)
            strlist_addf(&r->words, "%s", i.value);
        else if (!is_ours(&i) && i.value)
            strlist_addf(&r->args, "--%s=%s", i.row->name, i.value);
        else if (!is_ours(&i))
            strlist_addf(&r->args, "--%s", i.row->name);
    }
    return r->args.failed || r->words.failed
               ? eddis_fail(err, -ENOMEM, "no memory for the command line")
               : 0;
}
