// SPDX-License-Identifier: Apache-2.0
/*
 * Others at the same work: proxies that run or have left something, rules and routes in our table,
 * a firewall that drops what this node forwards.
 *
 * nftables' chains are read from the kernel, which also has those of iptables-nft there. Legacy
 * iptables can't be listed without its own library: only that there is a table of it is seen.
 */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>

#include "apply/netlink/nl.h"
#include "base/ours.h"
#include "base/text.h"
#include "doctor/visit.h"

enum { NAME_LEN = 80 };

/* What the chains told. */
struct chains {
    bool proxy;           /* kube-proxy's */
    char drops[NAME_LEN]; /* a base chain of forwarding that drops by its policy; "" none */
};

static const char *string_of(const struct nlattr *attribute)
{
    return attribute && mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0
               ? mnl_attr_get_str(attribute)
               : "";
}

static uint32_t number_of(const struct nlattr *attribute)
{
    return attribute && mnl_attr_validate(attribute, MNL_TYPE_U32) == 0
               ? ntohl(mnl_attr_get_u32(attribute))
               : 0;
}

static int on_chain(const struct nlmsghdr *row, void *context)
{
    struct chains *chains = context;
    const struct nlattr *attributes[NFTA_CHAIN_MAX + 1] = { 0 };

    for (const struct nlattr *at = NULL;
         (at = nl_next_attribute(row, sizeof(struct nfgenmsg), at));)
        if (mnl_attr_get_type(at) <= NFTA_CHAIN_MAX)
            attributes[mnl_attr_get_type(at)] = at;
    const char *table = string_of(attributes[NFTA_CHAIN_TABLE]);
    const char *name = string_of(attributes[NFTA_CHAIN_NAME]);
    const struct nlattr *hook = attributes[NFTA_CHAIN_HOOK];
    if (strcmp(table, "kube-proxy") == 0 || strncmp(name, "KUBE-SERVICES", 13) == 0)
        chains->proxy = true;
    if (hook && attributes[NFTA_CHAIN_POLICY] && chains->drops[0] == '\0' &&
        number_of(nl_find(hook, NFTA_HOOK_HOOKNUM)) == NF_INET_FORWARD &&
        number_of(attributes[NFTA_CHAIN_POLICY]) == NF_DROP)
        (void)snprintf(chains->drops, sizeof(chains->drops), "%.39s %.39s", table, name);
    return 0;
}

/* Returns 0, -EINVAL where the kernel has no nftables, or -errno. */
static int read_chains(struct chains *chains)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    const struct nfgenmsg fixed = { .version = NFNETLINK_V0 };
    struct nl_request request;

    int r = nl_open_in(NL_HERE, NETLINK_NETFILTER, &socket);
    if (r < 0)
        return r;
    nl_begin(&request, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN, NLM_F_DUMP, &fixed,
             sizeof(fixed));
    return nl_dump(socket, &request, on_chain, NULL, chains);
}

static void check_proxy(struct visit *visit)
{
    static const char *const names[] = { "kube-ipvs0", "cilium_host" };
    struct chains chains = { 0 };

    if (!visit->config || !visit->config->services.enabled) {
        visit_skip(visit, "services is not enabled: another proxy is wanted");
        return;
    }
    (void)read_chains(&chains);
    if (chains.proxy)
        visit_fail(visit, "keep kube-proxy off this node, then: kube-proxy --cleanup",
                   "rules of kube-proxy stand in the kernel");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (link_named(kernel_links(visit->kernel), names[i]))
            visit_fail(visit, "take the other proxy off this node; then: ip link del NAME",
                       "%s is there, of another proxy", names[i]);
}

static void check_firewall(struct visit *visit)
{
    struct chains chains = { 0 };

    if (read_chains(&chains) == 0 && chains.drops[0])
        visit_warn(visit, "let it accept what goes to and comes from pods, or see services.path",
                   "nftables chain %s drops what this node forwards, unless a rule accepts it",
                   chains.drops);
}

static void check_rules(struct visit *visit)
{
    char text[ROUTE_STRLEN];
    const uint32_t table = visit->config ? visit->config->routes.table : 0;

    sorted_each(const struct rule, rule, kernel_rules(visit->kernel))
        if (rule->table == table && !rule_is_ours(rule))
            visit_fail(visit, "ip rule del pref N; or choose another routes.table",
                       "a rule routes by table %u, whose blackholes drop traffic: %s", table,
                       rule_str(rule, text));
}

static void check_table(struct visit *visit)
{
    char text[ROUTE_STRLEN];
    const uint32_t table = visit->config ? visit->config->routes.table : 0;

    sorted_each(const struct route, route, kernel_routes(visit->kernel)) {
        if (route->table != table || route_is_ours(route, table))
            continue;
        visit_warn(visit,
                   "find out who writes it (coild uses table 119); or choose another routes.table",
                   "table %u has a route of another: %s", table, route_str(route, text));
        return;
    }
}

/* A route of ours in the export table with this prefix. */
static bool is_exported(const struct sorted *routes, uint32_t table, const struct prefix *prefix)
{
    const struct route key = { .table = table, .prefix = *prefix };
    for (size_t i = sorted_lower_bound(routes, &key); i < routes->count; i++) {
        const struct route *route = sorted_at(routes, i);
        if (route->table != table || prefix_cmp(&route->prefix, prefix) != 0)
            return false;
        if (route_is_ours(route, table))
            return true;
    }
    return false;
}

/* With NAT on, the node's own packets go to svc0 before they come to a copy in main. */
static void check_copies(struct visit *visit)
{
    char text[ROUTE_STRLEN];
    const struct sorted *routes = kernel_routes(visit->kernel);
    const uint32_t table = visit->config ? visit->config->routes.table : 0;

    sorted_each(const struct route, route, routes) {
        if (route->table != ROUTE_TABLE_MAIN || route->type != RTN_BLACKHOLE ||
            !is_exported(routes, table, &route->prefix))
            continue;
        visit_fail(
            visit,
            "look for a `protocol pipe`, or a second kernel protocol, of BIRD's that takes the "
            "routes of fingerpost4 and fingerpost6 to main, and take it out",
            "main has a copy of a route of table %u, which drops this node's own packets: %s",
            table, route_str(route, text));
        return;
    }
}

const struct check rival_checks[] = {
    { "rival.proxy", "other proxies", "none where services is enabled", check_proxy },
    { "rival.firewall", "firewall", "what is forwarded may pass", check_firewall },
    { "rival.rules", "routing rules", "none that looks up our table", check_rules },
    { "rival.table", "routing table", "no routes but ours", check_table },
    { "rival.copies", "table main", "no copies of our blackholes", check_copies },
    { NULL },
};
