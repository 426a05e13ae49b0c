// SPDX-License-Identifier: Apache-2.0
/*
 * Reads and writes our nftables table; see firewall.h. table.c describes its contents.
 *
 * This uses netlink and not libnftables: changes consist of elements, which are one message here; a
 * command of libnftables is text that is parsed, evaluated against a dump of the whole ruleset, and
 * exits the process if an allocation fails. The rules are few and fixed.
 *
 * The table's comment, which has mode, mark and layout, and the number of rules show whether the
 * rules are the wanted ones. Notifications (NFNLGRP_NFTABLES) report changes by other programs:
 * each has the port id of the sender.
 */
#include "apply/firewall/firewall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/firewall/table.h"
#include "apply/netlink/nft_read.h"
#include "base/ours.h"

struct firewall {
    struct nl_socket *requests, *news;
    bool foreign; /* notified, and not reported yet */
};

void firewall_sets_done(struct firewall_sets *sets)
{
    vec_done(&sets->openings);
    vec_done(&sets->closed);
}

void firewall_close(struct firewall *firewall)
{
    if (!firewall)
        return;
    nl_close(firewall->requests);
    nl_close(firewall->news);
    free(firewall);
}

int firewall_open(struct firewall **ret_firewall)
{
    static const uint32_t groups[] = { NFNLGRP_NFTABLES };
    CLEANUP(firewall_closep) struct firewall *firewall = calloc(1, sizeof(*firewall));
    if (!firewall)
        return -ENOMEM;
    int r = nl_open_in(NL_HERE, NETLINK_NETFILTER, &firewall->requests);
    if (r == 0)
        r = nl_open_listener(NL_HERE, NETLINK_NETFILTER, groups, 1, &firewall->news);
    if (r < 0)
        return r == -EPROTONOSUPPORT ? -EOPNOTSUPP : r;
    *ret_firewall = TAKE_PTR(firewall);
    return 0;
}

int firewall_fd(const struct firewall *firewall)
{
    return nl_fd(firewall->news);
}

/* ---- hearing ---- */

static bool is_ours(const struct nlmsghdr *row)
{
    /* In messages of tables, chains, rules, sets and elements alike, the first attribute. */
    return nft_family(row) == NFPROTO_INET &&
           strcmp(nft_text(nft_attribute(row, NFTA_TABLE_NAME)), OURS_NFTABLES_TABLE) == 0;
}

static int on_news(const struct nlmsghdr *row, void *context)
{
    struct firewall *firewall = context;
    const unsigned message = NFNL_MSG_TYPE(row->nlmsg_type);
    if (message != NFT_MSG_NEWGEN && is_ours(row) &&
        row->nlmsg_pid != nl_port_id(firewall->requests))
        firewall->foreign = true;
    return 0;
}

int firewall_hear(struct firewall *firewall)
{
    int r = nl_receive(firewall->news, on_news, firewall);
    if (r < 0 && r != -ENOBUFS)
        return r;
    const bool foreign = firewall->foreign || r == -ENOBUFS;
    firewall->foreign = false;
    return foreign;
}

/* ---- reading ---- */

struct seen {
    const char *comment; /* wanted */
    bool table, good;
    size_t rules;
    struct firewall_counts counts;
    enum firewall_set set; /* that is read */
    struct firewall_sets *sets;
    struct {
        char *buffer;
        size_t size;
    } drop;
};

static int on_table(const struct nlmsghdr *row, void *context)
{
    struct seen *seen = context;
    if (!is_ours(row))
        return 0;
    seen->table = true;
    seen->good = nft_has_comment(nft_attribute(row, NFTA_TABLE_USERDATA), seen->comment);
    return 0;
}

static int on_rule(const struct nlmsghdr *row, void *context)
{
    struct seen *seen = context;
    if (!is_ours(row))
        return 0;
    struct nft_rule_words words = nft_rule_words(nft_attribute(row, NFTA_RULE_EXPRESSIONS));
    seen->rules++;
    if (words.has_verdict && words.verdict == NF_DROP)
        seen->counts.closed += words.packets;
    else
        seen->counts.opened += words.packets;
    return 0;
}

