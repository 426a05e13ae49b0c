// SPDX-License-Identifier: Apache-2.0
/*
 * See inlet_rule.h. A rule is a list of expressions: some load a register, some compare it and may
 * end the rule, some set the verdict. A register is known or not; a comparison with an unknown one
 * is "maybe". Expressions that are not in the table below make all registers unknown.
 *
 * iptables-nft writes some of its matches as xtables matches, whose structs the kernel returns
 * unchanged.
 */
#include "apply/firewall/inlet_rule.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/xt_conntrack.h>
#include <linux/netfilter/xt_multiport.h>
#include <linux/netfilter/xt_state.h>
#include <linux/netfilter/xt_tcpudp.h>
#include <netinet/in.h>
#include <string.h>

#include "apply/netlink/message.h"
#include "apply/netlink/nft_read.h"
#include "base/macro.h"

enum {
    REGISTERS = 20, /* of four bytes; the first four are the verdict */
    VALUE_MAX = 16,
    LOOPBACK = 1,       /* its ifindex, in every network namespace */
    STATE_NEW = 1 << 3, /* as ct state has it */
};

struct value {
    enum { VALUE_UNKNOWN, VALUE_KNOWN, VALUE_INTERFACE, VALUE_MARK } kind;
    size_t size;
    uint8_t bytes[VALUE_MAX];
};

/* One asking. */
struct asking {
    const struct inlet_rule_asker *asker;
    struct value registers[REGISTERS];
    struct inlet_step step;
};

/* As the kernel numbers them: 1 to 4 are of 16 bytes, from 8 on of four. */
static struct value *register_of(struct asking *asking, const struct nlattr *attribute)
{
    static struct value nowhere;
    const uint32_t number = nft_number(attribute);
    const uint32_t index = number <= NFT_REG_4 ? number * 4 : number - NFT_REG32_00 + 4;
    nowhere = (struct value){ 0 };
    return index < REGISTERS ? &asking->registers[index] : &nowhere;
}

static void load(struct value *value, const void *bytes, size_t size)
{
    *value = (struct value){ .kind = VALUE_KNOWN, .size = size };
    memcpy(value->bytes, bytes, size);
}

static enum inlet_answer answer(bool yes)
{
    return yes ? INLET_YES : INLET_NO;
}

static void require(struct asking *asking, enum inlet_answer given)
{
    asking->step.matches = MIN(asking->step.matches, given);
}

/* ---- Expressions that load a register ---- */

static void do_meta(struct asking *asking, const struct nlattr *data)
{
    if (!nl_find(data, NFTA_META_DREG))
        return; /* it sets something */
    struct value *value = register_of(asking, nl_find(data, NFTA_META_DREG));
    *value = (struct value){ 0 };
    switch (nft_number(nl_find(data, NFTA_META_KEY))) {
    case NFT_META_L4PROTO:
        load(value, &asking->asker->packet->protocol, 1);
        break;
    case NFT_META_IIF:
    case NFT_META_IIFNAME:
        value->kind = VALUE_INTERFACE;
        break;
    case NFT_META_MARK:
        value->kind = VALUE_MARK;
        break;
    }
}

/* The offset of the protocol in the headers of IPv4 and IPv6, and of the port in those of TCP
 * and UDP. */
static void do_payload(struct asking *asking, const struct nlattr *data)
{
    const struct inlet_packet *packet = asking->asker->packet;
    struct value *value = register_of(asking, nl_find(data, NFTA_PAYLOAD_DREG));
    const uint32_t base = nft_number(nl_find(data, NFTA_PAYLOAD_BASE));
    const uint32_t offset = nft_number(nl_find(data, NFTA_PAYLOAD_OFFSET));
    const uint32_t size = nft_number(nl_find(data, NFTA_PAYLOAD_LEN));
    const uint16_t port = htons(packet->port);
    *value = (struct value){ 0 };
    if (base == NFT_PAYLOAD_TRANSPORT_HEADER && offset == 2 && size == sizeof(port))
        load(value, &port, sizeof(port));
    else if (base == NFT_PAYLOAD_NETWORK_HEADER && (offset == 9 || offset == 6) && size == 1)
        load(value, &packet->protocol, 1);
}

