// SPDX-License-Identifier: Apache-2.0
/*
 * The hooks of egress; see egress_hooks.h. Interfaces are found as NAT finds them
 * (plan/nat/nat_hooks.h), and each program is attached behind NAT's in the same place: egress does
 * not handle packets to a Service.
 *
 * While no pod has to use a gateway, and unknown pods may pass, packets to pods are not checked,
 * and packets from pods are checked only if there are gateways at all: then no pod can send to
 * gateways, or as a gateway, under another pod's address. Packets that passed the programs on the
 * ports of a bridge are not checked again (plan/egress/egress_ports.h).
 *
 * A pod may send before its interface has a program, or while no agent runs. Where unknown pods are
 * held, a guard on uplinks drops what is forwarded from interfaces that the agent has not handled
 * yet.
 */
#include "engine/egress/egress_hooks.h"

#include <string.h>

#include "apply/egress/client/ports.h"
#include "apply/egress/client/seen_links.h"
#include "apply/nat/hooks/hooks.h"
#include "base/macro.h"
#include "base/text.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "plan/egress/egress_ports.h"
#include "plan/nat/nat.h"
#include "plan/nat/nat_hooks.h"

enum { LO_INDEX = 1 }; /* of the loopback interface, in each network namespace */

/* The program of NAT in the same place, which runs first. */
static enum nat_hook leader_of(enum nat_hook hook)
{
    switch (hook) {
    case EGRESS_HOOK_CLIENT_IN:
        return NAT_HOOK_POD_IN;
    case EGRESS_HOOK_CLIENT_OUT:
        return NAT_HOOK_POD_OUT;
    case EGRESS_HOOK_CLIENT_GUARD:
        return NAT_HOOK_UPLINK_OUT;
    default:
        return NAT_HOOK_UPLINK_IN;
    }
}

static int program_fd(void *context, enum nat_hook hook, bool bare)
{
    struct egress_engine *egress = context;
    return hook == EGRESS_HOOK_GATEWAY_IN ? egress_gate_program(egress->gateway.gate, bare)
                                          : egress_datapath_program(egress->datapath, hook, bare);
}

static uint32_t program_id(void *context, enum nat_hook hook, bool bare)
{
    struct egress_engine *egress = context;
    return hook == EGRESS_HOOK_GATEWAY_IN
               ? egress_gate_program_id(egress->gateway.gate, bare)
               : egress_datapath_program_id(egress->datapath, hook, bare);
}

static int leader_fd(void *context, enum nat_hook hook, bool bare)
{
    struct nat_datapath *datapath = ((struct egress_engine *)context)->board->nat_datapath;
    return datapath ? nat_datapath_program(datapath, leader_of(hook), bare) : -1;
}

static uint32_t leader_id(void *context, enum nat_hook hook, bool bare)
{
    const struct nat_datapath *datapath = ((struct egress_engine *)context)->board->nat_datapath;
    return datapath ? nat_datapath_program_id(datapath, leader_of(hook), bare) : 0;
}

int egress_hooks_open(struct egress_engine *egress)
{
    const struct hook_programs programs = {
        .layer = NAT_LAYER_EGRESS,
        .context = egress,
        .fd = program_fd,
        .id = program_id,
        .leader_fd = leader_fd,
        .leader_id = leader_id,
    };
    return nat_hooks_open_for(&programs, egress->config->paths.bpf, &egress->hooks);
}

/* Whether pods that are not known must not leave the cluster. */
static bool holds(const struct egress_engine *egress)
{
    return egress->datapath && egress->config->egress.unknown_pods == UNKNOWN_PODS_HOLD;
}

/* Whether a pod here may have to use a gateway. */
static bool has_clients(const struct egress_engine *egress)
{
    if (!egress->datapath || holds(egress))
        return egress->datapath;
    sorted_each(struct egress_pod *, pod, &egress->plan.pods) {
        if ((*pod)->is_client)
            return true;
    }
    return false;
}

/* Whether no packet of a pod has to be checked. */
static bool is_idle(const struct egress_engine *egress)
{
    if (!egress->datapath)
        return true;
    sorted_each(struct egress_set *const, set, &egress->plan.sets) {
        if ((*set)->gateways.count)
            return false;
    }
    return !has_clients(egress);
}

static int push_client(const struct egress_engine *egress, nat_attachment_list *wanted,
                       const struct nat_attachment *pod)
{
    struct nat_attachment in = *pod, out = *pod;
    in.hook = EGRESS_HOOK_CLIENT_IN;
    out.hook = EGRESS_HOOK_CLIENT_OUT;
    int r = vec_push(wanted, in);
    return r < 0 || !has_clients(egress) ? r : vec_push(wanted, out);
}

static void bare_fault(const struct nat_attachment *pod, struct faults *faults)
{
    AUTOFREE char *place = text_format("interface %s", pod->name);
    fault_raise(faults, place, egress_pod_not_ethernet, 0);
}

static int push_hooks(const struct egress_engine *egress, nat_attachment_list *wanted,
                      const struct nat_attachment *nat, struct faults *faults)
{
    if (nat->hook == NAT_HOOK_POD_IN && !is_idle(egress)) {
        if (!nat->bare)
            return push_client(egress, wanted, nat);
        if (has_clients(egress))
            bare_fault(nat, faults);
    }
    if (nat->hook == NAT_HOOK_UPLINK_OUT && holds(egress)) {
        struct nat_attachment guard = *nat;
        guard.hook = EGRESS_HOOK_CLIENT_GUARD;
        return vec_push(wanted, guard);
    }
    if (nat->hook != NAT_HOOK_UPLINK_IN || !egress->gateway.gate)
        return 0;
    struct nat_attachment in = *nat;
    in.hook = EGRESS_HOOK_GATEWAY_IN;
    return vec_push(wanted, in);
}

