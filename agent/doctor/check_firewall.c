// SPDX-License-Identifier: Apache-2.0
/*
 * The host's own firewall, and connection tracking. What has to come in is asked of the rules as
 * they stand (apply/firewall/inlet.h), so that a chain whose policy is drop is no mistake where a
 * rule accepts what is needed.
 *
 * Sessions with BIRD and health ports are the host's own, and pass its chains. NodePorts and
 * egress' UDP port do not: programs take their packets before netfilter sees them.
 */
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "apply/firewall/inlet.h"
#include "apply/host_facts.h"
#include "base/cleanup.h"
#include "base/files/file.h"
#include "base/text.h"
#include "doctor/visit.h"

DEFINE_CLEANUP(struct inlet *, inlet_close);

enum {
    BGP_PORT = 179,
    HEALTH_PORTS_MAX = 3, /* of Services that are asked for: one is enough to see */
};

/* What all the questions to the rules have in common. */
struct door {
    struct visit *visit;
    struct inlet *inlet;
    bool families[2];
};

static bool has_family(const struct visit *visit, uint8_t family)
{
    sorted_each(const struct link_address, address, kernel_link_addresses(visit->kernel))
        if (address->ip.family == family && address->scope == 0)
            return true;
    return false;
}

/* Nobody else comes there. */
static bool is_loopback(const struct ip *ip)
{
    static const uint8_t v6[16] = { [15] = 1 };
    return ip->family == IP_V4 ? ip->bytes[0] == 127 : memcmp(ip->bytes, v6, sizeof(v6)) == 0;
}

static void ask(const struct door *door, uint16_t port, const char *what)
{
    const struct config *config = door->visit->config;
    const struct inlet_packet packet = {
        .protocol = IPPROTO_TCP,
        .port = port,
        .unmarked = config->services.firewall.mark,
    };
    char chain[256];
    if (inlet_drops(door->inlet, &packet, door->families, chain, sizeof(chain)) <= 0)
        return;
    AUTOFREE char *remedy =
        text_format("nft insert rule %s tcp dport %u accept, for those who come from there; and in "
                    "what makes these rules at the boot",
                    chain, port);
    visit_fail(door->visit, remedy, "chain %s drops TCP port %u: %s", chain, port, what);
}

static void ask_health_ports(const struct door *door)
{
    const struct object *object;
    size_t cursor = 0, asked = 0;
    while (door->visit->store && asked < HEALTH_PORTS_MAX &&
           (object = store_next(door->visit->store, KIND_SERVICE, &cursor))) {
        const struct service *service = to_service(object);
        if (!service->health_check_node_port)
            continue;
        AUTOFREE char *what = text_format("no load balancer sees whether Service %s/%s is well "
                                          "here",
                                          object->namespace, object->name);
        ask(door, service->health_check_node_port, what ? what : "no health is seen");
        asked++;
    }
}

static void ask_all(const struct door *door)
{
    const struct config *config = door->visit->config;
    struct ip ip;
    uint16_t port;
    if (config->bird.socket && access(config->bird.socket, F_OK) == 0)
        ask(door, BGP_PORT, "no router can open a session with BIRD");
    if (!config->services.enabled)
        return;
    if (config->services.healthz && ip_port_parse(config->services.healthz, &ip, &port) == 0 &&
        port && !is_loopback(&ip))
        ask(door, port, "no load balancer sees whether this node is well (services.healthz)");
    ask_health_ports(door);
}

static void check_input(struct visit *visit)
{
    CLEANUP(inlet_closep) struct inlet *inlet = NULL;
    if (!visit->config) {
        visit_skip(visit, "no configuration");
        return;
    }
    int r = inlet_open(&inlet);
    if (r < 0) {
        visit_skip(visit, "the rules can't be followed: %s", strerror(-r));
        return;
    }
    const struct door door = { visit,
                               inlet,
                               { has_family(visit, IP_V4), has_family(visit, IP_V6) } };
    ask_all(&door);
}

/* ---- Connection tracking ---- */

static void check_conntrack(struct visit *visit)
{
    struct detector_facts facts = { .config = visit->config };
    host_facts_read(FACT_TRACKING, &facts);
    if (!facts.tracking.known) {
        visit_skip(visit, "this kernel tracks no connections");
        return;
    }
    const long long count = facts.tracking.count, most = facts.tracking.most;
    AUTOFREE char *figures = text_format(" (%lld of %lld connections)", count, most);
    if (!visit_detect(visit, detector_find("tracking"), &facts, figures ? figures : ""))
        visit_good(visit, "%lld of %lld connections", count, most);
}

static void check_helpers(struct visit *visit)
{
    struct detector_facts facts = { .config = visit->config };
    host_facts_read(FACT_TRACKING, &facts);
    (void)visit_detect(visit, detector_find("tracking-helpers"), &facts, "");
}

const struct check firewall_checks[] = {
    { "firewall.input", "firewall", "BGP and health ports may come in", check_input },
    { "firewall.conntrack", "connection tracking", "room in its table", check_conntrack },
    { "firewall.helpers", "connection tracking", "no helpers of its own accord", check_helpers },
    { NULL },
};
