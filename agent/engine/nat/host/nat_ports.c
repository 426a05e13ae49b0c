// SPDX-License-Identifier: Apache-2.0
/*
 * Faults for ports with two users; see nat_ports.h.
 *
 * A node port is translated before the kernel looks up a socket of the host: a daemon that listens
 * there runs, looks healthy from the inside, and is unreachable from outside. (If another program
 * uses a Service's health port, health/ reports it, because its bind fails.)
 *
 * The kernel may also assign a node port to a connecting socket. The reply is sent to the node's
 * address and that port, and is processed as a request of a client to the Service. So an occasional
 * connection of the node itself fails, without any other sign. Kubernetes' node ports (30000-32767)
 * are below the kernel's range (32768-60999); tuning guides widen it. The kernel does not assign
 * ports in ip_local_reserved_ports. Neither setting has notifications.
 */
#include "engine/nat/host/nat_ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/netlink/listening.h"
#include "base/files/file.h"
#include "base/text.h"
#include "engine/nat/nat_state.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { TOLD_MAX = 32, RANGE_MAX = 64, RESERVED_MAX = 256 * 1024 };

/* By protocol, then port. */
static int listening_cmp(const void *a, const void *b)
{
    const struct listening *left = a, *right = b;
    if (left->protocol != right->protocol)
        return left->protocol < right->protocol ? -1 : 1;
    return (left->port > right->port) - (left->port < right->port);
}

/* The first socket of a sorted list that a frontend makes unreachable; NULL: none. */
static const struct listening *find_shadowed(const listening_list *list,
                                             const struct nat_frontend *frontend)
{
    const struct listening key = { .protocol = frontend->protocol, .port = frontend->port };
    size_t low = 0, high = list->count;
    if (frontend->kind != NAT_FRONTEND_NODE_PORT)
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (listening_cmp(&list->items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < list->count && listening_cmp(&list->items[low], &key) == 0; low++) {
        const struct listening *found = &list->items[low];
        bool everywhere = found->ip.family == IP_NONE &&
                          (found->family == IP_V6 || frontend->address.family == IP_V4);
        if (everywhere || ip_equal(&found->ip, &frontend->address))
            return found;
    }
    return NULL;
}

static void tell(const struct nat_row *row, const struct nat_frontend *frontend,
                 const struct listening *socket, struct faults *faults)
{
    AUTOFREE char *place = text_format("Service %s/%s", row->namespace, row->name);
    char address[IP_STRLEN];
    char port[8];
    (void)snprintf(port, sizeof(port), "%u", frontend->port);
    fault_raise(faults, place, nat_node_port_shadows_socket, .port = port,
                .protocol = protocol_name(frontend->protocol),
                .option = socket->protocol == PROTOCOL_TCP ? "t" : "u", .user = socket->uid,
                .address =
                    socket->ip.family == IP_NONE ? "every address" : ip_str(&socket->ip, address));
}

/* One fault per port, however many addresses it is served on. */
static void look_at_row(const struct nat_row *row, const listening_list *list,
                        struct faults *faults)
{
    const struct listening *last = NULL;
    for (uint32_t f = 0; f < row->family_count; f++) {
        vec_each(const struct nat_frontend, frontend, &row->families[f].frontends) {
            const struct listening *found = find_shadowed(list, frontend);
            if (found && (!last || listening_cmp(last, found) != 0) &&
                faults->list.count < TOLD_MAX)
                tell(row, frontend, found, faults);
            last = found ? found : last;
        }
    }
}

static void report_listeners(struct nat_engine *engine)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC listening_list list = { 0 };
    int r = engine->diag ? 0 : listening_open(&engine->diag);
    if (r < 0 || listening_dump(engine->diag, &list) < 0)
        return; /* without sock_diag nothing is known */
    vec_sort(&list, listening_cmp);
    sorted_each(const struct nat_row *, row, &engine->rows) {
        look_at_row(*row, &list, &faults);
    }
    nat_state_report(engine, "node ports", &faults);
}

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

/*
 * "8080,30000-32767"; a list that can't be parsed reserves every port, so that no wrong fault is
 * raised.
 */
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

/* The first node port of a Service that is in the range and not reserved; 0: none. */
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

static void tell_of_range(const struct nat_row *row, unsigned port, const struct local_range *range,
                          struct faults *faults)
{
    fault_raise(faults, "net.ipv4.ip_local_port_range", nat_local_port_range, .first = range->first,
                .last = range->last, .port = port, .namespace = row->namespace, .name = row->name);
}

static void report_range(struct nat_engine *engine)
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
            tell_of_range(*row, port, &range, &faults);
            break;
        }
    }
    nat_state_report(engine, "local ports", &faults);
}

void nat_ports_report(struct nat_engine *engine)
{
    report_listeners(engine);
    report_range(engine);
}
