/* SPDX-License-Identifier: Apache-2.0 */
/* state_table.c - phase x input: the handler of each input in each phase
 *
 * A row is an input, a column a phase:
 *
 *     P profile   N network   p s r x the probe's prepare, start, run and stop   L plan
 *     A prepare   C check     S start   U run   X stop   G regroup   B bye   O over
 *
 * A cell is the number of one of the row's handlers, or '.': the input is ignored, or '-': no
 * correct caller gives it in this phase, so it is counted and ignored.
 */
#include "state_input.h"

#include <string.h>

enum { HANDLERS = 5 };

static const struct row {
    const char *name;
    char cell[STATE_PHASES + 1];
    state_handler_fn *handler[HANDLERS];
} table[INPUTS] = {
    /*                          RPNpsrxLACSUXGBO */
    [INPUT_REGISTERED] = { "registered",
                           "1.22222222222233",
                           { state_agent_registered, state_agent_is_back, state_agent_is_late } },
    [INPUT_PROFILED] = { "profiled",
                         "2122222222222322",
                         { state_agent_measured, state_agent_measured_late,
                           state_agent_regrouped } },
    [INPUT_UNMEASURED] = { "unmeasured", ".1111111111111..", { state_agent_wants_turn } },
    [INPUT_PROFILE_FAILED] = { "profile failed",
                               "1122222222222222",
                               { state_launch_order_failed, state_agent_measure_failed } },
    [INPUT_PREPARED] = { "prepared",
                         "--.1..2.3...2...",
                         { state_probe_prepared, state_launch_prepared_late,
                           state_launch_prepared } },
    [INPUT_CHECKED] = { "checked", "--.---..-1......", { state_launch_checked } },
    [INPUT_RANK_STARTED] = { "rank started",
                             "----112---112---",
                             { state_rank_started, state_rank_started_late } },
    [INPUT_RANK_EXIT] = { "rank exit",
                          "----112---112---",
                          { state_rank_exit, state_rank_exit_late } },
    [INPUT_MPIRUN_EXIT] = { "mpirun exit",
                            "----11.---112---",
                            { state_rank_mpirun_exit, state_rank_mpirun_exit_late } },
    [INPUT_DAEMON_EXIT] = { "daemon exit", "----11.---11.---", { state_rank_daemon_exit } },
    [INPUT_PROBE_RESULT] = { "probe's result", "----11.---------", { state_probe_result } },
    [INPUT_STOPPED] = { "stopped",
                        "------1-----1-22",
                        { state_stop_confirmed, state_stop_confirmed_late } },
    [INPUT_ORDER_FAILED] = { "order failed",
                             "--11132111132333",
                             { state_launch_order_failed, state_launch_stop_failed,
                               state_agent_note } },
    [INPUT_NOTE] = { "note", "1111111111111111", { state_agent_note } },
    [INPUT_PROGRESS] = { "progress", "----------111---", { state_hang_progress } },
    [INPUT_AGENT_ENDED] = { "agent ended",
                            "1111111111111122",
                            { state_agent_ended, state_agent_left } },
    [INPUT_NOT_STARTED] = { "not started",
                            "1111111111111122",
                            { state_agent_not_started, state_agent_left } },
    [INPUT_NETWORK_TRY] = { "network try", "--1-----------..", { state_probe_try } },
    [INPUT_NETWORK_FAILED] = { "network failed", "..1111..........", { state_probe_fails } },
    [INPUT_NETWORK_KNOWN] = { "network known", "--1-----------..", { state_probe_known } },
    [INPUT_PLANNED] = { "planned", "-------1------..", { state_launch_planned } },
    [INPUT_FINISH] = { "finish", "-------1------..", { state_request_finish } },
    [INPUT_UNPLANNABLE] = { "unplannable", "-------1------11", { state_request_unplannable } },
    [INPUT_FAIL] = { "fail", "11111111111111..", { state_request_fail } },
    [INPUT_INTERRUPT] = { "interrupt",
                          "11111111111211..",
                          { state_request_interrupt, state_request_interrupt_running } },
    [INPUT_QUIT] = { "quit", "11111111111111..", { state_request_quit } },
    [INPUT_PREEMPT] = { "preempt",
                        "11111111111211..",
                        { state_request_preempt, state_request_preempt_running } },
    [INPUT_USR2] = { "USR2", ".....1.....1....", { state_request_usr2 } },
    [INPUT_CHECKPOINT_SEEN] = { "checkpoint seen",
                                "1111111111111111",
                                { state_request_checkpoint_seen } },
    [INPUT_BYE_FROM] = { "bye from", "..............1.", { state_stop_bye_from } },
    [INPUT_SILENT] = { "silent", "11111111111111..", { state_agent_silent } },
    [INPUT_LOOK_FOR_HANG] = { "look for a hang", "...........1....", { state_hang_look } },
    [INPUT_LATE] = { "late",
                     "11.12.3.112.345.",
                     { state_launch_agent_late, state_launch_rank_late, state_stop_late,
                       state_stop_regroup, state_stop_bye_late } },
    [INPUT_PROBE_LATE] = { "probe late", "...111..........", { state_probe_late } },
    [INPUT_REGROUPED] = { "regrouped", ".............1..", { state_stop_regroup } },
    [INPUT_SETTLED] = { "settled", "....11....11....", { state_rank_settled } },
    [INPUT_CHECKPOINT_LATE] = { "checkpoint late",
                                "...........1....",
                                { state_request_checkpoint_late } },
    [INPUT_JOB_LATE] = { "job late",
                         "11111111111211..",
                         { state_request_job_late, state_request_job_late_running } },
    [INPUT_REVIVE] = { "revive", "........111111..", { state_agent_revive } },
};

enum cell_kind state_cell(enum input_type type, enum state_phase phase)
{
    switch (table[type].cell[phase]) {
    case '-':
        return CELL_IMPOSSIBLE;
    case '.':
        return CELL_IGNORE;
    default:
        return CELL_HANDLER;
    }
}

/* Return the handler of an input in a phase; NULL: its cell has none. */
static state_handler_fn *handler(enum input_type type, enum state_phase phase)
{
    int number = table[type].cell[phase] - '1';

    return number >= 0 && number < HANDLERS ? table[type].handler[number] : NULL;
}

bool state_cell_is_whole(enum input_type type, enum state_phase phase)
{
    return state_cell(type, phase) != CELL_HANDLER || handler(type, phase);
}

const char *state_input_name(enum input_type type)
{
    return table[type].name;
}

void state_take(struct state *s, const struct state_input *in)
{
    switch (state_cell(in->type, s->phase)) {
    case CELL_IMPOSSIBLE:
        s->impossible++;
        break;
    case CELL_IGNORE:
        break;
    case CELL_HANDLER:
        handler(in->type, s->phase)(s, in);
        break;
    }
}
