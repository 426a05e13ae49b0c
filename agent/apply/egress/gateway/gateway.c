// SPDX-License-Identifier: Apache-2.0
/*
 * The datapath of a gateway; see gateway.h.
 *
 * The program applies the settings at once. Where ports or an address have changed, the clients
 * that had them start again (clients.h): no flow continues with an address that is not the
 * gateway's any more, and no block is logged with ports that it does not have.
 */
#include "apply/egress/gateway/clients.h"
#include "apply/egress/gateway/gateway_inside.h"
#include "apply/egress/gateway/idle.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/egress/pinned.h"
#include "apply/nat/datapath_inside.h"
#include "apply/nat/hooks/programs.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/table.h"
#include "base/clock.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "base/text.h"
#include "bpf/egress_gateway.skel.h"
#include "faults/egress.h"
#include "faults/raise.h"

/* ---- opening ---- */

static int map_arrays(struct egress_gate *gate)
{
    gate->control = pinned_map_array(gate->programs->maps.egress_control);
    gate->ports = pinned_map_array(gate->programs->maps.egress_ports);
    gate->blocks = pinned_map_array(gate->programs->maps.egress_blocks);
    gate->drops = pinned_map_array(gate->programs->maps.egress_drops);
    gate->client_limit = bpf_map__max_entries(gate->programs->maps.egress_ports);
    gate->block_limit = bpf_map__max_entries(gate->programs->maps.egress_blocks);
    gate->told = calloc(gate->block_limit, sizeof(*gate->told));
    return gate->control && gate->ports && gate->blocks && gate->drops && gate->told
               ? egress_idle_start(gate)
               : -ENOMEM;
}

static int load(struct egress_gate *gate)
{
    gate->programs = egress_gateway_programs__open();
    if (!gate->programs)
        return errno ? -errno : -ENOMEM;
    int r = gate->folder ? pinned_prepare(gate->programs->obj, gate->folder) : 0;
    if (r < 0)
        return r;
    r = egress_gate_share(gate, gate->programs);
    if (r < 0)
        return r;
    r = egress_gateway_programs__load(gate->programs);
    if (r < 0)
        return r;
    r = map_arrays(gate);
    if (r < 0)
        return r;
    gate->layout = egress_layout_of(gate->control);
    gate->policies.fd = bpf_map__fd(gate->programs->maps.egress_routes);
    r = egress_policies_adopt(&gate->policies);
    if (r < 0)
        return r;
    r = egress_clients_adopt(gate);
    if (r < 0)
        return r;
    nat_datapath_set_clientless(gate->nat, egress_client_is_clientless, gate);
    return 0;
}

static char *folder_of(const char *pins)
{
    return text_format("%s/egress-gateway-%d", pins, EGRESS_LAYOUT);
}

/* A gateway has no sets: a destination is either accepted or not. */
static uint32_t any_set(const void *context, const char *egress, uint8_t family)
{
    (void)context;
    (void)egress;
    (void)family;
    return 1;
}

int egress_gate_open(struct nat_datapath *nat, const char *pins, struct egress_gate **ret_gate,
                     struct faults *faults)
{
    CLEANUP(egress_gate_closep) struct egress_gate *gate = calloc(1, sizeof(*gate));
    if (!gate)
        return -ENOMEM;
    egress_policies_init(&gate->policies, -1, any_set, gate);
    gate->nat = nat;
    gate->folder = pins ? folder_of(pins) : NULL;
    int r = pins && !gate->folder ? -ENOMEM : load(gate);
    if (r < 0) {
        pinned_explain(r, faults);
        return r;
    }
    *ret_gate = TAKE_PTR(gate);
    return 0;
}