static int on_element(const struct nlattr *key, void *context)
{
    struct seen *seen = context;
    const uint8_t *bytes = mnl_attr_get_payload(key);
    const size_t size = mnl_attr_get_payload_len(key);
    struct opening opening;
    struct ip ip;
    if (seen->set == SET_OPENED_V4 || seen->set == SET_OPENED_V6)
        return firewall_read_opening(seen->set, bytes, size, &opening)
                   ? vec_push(&seen->sets->openings, opening)
                   : -EPROTO;
    return firewall_read_closed(seen->set, bytes, size, &ip) ? vec_push(&seen->sets->closed, ip)
                                                             : -EPROTO;
}

static int on_elements(const struct nlmsghdr *row, void *context)
{
    return nft_each_key(nft_attribute(row, NFTA_SET_ELEM_LIST_ELEMENTS), on_element, context);
}

static void forget(void *context)
{
    const struct seen *seen = context;
    vec_clear(&seen->sets->openings);
    vec_clear(&seen->sets->closed);
}

static void begin_get(struct nl_request *request, unsigned message, uint8_t family)
{
    const struct nfgenmsg fixed = { .nfgen_family = family, .version = NFNETLINK_V0 };
    nl_begin(request, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message), NLM_F_DUMP, &fixed,
             sizeof(fixed));
}

static int read_set(struct firewall *firewall, struct seen *seen, struct firewall_sets *ret_sets)
{
    AUTOSETS struct firewall_sets one = { 0 };
    struct nl_request request;
    begin_get(&request, NFT_MSG_GETSETELEM, NFPROTO_INET);
    nl_put_string(&request, NFTA_SET_ELEM_LIST_TABLE, OURS_NFTABLES_TABLE);
    nl_put_string(&request, NFTA_SET_ELEM_LIST_SET, firewall_set_names[seen->set]);
    seen->sets = &one;
    int r = nl_dump(firewall->requests, &request, on_elements, forget, seen);
    if (r < 0)
        return r;
    r = vec_append(&ret_sets->openings, &one.openings);
    if (r < 0)
        return r;
    return vec_append(&ret_sets->closed, &one.closed);
}

static int read_rules(struct firewall *firewall, struct seen *seen)
{
    struct nl_request request;
    begin_get(&request, NFT_MSG_GETRULE, NFPROTO_INET);
    nl_put_string(&request, NFTA_RULE_TABLE, OURS_NFTABLES_TABLE);
    seen->rules = 0;
    seen->counts = (struct firewall_counts){ 0 };
    return nl_dump(firewall->requests, &request, on_rule, NULL, seen);
}

