// SPDX-License-Identifier: Apache-2.0
/*
 * The gateway's side; see egress_gateway.h.
 *
 * A gateway's flows are in the datapath of service NAT. Where NAT is off the gateway opens a
 * datapath of its own, without any hooks, whose tables of Services have the minimum size.
 */
#include "engine/egress/egress_gateway.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "plan/egress/gateway_uplinks.h"
#include "plan/nat/nat.h"
#include "plan/nat/nat_hooks.h"

enum {
    FEW = 64,               /* Services and endpoints, which this datapath does not use */
    SWEEP_LEAST_MS = 10,    /* between two slices */
    SWEEP_AGAIN_MS = 10000, /* after one that failed */
    TELL_MS = 5000          /* reports of allocated blocks */
};

static char *own_pins(const struct config *config)
{
    return text_format("%s/egress-flows", config->paths.bpf);
}

static int open_own(struct egress_gateway_side *side, const struct config *config,
                    struct faults *faults)
{
    AUTOFREE char *pins = own_pins(config);
    const struct nat_datapath_options options = {
        .pins = pins,
        .max_flows = config->services.max_flows,
        .max_services = FEW,
        .max_endpoints = FEW,
    };
    return pins ? nat_datapath_open(&options, &side->own, faults) : -ENOMEM;
}

int egress_gateway_open(struct egress_gateway_side *side, const struct config *config,
                        struct nat_datapath *nat, struct faults *faults)
{
    int r = nat ? 0 : open_own(side, config, faults);
    if (r < 0)
        return r;
    r = egress_gate_open(nat ? nat : side->own, config->paths.bpf, &side->gate, faults);
    if (r == 0) /* a drain that an earlier agent began continues */
        side->drain = (struct egress_drain){ egress_gate_phase(side->gate), clock_mono_ms() };
    side->drain_ms = INT64_MAX;
    return r;
}

void egress_gateway_close(struct egress_gateway_side *side)
{
    egress_gate_close(side->gate);
    nat_datapath_close(side->own);
    *side = (struct egress_gateway_side){ 0 };
}

int egress_gateway_take_down(const struct config *config)
{
    AUTOFREE char *pins = own_pins(config);
    if (!pins)
        return -ENOMEM;
    int maps = egress_gate_unpin(config->paths.bpf), flows = nat_datapath_unpin(pins);
    if (maps < 0)
        return maps;
    return flows < 0 ? flows : maps + flows;
}

/* Source addresses of translated packets: those of the configuration, or else this node's own. */
static void set_sources(struct egress_gate_settings *settings, const struct config *config)
{
    uint32_t counts[2] = { 0 };
    vec_each(const struct ip, ip, &config->egress.gateway.addresses) {
        int family = ip->family == IP_V6;
        if (counts[family] < EGRESS_SOURCES_MAX)
            settings->source[family][counts[family]++] = *ip;
    }
    for (int family = 0; family < 2; family++) {
        if (counts[family] == 0)
            settings->source[family][0] = settings->own[family];
    }
}

/* The datapath's timeouts and sizes. */
static int follow_own(struct egress_gateway_side *side, const struct node_facts *facts)
{
    AUTOFAULTS struct faults not_ours = { 0 };
    CLEANUP(nat_settings_done) struct nat_settings settings = { 0 };
    int r = side->own ? plan_nat_settings(facts, &settings, &not_ours) : 0;
    return r < 0 || !side->own ? r : nat_datapath_set(side->own, &settings, &not_ours);
}

/* For addresses named in the configuration, the fabric has routes, or a proof reports that it has
 * none. */
static void tell_of_uplinks(const struct egress_gateway_side *side, const struct config *config,
                            struct kernel *kernel, struct faults *faults)
{
    const struct gateway_uplinks uplinks = {
        .links = kernel_links(kernel),
        .paths = kernel_paths(kernel),
        .addresses = kernel_link_addresses(kernel),
    };
    for (int family = 0; family < 2; family++) {
        const struct ip *source = &side->settings.source[family][0];
        if (source->family != IP_NONE && config->egress.gateway.addresses.count == 0)
            plan_gateway_uplinks(&uplinks, source, faults);
    }
}

