/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - which devices of the nodes get workers, and by which measurements they compare */
#ifndef EDDIS_SCHEDULER_DEVICES_H
#define EDDIS_SCHEDULER_DEVICES_H

#include "lib/model/profile.h"

#include <stdbool.h>

/* Return the kind of device that this node's workers run on: emulated devices, else GPUs unless
 * node->cpus_only is set, else the CPU. Emulated devices come first: the job asks for them, while a
 * GPU may just be present.
 */
enum device_kind devices_kind(const struct node_profile *node);

/* Check whether a worker can run on this device of the node: it is of the kind of devices_kind, and
 * no GPU that could not be used while another could.
 */
bool devices_has_worker(const struct node_profile *node, const struct device *d);

/* Return how many devices of the node a worker can run on. */
int devices_count(const struct node_profile *node);

/* Return the measurements (TIME_MODEL_... of time_model.h) that all devices have, for a program of
 * this precision, on which workers of these nodes can run; only by these can they be compared.
 * Devices without any measurement and emulated ones do not count. Return 0 if no measurement is
 * common to them, all measurements if no device counts. *ret_lacks, unless it is NULL: the first
 * device that lacks a measurement which others have, or the rate in this precision; NULL: none.
 */
unsigned devices_figures(const struct node_profile *nodes, int n_nodes, enum precision precision,
                         const struct device **ret_lacks);

/* Append to the notes of the nodes' profiles which GPUs get no worker, and why; which lack this
 * precision; and that devices are compared without some measurement, on the first node that lacks
 * it. workers_per_node: what the job asks for on nodes without a number of their own; 0: one for
 * each device.
 */
void devices_remark(int64_t workers_per_node, enum precision precision, struct node_profile *nodes,
                    int n_nodes);

/* Write to ret [size] which GPUs with workers lack this precision, on the first such node, and on
 * how many more nodes there are such GPUs; "" if none lacks it, or if some GPU's rate in it is
 * unmeasured. times: the plan is by measured times, otherwise by rates. Return the number of nodes.
 */
int devices_lacking(const struct node_profile *nodes, int n_nodes, enum precision precision,
                    bool times, char *ret, size_t size);

#endif