/* The set does not exist: another program has removed it, or the mode has none. */
static int read_sets(struct firewall *firewall, struct seen *seen, struct firewall_sets *sets)
{
    for (seen->set = 0; seen->set < FIREWALL_SETS; seen->set++) {
        int r = read_set(firewall, seen, sets);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    vec_sort(&sets->openings, opening_cmp);
    vec_sort(&sets->closed, ip_item_cmp);
    return 0;
}

int firewall_read(struct firewall *firewall, const struct firewall_rules *rules,
                  enum firewall_state *ret_state, struct firewall_sets *ret_sets)
{
    char comment[FIREWALL_COMMENT_LEN];
    AUTOSETS struct firewall_sets sets = { 0 };
    struct seen seen = { .comment = comment };
    struct nl_request request;
    firewall_comment(rules, comment);
    begin_get(&request, NFT_MSG_GETTABLE, NFPROTO_INET);
    int r = nl_dump(firewall->requests, &request, on_table, NULL, &seen);
    if (r < 0)
        return r;
    *ret_state = FIREWALL_ABSENT;
    if (!seen.table)
        return 0;
    r = read_rules(firewall, &seen);
    if (r < 0)
        return r;
    r = read_sets(firewall, &seen, &sets);
    if (r < 0)
        return r;
    const bool good = seen.good && seen.rules == firewall_rule_count(rules);
    *ret_state = good ? FIREWALL_GOOD : FIREWALL_OTHER;
    *ret_sets = TAKE_STRUCT(sets);
    return 0;
}

int firewall_count(struct firewall *firewall, struct firewall_counts *ret_counts)
{
    struct seen seen = { 0 };
    int r = read_rules(firewall, &seen);
    if (r < 0)
        return r;
    *ret_counts = seen.counts;
    return 0;
}

static int on_chain(const struct nlmsghdr *row, void *context)
{
    const struct seen *seen = context;
    const struct nlattr *hook = nft_attribute(row, NFTA_CHAIN_HOOK);
    const struct nlattr *policy = nft_attribute(row, NFTA_CHAIN_POLICY);
    const uint8_t family = nft_family(row);
    if (!hook || !policy || nft_number(policy) != NF_DROP ||
        (family != NFPROTO_INET && family != NFPROTO_IPV4 && family != NFPROTO_IPV6))
        return 0;
    const uint32_t number = nft_number(nl_find(hook, NFTA_HOOK_HOOKNUM));
    if ((number == NF_INET_LOCAL_IN || number == NF_INET_FORWARD) && !*seen->drop.buffer)
        (void)snprintf(seen->drop.buffer, seen->drop.size, "%s %s %s",
                       family == NFPROTO_INET   ? "inet"
                       : family == NFPROTO_IPV4 ? "ip"
                                                : "ip6",
                       nft_text(nft_attribute(row, NFTA_CHAIN_TABLE)),
                       nft_text(nft_attribute(row, NFTA_CHAIN_NAME)));
    return 0;
}

int firewall_find_drop(struct firewall *firewall, char *buffer, size_t size)
{
    struct seen seen = { .drop = { buffer, size } };
    struct nl_request request;
    *buffer = '\0';
    begin_get(&request, NFT_MSG_GETCHAIN, AF_UNSPEC);
    int r = nl_dump(firewall->requests, &request, on_chain, NULL, &seen);
    return r < 0 ? r : *buffer != '\0';
}

/* ---- writing ---- */

#define AUTOBATCH CLEANUP(nft_done)

/* A table must exist to be deleted: so it is created first if it does not. */
int firewall_replace(struct firewall *firewall, const struct firewall_rules *rules,
                     const struct firewall_sets *sets, struct nl_result *result)
{
    AUTOBATCH struct nft_batch batch = { 0 };
    nft_begin(&batch, NFT_MSG_NEWTABLE, NLM_F_CREATE, NFPROTO_INET);
    nft_put_text(&batch, NFTA_TABLE_NAME, OURS_NFTABLES_TABLE);
    firewall_put_deletion(&batch);
    firewall_put_table(&batch, rules);
    firewall_put_elements(&batch, NFT_MSG_NEWSETELEM, sets);
    return nft_commit(firewall->requests, &batch, result);
}

int firewall_change(struct firewall *firewall, const struct firewall_sets *come,
                    const struct firewall_sets *go, struct nl_result *result)
{
    AUTOBATCH struct nft_batch batch = { 0 };
    firewall_put_elements(&batch, NFT_MSG_DELSETELEM, go);
    firewall_put_elements(&batch, NFT_MSG_NEWSETELEM, come);
    return nft_commit(firewall->requests, &batch, result);
}

int firewall_remove(struct firewall *firewall)
{
    AUTOBATCH struct nft_batch batch = { 0 };
    struct nl_result result;
    firewall_put_deletion(&batch);
    int r = nft_commit(firewall->requests, &batch, &result);
    if (r == -ENOENT || r == -EOPNOTSUPP || r == -EINVAL)
        return 0;
    return r < 0 ? r : 1;
}
