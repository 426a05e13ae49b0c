// SPDX-License-Identifier: Apache-2.0
/* The table of what is ours, and the questions that it answers; see ours.h. */
#include "base/ours.h"

#include <stdio.h>
#include <string.h>

const struct ours_protocol ours_protocols[OURS_PROTOCOLS] = {
    { ROUTE_PROTOCOL_BLOCK, ROUTE_PROTOCOL_BLOCK, true, false, "a pod block of this node" },
    { ROUTE_PROTOCOL_SERVICE, ROUTE_PROTOCOL_SERVICE, true, true,
      "a service address that this node serves now" },
    { ROUTE_PROTOCOL_DRAINING, ROUTE_PROTOCOL_DRAINING, true, true,
      "the same, while the node is being drained" },
    { ROUTE_PROTOCOL_GUARD, ROUTE_PROTOCOL_GUARD, false, false, "guard" },
    { ROUTE_PROTOCOL_CLASS_FIRST, ROUTE_PROTOCOL_CLASS_LAST, true, true,
      "a service address of route class 0..29" },
};

const struct ours_protocol *ours_protocol(uint8_t number)
{
    for (size_t i = 0; i < OURS_PROTOCOLS; i++) {
        if (number >= ours_protocols[i].first && number <= ours_protocols[i].last)
            return &ours_protocols[i];
    }
    return NULL;
}

bool ours_is_service(uint8_t protocol)
{
    const struct ours_protocol *row = ours_protocol(protocol);
    return row && row->service;
}

static bool is_exported(uint8_t protocol)
{
    const struct ours_protocol *row = ours_protocol(protocol);
    return row && row->exported;
}

/* Rows that follow each other without a gap are one range. */
const char *ours_exported_set(char buffer[static OURS_SETLEN])
{
    size_t length = 0;
    for (unsigned first = 0, last; first <= UINT8_MAX; first = last + 1) {
        last = first;
        if (!is_exported((uint8_t)first))
            continue;
        while (last < UINT8_MAX && is_exported((uint8_t)(last + 1)))
            last++;
        length += (size_t)snprintf(buffer + length, OURS_SETLEN - length, "%s%u..%u",
                                   length ? ", " : "[", first, last);
    }
    snprintf(buffer + length, OURS_SETLEN - length, "]");
    return buffer;
}

void ours_tables(uint32_t export_table, uint32_t ret_tables[static OURS_TABLES])
{
    ret_tables[0] = export_table;
    ret_tables[1] = ROUTE_TABLE_GUARD;
    ret_tables[2] = ROUTE_TABLE_MAIN;
}

bool ours_is_table(uint32_t table, uint32_t export_table)
{
    return table == export_table || table == ROUTE_TABLE_GUARD;
}

bool ours_is_route(uint32_t table, uint8_t protocol, uint32_t export_table)
{
    const struct ours_protocol *row = ours_protocol(protocol);
    if (!row)
        return false;
    if (table == export_table)
        return row->exported;
    return !row->exported && (table == ROUTE_TABLE_GUARD || table == ROUTE_TABLE_MAIN);
}

bool ours_is_rule(uint8_t protocol)
{
    return protocol == ROUTE_PROTOCOL_GUARD;
}

bool ours_is_alias(const char *alias)
{
    return strcmp(alias, OURS_NAME) == 0;
}