int egress_gateway_follow(struct egress_gateway_side *side, const struct node_facts *facts,
                          struct kernel *kernel, struct faults *faults)
{
    enum { ANY_LINK = 1 };
    const struct config *config = facts->config;
    struct default_sources defaults = { 0 };
    int r = follow_own(side, facts);
    if (r < 0)
        return r;
    r = kernel_default_sources(kernel, &defaults);
    if (r < 0)
        return r;
    const struct nat_svc0 node = plan_nat_svc0(facts, ANY_LINK, &defaults);
    if (!side->settings.port)
        side->drain_ms = 0; /* the drain can advance from now on */
    side->settings = (struct egress_gate_settings){
        .port = (uint16_t)config->egress.port,
        .own = { node.v4, node.v6 },
        .first_port = config->egress.gateway.ports.first,
        .last_port = config->egress.gateway.ports.last,
        .block = (uint16_t)config->egress.gateway.port_block,
        .client_blocks = config->egress.gateway.blocks_per_client,
        .phase = side->drain.phase,
    };
    set_sources(&side->settings, config);
    if (node.v4.family == IP_NONE && node.v6.family == IP_NONE)
        fault_raise(faults, "egress.gateway", egress_gateway_no_address, 0);
    tell_of_uplinks(side, config, kernel, faults);
    r = egress_gate_set(side->gate, &side->settings, faults);
    if (r > 0)
        log_notice("%d clients of the gateway begin anew: their ports or addresses are others now",
                   r);
    return r < 0 ? r : 0;
}

static void sweep(struct egress_gateway_side *side, int64_t now_ms)
{
    int64_t pause_ms = 0;
    if (!side->own || now_ms < side->sweep_ms)
        return;
    int r = nat_datapath_sweep(side->own, now_ms, &pause_ms);
    side->sweep_ms = now_ms + (r < 0 ? SWEEP_AGAIN_MS : MAX(pause_ms, SWEEP_LEAST_MS));
}

static void follow_drain(struct egress_gateway_side *side, const struct config *config,
                         enum standing standing, int64_t now_ms)
{
    static const char *const words[] = {
        [EGRESS_GATE_OPEN] = "takes new flows",
        [EGRESS_GATE_LEAVING] = "tells its clients to begin new flows elsewhere",
        [EGRESS_GATE_CLOSED] = "takes no new flows, and waits for its connections to end",
        [EGRESS_GATE_GONE] = "has withdrawn: all flows are to go elsewhere",
    };
    const enum egress_gate_phase before = side->drain.phase;
    const struct egress_drain_facts facts = {
        .standing = standing,
        .now_ms = now_ms,
        .lasts_ms = config->egress.gateway.drain_ms,
        .established = before == EGRESS_GATE_OPEN ? 0 : egress_gate_established(side->gate),
    };
    side->drain_ms = egress_drain_follow(&side->drain, &facts);
    if (side->drain.phase == before)
        return;
    log_notice("the gateway %s", words[side->drain.phase]);
    side->settings.phase = side->drain.phase;
    egress_gate_set_phase(side->gate, side->drain.phase);
}

void egress_gateway_drain(struct egress_gateway_side *side, const struct config *config,
                          enum standing standing, int64_t now_ms)
{
    if (side->gate && side->settings.port)
        follow_drain(side, config, standing, now_ms);
}

static bool serves(const struct egress_plan *plan)
{
    return plan->served && *plan->served;
}

bool egress_gateway_retires(struct egress_gateway_side *side, const struct config *config,
                            const struct egress_plan *plan, int64_t now_ms)
{
    if (serves(plan))
        side->retired_ms = now_ms + config->egress.gateway.drain_ms;
    else if (now_ms >= side->retired_ms)
        side->retired_ms = 0;
    return side->retired_ms > now_ms;
}

int64_t egress_gateway_retired_ms(const struct egress_gateway_side *side,
                                  const struct egress_plan *plan)
{
    return serves(plan) || side->retired_ms == 0 ? INT64_MAX : side->retired_ms;
}

int64_t egress_gateway_drain_ms(const struct egress_gateway_side *side)
{
    return side->gate ? side->drain_ms : INT64_MAX;
}

int64_t egress_gateway_tend(struct egress_gateway_side *side, int64_t now_ms)
{
    if (!side->gate)
        return INT64_MAX;
    sweep(side, now_ms);
    if (now_ms >= side->tell_ms) {
        egress_gate_tell_blocks(side->gate);
        side->tell_ms = now_ms + TELL_MS;
    }
    return side->own ? MIN(side->sweep_ms, side->tell_ms) : side->tell_ms;
}
