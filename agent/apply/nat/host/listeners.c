// SPDX-License-Identifier: Apache-2.0
/*
 * Finds listeners that would miss a packet that bypasses the stack; see listeners.h. Called by
 * nat_path.c.
 *
 * A base chain of nftables is a listener if it is on the path of forwarded packets (ingress,
 * prerouting, forward, postrouting, egress of a device), is not of type nat, and has rules or
 * policy drop. Chains are read by netlink, and only when the generation of the rules has changed.
 * Packets that a program redirects skip the egress hook on purpose (nf_skip_egress(), Linux 5.16),
 * so that a chain there sees masqueraded packets only through the stack.
 *
 * The kernel lists all other hooks (legacy iptables, BPF programs) by nfnetlink_hook (Linux 5.14,
 * if configured). Hooks of connection tracking, address translation, IPVS, SELinux, AppArmor (which
 * checks the sender of a packet), br_netfilter (which skips packets that it has handled already)
 * and our own defragmentation are no listeners. Where the kernel can't list hooks, /proc has the
 * tables of legacy iptables; where that can't be read, there may be a listener. BPF programs are
 * not found there.
 *
 * XFRM is a listener if it has any policy: the kernel reports the number of policies.
 */
#include "apply/nat/host/listeners.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_hook.h>
#include <linux/xfrm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/netlink/nft_read.h"
#include "apply/netlink/nl.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "base/ours.h"

enum { OUR_PRIORITY = -290 /* defrag.c */ };

struct nat_watch {
    struct nl_socket *netfilter, *xfrm; /* NULL: the kernel has none */
    struct nl_socket *news;             /* notifications of nftables; NULL likewise */
    uint32_t generation;                /* of the rules that were read last; 0: not read yet */
    struct nat_listeners rules;         /* what they said */
    bool no_rules, no_hooks;            /* the kernel lacks it, and has no module for it */
};

void nat_watch_close(struct nat_watch *watch)
{
    if (!watch)
        return;
    nl_close(watch->netfilter);
    nl_close(watch->xfrm);
    nl_close(watch->news);
    free(watch);
}

int nat_watch_open(struct nat_watch **ret_watch)
{
    static const uint32_t groups[] = { NFNLGRP_NFTABLES };
    CLEANUP(nat_watch_closep) struct nat_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return -ENOMEM;
    int r = nl_open_in(NL_HERE, NETLINK_NETFILTER, &watch->netfilter);
    if (r < 0 && r != -EPROTONOSUPPORT)
        return r;
    r = nl_open_in(NL_HERE, NETLINK_XFRM, &watch->xfrm);
    if (r < 0 && r != -EPROTONOSUPPORT)
        return r;
    r = nl_open_listener(NL_HERE, NETLINK_NETFILTER, groups, ARRAY_SIZE(groups), &watch->news);
    if (r < 0 && r != -EPROTONOSUPPORT)
        return r;
    *ret_watch = TAKE_PTR(watch);
    return 0;
}

static void listens(struct nat_listeners *listeners, const char *format, const char *a,
                    const char *b)
{
    if (listeners->any)
        return;
    listeners->any = true;
    (void)snprintf(listeners->who, sizeof(listeners->who), format, a, b);
}

static void begin(struct nl_request *request, unsigned subsystem, unsigned command, uint16_t flags,
                  uint8_t family)
{
    const struct nfgenmsg fixed = { .nfgen_family = family, .version = NFNETLINK_V0 };
    nl_begin(request, (uint16_t)(subsystem << 8 | command), flags, &fixed, sizeof(fixed));
}

/* ---- nftables ---- */

int nat_watch_fd(const struct nat_watch *watch)
{
    return watch->news ? nl_fd(watch->news) : -1;
}

static int on_news(const struct nlmsghdr *row, void *context)
{
    /* In messages of tables, chains, rules, sets and elements alike, the first attribute. */
    const bool ours =
        nft_family(row) == NFPROTO_INET &&
        strcmp(nft_text(nft_attribute(row, NFTA_TABLE_NAME)), OURS_NFTABLES_TABLE) == 0;
    if (NFNL_MSG_TYPE(row->nlmsg_type) != NFT_MSG_NEWGEN && !ours)
        *(bool *)context = true;
    return 0;
}

bool nat_watch_hear(struct nat_watch *watch)
{
    bool others = false;
    int r = watch->news ? nl_receive(watch->news, on_news, &others) : 0;
    return others || r < 0;
}

