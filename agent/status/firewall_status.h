/* SPDX-License-Identifier: Apache-2.0 */
/* What the firewall engine says of our table of nftables. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct firewall_status {
    const char *mode;           /* "off", "mark", "accept": in force */
    bool there;                 /* the table stands with what is wanted */
    uint32_t openings, closed;  /* elements: ports that are opened; addresses otherwise closed */
    uint64_t added, removed;    /* elements since the start */
    uint64_t replaced, repairs; /* tables that were made anew; those because of a foreign change */
    uint64_t opened_packets, closed_packets; /* as counted last, since the table was made */
};