static void do_ct(struct asking *asking, const struct nlattr *data)
{
    static const uint32_t state = STATE_NEW;
    if (!nl_find(data, NFTA_CT_DREG))
        return;
    struct value *value = register_of(asking, nl_find(data, NFTA_CT_DREG));
    *value = (struct value){ 0 };
    if (nft_number(nl_find(data, NFTA_CT_KEY)) == NFT_CT_STATE)
        load(value, &state, sizeof(state));
}

/* The bytes of a value in a rule; their number, 0 if there are none or too many. */
static size_t bytes_of(const struct nlattr *data, const uint8_t **ret_bytes)
{
    const struct nlattr *value = data ? nl_find(data, NFTA_DATA_VALUE) : NULL;
    if (!value || mnl_attr_get_payload_len(value) > VALUE_MAX)
        return 0;
    *ret_bytes = mnl_attr_get_payload(value);
    return mnl_attr_get_payload_len(value);
}

static void do_bitwise(struct asking *asking, const struct nlattr *data)
{
    const uint8_t *mask, *flip;
    uint32_t bits = 0;
    const struct value from = *register_of(asking, nl_find(data, NFTA_BITWISE_SREG));
    struct value *to = register_of(asking, nl_find(data, NFTA_BITWISE_DREG));
    const size_t size = bytes_of(nl_find(data, NFTA_BITWISE_MASK), &mask);
    *to = (struct value){ 0 };
    if (size == 0 || bytes_of(nl_find(data, NFTA_BITWISE_XOR), &flip) != size)
        return;
    if (size == sizeof(bits))
        memcpy(&bits, mask, sizeof(bits));
    if (from.kind == VALUE_MARK && bits && (bits & ~asking->asker->packet->unmarked) == 0)
        load(to, flip, size);
    if (from.kind != VALUE_KNOWN || from.size != size)
        return;
    *to = from;
    for (size_t i = 0; i < size; i++)
        to->bytes[i] = (from.bytes[i] & mask[i]) ^ flip[i];
}

/* ---- Expressions that end the rule ---- */

