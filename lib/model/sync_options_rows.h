/* SPDX-License-Identifier: Apache-2.0 */
/* sync_options_rows.h - the keys below `sync` in train.yaml that are options of an algorithm
 *
 * One row an option, in the order of the manual.  job_keys.c makes a key of train.yaml of each,
 * job_check.c refuses it where no algorithm that is asked for has its trait, sync_options_json.c
 * makes a member of JSON of it.  Whoever includes this file has defined:
 *
 *   WHOLE_OPTION(member, low, high, trait, help, otherwise): a whole number or auto
 *   NUMBER_OPTION(member, low, high, trait, help, otherwise): a number or auto
 *   PLAIN_OPTION(member, high, trait, help, otherwise): a number from 0 on, which is its default
 *   GROUPS_OPTION(help): the key of the groups, which are no option but lists of ranks
 *   WIRE_OPTION(member): an enum sync_wire, the key of which is communication.wire
 *   LATER_OPTION(name, type, initial, help, feature): nothing has it yet: refused by name
 *
 * member: of struct sync_options; otherwise: why a key has no meaning where no
 * algorithm has the trait.
 */
LATER_OPTION(staleness, "whole number", "3", "steps that a worker may be ahead of the slowest",
             "parameter servers")
WHOLE_OPTION(period, 1, 1000000, ALGORITHM_ELASTIC, "steps between two averages of models",
             "only asynchronous and hybrid training average models now and then")
GROUPS_OPTION("groups of the hybrid mode")
NUMBER_OPTION(moving_rate, 1e-6, 1, ALGORITHM_ELASTIC,
              "how far a model and the centre move towards each other at an average",
              "only asynchronous and hybrid training have a centre to move to")
PLAIN_OPTION(momentum, 0.9999, ALGORITHM_SEVERAL, "Nesterov momentum of the workers' own steps",
             "in synchronous training the optimiser has its own momentum")
WIRE_OPTION(wire)
LATER_OPTION(large_batch, "whole number or auto", "auto",
             "samples between two steps of the servers", "parameter servers")
LATER_OPTION(shards, "whole number or auto", "auto", "number of parameter servers",
             "parameter servers")
LATER_OPTION(gossip, "number", "0.01", "chance of a push after a step", "gossip between workers")

#undef WHOLE_OPTION
#undef NUMBER_OPTION
#undef PLAIN_OPTION
#undef GROUPS_OPTION
#undef WIRE_OPTION
#undef LATER_OPTION
