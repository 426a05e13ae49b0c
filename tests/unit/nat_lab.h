/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node with service NAT in a network namespace of its own, for tests that ask the real twin: an
 * uplink u0, the interface pod0 of a pod with 10.244.0.5 and fd44::5, svc0, routes to pods
 * elsewhere, and Services in the maps. Needs root and BPF.
 *
 *   default/web    10.96.0.10:80, 10.0.0.1:80 (load balancer, policy Local outside) and node port
 *                  192.0.2.1:30080, and the same in IPv6; port "http", three endpoints, one here
 *   default/one    10.96.0.20:53/UDP, its port unnamed; its only endpoint is the pod
 *   default/away   10.0.0.3:80, policy Local, endpoints elsewhere only; 10.96.0.30:80 has none
 *   default/fenced 10.0.0.4:80 for 203.0.113.0/24 and pods of 10.244.7.0/24
 *   default/other  10.96.0.99 is another proxy's
 */
#pragma once

#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/hooks/hooks.h"
#include "apply/nat/proof/prove.h"
#include "base/macro.h"
#include "cmocka_all.h"
#include "nat_timeouts.h"

enum lab_row {
    ROW_AWAY,
    ROW_FENCED,
    ROW_ONE,
    ROW_OTHER,
    ROW_WEB,
    ROW_COUNT
}; /* in order of names */

struct nat_lab {
    struct nat_datapath *datapath;
    struct nat_row *rows[ROW_COUNT];
    struct sorted table; /* of the rows */
    struct prefix pod_nets[2], service_nets[2];
    struct nat_attachment attachments[4];
    struct probe_origins origins;
};

#define run(command) assert_int_equal(system(command), 0)

static inline struct ip lab_ip(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static inline struct prefix lab_prefix(const char *text)
{
    struct prefix prefix;
    assert_int_equal(prefix_parse(text, &prefix), 0);
    return prefix;
}

/* ---- rows ---- */

static inline struct nat_row *lab_row(const char *name)
{
    struct nat_row *row = calloc(1, sizeof(*row));
    assert_non_null(row);
    row->namespace = strdup("default");
    row->name = strdup(name);
    return row;
}

static inline struct nat_family *lab_family(struct nat_row *row, uint8_t family)
{
    struct nat_family *it = &row->families[row->family_count++];
    it->family = family;
    return it;
}

static inline void lab_endpoint(nat_endpoint_list *list, const char *address)
{
    assert_int_equal(vec_push(list, (struct nat_endpoint){ lab_ip(address), 8080 }), 0);
}

/* The endpoints' addresses, sorted, parted by blanks; those before a bar are on this node. */
static inline void lab_port(struct nat_family *family, const char *name, enum protocol protocol,
                            uint16_t number, const char *endpoints)
{
    struct nat_port port = { .name = strdup(name), .protocol = protocol, .port = number };
    AUTOFREE char *words = strdup(endpoints);
    bool here = strchr(endpoints, '|') != NULL;
    char *rest = NULL;

    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, "|") == 0) {
            here = false;
            continue;
        }
        if (here)
            lab_endpoint(&port.sets[NAT_SET_LOCAL], word);
        lab_endpoint(&port.sets[NAT_SET_CLUSTER], word);
        lab_endpoint(&port.serving, word);
    }
    assert_int_equal(vec_push(&family->ports, port), 0);
}

/* Of the first port, in sorted order; policy Local holds outside where `local`. */
static inline void lab_frontend(struct nat_family *family, const char *address, uint16_t number,
                                enum nat_frontend_kind kind, bool local)
{
    const struct nat_port *port = &family->ports.items[0];
    struct nat_frontend frontend = {
        .address = lab_ip(address),
        .protocol = port->protocol,
        .port = number,
        .kind = kind,
    };

