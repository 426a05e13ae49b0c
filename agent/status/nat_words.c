// SPDX-License-Identifier: Apache-2.0
/*
 * The words for the decisions of the NAT planner and program (bpf/abi.h). They appear in JSON
 * documents, in metric labels and in faults: they are added to, never changed.
 */
#include "status/nat_status.h"

#include "base/macro.h"

static const struct {
    const char *name, *text;
} causes[] = {
    [NAT_CAUSE_NONE] = { "none", "no reason" },
    [NAT_CAUSE_NO_ENDPOINTS] = { "no-endpoints", "no usable endpoint anywhere" },
    [NAT_CAUSE_NO_LOCAL] = { "no-local-endpoints",
                             "no usable endpoint on this node (policy Local)" },
    [NAT_CAUSE_SOURCE_RANGE] = { "source-range", "source not in loadBalancerSourceRanges" },
    [NAT_CAUSE_UNALLOCATED] = { "unallocated", "in services.serviceCIDRs, and no Service has it" },
    [NAT_CAUSE_UNDEFINED_PORT] = { "undefined-port", "a ClusterIP without that port" },
    [NAT_CAUSE_UNMAPPED_PORT] = { "unmapped-port", "an address of a Service without that port" },
    [NAT_CAUSE_OTHER_PROXY] = { "other-proxy",
                                "a ClusterIP that another proxy or this node serves" },
    [NAT_CAUSE_SNAT_EXHAUSTED] = { "snat-exhausted", "no free source port to the endpoint" },
    [NAT_CAUSE_NO_ROUTE] = { "no-route", "the kernel has no way to the endpoint, or back" },
    [NAT_CAUSE_INVALID] = { "invalid", "TCP that neither opens a connection nor belongs to one" },
    [NAT_CAUSE_FRAGMENT] = { "fragment", "a fragment whose first one was not seen" },
    [NAT_CAUSE_MALFORMED] = { "malformed", "headers that do not fit" },
    [NAT_CAUSE_PROTOCOL] = { "protocol", "a protocol that is not translated" },
    [NAT_CAUSE_TTL] = { "ttl", "hop limit used up on the way to the endpoint" },
    [NAT_CAUSE_TOO_BIG] = { "too-big", "larger than the MTU towards the endpoint" },
    [NAT_CAUSE_FLOWS_FULL] = { "flows-full", "no room for another flow" },
    [NAT_CAUSE_EXTENSIONS] = { "extensions", "more than four IPv6 extension headers" },
    [NAT_CAUSE_REVERSE_PATH] = { "reverse-path",
                                 "the route back to its source leads by another interface" },
};
_Static_assert(ARRAY_SIZE(causes) == NAT_CAUSE_COUNT, "every cause has its words");

/* A program of another version may count causes that are unknown here. */
const char *nat_cause_name(enum nat_cause cause)
{
    return cause < NAT_CAUSE_COUNT ? causes[cause].name : "unknown";
}

const char *nat_cause_text(enum nat_cause cause)
{
    return cause < NAT_CAUSE_COUNT ? causes[cause].text
                                   : "a reason that this version does not know";
}

const char *nat_frontend_kind_name(enum nat_frontend_kind kind)
{
    static const char *const names[] = {
        [NAT_FRONTEND_CLUSTER_IP] = "clusterIP",
        [NAT_FRONTEND_LOAD_BALANCER] = "loadBalancer",
        [NAT_FRONTEND_EXTERNAL_IP] = "externalIP",
        [NAT_FRONTEND_NODE_PORT] = "nodePort",
    };
    _Static_assert(ARRAY_SIZE(names) == NAT_FRONTEND_KINDS, "every kind has its word");
    return kind < NAT_FRONTEND_KINDS ? names[kind] : "unknown";
}

const char *nat_origin_name(enum nat_origin origin)
{
    static const char *const names[] = {
        [NAT_ORIGIN_OUTSIDE] = "outside",
        [NAT_ORIGIN_POD] = "pod",
        [NAT_ORIGIN_NODE] = "node",
    };
    _Static_assert(ARRAY_SIZE(names) == NAT_ORIGINS, "every origin has its word");
    return origin < NAT_ORIGINS ? names[origin] : "unknown";
}

const char *nat_act_name(enum nat_act act)
{
    static const char *const names[] = {
        [NAT_ACT_PASS] = "pass",
        [NAT_ACT_FORWARD] = "forward",
        [NAT_ACT_REJECT] = "reject",
        [NAT_ACT_DROP] = "drop",
    };
    return act < ARRAY_SIZE(names) ? names[act] : "unknown";
}

const char *nat_state_name(enum nat_state state)
{
    static const char *const names[] = {
        [NAT_STATE_HALF_OPEN] = "half-open", [NAT_STATE_UNANSWERED] = "unanswered",
        [NAT_STATE_EXCHANGE] = "exchange",   [NAT_STATE_ANSWERED] = "answered",
        [NAT_STATE_CLOSED] = "closed",       [NAT_STATE_HALF_CLOSED] = "half-closed",
        [NAT_STATE_STREAM] = "stream",       [NAT_STATE_ESTABLISHED] = "established",
    };
    _Static_assert(ARRAY_SIZE(names) == NAT_STATES, "every state has its word");
    return state < NAT_STATES ? names[state] : "unknown";
}

const char *nat_hook_name(enum nat_hook hook)
{
    static const char *const names[] = {
        [NAT_HOOK_UPLINK_IN] = "uplink-in", [NAT_HOOK_UPLINK_OUT] = "uplink-out",
        [NAT_HOOK_POD_IN] = "pod-in",       [NAT_HOOK_POD_OUT] = "pod-out",
        [NAT_HOOK_LO_OUT] = "lo-out",       [NAT_HOOK_SVC_OUT] = "svc-out",
    };
    _Static_assert(ARRAY_SIZE(names) == NAT_HOOKS, "every hook has its word");
    return hook < NAT_HOOKS ? names[hook] : "unknown";
}
