/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A datapath of one row, in place of apply/nat/proof/probe.c and views.c: it answers as the row
 * demands, by its own reading of it, and errs where a test wants it to.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "apply/nat/proof/children.h"
#include "apply/nat/proof/prove.h"
#include "base/macro.h"
#include "cmocka_all.h"

enum { SERVICE = 7, FIRST_PORT = 20, UPLINK = 10, ADDRESS = 99 };

/* What the twin does wrong; only answers to this kind of origin, with this slot (0: any). */
struct error {
    enum nat_origin origin;
    uint32_t slot;
    int failure;
    const char *name;
    void (*bend)(struct nat_answer *answer);
};

struct nat_datapath {
    const struct nat_row *row;
    struct prefix pod_nets[2];
    struct error error;
    uint32_t vrf;     /* an uplink by which only the first slot has a way */
    uint32_t address; /* the slot whose endpoint is reached by STRAY; the others are by UPLINK */
    enum protocol errs_in; /* only answers about this protocol; 0: any */
    unsigned runs;
};

static inline struct ip ip(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static inline struct prefix prefix(const char *text)
{
    struct prefix prefix;
    assert_int_equal(prefix_parse(text, &prefix), 0);
    return prefix;
}

static inline enum nat_origin source_of(const struct nat_datapath *datapath,
                                        const struct nat_probe *probe)
{
    for (size_t i = 0; i < ARRAY_SIZE(datapath->pod_nets); i++) {
        if (prefix_contains(&datapath->pod_nets[i], &probe->source))
            return NAT_ORIGIN_POD;
    }
    return probe->hook == NAT_HOOK_SVC_OUT ? NAT_ORIGIN_NODE : NAT_ORIGIN_OUTSIDE;
}

static inline const struct nat_frontend *frontend_of(const struct nat_row *row,
                                                     const struct nat_probe *probe,
                                                     const struct nat_family **ret_family)
{
    for (uint32_t i = 0; i < row->family_count; i++) {
        vec_each(const struct nat_frontend, it, &row->families[i].frontends) {
            if (ip_equal(&it->address, &probe->destination) &&
                it->port == probe->destination_port && it->protocol == probe->protocol) {
                *ret_family = &row->families[i];
                return it;
            }
        }
    }
    return NULL;
}

static inline bool admitted(const struct nat_family *family, const struct nat_frontend *frontend,
                            const struct ip *source)
{
    bool found = family->source_ranges.count == 0 || frontend->kind != NAT_FRONTEND_LOAD_BALANCER;
    vec_each(const struct prefix, range, &family->source_ranges)
        found |= prefix_contains(range, source);
    return found;
}

static inline void answer_forward(const struct nat_datapath *datapath,
                                  const struct nat_family *family,
                                  const struct nat_frontend *frontend,
                                  const struct nat_outcome *outcome, const struct nat_probe *probe,
                                  struct nat_answer *answer)
{
    const nat_endpoint_list *set = &family->ports.items[frontend->port_index].sets[outcome->set];
    assert_in_range(probe->pick, 1, set->count);
    answer->endpoint_value = set->items[set->count - probe->pick]; /* slots have no order */
    answer->endpoint = probe->pick;
    answer->count = (uint32_t)set->count;
    answer->set = outcome->set;
    answer->out = probe->pick == datapath->address ? ADDRESS : UPLINK;
    if (ip_equal(&answer->endpoint_value.ip, &probe->source))
        answer->masquerade = NAT_MASQUERADE_HAIRPIN;
    else if (outcome->masquerade)
        answer->masquerade = NAT_MASQUERADE_YES;
}

int nat_datapath_probe(struct nat_datapath *datapath, const struct nat_probe *probe,
                       struct nat_answer *ret_answer)
{
    const struct error *error = &datapath->error;
    const enum nat_origin origin = source_of(datapath, probe);
    const bool errs = error->origin == origin && (!error->slot || error->slot == probe->pick) &&
                      (!datapath->errs_in || datapath->errs_in == probe->protocol);
    const struct nat_family *family = NULL;
    const struct nat_frontend *frontend = frontend_of(datapath->row, probe, &family);
    struct nat_answer answer = { 0 };

    datapath->runs++;
    assert_non_null(frontend);
    assert_false(probe->see_flows || probe->see_came);
    assert_true(probe->ifindex == 10u + probe->hook ||
                (datapath->vrf && probe->ifindex == datapath->vrf));
    assert_int_equal(probe->ingress_ifindex, probe->hook == NAT_HOOK_SVC_OUT ? 0 : probe->ifindex);
    if (errs && error->failure)
        return error->failure;
    const struct nat_outcome *outcome = &frontend->from[origin];
    answer.service = SERVICE;
    answer.port = FIRST_PORT + frontend->port_index;
    if (!admitted(family, frontend, &probe->source)) {
        answer.act = NAT_ACT_DROP;
        answer.cause = NAT_CAUSE_SOURCE_RANGE;
    } else if (outcome->act == NAT_ACT_REJECT) {
        answer.act = NAT_ACT_REJECT;
        answer.cause = NAT_CAUSE_NO_ENDPOINTS;
    } else if (outcome->act == NAT_ACT_DROP) {
        answer.act = NAT_ACT_DROP;
        answer.cause = NAT_CAUSE_NO_LOCAL;
    } else {
        answer.act = NAT_ACT_FORWARD;
        answer_forward(datapath, family, frontend, outcome, probe, &answer);
        if (datapath->vrf && probe->ifindex == datapath->vrf && probe->pick > 1)
            answer.route = 2;
    }
    if (errs && error->bend)
        error->bend(&answer);
    *ret_answer = answer;
    return 0;
}

int nat_datapath_name(struct nat_datapath *datapath, uint32_t service,
                      char buffer[static NAT_NAME_MAX])
{
    *buffer = '\0';
    if (service == SERVICE)
        (void)snprintf(buffer, NAT_NAME_MAX, "%s/%s", datapath->row->namespace,
                       datapath->error.name ? datapath->error.name : datapath->row->name);
    return 0;
}

bool nat_datapath_port(const struct nat_datapath *datapath, uint32_t port, uint8_t *ret_family,
                       enum protocol *ret_protocol, uint16_t *ret_number)
{
    if (port < FIRST_PORT || port >= FIRST_PORT + datapath->row->families[0].ports.count)
        return false;
    const struct nat_port *it = &datapath->row->families[0].ports.items[port - FIRST_PORT];
    *ret_family = datapath->row->families[0].family;
    *ret_protocol = it->protocol;
    *ret_number = it->port;
    return true;
}