    for (enum nat_origin i = 0; i < NAT_ORIGINS; i++) {
        struct nat_outcome *outcome = &frontend.from[i];
        outcome->act = NAT_ACT_FORWARD;
        outcome->set = local && i == NAT_ORIGIN_OUTSIDE ? NAT_SET_LOCAL : NAT_SET_CLUSTER;
        outcome->masquerade = i == NAT_ORIGIN_NODE || (!local && i == NAT_ORIGIN_OUTSIDE);
        if (port->sets[outcome->set].count > 0)
            continue;
        outcome->masquerade = false;
        outcome->act = port->sets[NAT_SET_CLUSTER].count ? NAT_ACT_DROP : NAT_ACT_REJECT;
        outcome->cause =
            port->sets[NAT_SET_CLUSTER].count ? NAT_CAUSE_NO_LOCAL : NAT_CAUSE_NO_ENDPOINTS;
    }
    assert_int_equal(vec_push(&family->frontends, frontend), 0);
    if (kind == NAT_FRONTEND_CLUSTER_IP)
        assert_int_equal(vec_push(&family->cluster_ips, frontend.address), 0);
}

static inline void lab_row_free(struct nat_row *row)
{
    for (uint32_t i = 0; i < row->family_count; i++) {
        struct nat_family *family = &row->families[i];
        vec_each(struct nat_port, port, &family->ports) {
            free(port->name);
            vec_done(&port->sets[NAT_SET_CLUSTER]);
            vec_done(&port->sets[NAT_SET_LOCAL]);
            vec_done(&port->serving);
        }
        vec_done(&family->ports);
        vec_done(&family->frontends);
        vec_done(&family->cluster_ips);
        vec_done(&family->source_ranges);
    }
    vec_done(&row->foreign);
    free(row->namespace);
    free(row->name);
    free(row);
}

static inline void lab_rows(struct nat_lab *lab)
{
    struct nat_row *web = lab->rows[ROW_WEB] = lab_row("web");
    struct nat_family *family = lab_family(web, IP_V4);
    lab_port(family, "http", PROTOCOL_TCP, 80, "10.244.0.5 | 10.244.1.5 10.244.1.6");
    lab_frontend(family, "10.0.0.1", 80, NAT_FRONTEND_LOAD_BALANCER, true);
    lab_frontend(family, "10.96.0.10", 80, NAT_FRONTEND_CLUSTER_IP, false);
    lab_frontend(family, "192.0.2.1", 30080, NAT_FRONTEND_NODE_PORT, true);
    family = lab_family(web, IP_V6);
    lab_port(family, "http", PROTOCOL_TCP, 80, "fd44::5 | fd44:0:0:1::5 fd44:0:0:1::6");
    lab_frontend(family, "2001:db8::1", 30080, NAT_FRONTEND_NODE_PORT, true);
    lab_frontend(family, "fd00::1", 80, NAT_FRONTEND_LOAD_BALANCER, true);
    lab_frontend(family, "fd96::10", 80, NAT_FRONTEND_CLUSTER_IP, false);

    family = lab_family(lab->rows[ROW_ONE] = lab_row("one"), IP_V4);
    lab_port(family, "", PROTOCOL_UDP, 53, "10.244.0.5 |");
    lab_frontend(family, "10.96.0.20", 53, NAT_FRONTEND_CLUSTER_IP, false);

    struct nat_row *away = lab->rows[ROW_AWAY] = lab_row("away");
    family = lab_family(away, IP_V4);
    lab_port(family, "http", PROTOCOL_TCP, 80, "10.244.1.7");
    lab_frontend(family, "10.0.0.3", 80, NAT_FRONTEND_LOAD_BALANCER, true);
    family->frontends.items[0].from[NAT_ORIGIN_POD].act = NAT_ACT_FORWARD;
    lab_port(family, "none", PROTOCOL_TCP, 81, "");
    struct nat_frontend idle = {
        .address = lab_ip("10.96.0.30"), .protocol = PROTOCOL_TCP, .port = 81, .port_index = 1
    };
    for (enum nat_origin i = 0; i < NAT_ORIGINS; i++)
        idle.from[i] = (struct nat_outcome){ NAT_ACT_REJECT, NAT_CAUSE_NO_ENDPOINTS, 0, false };
    assert_int_equal(vec_push(&family->frontends, idle), 0);
    assert_int_equal(vec_push(&family->cluster_ips, idle.address), 0);

    family = lab_family(lab->rows[ROW_FENCED] = lab_row("fenced"), IP_V4);
    lab_port(family, "http", PROTOCOL_TCP, 80, "10.244.0.5 | 10.244.1.5");
    lab_frontend(family, "10.0.0.4", 80, NAT_FRONTEND_LOAD_BALANCER, false);
    assert_int_equal(vec_push(&family->source_ranges, lab_prefix("10.244.7.0/24")), 0);
    assert_int_equal(vec_push(&family->source_ranges, lab_prefix("203.0.113.0/24")), 0);
    assert_int_equal(vec_push(&family->source_ranges, lab_prefix("10.0.0.4/32")), 0);

    lab->rows[ROW_OTHER] = lab_row("other");
    assert_int_equal(vec_push(&lab->rows[ROW_OTHER]->foreign, lab_ip("10.96.0.99")), 0);

    lab->table = (struct sorted)SORTED(struct nat_row *, nat_row_cmp);
    for (enum lab_row i = 0; i < ROW_COUNT; i++)
        assert_int_equal(sorted_put(&lab->table, &lab->rows[i]), 0);
}

