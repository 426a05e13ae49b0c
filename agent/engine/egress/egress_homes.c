// SPDX-License-Identifier: Apache-2.0
/*
 * The ports of clients; see egress_homes.h.
 *
 * A port is read when it is new. It is read again whenever some client is found behind no port,
 * unless a client is found behind this one: a pod's port exists before its addresses do. Clients
 * that are not found are left to the rule of the programs (bpf/egress/egress_by.h). A client whose
 * port is gone has no port until it is found again, even if it is a pod that was recreated under
 * the address of its Pod. The kernel does not notify of addresses in other namespaces, so they are
 * polled at growing intervals.
 *
 * A process with CAP_NET_ADMIN in its pod can configure any address. A client whose port is known
 * keeps that port; a client that is found behind several ports from the start has none. Both are
 * faults.
 */
#include "engine/egress/egress_homes.h"

#include <errno.h>
#include <string.h>

#include "apply/behind.h"
#include "base/clock.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "base/text.h"
#include "engine/egress/egress_state.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "plan/egress/egress_home.h"

struct egress_home_port {
    uint32_t ifindex;
    bool read;
    int error; /* error of the last reading; 0: none */
};

static int port_cmp(const void *a, const void *b)
{
    const struct egress_home_port *left = a, *right = b;
    return CMP(left->ifindex, right->ifindex);
}

void egress_homes_init(struct egress_homes *homes)
{
    *homes = (struct egress_homes){
        .ports = SORTED(struct egress_home_port, port_cmp),
        .found = SORTED(struct port_address, port_address_cmp),
        .homes = SORTED(struct egress_home, egress_home_cmp),
        .retry = { .initial_ms = 200, .max_ms = 30 * SECOND_MS },
        .retry_ms = INT64_MAX,
    };
}

void egress_homes_done(struct egress_homes *homes)
{
    nl_close(TAKE_PTR(homes->socket));
    sorted_done(&homes->ports);
    sorted_done(&homes->found);
    sorted_done(&homes->homes);
}

/* ---- Findings ---- */

static bool is_client(const struct egress_engine *egress, const struct ip *address)
{
    const struct egress_pod key = { .address = *address }, *pointer = &key;
    struct egress_pod *const *row = sorted_find(&egress->plan.pods, &pointer);
    return row && (*row)->is_client;
}

/* Forgets the findings behind a port. */
static void forget_port(struct egress_homes *homes, uint32_t ifindex)
{
    for (size_t i = homes->found.count; i-- > 0;) {
        const struct port_address found = *(struct port_address *)sorted_at(&homes->found, i);
        if (found.port == ifindex)
            sorted_remove(&homes->found, &found);
    }
}

/* Forgets the ports of an address, which another client may have by now. */
static void forget_address(struct egress_homes *homes, const struct ip *address)
{
    const struct port_address first = { .address = *address };
    for (;;) {
        size_t at = sorted_lower_bound(&homes->found, &first);
        if (at >= homes->found.count)
            return;
        const struct port_address found = *(struct port_address *)sorted_at(&homes->found, at);
        if (!ip_equal(&found.address, address))
            return;
        sorted_remove(&homes->found, &found);
    }
}

static bool holds_client(const struct egress_homes *homes, uint32_t ifindex)
{
    sorted_each(const struct port_address, found, &homes->found) {
        if (found->port == ifindex)
            return true;
    }
    return false;
}

static bool is_port(const struct sorted *links, const struct link *link)
{
    return link->peer_away && link_port_of(links, link);
}

