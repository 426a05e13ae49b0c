// SPDX-License-Identifier: Apache-2.0
/*
 * Parsers of what belongs to the network: CIDRs, addresses with ports, ranges of ports, kinds of
 * addresses, the number of the routing table.
 */
#include "config/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/net/ip.h"
#include "base/text.h"
#include "faults/config.h"
#include "faults/documents.h"
#include "format/quote.h"

/* Whether the network was meant, or the one address, is not to be guessed. */
static void refuse_host_bits(struct parse *parse, const struct doc *item, const char *text,
                             const struct prefix *prefix)
{
    char shown[QUOTE_LEN], network[PREFIX_STRLEN];
    doc_raise(parse->document, item, parse->errors, config_network_host_bits,
              .text = quote(text, shown), .network = prefix_str(prefix, network),
              .length = ip_bits(&prefix->ip));
}

static void refuse_address(struct parse *parse, const struct doc *item, const char *text,
                           unsigned bits)
{
    char shown[QUOTE_LEN];
    AUTOFREE char *expected =
        text_format("a CIDR, such as %s/%u for this address alone", text, bits);
    if (!expected)
        parse->error = -ENOMEM;
    else
        doc_raise(parse->document, item, parse->errors, document_value_unexpected,
                  .expected = expected, .found = quote(text, shown));
}

/* Adds one item of a list of CIDRs. */
static void add_cidr(struct parse *parse, const struct doc *item, const char *text,
                     prefix_list *list)
{
    struct prefix prefix;
    struct ip ip;
    char shown[QUOTE_LEN];
    const int r = prefix_parse(text, &prefix);
    if (r == 1)
        refuse_host_bits(parse, item, text, &prefix);
    else if (r < 0 && ip_parse(text, &ip) == 0)
        refuse_address(parse, item, text, ip_bits(&ip));
    else if (r < 0)
        doc_raise(parse->document, item, parse->errors, document_value_unexpected,
                  .expected = "a CIDR, such as 10.0.0.0/8", .found = quote(text, shown));
    else if (vec_push(list, prefix) < 0)
        parse->error = -ENOMEM;
}

void parse_cidrs(struct parse *parse, const struct config_key *key, const struct doc *node,
                 void *field)
{
    (void)key;
    if (doc_expect(parse->document, node, DOC_LIST, parse->errors) <= 0)
        return;
    vec_clear((prefix_list *)field);
    doc_each(item, node) {
        const char *text = "";
        if (doc_string(parse->document, item, &text, parse->errors) >= 0)
            add_cidr(parse, item, text, field);
    }
}

void parse_cluster_cidrs(struct parse *parse, const struct config_key *key, const struct doc *node,
                         void *field)
{
    parse_config(parse)->services.cluster_cidrs_set = true;
    parse_cidrs(parse, key, node, field);
}

void parse_node_ports(struct parse *parse, const struct config_key *key, const struct doc *node,
                      void *field)
{
    (void)key;
    if (doc_expect(parse->document, node, DOC_LIST, parse->errors) <= 0)
        return;
    /* An empty list means the default, as with kube-proxy. */
    parse_config(parse)->services.node_port_primary = node->count == 0;
    parse_config(parse)->services.node_ports_set = node->count > 0;
    doc_each(item, node) {
        const char *text = "";
        if (doc_string(parse->document, item, &text, parse->errors) < 0)
            continue;
        if (strcmp(text, "primary") == 0)
            parse_config(parse)->services.node_port_primary = true;
        else
            add_cidr(parse, item, text, field);
    }
}

/* A port's digits, up to the end of the text or to `end`. Returns 0 or -EINVAL. */
static int port_parse(const char *text, const char *end, uint16_t *ret_port)
{
    size_t length = end ? (size_t)(end - text) : strlen(text);
    if (length == 0 || length > 5 || strspn(text, "0123456789") < length)
        return -EINVAL;
    unsigned long port = strtoul(text, NULL, 10);
    if (port == 0 || port > UINT16_MAX)
        return -EINVAL;
    *ret_port = (uint16_t)port;
    return 0;
}

/* True for "10.0.0.1:80" and "[fd00::1]:80". */
static bool is_endpoint(const char *text)
{
    const char *colon = strrchr(text, ':');
    char address[IP_STRLEN + 2];
    struct ip ip;
    uint16_t port;
    if (!colon || (size_t)(colon - text) >= sizeof(address))
        return false;
    size_t length = (size_t)(colon - text);
    bool brackets = length >= 2 && text[0] == '[' && colon[-1] == ']';
    memcpy(address, text + brackets, length - 2 * brackets);
    address[length - 2 * brackets] = '\0';
    return port_parse(colon + 1, NULL, &port) == 0 && ip_parse(address, &ip) == 0 &&
           brackets == (strchr(address, ':') != NULL);
}

void parse_endpoint(struct parse *parse, const struct config_key *key, const struct doc *node,
                    void *field)
{
    (void)key;
    const char *usual = *(char **)field ? strrchr(*(char **)field, ':') : NULL;
    const char *port = usual ? usual : ":10249"; /* kube-proxy's, of what nobody has by default */
    AUTOFREE char *expected =
        text_format("address:port, such as \"127.0.0.1%s\" or \"[::1]%s\"", port, port);
    parse_checked(parse, node, field, is_endpoint, expected ? expected : "address:port");
}

