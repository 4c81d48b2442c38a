/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-agent.c - carries out the driver's orders on one node; started by eddis-keeper */
#include "agents/node/agent.h"
#include "cmd/shared/options.h"
#include "lib/base/exit_code.h"
#include "lib/base/program.h"
#include "lib/base/user_env.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const struct option_row rows[] = {
    { "tick-fd", 0, "N", "file descriptor of the progress page shared with eddis-keeper" },
    { "mark", 0, "MARK", "digits by which eddis-run --cleanup finds this process" },
    { "node", 0, "NAME", "ask eddis-run for the agent configuration of this node" },
    { "help", 'h', NULL, "print this help and exit" },
    { "version", 'V', NULL, "print the version and exit" },
};

static const char *const use[] = { "--tick-fd N [--mark MARK] [--node NAME] < CONFIGURATION",
                                   NULL };

static const struct option_table table = {
    .program = "eddis-agent",
    .summary = "carries out the orders of eddis-run on one node; eddis-keeper starts it",
    .use = use,
    .row = rows,
    .n = sizeof rows / sizeof *rows,
};

/* Print the error on standard error and return `code`, the exit code. */
static int fail(const struct eddis_error *err, int code)
{
    options_complain("eddis-agent", err, stderr);
    return code;
}

/* Parse the descriptor of --tick-fd into *ret. Return 0, or -EINVAL if it is not a number above 2;
 * *ret is then undefined.
 */
static int take_tick(const char *text, int *ret, struct eddis_error *err)
{
    char *end;

    *ret = (int)strtol(text, &end, 10);
    if (*end || end == text || *ret < 3)
        return eddis_fail(err, -EINVAL, "'%s' is not a file descriptor", text);
    return 0;
}

/* Parse the command line. Return -1 to go on, else the exit code of the program. */
static int read_options(int argc, char **argv, struct agent_options *ret)
{
    struct options o = { .table = &table, .argc = argc, .argv = argv };
    struct options_item item;
    struct eddis_error err = { 0 };
    int rc;

    while ((rc = options_next(&o, &item, &err)) > 0) {
        if (options_is(&item, "help") || options_is(&item, "version")) {
            options_about(&table, options_is(&item, "version"));
            return options_flush(&err) < 0 ? fail(&err, EXIT_FAULT) : EXIT_SUCCESS;
        }
        if (options_is(&item, "node"))
            ret->node = item.value;
        else if (options_is(&item, "tick-fd"))
            rc = take_tick(item.value, &ret->tick_fd, &err);
        else if (!item.row)
            rc = eddis_fail(&err, -EINVAL, "unexpected argument '%s'; see --help", item.value);
        /* --mark is only to be seen in the list of processes. */
        if (rc < 0)
            break;
    }
    if (rc == 0 && ret->tick_fd < 0)
        rc = eddis_fail(&err, -EINVAL,
                        "eddis-keeper did not start this program; run eddis-run instead");
    return rc < 0 ? fail(&err, EXIT_USAGE) : -1;
}

/* Run the agent until the job is over on this node. Return the exit code of agent_run, EXIT_FAULT
 * if the agent could not start, or EXIT_USAGE.
 */
int main(int argc, char **argv)
{
    char bin[PATH_MAX] = "";
    struct agent_options o = { .config_fd = 0, .tick_fd = -1, .bin = bin };
    struct eddis_error err = { 0 };
    int code;

    user_env_hide(argv);
    program_outlive_file_limit();
    code = read_options(argc, argv, &o);
    if (code >= 0)
        return code;
    (void)program_folder(bin, sizeof bin, NULL);
    code = agent_run(&o, &err);
    return code < 0 ? fail(&err, EXIT_FAULT) : code;
}