static bool is_on_the_way(uint8_t family, uint32_t hook)
{
    if (family == NFPROTO_NETDEV)
        return hook == NF_NETDEV_INGRESS || hook == NF_NETDEV_EGRESS;
    return (family == NFPROTO_INET || family == NFPROTO_IPV4 || family == NFPROTO_IPV6) &&
           (hook == NF_INET_PRE_ROUTING || hook == NF_INET_FORWARD ||
            hook == NF_INET_POST_ROUTING || hook == NF_INET_INGRESS);
}

static bool is_early(uint8_t family, uint32_t hook)
{
    return family == NFPROTO_NETDEV ? hook == NF_NETDEV_INGRESS
                                    : family == NFPROTO_INET && hook == NF_INET_INGRESS;
}

static const char *family_name(uint8_t family)
{
    return family == NFPROTO_IPV4     ? "ip"
           : family == NFPROTO_IPV6   ? "ip6"
           : family == NFPROTO_NETDEV ? "netdev"
                                      : "inet";
}

static int on_chain(const struct nlmsghdr *row, void *context)
{
    const struct nlattr *hook = nft_attribute(row, NFTA_CHAIN_HOOK);
    const struct nlattr *policy = nft_attribute(row, NFTA_CHAIN_POLICY);
    const uint8_t family = nft_family(row);
    const uint32_t number = hook ? nft_number(nl_find(hook, NFTA_HOOK_HOOKNUM)) : 0;
    if (!hook || !is_on_the_way(family, number) ||
        strcmp(nft_text(nft_attribute(row, NFTA_CHAIN_TYPE)), "nat") == 0)
        return 0;
    /* Only a base chain's own rules use it: no rule can jump to it. */
    bool drops = policy && nft_number(policy) == NF_DROP;
    if (drops || nft_number(nft_attribute(row, NFTA_CHAIN_USE)) > 0) {
        struct nat_listeners *listeners = context;
        char name[80];
        (void)snprintf(name, sizeof(name), "%.39s %.39s",
                       nft_text(nft_attribute(row, NFTA_CHAIN_TABLE)),
                       nft_text(nft_attribute(row, NFTA_CHAIN_NAME)));
        listens(listeners, "nftables chain %s %s", family_name(family), name);
        if (!*listeners->early && is_early(family, number))
            (void)snprintf(listeners->early, sizeof(listeners->early), "nftables chain %s %s",
                           family_name(family), name);
    }
    return 0;
}

static int on_generation(const struct nlmsghdr *row, void *context)
{
    *(uint32_t *)context = nft_number(nft_attribute(row, NFTA_GEN_ID));
    return 0;
}

/*
 * At each request the kernel tries to load a module, and returns -EINVAL where there is none: so
 * this is requested once.
 */
static void look_at_rules(struct nat_watch *watch, struct nat_listeners *listeners)
{
    struct nl_request request;
    uint32_t generation = 0;
    if (watch->no_rules)
        return;
    begin(&request, NFNL_SUBSYS_NFTABLES, NFT_MSG_GETGEN, 0, AF_UNSPEC);
    int r = nl_get(watch->netfilter, &request, on_generation, &generation);
    if (r == 0 && (generation == 0 || generation != watch->generation)) {
        watch->rules = (struct nat_listeners){ 0 };
        begin(&request, NFNL_SUBSYS_NFTABLES, NFT_MSG_GETCHAIN, NLM_F_DUMP, AF_UNSPEC);
        r = nl_dump(watch->netfilter, &request, on_chain, NULL, &watch->rules);
        watch->generation = r == 0 ? generation : 0;
    }
    watch->no_rules = r == -EINVAL;
    if (r == 0)
        memcpy(listeners->early, watch->rules.early, sizeof(listeners->early));
    if (r == 0 && watch->rules.any)
        listens(listeners, "%s%s", watch->rules.who, "");
    else if (r < 0 && !watch->no_rules)
        listens(listeners, "the chains of nftables cannot be read: %s%s", strerror(-r), "");
}

/* ---- other hooks ---- */