/* ---- the node ---- */

static inline int lab_links(void)
{
    return system(
        "ip link set lo up && sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 "
        "net.ipv6.conf.default.accept_dad=0 && "
        "ip link add u0 type veth peer name u0p && ip link add pod0 type veth peer name pod0p && "
        "ip link add svc0 type veth peer name svc0p && "
        "for i in u0 u0p pod0 pod0p svc0 svc0p; do ip link set $i up || exit 1; done && "
        "ip addr add 192.0.2.1/24 dev u0 && ip addr add 2001:db8::1/64 dev u0 nodad && "
        "ip route add default via 192.0.2.254 && ip route add default via 2001:db8::fe && "
        "ip route add 10.244.0.5 dev pod0 && ip route add fd44::5 dev pod0 && "
        "ip route add 10.244.1.0/24 via 192.0.2.253 && "
        "ip route add fd44:0:0:1::/64 via 2001:db8::fd && "
        /* Guards: refused when forwarded, by svc0 from this node. */
        "ip rule add pref 1989 iif lo lookup 121 && ip -6 rule add pref 1989 iif lo lookup 121 && "
        "ip rule add pref 1990 not from all iif lo lookup 120 && "
        "ip route add unreachable 10.0.0.1 table 120 && "
        "ip route add 10.96.0.0/16 dev svc0 table 121 && "
        "ip route add 10.0.0.0/24 dev svc0 table 121 && "
        "ip -6 route add fd96::/64 dev svc0 table 121 && "
        "ip -6 route add fd00::/64 dev svc0 table 121");
}

static inline void lab_stand(struct nat_lab *lab)
{
    static const struct {
        const char *name, *v4, *v6;
        enum nat_hook hook;
    } places[] = {
        [NAT_ORIGIN_OUTSIDE] = { "u0", "198.51.100.9", "2001:db8:9::9", NAT_HOOK_UPLINK_IN },
        [NAT_ORIGIN_POD] = { "pod0", "10.244.0.200", "fd44::200", NAT_HOOK_POD_IN },
        [NAT_ORIGIN_NODE] = { "svc0", "192.0.2.1", "2001:db8::1", NAT_HOOK_SVC_OUT },
    };

    for (enum nat_origin i = 0; i < NAT_ORIGINS; i++) {
        const uint32_t ifindex = if_nametoindex(places[i].name);
        lab->origins.of[i].there = true;
        lab->origins.of[i].hook = places[i].hook;
        lab->origins.of[i].ifindex = ifindex;
        lab->origins.of[i].ingress_ifindex = i == NAT_ORIGIN_NODE ? 0 : ifindex;
        lab->origins.of[i].v4 = lab_ip(places[i].v4);
        lab->origins.of[i].v6 = lab_ip(places[i].v6);
    }
    lab->origins.pod_nets = lab->pod_nets;
    lab->origins.pod_net_count = 2;
}

