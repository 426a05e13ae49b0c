// SPDX-License-Identifier: Apache-2.0
/*
 * What our table of nftables is made of; see table.h. In nft's language:
 *
 *     table inet fingerpost {
 *         set opened-ipv4 { type ipv4_addr . inet_proto . inet_service; }
 *         set opened-ipv6 { type ipv6_addr . inet_proto . inet_service; }
 *
 *     mode mark:
 *         chain mark-what-services-opened {
 *             type filter hook prerouting priority mangle; policy accept;
 *             ip daddr . meta l4proto . th dport @opened-ipv4 counter
 *                 meta mark set meta mark | MARK
 *             ip6 ... the same
 *         }
 *
 *     mode accept:
 *         set closed-ipv4 { type ipv4_addr; }    and closed-ipv6
 *         chain input-of-service-addresses {
 *             type filter hook input priority filter; policy accept;
 *             iif "lo" accept
 *             ct state established,related accept
 *             meta l4proto icmp accept           and ipv6-icmp
 *             ip daddr . meta l4proto . th dport @opened-ipv4 counter accept
 *             ip daddr @closed-ipv4 counter drop and the same of IPv6
 *         }
 *
 * The mark is set before addresses are translated (priority dstnat), like kube-proxy's mark: later
 * chains, input and forward, see it whatever the translation of the destination.
 *
 * An element's key is the concatenation of the parts of its type, each padded to four bytes. The
 * kernel stores the number of a set's type for nft to print: six bits for each part.
 */
#include "apply/firewall/table.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "apply/netlink/nft_expr.h"
#include "base/macro.h"
#include "base/ours.h"

enum {
    LAYOUT = 1, /* of rules and sets: incremented with each change of them */
    TABLE_COMMENT = 0,
    SET_COMMENT = 7,
    TYPE_V4 = 7, /* nft's numbers of types */
    TYPE_V6 = 8,
    TYPE_PROTOCOL = 12,
    TYPE_SERVICE = 13,
    PRIORITY_MANGLE = -150,
    PRIORITY_FILTER = 0,
    MESSAGE_MAX = 48 * 1024, /* of elements; an attribute holds 64 KiB */
    KEY_MAX = 24,
    LO_IFINDEX = 1,
};

const char *const firewall_set_names[FIREWALL_SETS] = {
    [SET_OPENED_V4] = "opened-ipv4",
    [SET_OPENED_V6] = "opened-ipv6",
    [SET_CLOSED_V4] = "closed-ipv4",
    [SET_CLOSED_V6] = "closed-ipv6",
};

void firewall_comment(const struct firewall_rules *rules, char buffer[static FIREWALL_COMMENT_LEN])
{
    (void)snprintf(buffer, FIREWALL_COMMENT_LEN,
                   "what Services have opened on this node, kept by agentd: %s 0x%" PRIx32
                   ", layout %d",
                   rules->mark ? "mark" : "accept", rules->mark, LAYOUT);
}

size_t firewall_rule_count(const struct firewall_rules *rules)
{
    return rules->mark ? 2 : 8;
}

/* ---- sets ---- */

static bool is_six(enum firewall_set set)
{
    return set == SET_OPENED_V6 || set == SET_CLOSED_V6;
}

static bool is_closed(enum firewall_set set)
{
    return set == SET_CLOSED_V4 || set == SET_CLOSED_V6;
}

static size_t address_size(enum firewall_set set)
{
    return is_six(set) ? 16 : 4;
}

static size_t key_size(enum firewall_set set)
{
    return address_size(set) + (is_closed(set) ? 0 : 8);
}

static void put_concat(struct nft_batch *batch, enum firewall_set set)
{
    const uint32_t parts[] = { (uint32_t)address_size(set), 1, 2 };
    size_t desc = nft_begin_nest(batch, NFTA_SET_DESC);
    size_t concat = nft_begin_nest(batch, NFTA_SET_DESC_CONCAT);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        size_t part = nft_begin_nest(batch, NFTA_LIST_ELEM);
        nft_put_u32(batch, NFTA_SET_FIELD_LEN, parts[i]);
        nft_end_nest(batch, part);
    }
    nft_end_nest(batch, concat);
    nft_end_nest(batch, desc);
}

