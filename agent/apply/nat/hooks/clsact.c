// SPDX-License-Identifier: Apache-2.0
/*
 * Filters of clsact qdiscs, for kernels without TCX, by rtnetlink.
 *
 * Our filter is the one with our priority, our handle and our name. It outlives the agent; adding
 * it again replaces the program atomically. The agent adds a clsact qdisc to an interface that has
 * none, and deletes one that is empty, whichever program added it: an empty one has no effect.
 *
 * The kernel runs filters in order of their priority numbers, until one decides. Filters with lower
 * numbers than ours get the packets first; ours can't be moved before them.
 *
 * The older qdisc "ingress" uses the same slot of the interface, and the kernel would silently add
 * an egress filter to its ingress. No program is attached to an interface that has one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <string.h>

#include "apply/nat/hooks/clsact.h"
#include "base/macro.h"
#include "base/ours.h"

static struct tcmsg qdisc_of(uint32_t ifindex)
{
    return (struct tcmsg){
        .tcm_ifindex = (int)ifindex,
        .tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0),
        .tcm_parent = TC_H_CLSACT,
    };
}

static unsigned priority_of(const struct nat_place *place)
{
    return OURS_TC_PRIORITY + (unsigned)place->layer;
}

static struct tcmsg filter_of(const struct nat_place *place)
{
    uint32_t minor = place->direction == NAT_INGRESS ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS;
    return (struct tcmsg){
        .tcm_ifindex = (int)place->ifindex,
        .tcm_handle = OURS_TC_HANDLE,
        .tcm_parent = TC_H_MAKE(TC_H_CLSACT, minor),
        .tcm_info = TC_H_MAKE(priority_of(place) << 16, htons(ETH_P_ALL)),
    };
}

static int send_one(struct nl_socket *socket, struct nl_request *request, char text[static 96])
{
    struct nl_result result;
    int r = nl_batch(socket, request, 1, &result);
    if (r < 0)
        return r;
    memcpy(text, result.text, sizeof(result.text));
    return result.error;
}

/* ---- reading from the kernel ---- */

static const struct nlattr *find(const struct nlmsghdr *row, uint16_t type)
{
    const struct nlattr *it = NULL;
    while ((it = nl_next_attribute(row, sizeof(struct tcmsg), it))) {
        if (mnl_attr_get_type(it) == type)
            return it;
    }
    return NULL;
}

static bool is_kind(const struct nlmsghdr *row, const char *kind)
{
    const struct nlattr *attribute = find(row, TCA_KIND);
    size_t size = strlen(kind) + 1;
    return attribute && mnl_attr_get_payload_len(attribute) == size &&
           memcmp(mnl_attr_get_payload(attribute), kind, size) == 0;
}

/* An attribute in the options with at least `size` bytes; NULL: there is none. */
static const void *find_option(const struct nlmsghdr *row, uint16_t type, size_t size)
{
    const struct nlattr *options = find(row, TCA_OPTIONS);
    if (!options)
        return NULL;
    const char *end =
        (const char *)mnl_attr_get_payload(options) + mnl_attr_get_payload_len(options);
    const struct nlattr *it = mnl_attr_get_payload(options);
    for (; mnl_attr_ok(it, (int)(end - (const char *)it)); it = mnl_attr_next(it)) {
        if (mnl_attr_get_type(it) == type && mnl_attr_get_payload_len(it) >= size)
            return mnl_attr_get_payload(it);
    }
    return NULL;
}

/* The filters of one place. */
struct filters {
    unsigned priority;            /* of the place */
    struct nat_place_state state; /* of our filter; `behind` also if it is not attached */
    unsigned first;               /* the lowest priority number of the foreign filters */
    bool others;                  /* foreign ones, or of another layer of ours */
    bool taken;                   /* a foreign one has our priority and handle */
};

/* Records a foreign filter with a priority before ours, if it is the first of these. Each list
 * begins with a head, which has no name. */