static inline void lab_attach(struct nat_lab *lab, size_t index, const char *name,
                              enum nat_hook hook)
{
    struct nat_attachment *it = &lab->attachments[index];
    it->ifindex = if_nametoindex(name);
    it->hook = hook;
    (void)snprintf(it->name, sizeof(it->name), "%s", name);
}

static inline int lab_datapath(struct nat_lab *lab)
{
    static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
    const struct nat_datapath_options options = { .max_flows = 1024,
                                                  .max_services = 64,
                                                  .max_endpoints = 1024 };
    const struct nat_settings settings = {
        .pod_nets = lab->pod_nets,
        .service_nets = lab->service_nets,
        .pod_net_count = 2,
        .service_net_count = 2,
        .snat_first = 32768,
        .snat_last = 60999,
        .timeouts_s = NAT_TIMEOUTS,
    };
    const struct ip v4 = lab_ip("192.0.2.1"), v6 = lab_ip("2001:db8::1");
    const struct ip local[] = { v4, v6 };
    AUTOFAULTS struct faults faults = { 0 };

    int r = nat_datapath_open(&options, &lab->datapath, &faults);
    vec_each(const struct fault, fault, &faults.list)
        print_message("# %s: %s\n", fault->place, fault->message);
    if (r < 0)
        return r;
    assert_int_equal(nat_datapath_set(lab->datapath, &settings, &faults), 0);
    assert_int_equal(nat_datapath_set_svc0(lab->datapath, if_nametoindex("svc0"), mac), 0);
    assert_int_equal(nat_datapath_set_local(lab->datapath, local, ARRAY_SIZE(local)), 0);
    assert_int_equal(nat_datapath_set_interface(lab->datapath, 0, &v4, &v6, NAT_BACK_UNKNOWN), 0);
    for (enum lab_row i = 0; i < ROW_COUNT; i++)
        assert_int_equal(nat_datapath_write(lab->datapath, lab->rows[i], &faults), 1);
    assert_true(faults_none(&faults));
    return 0;
}

static inline bool nat_lab_missing(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return false;
    printf("1..0 # SKIP no privilege to make network namespaces\n");
    return true;
}

static inline int nat_lab_open(void **state)
{
    struct nat_lab *lab = calloc(1, sizeof(*lab));

    if (!lab || unshare(CLONE_NEWNET) < 0 || lab_links() != 0)
        return -1;
    lab->pod_nets[0] = lab_prefix("10.244.0.0/16");
    lab->pod_nets[1] = lab_prefix("fd44::/16");
    lab->service_nets[0] = lab_prefix("10.96.0.0/16");
    lab->service_nets[1] = lab_prefix("fd96::/64");
    lab_rows(lab);
    lab_stand(lab);
    lab_attach(lab, 0, "u0", NAT_HOOK_UPLINK_IN);
    lab_attach(lab, 1, "u0", NAT_HOOK_UPLINK_OUT);
    lab_attach(lab, 2, "pod0", NAT_HOOK_POD_IN);
    lab_attach(lab, 3, "pod0", NAT_HOOK_POD_OUT);
    lab->origins.attachments = lab->attachments;
    lab->origins.attachment_count = 4;
    *state = lab;
    return lab_datapath(lab);
}

static inline int nat_lab_close(void **state)
{
    struct nat_lab *lab = *state;

    nat_datapath_close(lab->datapath);
    sorted_done(&lab->table);
    for (enum lab_row i = 0; i < ROW_COUNT; i++)
        lab_row_free(lab->rows[i]);
    free(lab);
    return 0;
}