/* Lists the present ports. Returns 0 or -ENOMEM. */
static int list_ports(struct egress_homes *homes, const struct sorted *links)
{
    for (size_t i = homes->ports.count; i-- > 0;) {
        const struct egress_home_port port =
            *(struct egress_home_port *)sorted_at(&homes->ports, i);
        const struct link *link = link_find(links, port.ifindex);
        if (link && is_port(links, link))
            continue;
        sorted_remove(&homes->ports, &port);
        forget_port(homes, port.ifindex);
    }
    sorted_each(const struct link, link, links) {
        const struct egress_home_port port = { .ifindex = link->ifindex };
        int r = is_port(links, link) && !sorted_find(&homes->ports, &port)
                    ? sorted_put(&homes->ports, &port)
                    : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Reading ---- */

static int keep_found(struct egress_engine *egress, uint32_t ifindex,
                      const nl_address_list *addresses)
{
    vec_each(const struct nl_address, it, addresses) {
        const struct port_address found = { it->ip, ifindex };
        int r = is_client(egress, &it->ip) ? sorted_put(&egress->homes.found, &found) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* For a port that is gone, a notification follows; a port that moved is read in the next round. */
static int read_port(struct egress_engine *egress, struct egress_home_port *port)
{
    AUTOVEC nl_address_list addresses = { 0 };
    struct egress_homes *homes = &egress->homes;
    int r = homes->socket ? 0 : nl_open(&homes->socket);
    if (r == 0)
        r = behind_read(homes->socket, port->ifindex, &addresses);
    if (r == -ENOMEM)
        return r;
    port->read = r != -EAGAIN;
    port->error = r == -EAGAIN || r == -ENODEV ? 0 : r;
    forget_port(homes, port->ifindex);
    return r < 0 ? 0 : keep_found(egress, port->ifindex, &addresses);
}

/* Whether some client is behind no port that is known. */
static bool misses_some(const struct egress_engine *egress)
{
    sorted_each(struct egress_pod *, pod, &egress->plan.pods) {
        if ((*pod)->is_client && plan_home_count(&egress->homes.found, &(*pod)->address) == 0)
            return true;
    }
    return false;
}

static int read_ports(struct egress_engine *egress, const struct round *round)
{
    struct egress_homes *homes = &egress->homes;
    const bool misses = homes->ports.count > 0 && misses_some(egress);
    sorted_each(struct egress_home_port, port, &homes->ports) {
        if (port->read && !round->all && !(misses && !holds_client(homes, port->ifindex)))
            continue;
        int r = read_port(egress, port);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Choosing ---- */

static int choose_all(struct egress_engine *egress)
{
    AUTOSORTED struct sorted fresh = SORTED(struct egress_home, egress_home_cmp);
    sorted_each(struct egress_pod *, pod, &egress->plan.pods) {
        const struct ip *address = &(*pod)->address;
        const uint32_t before = egress_datapath_port_of(egress->datapath, address);
        const struct egress_home home = {
            *address, (*pod)->is_client ? plan_home(&egress->homes.found, address, before) : 0
        };
        int r = home.port ? sorted_put(&fresh, &home) : 0;
        if (r < 0)
            return r;
        if (home.port != before)
            r = vec_push(&egress->touched.addresses, *address);
        if (r < 0)
            return r;
    }
    sorted_move(&egress->homes.homes, &fresh);
    return 0;
}

/* ---- Telling ---- */

static const char *name_of(const struct egress_engine *egress, uint32_t ifindex)
{
    const struct link *link = link_find(kernel_links(egress->kernel), ifindex);
    return link ? link->name : "?";
}

static void tell_disputed(const struct egress_engine *egress, const struct egress_pod *pod,
                          struct faults *faults)
{
    AUTOTEXT struct text ports = { 0 };
    AUTOFREE char *place = text_format("Pod %s/%s", pod->namespace, pod->name);
    char buffer[IP_STRLEN];
    sorted_each(const struct port_address, found, &egress->homes.found) {
        if (ip_equal(&found->address, &pod->address))
            text_addf(&ports, "%s%s", *text_str(&ports) ? ", " : "", name_of(egress, found->port));
    }
    fault_raise(faults, place, egress_pod_address_disputed,
                .address = ip_str(&pod->address, buffer), .interfaces = text_str(&ports));
}

static void tell_unread(const struct egress_engine *egress, const struct egress_home_port *port,
                        struct faults *faults)
{
    AUTOFREE char *place = text_format("interface %s", name_of(egress, port->ifindex));
    if (port->error == -E2BIG)
        fault_raise(faults, place, egress_pod_addresses_excess, 0);
    else
        fault_raise(faults, place, egress_pod_addresses_unread, .reason = strerror(-port->error),
                    .remedy = remedy_for_kernel(port->error));
}

static void tell(struct egress_engine *egress)
{
    AUTOFAULTS struct faults faults = { 0 };
    sorted_each(struct egress_pod *, pod, &egress->plan.pods) {
        if ((*pod)->is_client && plan_home_count(&egress->homes.found, &(*pod)->address) > 1)
            tell_disputed(egress, *pod, &faults);
    }
    sorted_each(const struct egress_home_port, port, &egress->homes.ports) {
        if (port->error)
            tell_unread(egress, port, &faults);
    }
    egress_report(egress, "homes", &faults);
}

/* ---- The whole ---- */

static bool has_clients(const struct egress_engine *egress)
{
    sorted_each(struct egress_pod *, pod, &egress->plan.pods) {
        if ((*pod)->is_client)
            return true;
    }
    return false;
}

/* Whether the port of some client is gone. */
static bool has_lost(const struct egress_homes *homes)
{
    sorted_each(const struct egress_home, home, &homes->homes) {
        const struct egress_home_port key = { .ifindex = home->port };
        if (!sorted_find(&homes->ports, &key))
            return true;
    }
    return false;
}

static void plan_retry(struct egress_homes *homes, int64_t now_ms)
{
    if (has_lost(homes)) {
        homes->retry_ms = now_ms + backoff_next(&homes->retry);
        return;
    }
    backoff_reset(&homes->retry);
    homes->retry_ms = INT64_MAX;
}

int egress_homes_follow(struct egress_engine *egress, const struct round *round)
{
    struct egress_homes *homes = &egress->homes;
    vec_each(const struct ip, address, &egress->touched.addresses)
        forget_address(homes, address);
    if (!has_clients(egress)) {
        sorted_clear(&homes->ports);
        sorted_clear(&homes->found);
    }
    int r = has_clients(egress) ? list_ports(homes, kernel_links(egress->kernel)) : 0;
    if (r < 0)
        return r;
    r = read_ports(egress, round);
    if (r < 0)
        return r;
    r = choose_all(egress);
    if (r < 0)
        return r;
    plan_retry(homes, round->now_ms);
    tell(egress);
    return 0;
}