static void put_set(struct nft_batch *batch, enum firewall_set set)
{
    uint32_t type = is_six(set) ? TYPE_V6 : TYPE_V4;
    if (!is_closed(set))
        type = type << 12 | TYPE_PROTOCOL << 6 | TYPE_SERVICE;
    nft_begin(batch, NFT_MSG_NEWSET, NLM_F_CREATE | NLM_F_EXCL, NFPROTO_INET);
    nft_put_text(batch, NFTA_SET_TABLE, OURS_NFTABLES_TABLE);
    nft_put_text(batch, NFTA_SET_NAME, firewall_set_names[set]);
    nft_put_u32(batch, NFTA_SET_ID, 1 + (uint32_t)set);
    nft_put_u32(batch, NFTA_SET_FLAGS, is_closed(set) ? 0 : NFT_SET_CONCAT);
    nft_put_u32(batch, NFTA_SET_KEY_TYPE, type);
    nft_put_u32(batch, NFTA_SET_KEY_LEN, (uint32_t)key_size(set));
    if (!is_closed(set))
        put_concat(batch, set);
    nft_put_comment(batch, NFTA_SET_USERDATA, SET_COMMENT,
                    is_closed(set) ? "addresses of Services: their other ports are closed"
                                   : "address, protocol and port that a Service has");
}

static bool has_set(const struct firewall_rules *rules, enum firewall_set set)
{
    return !is_closed(set) || !rules->mark;
}

/* ---- elements ---- */

static size_t opening_key(const struct opening *opening, uint8_t key[static KEY_MAX])
{
    const size_t size = ip_size(&opening->ip);
    const uint16_t port = htons(opening->port);
    memset(key, 0, KEY_MAX);
    memcpy(key, opening->ip.bytes, size);
    key[size] = opening->protocol;
    memcpy(key + size + 4, &port, sizeof(port));
    return size + 8;
}

bool firewall_read_closed(enum firewall_set set, const uint8_t *key, size_t size, struct ip *ret_ip)
{
    if (size != key_size(set))
        return false;
    *ret_ip = (struct ip){ .family = is_six(set) ? IP_V6 : IP_V4 };
    memcpy(ret_ip->bytes, key, address_size(set));
    return true;
}

bool firewall_read_opening(enum firewall_set set, const uint8_t *key, size_t size,
                           struct opening *ret_opening)
{
    uint16_t port;
    struct opening opening = { 0 };
    if (!firewall_read_closed(set, key, size, &opening.ip))
        return false;
    opening.protocol = key[address_size(set)];
    memcpy(&port, key + address_size(set) + 4, sizeof(port));
    opening.port = ntohs(port);
    *ret_opening = opening;
    return true;
}

static void put_key(struct nft_batch *batch, const uint8_t *key, size_t size)
{
    size_t element = nft_begin_nest(batch, NFTA_LIST_ELEM);
    size_t nest = nft_begin_nest(batch, NFTA_SET_ELEM_KEY);
    nft_put_bytes(batch, NFTA_DATA_VALUE, key, size);
    nft_end_nest(batch, nest);
    nft_end_nest(batch, element);
}

/* Elements of one set, in as many messages as they need. */
struct filling {
    struct nft_batch *batch;
    unsigned message;
    enum firewall_set set;
    size_t nest;
    bool begun;
};

static void begin_elements(struct filling *filling)
{
    struct nft_batch *batch = filling->batch;
    const unsigned flags = filling->message == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0;
    nft_begin(batch, filling->message, flags, NFPROTO_INET);
    nft_put_text(batch, NFTA_SET_ELEM_LIST_TABLE, OURS_NFTABLES_TABLE);
    nft_put_text(batch, NFTA_SET_ELEM_LIST_SET, firewall_set_names[filling->set]);
    filling->nest = nft_begin_nest(batch, NFTA_SET_ELEM_LIST_ELEMENTS);
    filling->begun = true;
}

static void end_elements(struct filling *filling)
{
    if (filling->begun)
        nft_end_nest(filling->batch, filling->nest);
    filling->begun = false;
}

