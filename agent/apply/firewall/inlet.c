// SPDX-License-Identifier: Apache-2.0
/*
 * See inlet.h. Chains and rules are copied from two dumps and then evaluated; the elements of a set
 * are read when a rule looks them up. A ruleset that changes meanwhile may be read in part in
 * either state: the check is a single one, for an operator.
 *
 * An accept ends only its base chain, a drop is final: each base chain is evaluated separately.
 */
#include "apply/firewall/inlet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/firewall/inlet_rule.h"
#include "apply/netlink/message.h"
#include "apply/netlink/nft_read.h"
#include "apply/netlink/nl.h"
#include "base/cleanup.h"
#include "base/vec.h"

enum { RULES_MAX = 20000, DEPTH_MAX = 16, NAME_LEN = 128, KEY_MAX = 16 };

struct chain {
    uint8_t family;
    char table[NAME_LEN], name[NAME_LEN];
    bool is_input; /* a base chain there */
    bool drops;    /* by its policy */
};

struct rule {
    uint8_t family;
    char table[NAME_LEN], chain[NAME_LEN];
    struct nlattr *expressions;
};

struct inlet {
    struct nl_socket *socket;
    VEC(struct chain) chains;
    VEC(struct rule) rules; /* in the kernel's order, chain by chain */
};

/* ---- Reading ---- */

static void copy_name(char buffer[static NAME_LEN], const struct nlmsghdr *row, uint16_t attribute)
{
    (void)snprintf(buffer, NAME_LEN, "%s", nft_text(nft_attribute(row, attribute)));
}

static int on_chain(const struct nlmsghdr *row, void *context)
{
    struct inlet *inlet = context;
    const struct nlattr *hook = nft_attribute(row, NFTA_CHAIN_HOOK);
    const struct nlattr *policy = nft_attribute(row, NFTA_CHAIN_POLICY);
    struct chain chain = { .family = nft_family(row) };
    if (chain.family != NFPROTO_INET && chain.family != NFPROTO_IPV4 &&
        chain.family != NFPROTO_IPV6)
        return 0;
    copy_name(chain.table, row, NFTA_CHAIN_TABLE);
    copy_name(chain.name, row, NFTA_CHAIN_NAME);
    chain.is_input = hook && nft_number(nl_find(hook, NFTA_HOOK_HOOKNUM)) == NF_INET_LOCAL_IN;
    chain.drops = policy && nft_number(policy) == NF_DROP;
    return vec_push(&inlet->chains, chain);
}

static int on_rule(const struct nlmsghdr *row, void *context)
{
    struct inlet *inlet = context;
    const struct nlattr *expressions = nft_attribute(row, NFTA_RULE_EXPRESSIONS);
    if (!expressions)
        return 0;
    if (inlet->rules.count == RULES_MAX)
        return -EFBIG;
    const size_t size = MNL_ALIGN(expressions->nla_len);
    struct rule rule = { .family = nft_family(row), .expressions = calloc(1, size) };
    if (!rule.expressions)
        return -ENOMEM;
    memcpy(rule.expressions, expressions, expressions->nla_len);
    copy_name(rule.table, row, NFTA_RULE_TABLE);
    copy_name(rule.chain, row, NFTA_RULE_CHAIN);
    int r = vec_push(&inlet->rules, rule);
    if (r < 0)
        free(rule.expressions);
    return r;
}

static void forget(void *context)
{
    struct inlet *inlet = context;
    vec_clear(&inlet->chains);
    vec_each(const struct rule, rule, &inlet->rules)
        free(rule->expressions);
    vec_clear(&inlet->rules);
}

static void begin(struct nl_request *request, unsigned message, uint8_t family)
{
    const struct nfgenmsg fixed = { .nfgen_family = family, .version = NFNETLINK_V0 };
    nl_begin(request, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message), NLM_F_DUMP, &fixed,
             sizeof(fixed));
}

void inlet_close(struct inlet *inlet)
{
    if (!inlet)
        return;
    forget(inlet);
    vec_done(&inlet->chains);
    vec_done(&inlet->rules);
    nl_close(inlet->socket);
    free(inlet);
}

DEFINE_CLEANUP(struct inlet *, inlet_close);

int inlet_open(struct inlet **ret_inlet)
{
    CLEANUP(inlet_closep) struct inlet *inlet = calloc(1, sizeof(*inlet));
    struct nl_request request;
    if (!inlet)
        return -ENOMEM;
    int r = nl_open_in(NL_HERE, NETLINK_NETFILTER, &inlet->socket);
    if (r < 0)
        return r;
    begin(&request, NFT_MSG_GETCHAIN, NFPROTO_UNSPEC);
    r = nl_dump(inlet->socket, &request, on_chain, NULL, inlet);
    if (r < 0)
        return r;
    begin(&request, NFT_MSG_GETRULE, NFPROTO_UNSPEC);
    r = nl_dump(inlet->socket, &request, on_rule, NULL, inlet);
    if (r < 0)
        return r;
    *ret_inlet = TAKE_PTR(inlet);
    return 0;
}

/* ---- Sets ---- */

/* A lookup; the elements are in no order. */
struct search {
    const void *key;
    size_t size;
    uint8_t best[KEY_MAX]; /* the largest one that is not greater */
    bool found, exact, is_end, intervals, others;
    bool has_verdict;
    int32_t verdict;
};