static bool judges_nobody(const char *function, uint32_t hook, int32_t priority)
{
    static const char *const prefixes[] = {
        "ipv4_conntrack", "ipv6_conntrack", "nf_confirm", "ipv4_confirm", "ipv6_confirm",
        "ipv4_helper",    "ipv6_helper",    "nf_nat_",    "iptable_nat",  "ip6table_nat",
        "ipv6_defrag",    "ip_vs_",         "selinux_",   "apparmor_",    "ip_sabotage_in",
    };
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (strncmp(function, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return strcmp(function, "nf_hook_run_bpf") == 0 && hook == NF_INET_PRE_ROUTING &&
           priority == OUR_PRIORITY;
}

static int on_hook(const struct nlmsghdr *row, void *context)
{
    const struct nlattr *chain = nft_attribute(row, NFNLA_HOOK_CHAIN_INFO);
    const char *function = nft_text(nft_attribute(row, NFNLA_HOOK_FUNCTION_NAME));
    if (chain && nft_number(nl_find(chain, NFNLA_HOOK_INFO_TYPE)) == NFNL_HOOK_TYPE_NFTABLES)
        return 0; /* look_at_rules() has better information */
    if (!judges_nobody(function, nft_number(nft_attribute(row, NFNLA_HOOK_HOOKNUM)),
                       (int32_t)nft_number(nft_attribute(row, NFNLA_HOOK_PRIORITY))))
        listens(context, "a netfilter hook: %s%s", *function ? function : "without a name", "");
    return 0;
}

/* Sets `no_hooks` if the kernel does not list them. */
static void look_at_hooks(struct nat_watch *watch, struct nat_listeners *listeners)
{
    static const uint8_t families[] = { NFPROTO_IPV4, NFPROTO_IPV6 };
    static const uint32_t hooks[] = { NF_INET_PRE_ROUTING, NF_INET_FORWARD, NF_INET_POST_ROUTING };
    for (size_t i = 0; !watch->no_hooks && i < ARRAY_SIZE(families) * ARRAY_SIZE(hooks); i++) {
        struct nl_request request;
        begin(&request, NFNL_SUBSYS_HOOK, NFNL_MSG_HOOK_GET, NLM_F_DUMP,
              families[i / ARRAY_SIZE(hooks)]);
        nl_put_u32(&request, NFNLA_HOOK_HOOKNUM, htonl(hooks[i % ARRAY_SIZE(hooks)]));
        watch->no_hooks = nl_dump(watch->netfilter, &request, on_hook, NULL, listeners) < 0;
    }
}

/* Tables of legacy iptables, one name per line. A table that only translates addresses is no
 * listener. */
static void look_at_tables(const char *path, struct nat_listeners *listeners)
{
    AUTOFREE char *names = NULL;
    size_t size;
    int r = file_read(path, 4096, &names, &size);
    if (r == -ENOENT)
        return;
    if (r < 0) {
        listens(listeners, "legacy iptables may: %s: %s", path, strerror(-r));
        return;
    }
    char *rest = names;
    for (char *name; (name = strsep(&rest, "\n"));)
        if (*name && strcmp(name, "nat") != 0)
            listens(listeners, "legacy iptables, table %s (%s)", name, path);
}

/* ---- XFRM ---- */

static int on_policies(const struct nlmsghdr *row, void *context)
{
    struct nat_listeners *listeners = context;
    const size_t fixed = sizeof(uint32_t);
    for (const struct nlattr *at = NULL; (at = nl_next_attribute(row, fixed, at));) {
        struct xfrmu_spdinfo counts;
        if (mnl_attr_get_type(at) != XFRMA_SPD_INFO ||
            mnl_attr_get_payload_len(at) < sizeof(counts))
            continue;
        memcpy(&counts, mnl_attr_get_payload(at), sizeof(counts));
        listeners->xfrm = counts.incnt + counts.outcnt + counts.fwdcnt > 0;
        if (listeners->xfrm)
            listens(listeners, "policies of XFRM%s%s", "", "");
    }
    return 0;
}

static void look_at_policies(const struct nat_watch *watch, struct nat_listeners *listeners)
{
    struct nl_request request;
    const uint32_t flags = 0;
    nl_begin(&request, XFRM_MSG_GETSPDINFO, 0, &flags, sizeof(flags));
    int r = nl_get(watch->xfrm, &request, on_policies, listeners);
    if (r < 0)
        listens(listeners, "the policies of XFRM cannot be read: %s%s", strerror(-r), "");
}

static void look_at_netfilter(struct nat_watch *watch, struct nat_listeners *listeners)
{
    look_at_rules(watch, listeners);
    look_at_hooks(watch, listeners);
    if (watch->no_hooks) {
        look_at_tables("/proc/net/ip_tables_names", listeners);
        look_at_tables("/proc/net/ip6_tables_names", listeners);
    }
    listeners->judged = listeners->any;
    listeners->generation = watch->generation;
}

struct nat_listeners nat_watch_look(struct nat_watch *watch)
{
    struct nat_listeners listeners = { 0 };
    if (watch->netfilter)
        look_at_netfilter(watch, &listeners);
    if (watch->xfrm)
        look_at_policies(watch, &listeners);
    return listeners;
}