static void add_element(struct filling *filling, const uint8_t *key, size_t size)
{
    if (filling->begun && nft_length(filling->batch) > MESSAGE_MAX)
        end_elements(filling);
    if (!filling->begun)
        begin_elements(filling);
    put_key(filling->batch, key, size);
}

static void put_openings(struct filling filling, const opening_list *openings)
{
    vec_each(const struct opening, opening, openings) {
        uint8_t key[KEY_MAX];
        if ((opening->ip.family == IP_V6) == is_six(filling.set))
            add_element(&filling, key, opening_key(opening, key));
    }
    end_elements(&filling);
}

static void put_closed(struct filling filling, const ip_list *closed)
{
    vec_each(const struct ip, ip, closed) {
        if ((ip->family == IP_V6) == is_six(filling.set))
            add_element(&filling, ip->bytes, ip_size(ip));
    }
    end_elements(&filling);
}

void firewall_put_elements(struct nft_batch *batch, unsigned message,
                           const struct firewall_sets *sets)
{
    for (enum firewall_set set = 0; set < FIREWALL_SETS; set++) {
        const struct filling filling = { .batch = batch, .message = message, .set = set };
        if (is_closed(set))
            put_closed(filling, &sets->closed);
        else
            put_openings(filling, &sets->openings);
    }
}

/* ---- rules ---- */

static void is_family(struct nft_batch *batch, bool six)
{
    const uint8_t family = six ? NFPROTO_IPV6 : NFPROTO_IPV4;
    nft_load_meta(batch, NFT_META_NFPROTO, NFT_REG32_00);
    nft_compare(batch, NFT_REG32_00, NFT_CMP_EQ, &family, sizeof(family));
}

static void load_destination(struct nft_batch *batch, bool six)
{
    if (six)
        nft_load_payload(batch, NFT_PAYLOAD_NETWORK_HEADER, 24, 16, NFT_REG32_00);
    else
        nft_load_payload(batch, NFT_PAYLOAD_NETWORK_HEADER, 16, 4, NFT_REG32_00);
}

static void is_opened(struct nft_batch *batch, bool six)
{
    const uint32_t behind = NFT_REG32_00 + (six ? 4 : 1);
    is_family(batch, six);
    load_destination(batch, six);
    nft_load_meta(batch, NFT_META_L4PROTO, behind);
    nft_load_payload(batch, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, behind + 1);
    nft_look_up(batch, NFT_REG32_00, firewall_set_names[six ? SET_OPENED_V6 : SET_OPENED_V4]);
    nft_count(batch);
}

static size_t begin_rule(struct nft_batch *batch, const char *chain)
{
    return nft_begin_rule(batch, NFPROTO_INET, OURS_NFTABLES_TABLE, chain);
}

static void put_mark_rule(struct nft_batch *batch, bool six, uint32_t mark)
{
    size_t rule = begin_rule(batch, FIREWALL_CHAIN_MARK);
    is_opened(batch, six);
    nft_load_meta(batch, NFT_META_MARK, NFT_REG32_00);
    nft_bitwise(batch, NFT_REG32_00, ~mark, mark);
    nft_set_mark(batch, NFT_REG32_00);
    nft_end_rule(batch, rule, "a port that a Service has opened");
}

static void put_accept_rule(struct nft_batch *batch, bool six)
{
    size_t rule = begin_rule(batch, FIREWALL_CHAIN_INPUT);
    is_opened(batch, six);
    nft_verdict(batch, NF_ACCEPT);
    nft_end_rule(batch, rule, "a port that a Service has opened");
}

static void put_drop_rule(struct nft_batch *batch, bool six)
{
    size_t rule = begin_rule(batch, FIREWALL_CHAIN_INPUT);
    is_family(batch, six);
    load_destination(batch, six);
    nft_look_up(batch, NFT_REG32_00, firewall_set_names[six ? SET_CLOSED_V6 : SET_CLOSED_V4]);
    nft_count(batch);
    nft_verdict(batch, NF_DROP);
    nft_end_rule(batch, rule, "all else on a Service's own address");
}