static void take(struct search *search, const struct nlattr *element, const void *key, bool is_end)
{
    const struct nlattr *data = nl_find(element, NFTA_SET_ELEM_DATA);
    const struct nlattr *verdict = data ? nl_find(data, NFTA_DATA_VERDICT) : NULL;
    memcpy(search->best, key, search->size);
    search->found = true;
    search->is_end = is_end;
    search->exact = memcmp(key, search->key, search->size) == 0;
    search->has_verdict = verdict != NULL;
    search->verdict = verdict ? (int32_t)nft_number(nl_find(verdict, NFTA_VERDICT_CODE)) : 0;
}

static void look_at(struct search *search, const struct nlattr *element)
{
    const struct nlattr *data = nl_find(element, NFTA_SET_ELEM_KEY);
    const struct nlattr *key = data ? nl_find(data, NFTA_DATA_VALUE) : NULL;
    const bool is_end =
        nft_number(nl_find(element, NFTA_SET_ELEM_FLAGS)) & NFT_SET_ELEM_INTERVAL_END;
    if (!key || mnl_attr_get_payload_len(key) != search->size) {
        search->others = true; /* all that is in no other, or keys of several parts */
        return;
    }
    search->intervals |= is_end;
    const void *bytes = mnl_attr_get_payload(key);
    const int order = search->found ? memcmp(bytes, search->best, search->size) : 1;
    if (memcmp(bytes, search->key, search->size) <= 0 &&
        (order > 0 || (order == 0 && search->is_end)))
        take(search, element, bytes, is_end);
}

static int on_elements(const struct nlmsghdr *row, void *context)
{
    const struct nlattr *list = nft_attribute(row, NFTA_SET_ELEM_LIST_ELEMENTS);
    for (const struct nlattr *at = NULL; list && (at = nl_next_inside(list, at));)
        look_at(context, at);
    return 0;
}

/* ---- Evaluation ---- */

/* An evaluation of one base chain. */
struct path {
    struct inlet *inlet;
    const struct inlet_packet *packet;
    const struct chain *base;
    int error;
};

static struct inlet_element look_up(void *context, const char *set, const void *key, size_t size)
{
    struct path *path = context;
    struct search search = { .key = key, .size = size };
    struct nl_request request;
    begin(&request, NFT_MSG_GETSETELEM, path->base->family);
    nl_put_string(&request, NFTA_SET_ELEM_LIST_TABLE, path->base->table);
    nl_put_string(&request, NFTA_SET_ELEM_LIST_SET, set);
    int r = size > KEY_MAX ? -E2BIG
                           : nl_dump(path->inlet->socket, &request, on_elements, NULL, &search);
    const bool in = search.found && !search.is_end && (search.exact || search.intervals);
    const enum inlet_answer is_in = r < 0           ? INLET_MAYBE
                                    : in            ? INLET_YES
                                    : search.others ? INLET_MAYBE
                                                    : INLET_NO;
    return (struct inlet_element){ is_in, in && search.has_verdict, search.verdict };
}

enum outcome { GOES_ON, LET_IN, DROPPED };

static enum outcome follow(struct path *path, const char *chain, int depth);

/* A jump, or a final verdict. A rule that only may match drops nothing, and may accept. */
static enum outcome take_step(struct path *path, const struct inlet_step *step, int depth)
{
    enum outcome outcome = GOES_ON;
    switch (step->verdict) {
    case NF_DROP:
        outcome = DROPPED;
        break;
    case NFT_JUMP:
    case NFT_GOTO:
        outcome =
            !step->chain || depth == DEPTH_MAX ? LET_IN : follow(path, step->chain, depth + 1);
        break;
    case NFT_CONTINUE:
    case NFT_BREAK:
    case NFT_RETURN:
        break;
    default:
        outcome = LET_IN;
    }
    return outcome == DROPPED && step->matches != INLET_YES ? GOES_ON : outcome;
}

static bool ends_chain(const struct inlet_step *step)
{
    return step->matches == INLET_YES && (step->verdict == NFT_RETURN || step->verdict == NFT_GOTO);
}

static enum outcome follow(struct path *path, const char *chain, int depth)
{
    const struct inlet_rule_asker asker = { path->packet, look_up, path };
    vec_each(const struct rule, rule, &path->inlet->rules) {
        if (rule->family != path->base->family || strcmp(rule->chain, chain) != 0 ||
            strcmp(rule->table, path->base->table) != 0)
            continue;
        const struct inlet_step step = inlet_rule_ask(rule->expressions, &asker);
        if (step.matches == INLET_NO || !step.has_verdict)
            continue;
        enum outcome outcome = take_step(path, &step, depth);
        if (outcome != GOES_ON || ends_chain(&step))
            return outcome;
    }
    return GOES_ON;
}

static const char *family_name(uint8_t family)
{
    return family == NFPROTO_INET ? "inet" : family == NFPROTO_IPV4 ? "ip" : "ip6";
}

int inlet_drops(struct inlet *inlet, const struct inlet_packet *packet, const bool families[2],
                char *buffer, size_t size)
{
    vec_each(const struct chain, chain, &inlet->chains) {
        struct path path = { .inlet = inlet, .packet = packet, .base = chain };
        if (!chain->is_input || (chain->family == NFPROTO_IPV4 && !families[0]) ||
            (chain->family == NFPROTO_IPV6 && !families[1]))
            continue;
        const enum outcome outcome = follow(&path, chain->name, 0);
        if (outcome == LET_IN || (outcome == GOES_ON && !chain->drops))
            continue;
        (void)snprintf(buffer, size, "%s %s %s", family_name(chain->family), chain->table,
                       chain->name);
        return 1;
    }
    return 0;
}
