// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's range of ports for sockets that connect; see nat_local_ports.h.
 *
 * Such a socket with a node port for its own: what is answered to it comes to the node's address
 * and that port, and is taken for a client of the Service. So now and then a connection of the node
 * itself fails, which nothing else explains. Kubernetes' node ports (30000-32767) are below the
 * kernel's range (32768-60999); tuning guides widen it. What is in ip_local_reserved_ports, the
 * kernel gives to nobody. No notification tells of either.
 */
#include "engine/nat/host/nat_local_ports.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/files/file.h"
#include "base/text.h"
#include "engine/nat/nat_state.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { RANGE_MAX = 64, RESERVED_MAX = 256 * 1024 };

struct local_range {
    unsigned first, last;
};

static bool read_range(struct local_range *ret_range)
{
    AUTOFREE char *content = NULL;
    size_t size;
    return file_read("/proc/sys/net/ipv4/ip_local_port_range", RANGE_MAX, &content, &size) == 0 &&
           sscanf(content, "%u %u", &ret_range->first, &ret_range->last) == 2;
}

/* "8080,30000-32767"; one that cannot be read has every port, so that nothing wrong is told. */
static bool is_reserved(const char *list, unsigned port)
{
    for (const char *at = list; at && *at >= '0' && *at <= '9';) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (port >= first && port <= last)
            return true;
        at = *end == ',' ? end + 1 : NULL;
    }
    return !list;
}

/* The first node port of a Service in the range that is not reserved; 0: none. */
static unsigned find_port(const struct nat_row *row, const struct local_range *range,
                          const char *reserved)
{
    for (uint32_t f = 0; f < row->family_count; f++) {
        vec_each(const struct nat_frontend, frontend, &row->families[f].frontends) {
            if (frontend->kind == NAT_FRONTEND_NODE_PORT && frontend->port >= range->first &&
                frontend->port <= range->last && !is_reserved(reserved, frontend->port))
                return frontend->port;
        }
    }
    return 0;
}

static void tell(const struct nat_row *row, unsigned port, const struct local_range *range,
                 struct faults *faults)
{
    fault_raise(faults, "net.ipv4.ip_local_port_range", nat_local_port_range, .first = range->first,
                .last = range->last, .port = port, .namespace = row->namespace, .name = row->name);
}

void nat_local_ports_report(struct nat_engine *engine)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFREE char *reserved = NULL;
    struct local_range range;
    size_t size;
    if (!read_range(&range) ||
        file_read("/proc/sys/net/ipv4/ip_local_reserved_ports", RESERVED_MAX, &reserved, &size) < 0)
        return;
    sorted_each(const struct nat_row *, row, &engine->rows) {
        unsigned port = find_port(*row, &range, reserved);
        if (port) {
            tell(*row, port, &range, &faults);
            break;
        }
    }
    nat_state_report(engine, "local ports", &faults);
}
