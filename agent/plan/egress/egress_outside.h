/* SPDX-License-Identifier: Apache-2.0 */
/* An address outside the cluster, for the proof of an egress gateway. */
#pragma once

#include "plan/egress/egress.h"

/*
 * One address of each family (IPv4, IPv6) that clients may send to by this gateway: in the
 * destination with the shortest prefix of the Egresses that it serves. IP_NONE: no destination of
 * that family. Returns 0 or -ENOMEM.
 */
int plan_egress_outside(const struct node_facts *facts, struct ip ret_addresses[static 2]);
