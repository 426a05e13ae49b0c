/* SPDX-License-Identifier: Apache-2.0 */
/* The state of our nftables table, by the firewall engine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct firewall_status {
    const char *mode;           /* "off", "mark", "accept": in force */
    bool there;                 /* the table exists with the wanted content */
    uint32_t openings, closed;  /* elements: opened ports; addresses whose other ports are closed */
    uint64_t added, removed;    /* elements since the start */
    uint64_t replaced, repairs; /* recreations of the table; those after a foreign change */
    uint64_t opened_packets, closed_packets; /* as last counted, since the table was created */
};
