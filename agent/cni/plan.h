/* SPDX-License-Identifier: Apache-2.0 */
/* What agentd wants of one pod's interface: its answer, decoded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/vec.h"
#include "cni/error.h"
#include "format/doc.h"

enum { PLAN_LIST_MAX = 256 }; /* of addresses, gateways, routes and sysctls, each */

struct plan_route {
    struct prefix to;
    struct ip via; /* one of the gateways */
};

/* On the node, not in the pod: "net.ipv6.conf.veth1.accept_ra" and "0". */
struct plan_sysctl {
    const char *name, *value;
};

struct plan {
    struct document *document;              /* which holds the strings */
    const char *interface, *host_interface; /* names of the two ends */
    const char *alias;                      /* of the node's end: whose it is */
    bool has_host_mac;                      /* otherwise the kernel chooses one */
    uint8_t host_mac[6];
    uint32_t mtu; /* 0: the kernel's choice */
    VEC(struct prefix) addresses;
    ip_list gateways;
    VEC(struct plan_route) routes;
    VEC(struct plan_sysctl) sysctls;
};

/* Decodes agentd's document: untrusted as far as its form goes. */
int plan_decode(const char *document, size_t size, struct plan *ret_plan, struct cni_error *error);
void plan_done(struct plan *plan);
