/* SPDX-License-Identifier: Apache-2.0 */
/* The Bloom filter by which the programs recognize packets that concern service NAT. */
#pragma once

#include <stdbool.h>

#include "apply/nat/services/installed.h"

/* Packets to an address and port, in network order; port 0: to the address, whatever the port. */
void nat_filter_add(struct nat_datapath *datapath, const struct nat_addr *addr, __be16 port);
bool nat_filter_has(const struct nat_datapath *datapath, const struct nat_addr *addr, __be16 port);

/* Packets to an entry of "frontends". */
void nat_filter_add_entry(struct nat_datapath *datapath, const struct nat_entry *entry);
bool nat_filter_has_entry(const struct nat_datapath *datapath, const struct nat_entry *entry);

/* Adds the packets of a flow, whether or not its Service still exists. Only to the idle half. */
void nat_filter_add_flow(struct nat_datapath *datapath, const struct nat_tuple *key,
                         const struct nat_flow *flow);

/*
 * Clears the idle half and fills it with everything that is installed. From then on until the
 * switch, everything is added to both halves.
 */
void nat_filter_refill(struct nat_datapath *datapath);
/* Puts the refilled half in force. */
void nat_filter_switch(struct nat_datapath *datapath);

/* Fills a new or resized filter with everything that is installed and with all flows. Returns 0
 * or -errno. */
int nat_filter_begin(struct nat_datapath *datapath);