void parse_port_range(struct parse *parse, const struct config_key *key, const struct doc *node,
                      void *field)
{
    (void)key;
    const char *text;
    char shown[QUOTE_LEN];
    uint16_t first, last;
    if (doc_string(parse->document, node, &text, parse->errors) <= 0)
        return;
    const char *dash = strchr(text, '-');
    if (!dash || port_parse(text, dash, &first) < 0 || port_parse(dash + 1, NULL, &last) < 0) {
        doc_raise(parse->document, node, parse->errors, document_value_unexpected,
                  .expected = "a range of ports, such as 10000-65535", .found = quote(text, shown));
    } else if (first > last) {
        doc_raise(parse->document, node, parse->errors, config_range_reversed,
                  .range = quote(text, shown));
    } else {
        *(struct port_range *)field = (struct port_range){ first, last };
    }
}

static unsigned advertise_word(const char *text)
{
    static const struct {
        const char *name;
        enum advertise value;
    } words[] = { { "loadBalancer", ADVERTISE_LOAD_BALANCER },
                  { "external", ADVERTISE_EXTERNAL },
                  { "cluster", ADVERTISE_CLUSTER } };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i].name, text) == 0)
            return words[i].value;
    return 0;
}

void parse_advertise(struct parse *parse, const struct config_key *key, const struct doc *node,
                     void *field)
{
    (void)key;
    char shown[QUOTE_LEN];
    unsigned all = 0;
    if (doc_expect(parse->document, node, DOC_LIST, parse->errors) <= 0)
        return;
    doc_each(item, node) {
        const char *text = "";
        if (doc_string(parse->document, item, &text, parse->errors) < 0)
            continue;
        unsigned word = advertise_word(text);
        if (word == 0)
            doc_raise(parse->document, item, parse->errors, document_value_unexpected,
                      .expected = "loadBalancer, external or cluster", .found = quote(text, shown));
        all |= word;
    }
    *(unsigned *)field = all;
}

const char *const packet_path_names[PATHS] = { "auto", "stack", "direct" };

void parse_packet_path(struct parse *parse, const struct config_key *key, const struct doc *node,
                       void *field)
{
    (void)key;
    unsigned path = *(enum packet_path *)field;
    parse_word(parse, node, packet_path_names, PATHS, &path);
    *(enum packet_path *)field = (enum packet_path)path;
}

void parse_addresses(struct parse *parse, const struct config_key *key, const struct doc *node,
                     void *field)
{
    ip_list *list = field;
    char shown[QUOTE_LEN];
    if (doc_expect(parse->document, node, DOC_LIST, parse->errors) <= 0)
        return;
    vec_clear(list);
    doc_each(item, node) {
        const char *text = "";
        struct ip ip;
        if (doc_string(parse->document, item, &text, parse->errors) < 0)
            continue;
        if (ip_parse(text, &ip) < 0 || ip_is_special(&ip))
            doc_raise(parse->document, item, parse->errors, document_value_unexpected,
                      .expected = "an address of a host, such as 192.0.2.1",
                      .found = quote(text, shown));
        else if (list->count == (size_t)key->max)
            doc_raise(parse->document, item, parse->errors, config_list_too_long, .most = key->max,
                      .what = "addresses");
        else if (vec_push(list, ip) < 0)
            parse->error = -ENOMEM;
    }
}

/* Why a table can't be BIRD's; NULL if it can. */
static const char *table_reason(int64_t table)
{
    switch (table) {
    case 116:
        return "it holds the pods of this node";
    case 117:
    case 118:
        return "it is used inside egress pods and gateways";
    case 120:
        return "it guards the service addresses of this node";
    case 253:
    case 254:
    case 255:
        return "it is the kernel's own (default, main, local)";
    default:
        return NULL;
    }
}

void parse_table(struct parse *parse, const struct config_key *key, const struct doc *node,
                 void *field)
{
    int64_t table;
    if (doc_int(parse->document, node, key->min, key->max, &table, parse->errors) <= 0)
        return;
    const char *reason = table_reason(table);
    if (reason)
        doc_raise(parse->document, node, parse->errors, config_table_unusable, .table = table,
                  .reason = reason);
    else
        *(uint32_t *)field = (uint32_t)table;
}

/* A symbol of BIRD's. */
static bool is_protocol_name(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= 64 && !strpbrk(text, " \t'\"");
}

static void add_peer_name(struct parse *parse, const struct config_key *key, const struct doc *item,
                          string_list *list)
{
    const char *text = "";
    char shown[QUOTE_LEN];
    if (doc_string(parse->document, item, &text, parse->errors) < 0)
        return;
    if (!is_protocol_name(text) || list->count == (size_t)key->max) {
        doc_raise(parse->document, item, parse->errors, config_peer_name_wrong, .most = key->max,
                  .found = quote(text, shown));
        return;
    }
    char *copy = strdup(text);
    if (!copy || vec_push(list, copy) < 0) {
        free(copy);
        parse->error = -ENOMEM;
    }
}

void parse_expect_peers(struct parse *parse, const struct config_key *key, const struct doc *node,
                        void *field)
{
    int64_t count;
    parse_config(parse)->bird.expect_set = true;
    if (node->type == DOC_SCALAR) {
        if (doc_int(parse->document, node, 0, key->max, &count, parse->errors) > 0)
            parse_config(parse)->bird.expect_count = (uint32_t)count;
        return;
    }
    if (doc_expect(parse->document, node, DOC_LIST, parse->errors) <= 0)
        return;
    parse_clear_names(field);
    doc_each(item, node)
        add_peer_name(parse, key, item, field);
}