/* Where the node itself is a gateway of its pods, their packets arrive on lo. */
static int push_lo(const struct egress_engine *egress, nat_attachment_list *wanted)
{
    const struct nat_attachment in = { .ifindex = LO_INDEX,
                                       .name = "lo",
                                       .hook = EGRESS_HOOK_GATEWAY_IN };
    return egress->gateway.gate && has_clients(egress) ? vec_push(wanted, in) : 0;
}

/* Writes for the programs which uplinks are tunnels without a fixed remote endpoint. */
static void tell_tunnels(const struct egress_engine *egress, const nat_attachment_list *all)
{
    uint32_t tunnels[NAT_MAX_BY_ROUTE];
    size_t count = 0;
    vec_each(const struct nat_attachment, it, all) {
        if (it->by_route && it->hook == NAT_HOOK_UPLINK_IN && count < NAT_MAX_BY_ROUTE)
            tunnels[count++] = it->ifindex;
    }
    if (egress->datapath)
        egress_datapath_set_by_route(egress->datapath, tunnels, count);
    if (egress->gateway.gate)
        egress_gate_set_by_route(egress->gateway.gate, tunnels, count);
}

/* The interfaces of pods, and the uplinks of a gateway, as NAT finds them. `ports`: those of pods'
 * bridges. `faults`: for interfaces that can have no program; where NAT is on, NAT reports those
 * that it can't serve either. */
static int list_hooks(const struct egress_engine *egress, nat_attachment_list *ret_wanted,
                      struct sorted *ports, struct faults *faults)
{
    AUTOFAULTS struct faults not_ours = { 0 };
    AUTOVEC nat_attachment_list all = { 0 };
    CLEANUP(nat_settings_done) struct nat_settings settings = { 0 };
    const struct node_facts facts = egress_facts(egress);
    int r = plan_nat_settings(&facts, &settings, &not_ours);
    if (r < 0)
        return r;
    const struct link_facts known = {
        .config = egress->config,
        .links = kernel_links(egress->kernel),
        .paths = kernel_paths(egress->kernel),
        .addresses = kernel_link_addresses(egress->kernel),
        .pod_nets = settings.pod_nets,
        .pod_net_count = settings.pod_net_count,
        .without_pods = !egress->datapath,
    };
    r = push_lo(egress, ret_wanted);
    if (r < 0)
        return r;
    r = plan_nat_hooks(&known, &all, egress->board->nat_datapath ? &not_ours : faults);
    if (r < 0)
        return r;
    r = plan_egress_ports(known.links, &all, ports);
    if (r < 0)
        return r;
    vec_each(const struct nat_attachment, it, &all) {
        const bool seen =
            it->hook == NAT_HOOK_POD_IN && plan_egress_is_seen(known.links, ports, it->ifindex);
        if (!seen)
            r = push_hooks(egress, ret_wanted, it, faults);
        if (r < 0)
            return r;
    }
    tell_tunnels(egress, &all);
    return 0;
}

static bool has_hook(const struct egress_engine *egress, uint32_t ifindex)
{
    vec_each(const struct nat_attachment, it, &egress->attached) {
        if (it->ifindex == ifindex)
            return true;
    }
    return false;
}

/* Whether a pod may be at the other end, whose route does not exist yet. */
static bool may_be_pod(const struct link *link)
{
    return (strcmp(link->kind, "veth") == 0 && link->peer_away) || strcmp(link->kind, "tun") == 0;
}

/* Writes for the guard which interfaces have been handled, if all programs are attached. */
static int tell_guard(const struct egress_engine *egress)
{
    if (!holds(egress) || !egress->hooked)
        return 0;
    AUTOSORTED struct sorted seen = SORTED(uint32_t, egress_seen_cmp);
    sorted_each(const struct link, link, kernel_links(egress->kernel)) {
        if (may_be_pod(link) && !has_hook(egress, link->ifindex))
            continue;
        int r = sorted_put(&seen, &link->ifindex);
        if (r < 0)
            return r;
    }
    return egress_datapath_see(egress->datapath, &seen);
}

int egress_hooks_follow(struct egress_engine *egress, struct round *round)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFAULTS struct faults interfaces = { 0 };
    AUTOVEC nat_attachment_list wanted = { 0 };
    AUTOSORTED struct sorted ports = SORTED(struct egress_port, egress_port_cmp);
    uint32_t repairs = 0;
    int r = tell_guard(egress); /* an interface that has its program already keeps working when the
                                   guard is attached */
    if (r >= 0)
        r = list_hooks(egress, &wanted, &ports, &interfaces);
    if (r == 0 && egress->datapath)
        r = egress_datapath_set_ports(egress->datapath, &ports);
    if (r >= 0)
        r = nat_hooks_sync(egress->hooks, wanted.items, wanted.count, &repairs, &faults);
    if (r < 0)
        return r;
    round->changes += (uint32_t)r;
    round->repairs += repairs;
    vec_move(&egress->attached, &wanted);
    egress->hooked = faults_none(&faults);
    if (egress->hooked) {
        backoff_reset(&egress->retry);
        egress->retry_ms = INT64_MAX;
    } else {
        egress->retry_ms = round->now_ms + backoff_next(&egress->retry);
    }
    egress_report(egress, "hooks", &faults);
    egress_report(egress, "interfaces", &interfaces);
    r = tell_guard(egress);
    return r < 0 ? r : 0;
}

bool egress_hooks_carry(const struct egress_engine *egress, uint32_t ifindex)
{
    if (is_idle(egress))
        return true;
    bool wanted = false;
    vec_each(const struct nat_attachment, it, &egress->attached)
        wanted |= it->ifindex == ifindex;
    return wanted && egress->hooked;
}
