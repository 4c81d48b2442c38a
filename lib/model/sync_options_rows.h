/* SPDX-License-Identifier: Apache-2.0 */
/* sync_options_rows.h - the keys below `sync` in train.yaml that are options of an algorithm
 *
 * One row per option, in the order of the manual.  From each row, job_keys.c makes a key of
 * train.yaml, sync_options_json.c a JSON member, and job_check.c a check: the key is rejected if no
 * requested algorithm has the trait.  A file that includes this one first defines:
 *
 *     WHOLE_OPTION(member, low, high, trait, help, otherwise): a whole number or auto
 *     NUMBER_OPTION(member, low, high, trait, help, otherwise): a number or auto
 *     PLAIN_OPTION(member, high, trait, help, otherwise): a number from 0, the default
 *     OFF_OPTION(member, high, trait, help, otherwise): a whole number, or off, the default, for 0
 *     GROUPS_OPTION(help): the key of the groups, which are lists of ranks, not an option
 *     WIRE_OPTION(member): an enum sync_wire; its key is communication.wire
 *     LATER_OPTION(name, type, initial, help, feature): not implemented, rejected by name
 *
 * member: a member of struct sync_options.  otherwise: error text if no selected algorithm supports
 * the option.
 */
LATER_OPTION(staleness, "whole number", "3",
             "how many steps a worker may be ahead of the slowest worker", "parameter servers")
WHOLE_OPTION(period, 1, 1000000, ALGORITHM_ELASTIC | ALGORITHM_ROUNDS,
             "number of steps after which models are averaged",
             "synchronous training has one model, so nothing is averaged")
GROUPS_OPTION("the groups of workers in hybrid and local mode")
NUMBER_OPTION(
    moving_rate, 1e-6, 1, ALGORITHM_ELASTIC,
    "how far a model and the center variable move towards each other when they are averaged",
    "only asynchronous and hybrid training have a center variable")
PLAIN_OPTION(momentum, 0.9999, ALGORITHM_ELASTIC, "Nesterov momentum of the workers' own steps",
             "in synchronous and local training the optimiser has its own momentum")
NUMBER_OPTION(outer_rate, 1e-6, 2, ALGORITHM_OUTER,
              "learning rate with which DiLoCo's outer optimizer takes a step after a round",
              "only the algorithm diloco has an outer optimizer")
NUMBER_OPTION(outer_momentum, 1e-6, 0.9999, ALGORITHM_OUTER,
              "Nesterov momentum of DiLoCo's outer optimizer",
              "only the algorithm diloco has an outer optimizer")
OFF_OPTION(overlap, 999999, ALGORITHM_ROUNDS,
           "steps of the next round that are made while models are combined",
           "only local training combines models at the end of rounds")
WIRE_OPTION(wire)
LATER_OPTION(large_batch, "whole number or auto", "auto",
             "number of samples between two steps of the parameter servers", "parameter servers")
LATER_OPTION(shards, "whole number or auto", "auto", "number of parameter servers",
             "parameter servers")
LATER_OPTION(gossip, "number", "0.01",
             "probability that a worker sends its model to another one after a step",
             "gossip between workers")

#undef WHOLE_OPTION
#undef NUMBER_OPTION
#undef PLAIN_OPTION
#undef OFF_OPTION
#undef GROUPS_OPTION
#undef WIRE_OPTION
#undef LATER_OPTION