static void put_local_rule(struct nft_batch *batch)
{
    const uint32_t lo = LO_IFINDEX;
    size_t rule = begin_rule(batch, FIREWALL_CHAIN_INPUT);
    nft_load_meta(batch, NFT_META_IIF, NFT_REG32_00);
    nft_compare(batch, NFT_REG32_00, NFT_CMP_EQ, &lo, sizeof(lo));
    nft_verdict(batch, NF_ACCEPT);
    nft_end_rule(batch, rule, "this node itself");
}

static void put_answers_rule(struct nft_batch *batch)
{
    const uint32_t states = NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED),
                   none = 0;
    size_t rule = begin_rule(batch, FIREWALL_CHAIN_INPUT);
    nft_load_ct(batch, NFT_CT_STATE, NFT_REG32_00);
    nft_bitwise(batch, NFT_REG32_00, states, 0);
    nft_compare(batch, NFT_REG32_00, NFT_CMP_NEQ, &none, sizeof(none));
    nft_verdict(batch, NF_ACCEPT);
    nft_end_rule(batch, rule, "answers to what this node asked, from such an address");
}

static void put_icmp_rule(struct nft_batch *batch, uint8_t protocol)
{
    size_t rule = begin_rule(batch, FIREWALL_CHAIN_INPUT);
    nft_load_meta(batch, NFT_META_L4PROTO, NFT_REG32_00);
    nft_compare(batch, NFT_REG32_00, NFT_CMP_EQ, &protocol, sizeof(protocol));
    nft_verdict(batch, NF_ACCEPT);
    nft_end_rule(batch, rule, "pings, errors and neighbours");
}

static void put_chain(struct nft_batch *batch, const char *name, uint32_t hook, int32_t priority)
{
    nft_begin(batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL, NFPROTO_INET);
    nft_put_text(batch, NFTA_CHAIN_TABLE, OURS_NFTABLES_TABLE);
    nft_put_text(batch, NFTA_CHAIN_NAME, name);
    size_t nest = nft_begin_nest(batch, NFTA_CHAIN_HOOK);
    nft_put_u32(batch, NFTA_HOOK_HOOKNUM, hook);
    nft_put_u32(batch, NFTA_HOOK_PRIORITY, (uint32_t)priority);
    nft_end_nest(batch, nest);
    nft_put_u32(batch, NFTA_CHAIN_POLICY, NF_ACCEPT);
    nft_put_text(batch, NFTA_CHAIN_TYPE, "filter");
}

static void put_mark_chain(struct nft_batch *batch, uint32_t mark)
{
    put_chain(batch, FIREWALL_CHAIN_MARK, NF_INET_PRE_ROUTING, PRIORITY_MANGLE);
    put_mark_rule(batch, false, mark);
    put_mark_rule(batch, true, mark);
}

static void put_input_chain(struct nft_batch *batch)
{
    put_chain(batch, FIREWALL_CHAIN_INPUT, NF_INET_LOCAL_IN, PRIORITY_FILTER);
    put_local_rule(batch);
    put_answers_rule(batch);
    put_icmp_rule(batch, IPPROTO_ICMP);
    put_icmp_rule(batch, IPPROTO_ICMPV6);
    put_accept_rule(batch, false);
    put_accept_rule(batch, true);
    put_drop_rule(batch, false);
    put_drop_rule(batch, true);
}

void firewall_put_table(struct nft_batch *batch, const struct firewall_rules *rules)
{
    char comment[FIREWALL_COMMENT_LEN];
    firewall_comment(rules, comment);
    nft_begin(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL, NFPROTO_INET);
    nft_put_text(batch, NFTA_TABLE_NAME, OURS_NFTABLES_TABLE);
    nft_put_comment(batch, NFTA_TABLE_USERDATA, TABLE_COMMENT, comment);
    for (enum firewall_set set = 0; set < FIREWALL_SETS; set++) {
        if (has_set(rules, set))
            put_set(batch, set);
    }
    if (rules->mark)
        put_mark_chain(batch, rules->mark);
    else
        put_input_chain(batch);
}

void firewall_put_deletion(struct nft_batch *batch)
{
    nft_begin(batch, NFT_MSG_DELTABLE, 0, NFPROTO_INET);
    nft_put_text(batch, NFTA_TABLE_NAME, OURS_NFTABLES_TABLE);
}
