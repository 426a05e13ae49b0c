// SPDX-License-Identifier: Apache-2.0
/*
 * Flows for documents and lists: one view for both halves, listed by the forward half; one view for
 * the SNAT entry of a flow as well.
 *
 * The programs change each half separately while it is read, so the two halves of a view may have
 * been read at different moments.
 */
#include "apply/nat/flows/flows.h"

#include <string.h>

#include <arpa/inet.h>
#include <errno.h>

#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/table.h"
#include "base/clock.h"
#include "base/macro.h"

/* With more entries than this, nat_datapath_established() gives the count of the last sweep. */
enum { COUNT_AT_ONCE = 4096 };

static struct nat_tuple reversed(const struct nat_tuple *tuple)
{
    return (struct nat_tuple){
        .src = tuple->dst,
        .dst = tuple->src,
        .sport = tuple->dport,
        .dport = tuple->sport,
        .protocol = tuple->protocol,
    };
}

struct nat_tuple nat_flow_reverse_key(const struct nat_flow *flow)
{
    return reversed(&flow->to);
}

bool nat_flow_is_reverse(const struct nat_tuple *key, const struct nat_flow *reverse)
{
    struct nat_tuple back = nat_flow_reverse_key(reverse);
    return memcmp(&back, key, sizeof(back)) == 0;
}

bool nat_flow_whole(const struct nat_tuple *key, const struct nat_flow *flow)
{
    return flow->check == nat_tuple_check(key);
}

static int compare_owners(const void *a, const void *b)
{
    const struct nat_installed_port *left = a, *right = b;
    return CMP(left->owner, right->owner);
}

/*
 * Whether an endpoint that exists serves the flow's port, and not only other ports. Before the
 * first write of a Service that is not known, every endpoint that exists serves.
 */
static bool serves_port(const struct nat_datapath *datapath, const struct nat_flow *flow)
{
    const struct nat_installed *installed =
        nat_installed_by_id(datapath, datapath->endpoints[flow->endpoint].owner);
    if (!installed || !installed->known)
        return true;
    if (flow->port >= nat_port_limit(datapath))
        return false;
    const struct nat_installed_port key = { .owner = nat_port_at(datapath, flow->port, 0)->owner };
    const struct nat_installed_port *port = vec_find(&installed->ports, &key, compare_owners);
    return port &&
           (port->id != flow->port || vec_find(&port->endpoints, &flow->endpoint, nat_id_cmp));
}

bool nat_flow_endpoint_lives(const struct nat_datapath *datapath, const struct nat_flow *flow)
{
    return flow->endpoint < datapath->maps[NAT_MAP_ENDPOINTS].entries &&
           (uint32_t)datapath->endpoints[flow->endpoint].state == flow->generation;
}

bool nat_flow_stale(const struct nat_datapath *datapath, const struct nat_flow *flow)
{
    return flow->endpoint &&
           (!nat_flow_endpoint_lives(datapath, flow) || !serves_port(datapath, flow));
}

void nat_datapath_set_clientless(struct nat_datapath *datapath, nat_clientless_judge *judge,
                                 const void *context)
{
    datapath->is_clientless = judge;
    datapath->clientless_context = context;
}

void nat_datapath_set_counter(struct nat_datapath *datapath, const struct nat_flow_counter *counter,
                              void *context)
{
    datapath->counter = counter;
    datapath->counter_context = context;
}

bool nat_flow_is_clientless(const struct nat_datapath *datapath, const struct nat_flow *flow)
{
    return flow->delivery == NAT_DELIVER_EGRESS && datapath->is_clientless &&
           datapath->is_clientless(flow, datapath->clientless_context);
}

/* The id of the flow's Service; 0: the Service was removed, and another one may have the id. */
static uint32_t service_of(const struct nat_datapath *datapath, const struct nat_flow *flow)
{
    if (flow->service >= datapath->maps[NAT_MAP_SERVICES].entries)
        return 0;
    uint64_t word = datapath->services[flow->service];
    uint32_t before = (uint32_t)(word >> NAT_SERVICE_GENERATION_SHIFT);
    return (int32_t)(flow->generation - before) > 0 ? flow->service : 0;
}

/* The program's clock is coarse and may be a little ahead of ours. */
uint32_t nat_flow_idle(const struct nat_flow *flow, uint32_t now_s)
{
    int32_t idle = (int32_t)(now_s - flow->seen_s);
    return idle > 0 ? (uint32_t)idle : 0;
}

bool nat_flow_find_reverse(const struct nat_datapath *datapath, const struct nat_tuple *key,
                           const struct nat_flow *flow, struct nat_flow *ret_reverse)
{
    if (flow->half == NAT_HALF_DIRECT)
        return false;
    struct nat_tuple reverse_key = nat_flow_reverse_key(flow);
    return nat_table_get(datapath, NAT_MAP_FLOWS, &reverse_key, ret_reverse) == 0 &&
           nat_flow_whole(&reverse_key, ret_reverse) && nat_flow_is_reverse(key, ret_reverse);
}

enum nat_state nat_flow_state_of(const struct nat_datapath *datapath, const struct nat_tuple *key,
                                 const struct nat_flow *flow)
{
    struct nat_flow reverse;
    bool found = nat_flow_find_reverse(datapath, key, flow, &reverse);
    return nat_flow_state(flow, found ? &reverse : flow, !found, key->protocol);
}

bool nat_flow_is_snat(const struct nat_flow *flow)
{
    return nat_flow_is_source_snat(flow->flags) != 0;
}