static void note_before(struct filters *filters, const struct nlmsghdr *row, unsigned priority)
{
    const char *name = find_option(row, TCA_BPF_NAME, 2);
    const struct nlattr *kind = find(row, TCA_KIND);
    const bool later = filters->state.behind && priority >= filters->first;
    if (priority >= filters->priority || (later && !(name && priority == filters->first)))
        return;
    filters->state.behind = true;
    filters->first = priority;
    if (is_kind(row, "bpf") && name)
        (void)snprintf(filters->state.before, sizeof(filters->state.before),
                       "filter %.32s of priority %u", name, priority);
    else
        (void)snprintf(filters->state.before, sizeof(filters->state.before),
                       "a %.*s filter of priority %u",
                       kind ? MIN(16, (int)mnl_attr_get_payload_len(kind)) : 0,
                       kind ? mnl_attr_get_str(kind) : "", priority);
}

static int on_filter(const struct nlmsghdr *row, void *context)
{
    struct filters *filters = context;
    const struct tcmsg *fixed = mnl_nlmsg_get_payload(row);
    if (mnl_nlmsg_get_payload_len(row) < sizeof(*fixed))
        return 0;
    unsigned priority = TC_H_MAJ(fixed->tcm_info) >> 16;
    bool our_priority =
        priority >= OURS_TC_PRIORITY && priority < (unsigned)OURS_TC_PRIORITY + NAT_LAYERS;
    if (our_priority && fixed->tcm_handle == 0 && is_kind(row, "bpf"))
        return 0; /* the head of a list of filters */
    const char *name = find_option(row, TCA_BPF_NAME, sizeof(OURS_NAME));
    const uint32_t *id = find_option(row, TCA_BPF_ID, sizeof(*id));
    bool our_place = our_priority && fixed->tcm_handle == OURS_TC_HANDLE;
    bool ours = our_place && id && name && strncmp(name, OURS_NAME, sizeof(OURS_NAME)) == 0;
    bool here = priority == filters->priority;
    if (ours && here)
        filters->state.program = *id;
    else
        filters->others = true;
    if (!ours) {
        note_before(filters, row, priority);
        filters->taken |= our_place && here;
    }
    return 0;
}

static void restart_filters(void *context)
{
    struct filters *filters = context;
    *filters = (struct filters){ .priority = filters->priority };
}

static int list_filters(struct nl_socket *socket, const struct nat_place *place,
                        struct filters *ret_filters)
{
    struct tcmsg fixed = filter_of(place);
    struct nl_request request;
    fixed.tcm_handle = fixed.tcm_info = 0;
    *ret_filters = (struct filters){ .priority = priority_of(place) };
    nl_begin(&request, RTM_GETTFILTER, 0, &fixed, sizeof(fixed));
    return nl_dump(socket, &request, on_filter, restart_filters, ret_filters);
}

struct qdiscs {
    const char *kind;
    VEC(uint32_t) ifindexes;
};

static void qdiscs_done(struct qdiscs *qdiscs)
{
    vec_done(&qdiscs->ifindexes);
}

static int on_qdisc(const struct nlmsghdr *row, void *context)
{
    struct qdiscs *qdiscs = context;
    const struct tcmsg *fixed = mnl_nlmsg_get_payload(row);
    if (mnl_nlmsg_get_payload_len(row) < sizeof(*fixed) || fixed->tcm_parent != TC_H_CLSACT ||
        !is_kind(row, qdiscs->kind))
        return 0;
    return vec_push(&qdiscs->ifindexes, (uint32_t)fixed->tcm_ifindex);
}

static void restart_qdiscs(void *context)
{
    vec_clear(&((struct qdiscs *)context)->ifindexes);
}

/* The interfaces that have a qdisc of this kind in the slot of clsact. */
static int list_qdiscs(struct nl_socket *socket, struct qdiscs *qdiscs)
{
    struct tcmsg fixed = { .tcm_family = AF_UNSPEC };
    struct nl_request request;
    nl_begin(&request, RTM_GETQDISC, 0, &fixed, sizeof(fixed));
    return nl_dump(socket, &request, on_qdisc, restart_qdiscs, qdiscs);
}

static bool has_qdisc(const struct qdiscs *qdiscs, uint32_t ifindex)
{
    vec_each(const uint32_t, it, &qdiscs->ifindexes) {
        if (*it == ifindex)
            return true;
    }
    return false;
}

/* ---- changes ---- */

