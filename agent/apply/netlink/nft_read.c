// SPDX-License-Identifier: Apache-2.0
/* Parses messages of nftables; see nft_read.h. */
#include "apply/netlink/nft_read.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>

#include "apply/netlink/message.h"

const struct nlattr *nft_attribute(const struct nlmsghdr *row, uint16_t type)
{
    for (const struct nlattr *at = NULL;
         (at = nl_next_attribute(row, sizeof(struct nfgenmsg), at));)
        if (mnl_attr_get_type(at) == type)
            return at;
    return NULL;
}

uint8_t nft_family(const struct nlmsghdr *row)
{
    return mnl_nlmsg_get_payload_len(row) < sizeof(struct nfgenmsg)
               ? 0
               : ((const struct nfgenmsg *)mnl_nlmsg_get_payload(row))->nfgen_family;
}

uint32_t nft_number(const struct nlattr *attribute)
{
    uint32_t number = 0;
    if (attribute && mnl_attr_get_payload_len(attribute) == sizeof(number))
        memcpy(&number, mnl_attr_get_payload(attribute), sizeof(number));
    return ntohl(number);
}

const char *nft_text(const struct nlattr *attribute)
{
    return attribute && mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0
               ? mnl_attr_get_str(attribute)
               : "";
}

bool nft_has_comment(const struct nlattr *userdata, const char *comment)
{
    const size_t size = strlen(comment) + 1;
    if (!userdata || mnl_attr_get_payload_len(userdata) < 2 + size)
        return false;
    return memcmp((const char *)mnl_attr_get_payload(userdata) + 2, comment, size) == 0;
}

static void read_counter(const struct nlattr *data, struct nft_rule_words *words)
{
    const struct nlattr *packets = nl_find(data, NFTA_COUNTER_PACKETS);
    uint64_t number = 0;
    if (packets && mnl_attr_get_payload_len(packets) == sizeof(number))
        memcpy(&number, mnl_attr_get_payload(packets), sizeof(number));
    words->packets += be64toh(number);
}

static void read_immediate(const struct nlattr *data, struct nft_rule_words *words)
{
    const struct nlattr *value = nl_find(data, NFTA_IMMEDIATE_DATA);
    const struct nlattr *verdict = value ? nl_find(value, NFTA_DATA_VERDICT) : NULL;
    if (!verdict)
        return;
    words->has_verdict = true;
    words->verdict = nft_number(nl_find(verdict, NFTA_VERDICT_CODE));
}

struct nft_rule_words nft_rule_words(const struct nlattr *expressions)
{
    struct nft_rule_words words = { 0 };
    for (const struct nlattr *at = NULL; expressions && (at = nl_next_inside(expressions, at));) {
        const char *name = nft_text(nl_find(at, NFTA_EXPR_NAME));
        const struct nlattr *data = nl_find(at, NFTA_EXPR_DATA);
        if (data && strcmp(name, "counter") == 0)
            read_counter(data, &words);
        else if (data && strcmp(name, "immediate") == 0)
            read_immediate(data, &words);
    }
    return words;
}

int nft_each_key(const struct nlattr *elements,
                 int (*each)(const struct nlattr *key, void *context), void *context)
{
    for (const struct nlattr *at = NULL; elements && (at = nl_next_inside(elements, at));) {
        const struct nlattr *data = nl_find(at, NFTA_SET_ELEM_KEY);
        const struct nlattr *key = data ? nl_find(data, NFTA_DATA_VALUE) : NULL;
        int r = key ? each(key, context) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}
