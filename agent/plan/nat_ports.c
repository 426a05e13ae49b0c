// SPDX-License-Identifier: Apache-2.0
/*
 * Port numbers that two parties use without knowing of each other: masquerading, node ports, and
 * the kernel. The kernel gives a socket that asks for no port one of net.ipv4.ip_local_port_range
 * (for IPv6, too), but none of net.ipv4.ip_local_reserved_ports.
 *
 * Answers to a socket on a node port are translated and never reach it; a masqueraded flow whose
 * port a socket has must look for another. Overlaps are faults, one example for each pair of
 * parties, but nothing is refused because of them: with kube-proxy the same can happen.
 *
 * The NAT engine calls this when rows, configuration or the kernel's settings have changed.
 */
#include "base/macro.h"
#include "plan/nat.h"

static bool range_has(const struct port_range *range, uint16_t port)
{
    return port >= range->first && port <= range->last;
}

/* The first port of a range, from `port` on, that the kernel may give away; 0: none. */
static uint32_t first_free(const struct nat_kernel_ports *kernel, const struct port_range *range)
{
    uint32_t port = MAX(range->first, kernel->local.first);
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < kernel->reserved_count; i++) {
            if (port <= UINT16_MAX && range_has(&kernel->reserved[i], (uint16_t)port)) {
                port = kernel->reserved[i].last + 1u;
                again = true;
            }
        }
    }
    return port <= range->last && port <= kernel->local.last ? port : 0;
}

/* The first node port of the rows that lies in a range; that the kernel may give away, if asked. */
static const struct nat_frontend *node_port_in(const struct sorted *rows,
                                               const struct port_range *range,
                                               const struct nat_kernel_ports *kernel,
                                               const struct nat_row **ret_row)
{
    sorted_each(struct nat_row *const, row, rows) {
        for (uint32_t i = 0; i < (*row)->family_count; i++) {
            vec_each(const struct nat_frontend, frontend, &(*row)->families[i].frontends) {
                const struct port_range one = { frontend->port, frontend->port };
                if (frontend->kind != NAT_FRONTEND_NODE_PORT || !range_has(range, frontend->port) ||
                    (kernel && !first_free(kernel, &one)))
                    continue;
                *ret_row = *row;
                return frontend;
            }
        }
    }
    return NULL;
}

void nat_port_overlaps(const struct config *config, const struct nat_kernel_ports *kernel,
                       const struct sorted *rows, struct faults *faults)
{
    const struct port_range snat = { config->services.snat_port_first,
                                     config->services.snat_port_last };
    const struct port_range *local = &kernel->local;
    const struct nat_row *row;
    const struct nat_frontend *frontend;

    if (first_free(kernel, &snat))
        faults_add(faults, "services.snatPorts",
                   "choose ports apart, or name them in net.ipv4.ip_local_reserved_ports",
                   "%u-%u overlaps net.ipv4.ip_local_port_range %u-%u", snat.first, snat.last,
                   local->first, local->last);
    frontend = node_port_in(rows, &snat, NULL, &row);
    if (frontend)
        faults_add(faults, "services.snatPorts", "choose ports without node ports among them",
                   "node port %u/%s of Service %s/%s lies in %u-%u", frontend->port,
                   protocol_name(frontend->protocol), row->namespace, row->name, snat.first,
                   snat.last);
    frontend = node_port_in(rows, local, kernel, &row);
    if (frontend)
        faults_add(faults, "net.ipv4.ip_local_port_range",
                   "name the node ports in net.ipv4.ip_local_reserved_ports",
                   "node port %u/%s of Service %s/%s lies in %u-%u and is not reserved",
                   frontend->port, protocol_name(frontend->protocol), row->namespace, row->name,
                   local->first, local->last);
}
