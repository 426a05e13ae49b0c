// SPDX-License-Identifier: Apache-2.0
/*
 * Pods with a static neighbour entry; see nat_set_pods.h. Some pod networks set such entries on
 * purpose and correctly. So one pod at a time is probed, by a request that changes no host's cache,
 * and the answer is read at the next check. One probe is sent in five seconds, because it is a
 * packet in a network of others. A wrong entry stays wrong until it is replaced.
 */
#include "engine/nat/pods/nat_set_pods.h"

#include <string.h>

#include "apply/segment/segment_socket.h"
#include "base/text.h"
#include "engine/nat/nat_state.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { ASK_MS = 5000, WRONG_MAX = 16 };

static struct nat_set_pod *find(const struct nat_set_pods *pods, const struct nl_neighbour *set)
{
    vec_each(struct nat_set_pod, pod, &pods->list) {
        if (pod->set.ifindex == set->ifindex && ip_equal(&pod->set.ip, &set->ip))
            return pod;
    }
    return NULL;
}

void nat_set_pods_ask(struct nat_engine *engine, uint32_t ifindex, const struct ip *pod,
                      int64_t now_ms)
{
    struct nat_set_pods *pods = &engine->set_pods;
    const struct link *link = link_find(kernel_links(engine->kernel), ifindex);
    struct nl_neighbour set;
    if (pods->socket || now_ms - pods->asked_ms < ASK_MS || pods->list.count == WRONG_MAX ||
        nl_neighbour_get(engine->socket, ifindex, pod, &set) < 0 || !nl_neighbour_is_set(&set) ||
        find(pods, &set) || !link || segment_socket_open(ifindex, &pods->socket) < 0)
        return;
    pods->asked = set;
    pods->asked_ms = now_ms;
    (void)segment_socket_send(pods->socket, SEGMENT_PROBE, pod, link->mac);
}

static void hear(struct nat_set_pods *pods)
{
    struct segment_claim claim;
    while (pods->socket && segment_socket_receive(pods->socket, &claim) > 0) {
        if (claim.is_probe || !ip_equal(&claim.ip, &pods->asked.ip) ||
            memcmp(claim.mac, pods->asked.mac, sizeof(claim.mac)) == 0 || find(pods, &pods->asked))
            continue;
        struct nat_set_pod wrong = { .set = pods->asked };
        memcpy(wrong.mac, claim.mac, sizeof(wrong.mac));
        (void)vec_push(&pods->list, wrong);
    }
    segment_socket_close(pods->socket);
    pods->socket = NULL;
}

/* Whether the entry is unchanged. */
static bool is_still(const struct nat_engine *engine, const struct nl_neighbour *set)
{
    struct nl_neighbour now;
    return nl_neighbour_get(engine->socket, set->ifindex, &set->ip, &now) == 0 &&
           nl_neighbour_is_set(&now) && memcmp(now.mac, set->mac, sizeof(now.mac)) == 0;
}

static void tell(const struct nat_engine *engine, const struct nat_set_pod *pod,
                 struct faults *faults)
{
    const struct link *link = link_find(kernel_links(engine->kernel), pod->set.ifindex);
    const char *name = link ? link->name : "its interface";
    char ip[IP_STRLEN], set[LINK_MAC_STRLEN], mac[LINK_MAC_STRLEN];
    AUTOFREE char *place = text_format("endpoint %s", ip_str(&pod->set.ip, ip));
    fault_raise(faults, place, nat_pod_neighbour_wrong, .interface = name,
                .set = link_mac_str(pod->set.mac, set), .mac = link_mac_str(pod->mac, mac),
                .address = ip);
}

void nat_set_pods_tell(struct nat_engine *engine, struct faults *faults)
{
    struct nat_set_pods *pods = &engine->set_pods;
    size_t kept = 0;
    hear(pods);
    for (size_t i = 0; i < pods->list.count; i++) {
        if (is_still(engine, &pods->list.items[i].set))
            pods->list.items[kept++] = pods->list.items[i];
    }
    pods->list.count = kept;
    vec_each(const struct nat_set_pod, pod, &pods->list)
        tell(engine, pod, faults);
}

void nat_set_pods_done(struct nat_set_pods *pods)
{
    segment_socket_close(pods->socket);
    vec_done(&pods->list);
}