static bool holds(uint32_t op, int order)
{
    switch (op) {
    case NFT_CMP_EQ:
        return order == 0;
    case NFT_CMP_NEQ:
        return order != 0;
    case NFT_CMP_LT:
        return order < 0;
    case NFT_CMP_LTE:
        return order <= 0;
    case NFT_CMP_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* "lo" by name, or by number: the packet comes from outside. */
static bool is_loopback(const uint8_t *bytes, size_t size)
{
    uint32_t number = 0;
    if (size == sizeof(number))
        memcpy(&number, bytes, sizeof(number));
    return number == LOOPBACK || (size >= 3 && memcmp(bytes, "lo", 3) == 0);
}

static void do_cmp(struct asking *asking, const struct nlattr *data)
{
    const uint8_t *bytes = NULL;
    const struct value *value = register_of(asking, nl_find(data, NFTA_CMP_SREG));
    const uint32_t op = nft_number(nl_find(data, NFTA_CMP_OP));
    const size_t size = bytes_of(nl_find(data, NFTA_CMP_DATA), &bytes);
    if (value->kind == VALUE_INTERFACE && size && is_loopback(bytes, size))
        require(asking, answer(op == NFT_CMP_NEQ));
    else if (value->kind == VALUE_KNOWN && size && size <= value->size)
        require(asking, answer(holds(op, memcmp(value->bytes, bytes, size))));
    else
        require(asking, INLET_MAYBE);
}

static void do_range(struct asking *asking, const struct nlattr *data)
{
    const uint8_t *from = NULL, *to = NULL;
    const struct value *value = register_of(asking, nl_find(data, NFTA_RANGE_SREG));
    const bool inside = nft_number(nl_find(data, NFTA_RANGE_OP)) == NFT_RANGE_EQ;
    const size_t size = bytes_of(nl_find(data, NFTA_RANGE_FROM_DATA), &from);
    if (value->kind != VALUE_KNOWN || size != value->size ||
        bytes_of(nl_find(data, NFTA_RANGE_TO_DATA), &to) != size)
        require(asking, INLET_MAYBE);
    else
        require(asking, answer((memcmp(value->bytes, from, size) >= 0 &&
                                memcmp(value->bytes, to, size) <= 0) == inside));
}

static void do_lookup(struct asking *asking, const struct nlattr *data)
{
    const struct inlet_rule_asker *asker = asking->asker;
    const struct value *value = register_of(asking, nl_find(data, NFTA_LOOKUP_SREG));
    const bool inverted = nft_number(nl_find(data, NFTA_LOOKUP_FLAGS)) & NFT_LOOKUP_F_INV;
    struct inlet_element element = { INLET_MAYBE, false, NF_ACCEPT };
    if (value->kind == VALUE_KNOWN)
        element = asker->look_up(asker->context, nft_text(nl_find(data, NFTA_LOOKUP_SET)),
                                 value->bytes, value->size);
    require(asking, inverted ? (enum inlet_answer)(INLET_YES - element.is_in) : element.is_in);
    if (nl_find(data, NFTA_LOOKUP_DREG)) {
        asking->step.has_verdict = true;
        asking->step.verdict = element.has_verdict ? element.verdict : NF_ACCEPT;
    }
}

/* ---- Matches of xtables ---- */

static bool is_between(uint16_t port, const uint16_t range[2], bool inverted)
{
    return (port >= range[0] && port <= range[1]) != inverted;
}

static enum inlet_answer ask_tcp(const struct inlet_packet *packet, const void *info)
{
    const struct xt_tcp *tcp = info;
    if (!is_between(packet->port, tcp->dpts, tcp->invflags & XT_TCP_INV_DSTPT))
        return INLET_NO;
    return tcp->spts[0] == 0 && tcp->spts[1] == UINT16_MAX && !tcp->option && !tcp->flg_mask
               ? INLET_YES
               : INLET_MAYBE;
}

static enum inlet_answer ask_udp(const struct inlet_packet *packet, const void *info)
{
    const struct xt_udp *udp = info;
    if (!is_between(packet->port, udp->dpts, udp->invflags & XT_UDP_INV_DSTPT))
        return INLET_NO;
    return udp->spts[0] == 0 && udp->spts[1] == UINT16_MAX ? INLET_YES : INLET_MAYBE;
}

static enum inlet_answer ask_multiport(const struct inlet_packet *packet, const void *info)
{
    const struct xt_multiport_v1 *ports = info;
    bool found = false;
    if (ports->flags == XT_MULTIPORT_SOURCE)
        return INLET_MAYBE;
    for (size_t i = 0; i < ports->count && i < XT_MULTI_PORTS; i++) {
        const bool range = ports->pflags[i] && i + 1 < XT_MULTI_PORTS;
        const uint16_t ends[2] = { ports->ports[i], ports->ports[i + range] };
        found |= is_between(packet->port, ends, false);
        i += range;
    }
    return answer(found != (bool)ports->invert);
}

static enum inlet_answer ask_conntrack(const struct inlet_packet *packet, const void *info)
{
    const struct xt_conntrack_mtinfo3 *wanted = info;
    const bool inverted = wanted->invert_flags & XT_CONNTRACK_STATE;
    (void)packet;
    if ((wanted->match_flags & XT_CONNTRACK_STATE) &&
        !!(wanted->state_mask & STATE_NEW) == inverted)
        return INLET_NO;
    return wanted->match_flags & ~XT_CONNTRACK_STATE ? INLET_MAYBE : INLET_YES;
}

static enum inlet_answer ask_state(const struct inlet_packet *packet, const void *info)
{
    (void)packet;
    return answer(((const struct xt_state_info *)info)->statemask & STATE_NEW);
}

static enum inlet_answer ask_comment(const struct inlet_packet *packet, const void *info)
{
    (void)packet;
    (void)info;
    return INLET_YES;
}

static void do_match(struct asking *asking, const struct nlattr *data)
{
    static const struct {
        const char *name;
        uint32_t revision;
        size_t size;
        enum inlet_answer (*ask)(const struct inlet_packet *packet, const void *info);
    } matches[] = {
        { "tcp", 0, sizeof(struct xt_tcp), ask_tcp },
        { "udp", 0, sizeof(struct xt_udp), ask_udp },
        { "multiport", 1, sizeof(struct xt_multiport_v1), ask_multiport },
        { "conntrack", 3, sizeof(struct xt_conntrack_mtinfo3), ask_conntrack },
        { "state", 0, sizeof(struct xt_state_info), ask_state },
        { "comment", 0, 1, ask_comment },
    };
    const char *name = nft_text(nl_find(data, NFTA_MATCH_NAME));
    const uint32_t revision = nft_number(nl_find(data, NFTA_MATCH_REV));
    const struct nlattr *info = nl_find(data, NFTA_MATCH_INFO);
    for (size_t i = 0; info && i < ARRAY_SIZE(matches); i++) {
        if (strcmp(name, matches[i].name) == 0 && revision == matches[i].revision &&
            mnl_attr_get_payload_len(info) >= matches[i].size) {
            require(asking, matches[i].ask(asking->asker->packet, mnl_attr_get_payload(info)));
            return;
        }
    }
    require(asking, INLET_MAYBE);
}

/* ---- Verdicts ---- */

static void decide(struct asking *asking, int32_t verdict)
{
    asking->step.has_verdict = true;
    asking->step.verdict = verdict;
}

static void do_immediate(struct asking *asking, const struct nlattr *data)
{
    const struct nlattr *value = nl_find(data, NFTA_IMMEDIATE_DATA);
    const struct nlattr *verdict = value ? nl_find(value, NFTA_DATA_VERDICT) : NULL;
    if (!verdict)
        return;
    decide(asking, (int32_t)nft_number(nl_find(verdict, NFTA_VERDICT_CODE)));
    asking->step.chain = nft_text(nl_find(verdict, NFTA_VERDICT_CHAIN));
}

static void do_reject(struct asking *asking, const struct nlattr *data)
{
    (void)data;
    decide(asking, NF_DROP);
}

static void do_target(struct asking *asking, const struct nlattr *data)
{
    if (strcmp(nft_text(nl_find(data, NFTA_TARGET_NAME)), "REJECT") == 0)
        decide(asking, NF_DROP);
}

static void do_queue(struct asking *asking, const struct nlattr *data)
{
    (void)data;
    decide(asking, NF_ACCEPT); /* a program decides */
}

static void do_limit(struct asking *asking, const struct nlattr *data)
{
    (void)data;
    require(asking, INLET_MAYBE);
}

static void do_nothing(struct asking *asking, const struct nlattr *data)
{
    (void)asking;
    (void)data;
}

static void do_unknown(struct asking *asking)
{
    memset(asking->registers, 0, sizeof(asking->registers));
}

static const struct {
    const char *name;
    void (*act)(struct asking *asking, const struct nlattr *data);
} expressions_known[] = {
    { "meta", do_meta },       { "payload", do_payload }, { "ct", do_ct },
    { "bitwise", do_bitwise }, { "cmp", do_cmp },         { "range", do_range },
    { "lookup", do_lookup },   { "match", do_match },     { "immediate", do_immediate },
    { "reject", do_reject },   { "target", do_target },   { "queue", do_queue },
    { "limit", do_limit },     { "quota", do_limit },     { "connlimit", do_limit },
    { "dynset", do_limit },    { "counter", do_nothing }, { "log", do_nothing },
    { "objref", do_nothing },  { "last", do_nothing },    { "notrack", do_nothing },
};

static void act(struct asking *asking, const char *name, const struct nlattr *data)
{
    for (size_t i = 0; data && i < ARRAY_SIZE(expressions_known); i++) {
        if (strcmp(name, expressions_known[i].name) == 0) {
            expressions_known[i].act(asking, data);
            return;
        }
    }
    do_unknown(asking);
}

struct inlet_step inlet_rule_ask(const struct nlattr *expressions,
                                 const struct inlet_rule_asker *asker)
{
    struct asking asking = { .asker = asker, .step = { .matches = INLET_YES } };
    for (const struct nlattr *at = NULL; (at = nl_next_inside(expressions, at));) {
        act(&asking, nft_text(nl_find(at, NFTA_EXPR_NAME)), nl_find(at, NFTA_EXPR_DATA));
        if (asking.step.matches == INLET_NO)
            break;
    }
    return asking.step;
}
