// SPDX-License-Identifier: Apache-2.0
/*
 * The faults for ports that two have; see nat_ports.h.
 *
 * A node port is taken from the packet before any socket of the host is looked for: a daemon that
 * listens there runs, is not to be seen wrong from the inside, and nobody from outside reaches it.
 * (A health port of a Service that another program has is told by health/, which can't bind it.)
 */
#include "engine/nat/host/nat_ports.h"

#include <string.h>

#include "apply/netlink/listening.h"
#include "base/text.h"
#include "engine/nat/nat_state.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { TOLD_MAX = 32 };

/* By protocol, port. */
static int listening_cmp(const void *a, const void *b)
{
    const struct listening *left = a, *right = b;
    if (left->protocol != right->protocol)
        return left->protocol < right->protocol ? -1 : 1;
    return (left->port > right->port) - (left->port < right->port);
}

/* The first of a sorted list whom a frontend keeps from being asked; NULL: nobody. */
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

/* One fault for a port, however many addresses it is served on. */
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

void nat_ports_report(struct nat_engine *engine)
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