/* The addresses that the endpoint sees, for a flow whose source is translated on egress. */
static void read_snat(const struct nat_datapath *datapath, const struct nat_flow *flow,
                      struct nat_flow_view *view)
{
    struct nat_flow snat;
    if (nat_table_get(datapath, NAT_MAP_FLOWS, &flow->to, &snat) < 0 ||
        !nat_flow_whole(&flow->to, &snat) || !nat_flow_is_snat(&snat))
        return;
    view->source = nat_addr_ip(&snat.to.src);
    view->source_port = ntohs(snat.to.sport);
}

static struct nat_flow_view view_direct(const struct nat_tuple *key, const struct nat_flow *flow,
                                        uint32_t now_s)
{
    struct nat_flow_view view = {
        .client = nat_addr_ip(&key->dst),
        .address = nat_addr_ip(&key->src),
        .client_port = ntohs(key->dport),
        .address_port = ntohs(key->sport),
        .protocol = key->protocol,
        .state = nat_flow_state(flow, flow, true, key->protocol),
        .direct = true,
        .idle_s = nat_flow_idle(flow, now_s),
        .packets = { 0, flow->packets },
        .bytes = { 0, flow->bytes },
    };
    view.endpoint = view.address;
    view.endpoint_port = view.address_port;
    view.source = view.client;
    view.source_port = view.client_port;
    return view;
}

static struct nat_flow_view view_forward(const struct nat_datapath *datapath,
                                         const struct nat_tuple *key, const struct nat_flow *flow,
                                         uint32_t now_s)
{
    struct nat_flow_view view = {
        .client = nat_addr_ip(&key->src),
        .address = nat_addr_ip(&key->dst),
        .endpoint = nat_addr_ip(&flow->to.dst),
        .source = nat_addr_ip(&flow->to.src),
        .client_port = ntohs(key->sport),
        .address_port = ntohs(key->dport),
        .endpoint_port = ntohs(flow->to.dport),
        .source_port = ntohs(flow->to.sport),
        .protocol = key->protocol,
        .service = service_of(datapath, flow),
        .port = flow->port,
        .endpoint_id = flow->endpoint,
        .masqueraded = (flow->flags & NAT_FLOW_MASQ) != 0,
        .hairpin = (flow->flags & NAT_FLOW_HAIRPIN) != 0,
        .stale = nat_flow_stale(datapath, flow) || nat_flow_is_clientless(datapath, flow),
        .idle_s = nat_flow_idle(flow, now_s),
        .packets = { flow->packets, 0 },
        .bytes = { flow->bytes, 0 },
    };
    struct nat_flow reverse;
    bool found = nat_flow_find_reverse(datapath, key, flow, &reverse);
    view.state = nat_flow_state(flow, found ? &reverse : flow, !found, key->protocol);
    if (found && nat_flow_has_snat(reverse.flags))
        read_snat(datapath, flow, &view);
    if (found) {
        view.idle_s = MIN(view.idle_s, nat_flow_idle(&reverse, now_s));
        view.packets[1] = reverse.packets;
        view.bytes[1] = reverse.bytes;
    }
    return view;
}

/* Returns the result of `each`; 0 for a half by which no flow is listed. */
static int list_half(const struct nat_datapath *datapath, const struct nat_tuple *key,
                     const struct nat_flow *flow, uint32_t now_s,
                     int (*each)(const struct nat_flow_view *flow, void *context), void *context,
                     size_t *left)
{
    struct nat_flow_view view;
    if (!nat_flow_whole(key, flow) || nat_flow_is_snat(flow))
        return 0;
    if (flow->half == NAT_HALF_FORWARD)
        view = view_forward(datapath, key, flow, now_s);
    else if (flow->half == NAT_HALF_DIRECT)
        view = view_direct(key, flow, now_s);
    else
        return 0;
    --*left;
    return each(&view, context);
}

int nat_datapath_each_flow(struct nat_datapath *datapath, size_t limit,
                           int (*each)(const struct nat_flow_view *flow, void *context),
                           void *context)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(datapath, NAT_MAP_FLOWS, &walk);
    const uint32_t now_s = (uint32_t)(clock_mono_ms() / SECOND_MS);
    int r = 0;
    while (limit && (r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count && limit; i++) {
            if (list_half(datapath, nat_walk_key(&walk, i), nat_walk_value(&walk, i), now_s, each,
                          context, &limit))
                return 0;
        }
    }
    return r < 0 ? r : 0;
}

bool nat_flow_delays_drain(const struct nat_tuple *key, const struct nat_flow *flow)
{
    return flow->half == NAT_HALF_FORWARD && !nat_flow_is_snat(flow) &&
           key->protocol == PROTOCOL_TCP &&
           (flow->flags & (NAT_FLOW_ANSWERED | NAT_FLOW_FIN | NAT_FLOW_RST)) == NAT_FLOW_ANSWERED;
}

uint64_t nat_datapath_established(const struct nat_datapath *datapath, bool of_egress)
{
    if (datapath->sweep.last.seen > COUNT_AT_ONCE)
        return datapath->sweep.last.established[of_egress];
    AUTOWALK struct nat_walk walk;
    nat_table_walk(datapath, NAT_MAP_FLOWS, &walk);
    uint64_t count = 0;
    while (nat_walk_next(&walk) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            const struct nat_flow *flow = nat_walk_value(&walk, i);
            count += (flow->delivery == NAT_DELIVER_EGRESS) == of_egress &&
                     !nat_flow_is_clientless(datapath, flow) &&
                     nat_flow_delays_drain(nat_walk_key(&walk, i), flow);
        }
    }
    return count;
}

void nat_datapath_flow_states(const struct nat_datapath *datapath,
                              uint64_t ret_count[static NAT_STATES])
{
    memcpy(ret_count, datapath->sweep.last.states, sizeof(datapath->sweep.last.states));
}

void nat_datapath_pressure(const struct nat_datapath *datapath, struct nat_pressure *ret_pressure)
{
    *ret_pressure = *datapath->pressure;
}
