// SPDX-License-Identifier: Apache-2.0
/*
 * The node's own routing; see nat_own_paths.h.
 *
 * `ip rule flush` removes the rules that look up the tables main and default, and a program that
 * reorders the rules may omit the one for local. Established sessions continue for a while by
 * cached routes, and interfaces show nothing. A lookup detects it, and costs some microseconds;
 * rules are listed only where it finds no route. The result must hold in two checks, since rules
 * are replaced one by one.
 */
#include "engine/nat/host/nat_own_paths.h"

#include <string.h>

#include "apply/lookup.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/nat/nat_state.h"
#include "engine/nat/pods/nat_samples.h"
#include "faults/nat.h"
#include "faults/raise.h"

/* An IPv6 address is local only after duplicate address detection: up to two seconds. */
static const unsigned tell_after = 2, unique_after = 8;

/* Whether nothing is routed because another program removed the rule. */
static bool lacks_main(const struct nat_engine *engine, uint8_t family)
{
    struct ip clients[NAT_SAMPLE_CLIENTS];
    const size_t count = nat_sample_clients(engine, family, clients);
    const struct route_query query = { .destination = clients[count ? count - 1 : 0] };
    struct route_found found;
    bool looks_up = true;
    return count && route_lookup(engine->socket, &query, &found) == 0 &&
           found.type == RTN_UNREACHABLE && !found.refused &&
           rules_look_up(engine->socket, family, ROUTE_TABLE_MAIN, &looks_up) == 0 && !looks_up;
}

static void tell_ruleless(uint8_t family, struct faults *faults)
{
    const bool six = family == IP_V6;
    fault_raise(faults, "routes", nat_main_table_unused, .family = six ? "IPv6" : "IPv4",
                .ip = six ? "ip -6" : "ip");
}

/* Whether the kernel routes packets to an address of this node elsewhere. */
static bool is_led_away(const struct nat_engine *engine, const struct ip *own)
{
    const struct route_query query = { .destination = *own };
    struct route_found found;
    return own->family != IP_NONE && route_lookup(engine->socket, &query, &found) == 0 &&
           found.type != RTN_LOCAL;
}

static const struct link_address *holder_of(const struct nat_engine *engine, const struct ip *own)
{
    sorted_each(const struct link_address, address, kernel_link_addresses(engine->kernel)) {
        if (ip_equal(&address->ip, own) && !address->duplicate)
            return address;
    }
    return NULL;
}

/*
 * An interface has the address: the route in table local, or the rule that looks the table up, is
 * missing.
 */
static bool tell_led_away(const struct nat_engine *engine, const struct ip *own,
                          struct faults *faults)
{
    char ip[IP_STRLEN];
    const struct link_address *holder = is_led_away(engine, own) ? holder_of(engine, own) : NULL;
    const struct link *link =
        holder ? link_find(kernel_links(engine->kernel), holder->ifindex) : NULL;
    if (!link || !link->up || link->unplugged || link->master) /* a VRF has other tables */
        return false;
    AUTOFREE char *place = text_format("interface %s", link->name);
    fault_raise(faults, place, nat_own_address_unrouted, .address = ip_str(own, ip),
                .ip = own->family == IP_V6 ? "ip -6" : "ip", .interface = link->name);
    return true;
}

/* Counts consecutive checks that found something; true if it is to be reported. */
static bool is_lasting(unsigned *looks, unsigned enough, bool found)
{
    *looks = found ? MIN(*looks + 1, enough) : 0;
    return *looks == enough;
}

static void look(struct nat_engine *engine, uint8_t family, struct faults *faults)
{
    const size_t i = family == IP_V6;
    const struct ip *named = i ? &engine->node.named.v6 : &engine->node.named.v4;
    AUTOFAULTS struct faults away = { 0 };
    if (is_lasting(&engine->own_paths.ruleless[i], tell_after, lacks_main(engine, family)))
        tell_ruleless(family, faults);
    if (is_lasting(&engine->own_paths.away[i], i ? unique_after : tell_after,
                   tell_led_away(engine, named, &away)))
        faults_take(faults, &away);
}

void nat_own_paths_look(struct nat_engine *engine)
{
    AUTOFAULTS struct faults faults = { 0 };
    look(engine, IP_V4, &faults);
    look(engine, IP_V6, &faults);
    nat_state_report(engine, "own ways", &faults);
}
