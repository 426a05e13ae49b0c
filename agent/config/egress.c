// SPDX-License-Identifier: Apache-2.0
/*
 * The section egress: the client side of this node (`enabled` and what stands beside it), and
 * whether this node is a gateway. The two have nothing to do with each other: a router is a gateway
 * without a pod.
 *
 * The section gateway means something by being there: `gateway: {}` is a gateway by the defaults.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/net/tunnel.h"
#include "config/parse.h"
#include "faults/config.h"
#include "faults/documents.h"
#include "format/quote.h"

#define FIELD(member) .offset = offsetof(struct config, egress.member)

const char *const unknown_pods_names[UNKNOWN_PODS_WORDS] = { "pass", "hold" };
const char *const pod_tunnels_names[POD_TUNNELS_WORDS] = { "drop", "allow" };

void parse_unknown_pods(struct parse *parse, const struct config_key *key, const struct doc *node,
                        void *field)
{
    (void)key;
    unsigned word = *(enum unknown_pods *)field;
    parse_word(parse, node, unknown_pods_names, UNKNOWN_PODS_WORDS, &word);
    *(enum unknown_pods *)field = (enum unknown_pods)word;
}

void parse_pod_tunnels(struct parse *parse, const struct config_key *key, const struct doc *node,
                       void *field)
{
    (void)key;
    unsigned word = *(enum pod_tunnels *)field;
    parse_word(parse, node, pod_tunnels_names, POD_TUNNELS_WORDS, &word);
    *(enum pod_tunnels *)field = (enum pod_tunnels)word;
}

/* "internet/nat"; whether the object exists is seen later. */
static bool is_object_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    size_t namespace = strspn(text, letters);
    const char *name = text + namespace + 1;
    return namespace > 0 && namespace <= 63 && text[namespace] == '/' && *name &&
           strspn(name, letters) == strlen(name) && strlen(name) <= 253;
}

static void add_served(struct parse *parse, const char *text, string_list *list)
{
    char *copy = strdup(text);
    if (!copy || vec_push(list, copy) < 0) {
        free(copy);
        parse->error = -ENOMEM;
    }
}

void parse_serves(struct parse *parse, const struct config_key *key, const struct doc *node,
                  void *field)
{
    string_list *list = field;
    char shown[QUOTE_LEN];
    if (doc_expect(parse->document, node, DOC_LIST, parse->errors) <= 0)
        return;
    parse_clear_names(list);
    doc_each(item, node) {
        const char *text = "";
        if (doc_string(parse->document, item, &text, parse->errors) < 0)
            continue;
        if (!is_object_name(text))
            doc_raise(parse->document, item, parse->errors, document_value_unexpected,
                      .expected = "NAMESPACE/NAME of an Egress", .found = quote(text, shown));
        else if (list->count == (size_t)key->max)
            doc_raise(parse->document, item, parse->errors, config_list_too_long, .most = key->max,
                      .what = "Egresses");
        else
            add_served(parse, text, list);
    }
}

static void check_addresses(struct parse *parse, const struct doc *list)
{
    const ip_list *addresses = &parse_config(parse)->egress.gateway.addresses;
    size_t counts[2] = { 0 };
    vec_each(const struct ip, ip, addresses)
        counts[ip->family == IP_V6]++;
    for (int i = 0; i < 2; i++) {
        if (counts[i] > EGRESS_FAMILY_MAX)
            doc_raise(parse->document, list, parse->errors, config_list_too_long,
                      .most = EGRESS_FAMILY_MAX, .what = "addresses of a family");
    }
}

/* Blocks are powers of two so that a port tells its block by its bits. */
static void check_gateway(struct parse *parse, const struct doc *section)
{
    const struct port_range *ports = &parse_config(parse)->egress.gateway.ports;
    uint32_t block = parse_config(parse)->egress.gateway.port_block;
    const struct doc *block_node = doc_get(section, "portBlock");
    check_addresses(parse, doc_get(section, "addresses"));
    if (block & (block - 1))
        doc_raise(parse->document, block_node, parse->errors, config_port_block_uneven,
                  .block = block);
    else if ((ports->last + 1U) / block <= (ports->first + block - 1U) / block)
        doc_raise(parse->document, block_node ? block_node : doc_get(section, "ports"),
                  parse->errors, config_port_block_without_room, .block = block,
                  .first = ports->first, .last = ports->last);
}

#define TIMEOUT(member) FIELD(gateway.timeouts.member)

static const struct config_key timeouts_keys[] = {
    { "tcpOpening", parse_duration, TIMEOUT(tcp_opening_ms), .min = SECOND_MS },
    { "tcpEstablished", parse_duration, TIMEOUT(tcp_established_ms), .min = KEPT_ALIVE_MS },
    { "tcpHalfClosed", parse_duration, TIMEOUT(tcp_half_closed_ms), .min = SECOND_MS },
    { "tcpClosed", parse_duration, TIMEOUT(tcp_closed_ms), .min = SECOND_MS },
    { "udp", parse_duration, TIMEOUT(udp_ms), .min = SECOND_MS },
    { "udpStream", parse_duration, TIMEOUT(udp_stream_ms), .min = SECOND_MS },
    { "icmp", parse_duration, FIELD(gateway.icmp_ms), .min = SECOND_MS },
    { NULL },
};

static const struct config_key gateway_keys[] = {
    { "serves", parse_serves, FIELD(gateway.serves), .max = EGRESS_SERVES_MAX },
    { "addresses", parse_addresses, FIELD(gateway.addresses), .max = EGRESS_ADDRESSES_MAX },
    { "ports", parse_port_range, FIELD(gateway.ports) },
    { "portBlock", parse_count, FIELD(gateway.port_block), .min = 8, .max = 4096 },
    { "blocksPerClient", parse_count, FIELD(gateway.blocks_per_client), .min = 1, .max = 64 },
    { "drain", parse_duration, FIELD(gateway.drain_ms) },
    { "timeouts", parse_section, .keys = timeouts_keys },
    { NULL },
};

const struct config_key egress_keys[] = {
    { "enabled", parse_bool, FIELD(enabled) },
    { "inCluster", parse_cidrs, FIELD(in_cluster) },
    { "unknownPods", parse_unknown_pods, FIELD(unknown_pods) },
    { "podTunnels", parse_pod_tunnels, FIELD(pod_tunnels) },
    { "port", parse_count, FIELD(port), .min = 1, .max = UINT16_MAX },
    { "probeInterval", parse_duration, FIELD(probe_ms), .min = 50 },
    { "gateway", parse_present, FIELD(gateway.enabled), .keys = gateway_keys,
      .check = check_gateway },
    { NULL },
};

void egress_defaults(struct config *config)
{
    config->egress.port = TUNNEL_PORT;
    config->egress.probe_ms = 200;
    config->egress.gateway.ports = (struct port_range){ 1024, 65535 };
    config->egress.gateway.port_block = 64;
    config->egress.gateway.blocks_per_client = 16;
    config->egress.gateway.drain_ms = MINUTE_MS;
    config->egress.gateway.timeouts = config->services.timeouts;
    config->egress.gateway.icmp_ms = 30 * SECOND_MS;
}