/* Returns 0 if the interface has a clsact qdisc now. */
static int make_qdisc(struct nl_socket *socket, uint32_t ifindex, char text[static 96])
{
    struct tcmsg fixed = qdisc_of(ifindex);
    struct nl_request request;
    nl_begin(&request, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &fixed, sizeof(fixed));
    nl_put_string(&request, TCA_KIND, "clsact");
    int r = send_one(socket, &request, text);
    if (r != -EEXIST)
        return r;

    CLEANUP(qdiscs_done) struct qdiscs clsact = { .kind = "clsact" };
    r = list_qdiscs(socket, &clsact);
    if (r < 0)
        return r;
    if (has_qdisc(&clsact, ifindex))
        return 0;
    snprintf(text, 96, "a qdisc \"ingress\" stands in clsact's place");
    return -EEXIST;
}

/* Another program may add a filter between the dump and the deletion; the kernel has no means to
 * prevent that. */
static int drop_empty_qdisc(struct nl_socket *socket, uint32_t ifindex)
{
    for (int direction = NAT_INGRESS; direction <= NAT_EGRESS; direction++) {
        const struct nat_place place = { .ifindex = ifindex,
                                         .direction = (enum nat_direction)direction };
        struct filters filters;
        int r = list_filters(socket, &place, &filters);
        if (r < 0 || filters.others || filters.state.program)
            return r;
    }
    CLEANUP(qdiscs_done) struct qdiscs clsact = { .kind = "clsact" };
    int r = list_qdiscs(socket, &clsact);
    if (r < 0 || !has_qdisc(&clsact, ifindex))
        return r;
    struct tcmsg fixed = qdisc_of(ifindex);
    struct nl_request request;
    char text[96];
    nl_begin(&request, RTM_DELQDISC, 0, &fixed, sizeof(fixed));
    nl_put_string(&request, TCA_KIND, "clsact");
    return send_one(socket, &request, text);
}

int clsact_attach(struct nl_socket *socket, const struct nat_place *place, int program,
                  char text[static 96])
{
    struct filters filters = { 0 };
    int r = make_qdisc(socket, place->ifindex, text);
    if (r < 0)
        return r;
    r = list_filters(socket, place, &filters);
    if (r < 0)
        return r;
    if (filters.taken) {
        snprintf(text, 96, "a filter of somebody else has priority %u, handle %d",
                 priority_of(place), OURS_TC_HANDLE);
        return -EEXIST;
    }
    struct tcmsg fixed = filter_of(place);
    struct nl_request request;
    nl_begin(&request, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_REPLACE, &fixed, sizeof(fixed));
    nl_put_string(&request, TCA_KIND, "bpf");
    struct nlattr *options = nl_begin_nest(&request, TCA_OPTIONS, NULL, 0);
    nl_put_u32(&request, TCA_BPF_FD, (uint32_t)program);
    nl_put_string(&request, TCA_BPF_NAME, OURS_NAME);
    nl_put_u32(&request, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
    nl_end_nest(&request, options);
    return send_one(socket, &request, text);
}

int clsact_look(struct nl_socket *socket, const struct nat_place *place,
                struct nat_place_state *ret_state)
{
    struct filters filters;
    int r = list_filters(socket, place, &filters);
    if (r < 0)
        return r;
    *ret_state = filters.state;
    return 0;
}

int clsact_detach(struct nl_socket *socket, const struct nat_place *place)
{
    struct nat_place_state state;
    int r = clsact_look(socket, place, &state);
    if (r < 0 || state.program == 0)
        return r;
    struct tcmsg fixed = filter_of(place);
    struct nl_request request;
    char text[96];
    nl_begin(&request, RTM_DELTFILTER, 0, &fixed, sizeof(fixed));
    nl_put_string(&request, TCA_KIND, "bpf");
    r = send_one(socket, &request, text);
    return r < 0 ? r : drop_empty_qdisc(socket, place->ifindex);
}

int clsact_find(struct nl_socket *socket, enum nat_layer layer, nat_place_list *places)
{
    CLEANUP(qdiscs_done) struct qdiscs clsact = { .kind = "clsact" };
    int r = list_qdiscs(socket, &clsact);
    if (r < 0)
        return r;
    vec_each(const uint32_t, ifindex, &clsact.ifindexes) {
        for (int direction = NAT_INGRESS; direction <= NAT_EGRESS; direction++) {
            const struct nat_place place = { *ifindex, (enum nat_direction)direction, layer };
            struct nat_place_state state;
            r = clsact_look(socket, &place, &state);
            if (r == 0 && state.program)
                r = vec_push(places, place);
            if (r < 0)
                return r;
        }
    }
    return 0;
}