void egress_gate_close(struct egress_gate *gate)
{
    if (!gate)
        return;
    nat_datapath_set_clientless(gate->nat, NULL, NULL);
    if (gate->programs) {
        pinned_unmap_array(gate->programs->maps.egress_control, gate->control);
        pinned_unmap_array(gate->programs->maps.egress_ports, gate->ports);
        pinned_unmap_array(gate->programs->maps.egress_blocks, gate->blocks);
        pinned_unmap_array(gate->programs->maps.egress_drops, gate->drops);
        egress_gateway_programs__destroy(gate->programs);
    }
    egress_gateway_programs__destroy(gate->bare);
    egress_clients_done(gate);
    egress_policies_done(&gate->policies);
    egress_idle_done(gate);
    free(gate->told);
    free(gate->folder);
    free(gate);
}

int egress_gate_unpin(const char *pins)
{
    return pinned_remove(pins, "egress-gateway");
}

void egress_gate_keep_pins(const struct egress_gate *gate, struct faults *faults)
{
    if (gate->folder)
        pinned_keep(gate->programs->obj, gate->folder, faults);
}

/* ---- settings ---- */

static const uint32_t phase_flags[] = {
    [EGRESS_GATE_OPEN] = 0,
    [EGRESS_GATE_LEAVING] = EGRESS_LEAVING,
    [EGRESS_GATE_CLOSED] = EGRESS_LEAVING | EGRESS_NO_NEW_FLOWS,
    [EGRESS_GATE_GONE] = EGRESS_LEAVING | EGRESS_NO_NEW_FLOWS | EGRESS_GONE,
};

enum egress_gate_phase egress_gate_phase(const struct egress_gate *gate)
{
    enum egress_gate_phase phase = EGRESS_GATE_GONE;
    while (phase > EGRESS_GATE_OPEN && gate->control->flags != phase_flags[phase])
        phase--;
    return phase;
}

uint64_t egress_gate_established(const struct egress_gate *gate)
{
    return nat_datapath_established(gate->nat, true);
}

void egress_gate_set_phase(struct egress_gate *gate, enum egress_gate_phase phase)
{
    gate->control->flags = phase_flags[phase];
}

void egress_gate_beat(struct egress_gate *gate, int64_t now_ms)
{
    gate->control->heard_s = (uint32_t)(now_ms / SECOND_MS);
}

int64_t egress_gate_unheard_ms(const struct egress_gate *gate, int64_t now_ms)
{
    return now_ms - gate->control->heard_s * (int64_t)SECOND_MS;
}

static struct egress_layout layout_of(const struct egress_gate *gate,
                                      const struct egress_gate_settings *settings)
{
    uint32_t ports = settings->last_port - settings->first_port + 1u;
    struct egress_layout layout = gate->layout;
    layout.first_port = settings->first_port;
    layout.block_size = settings->block;
    layout.address_blocks = MIN(ports / settings->block, gate->block_limit / EGRESS_SOURCES_MAX);
    for (int family = 0; family < 2; family++)
        egress_layout_place(&layout, family, settings->source[family]);
    return layout;
}

static void write_layout(struct egress_control *control, const struct egress_layout *layout)
{
    control->snat_first = layout->first_port;
    control->block_size = layout->block_size;
    control->address_blocks = layout->address_blocks;
    for (int family = 0; family < 2; family++) {
        control->sources[family] = layout->used[family];
        for (int place = 0; place < EGRESS_SOURCES_MAX; place++)
            control->snat[family][place] = nat_addr_of(&layout->sources[family][place]);
    }
}

int egress_gate_set(struct egress_gate *gate, const struct egress_gate_settings *settings,
                    struct faults *faults)
{
    struct egress_control *control = gate->control;
    const struct egress_layout layout = layout_of(gate, settings);
    control->port = htons(settings->port);
    control->client_blocks = MIN(settings->client_blocks, (uint32_t)EGRESS_BLOCKS_MAX);
    egress_gate_set_phase(gate, settings->phase);
    for (int i = 0; i < 2; i++)
        control->own[i] = nat_addr_of(&settings->own[i]);
    write_layout(control, &layout);
    int r = egress_clients_lay_out(gate, &layout);
    if (r < 0)
        fault_raise(faults, "egress.gateway", egress_gateway_ports_unwritable,
                    .reason = strerror(-r), .remedy = remedy_for_kernel(r));
    return r;
}
