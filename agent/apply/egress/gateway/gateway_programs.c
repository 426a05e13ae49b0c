// SPDX-License-Identifier: Apache-2.0
/*
 * The programs of a gateway, for attaching them (nat/hooks/hooks.h) or running the twin.
 *
 * Uplinks without Ethernet headers have a program from an object of its own (bpf/packet/start.h),
 * with the same maps. It is loaded for the first such uplink. The twin always runs as on an uplink
 * with headers: its result depends on addresses and routes alone.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "apply/egress/gateway/gateway_inside.h"
#include "apply/egress/pinned.h"
#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/table.h"
#include "base/macro.h"
#include "bpf/egress_gateway.skel.h"

DEFINE_CLEANUP(struct egress_gateway_programs *, egress_gateway_programs__destroy);

int egress_gate_share(const struct egress_gate *gate, struct egress_gateway_programs *programs)
{
    for (int i = 0; i < NAT_MAP_COUNT; i++) {
        struct bpf_map *map =
            bpf_object__find_map_by_name(programs->obj, nat_map_name((enum nat_map_index)i));
        int r = map ? bpf_map__reuse_fd(map, gate->nat->maps[i].fd) : -ENOENT;
        if (r < 0)
            return r;
    }
    programs->rodata_filter->filter_words = nat_filter_words(gate->nat);
    return 0;
}

static int load_l3(struct egress_gate *gate)
{
    CLEANUP(egress_gateway_programs__destroyp)
    struct egress_gateway_programs *bare = egress_gateway_programs__open();
    if (!bare)
        return errno ? -errno : -ENOMEM;
    bare->rodata_start->L3 = 0;
    int r = bpf_program__set_autoload(bare->progs.gateway_twin, false);
    if (r < 0)
        return r;
    r = pinned_share(gate->programs->obj, bare->obj);
    if (r < 0)
        return r;
    r = egress_gate_share(gate, bare);
    if (r < 0)
        return r;
    r = egress_gateway_programs__load(bare);
    if (r < 0)
        return r;
    gate->bare = TAKE_PTR(bare);
    return 0;
}

int egress_gate_program(struct egress_gate *gate, bool bare)
{
    if (bare && !gate->bare && !gate->bare_error)
        gate->bare_error = load_l3(gate);
    if (bare && gate->bare_error)
        return gate->bare_error;
    return bpf_program__fd((bare ? gate->bare : gate->programs)->progs.gateway_in);
}

uint32_t egress_gate_program_id(struct egress_gate *gate, bool bare)
{
    struct bpf_prog_info info = { 0 };
    uint32_t length = sizeof(info);
    int fd = egress_gate_program(gate, bare);
    return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &length) == 0 ? info.id : 0;
}

int egress_gate_twin(struct egress_gate *gate)
{
    return bpf_program__fd(gate->programs->progs.gateway_twin);
}
