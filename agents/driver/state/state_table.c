/* SPDX-License-Identifier: Apache-2.0 */
/* state_table.c - phase x input: the handler of each input in each phase
 *
 * A row is an input, a column a phase:
 *
 *     R register  P profile  N network  p s r x the probe's prepare, start, run and stop  L plan
 *     A prepare   C check     S start   U run   X stop   G regroup   B bye   O over
 *
 * A cell is the number of one of the row's handlers, or '.': the input is ignored, or '-': no
 * correct caller gives it in this phase, so it is counted and ignored.
 */
#include "state_input.h"

enum { HANDLERS = 5 }; /* most handlers of a row */

/* The rows: name of the input, a cell for each phase, and the handlers 1, 2 ... that cells name. */
static const struct row {
    char cell[STATE_PHASES + 1];
    state_handler_fn *handler[HANDLERS];
} table[INPUTS] = {
    /*                          RPNpsrxLACSUXGBO */
    [INPUT_REGISTERED] = { "1.22222222222233",
                           { state_agent_registered, state_agent_is_back, state_agent_is_late } },
    [INPUT_PROFILED] = { "2122222222222322",
                         { state_agent_measured, state_agent_measured_late,
                           state_agent_regrouped } },
    [INPUT_UNMEASURED] = { ".1111111111111..", { state_agent_wants_turn } },
    [INPUT_GPUS] = { ".1..............", { state_agent_has_gpus } },
    [INPUT_PROFILE_FAILED] = { "1122222222222222",
                               { state_launch_order_failed, state_agent_measure_failed } },
    [INPUT_PREPARED] = { "--.1..2.3...2...",
                         { state_probe_prepared, state_launch_prepared_late,
                           state_launch_prepared } },
    [INPUT_CHECKED] = { "--.---..-1......", { state_launch_checked } },
    [INPUT_RANK_STARTED] = { "----112---112---", { state_rank_started, state_rank_started_late } },
    [INPUT_RANK_EXIT] = { "----112---112---", { state_rank_exit, state_rank_exit_late } },
    [INPUT_MPIRUN_EXIT] = { "----11.---112---",
                            { state_rank_mpirun_exit, state_rank_mpirun_exit_late } },
    [INPUT_DAEMON_EXIT] = { "----11.---11.---", { state_rank_daemon_exit } },
    [INPUT_PROBE_RESULT] = { "----11.---------", { state_probe_result } },
    [INPUT_STOPPED] = { "------1-----1-22", { state_stop_confirmed, state_stop_confirmed_late } },
    [INPUT_ORDER_FAILED] = { "--11132111132333",
                             { state_launch_order_failed, state_launch_stop_failed,
                               state_agent_note } },
    [INPUT_NOTE] = { "1111111111111111", { state_agent_note } },
    [INPUT_PROGRESS] = { "----------111---", { state_hang_progress } },
    [INPUT_AGENT_ENDED] = { "1111111111111122", { state_agent_ended, state_agent_left } },
    [INPUT_NOT_STARTED] = { "1111111111111122", { state_agent_not_started, state_agent_left } },
    [INPUT_NETWORK_TRY] = { "--1-----------..", { state_probe_try } },
    [INPUT_NETWORK_FAILED] = { "..1111..........", { state_probe_fails } },
    [INPUT_NETWORK_KNOWN] = { "--1-----------..", { state_probe_known } },
    [INPUT_PLANNED] = { "-------1------..", { state_launch_planned } },
    [INPUT_FINISH] = { "-------1------..", { state_request_finish } },
    [INPUT_UNPLANNABLE] = { "-------1------11", { state_request_unplannable } },
    [INPUT_FAIL] = { "11111111111111..", { state_request_fail } },
    [INPUT_INTERRUPT] = { "11111111111211..",
                          { state_request_interrupt, state_request_interrupt_running } },
    [INPUT_QUIT] = { "11111111111111..", { state_request_quit } },
    [INPUT_PREEMPT] = { "11111111111211..",
                        { state_request_preempt, state_request_preempt_running } },
    [INPUT_USR2] = { ".....1.....1....", { state_request_usr2 } },
    [INPUT_CHECKPOINT_SEEN] = { "1111111111111111", { state_request_checkpoint_seen } },
    [INPUT_BYE_FROM] = { "..............1.", { state_stop_bye_from } },
    [INPUT_SILENT] = { "11111111111111..", { state_agent_silent } },
    [INPUT_LOOK_FOR_HANG] = { "...........1....", { state_hang_look } },
    [INPUT_LATE] = { "11.12.3.112.345.",
                     { state_launch_agent_late, state_launch_rank_late, state_stop_late,
                       state_stop_regroup, state_stop_bye_late } },
    [INPUT_PROBE_LATE] = { "...111..........", { state_probe_late } },
    [INPUT_REGROUPED] = { ".............1..", { state_stop_regroup } },
    [INPUT_SETTLED] = { "....11....11....", { state_rank_settled } },
    [INPUT_CHECKPOINT_LATE] = { "...........1....", { state_request_checkpoint_late } },
    [INPUT_JOB_LATE] = { "11111111111211..",
                         { state_request_job_late, state_request_job_late_running } },
    [INPUT_REVIVE] = { "........111111..", { state_agent_revive } },
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

/* Return the handler that the table gives for an input in a phase; NULL: the cell has no number of
 * a handler.
 */
static state_handler_fn *handler(enum input_type type, enum state_phase phase)
{
    int number = table[type].cell[phase] - '1';

    return number >= 0 && number < HANDLERS ? table[type].handler[number] : NULL;
}

bool state_cell_is_whole(enum input_type type, enum state_phase phase)
{
    return state_cell(type, phase) != CELL_HANDLER || handler(type, phase);
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
