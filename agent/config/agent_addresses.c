// SPDX-License-Identifier: Apache-2.0
/*
 * The section addresses of agentd.yaml: addresses that one node of a segment has at a time. It
 * means something by being there: `addresses: {}` claims what L2Advertisements say, and nothing
 * else. Called by config.c.
 */
#include <string.h>

#include "base/clock.h"
#include "config/parse.h"
#include "faults/config.h"
#include "faults/documents.h"

#define FIELD(member) .offset = offsetof(struct config, addresses.member)

enum { OWN_MAX = 1024, SHORTEST_MS = 4000, LONGEST_MS = 300000 };

const char *const claim_group_names[CLAIM_GROUPS] = { "address", "service", "all" };

void parse_claim_group(struct parse *parse, const struct config_key *key, const struct doc *node,
                       void *field)
{
    (void)key;
    unsigned word = *(enum claim_group *)field;
    parse_word(parse, node, claim_group_names, CLAIM_GROUPS, &word);
    *(enum claim_group *)field = (enum claim_group)word;
}

void parse_failback(struct parse *parse, const struct config_key *key, const struct doc *node,
                    void *field)
{
    if (node->type == DOC_SCALAR && strcmp(node->text, "never") == 0)
        *(int64_t *)field = CLAIM_FAILBACK_NEVER;
    else
        parse_duration(parse, key, node, field);
}

void parse_lease_namespace(struct parse *parse, const struct config_key *key,
                           const struct doc *node, void *field)
{
    (void)key;
    parse_checked(parse, node, field, parse_is_namespace, "a namespace (a-z, 0-9 and dashes)");
}

static const struct config_key etcd_keys[] = {
    { "endpoints", parse_texts, FIELD(etcd.endpoints) },
    { "prefix", parse_text, FIELD(etcd.prefix) },
    { "caFile", parse_path, FIELD(etcd.ca_file) },
    { "certFile", parse_path, FIELD(etcd.cert_file) },
    { "keyFile", parse_path, FIELD(etcd.key_file) },
    { "user", parse_text, FIELD(etcd.user) },
    { "passwordFile", parse_path, FIELD(etcd.password_file) },
    { NULL },
};

/* "https://192.0.2.1:2379", without a path. */
static bool is_endpoint(const char *text)
{
    size_t scheme = 0;
    if (strncmp(text, "http://", 7) == 0)
        scheme = 7;
    else if (strncmp(text, "https://", 8) == 0)
        scheme = 8;
    return scheme && parse_is_host(text + scheme);
}

/* Whether an endpoint gets passwords in clear, other than over the loopback. */
static bool any_in_clear(const string_list *endpoints)
{
    vec_each(char *, endpoint, endpoints) {
        const char *host = *endpoint + strlen("http://");
        if (strncmp(*endpoint, "http://", strlen("http://")) == 0 &&
            strncmp(host, "127.", 4) != 0 && strncmp(host, "[::1]", 5) != 0 &&
            strncmp(host, "localhost:", 10) != 0)
            return true;
    }
    return false;
}

static void etcd_fault(struct parse *parse, const struct doc *section, const char *key,
                       const char *expected)
{
    const struct doc *node = doc_get(section, key);
    if (node)
        doc_raise(parse->document, node, parse->errors, document_value_unexpected,
                  .expected = expected);
    else
        doc_raise(parse->document, section, parse->errors, config_key_missing, .key = key,
                  .expected = expected);
}

static void check_etcd(struct parse *parse, const struct doc *section)
{
    const struct config *config = parse_config(parse);
    const char *prefix = config->addresses.etcd.prefix;
    bool good = config->addresses.etcd.endpoints.count > 0;
    vec_each(char *, endpoint, &config->addresses.etcd.endpoints)
        good &= is_endpoint(*endpoint);
    if (!good)
        etcd_fault(parse, section, "endpoints", "a list of http://HOST:PORT and https://HOST:PORT");
    if (!*prefix || prefix[strlen(prefix) - 1] != '/')
        etcd_fault(parse, section, "prefix", "what ends with a slash");
    if (!config->addresses.etcd.cert_file != !config->addresses.etcd.key_file)
        etcd_fault(parse, section, config->addresses.etcd.cert_file ? "keyFile" : "certFile",
                   "certFile and keyFile need each other");
    if (!config->addresses.etcd.user != !config->addresses.etcd.password_file)
        etcd_fault(parse, section, config->addresses.etcd.user ? "passwordFile" : "user",
                   "user and passwordFile need each other");
    if (config->addresses.etcd.user && any_in_clear(&config->addresses.etcd.endpoints))
        etcd_fault(parse, section, "user", "https:// at all endpoints: a password goes to each");
}

const struct config_key agent_addresses_keys[] = {
    { "claim", parse_cidrs, FIELD(claim) },
    { "own", parse_addresses, FIELD(own), .max = OWN_MAX },
    { "interfaces", parse_claim_interfaces, FIELD(interfaces) },
    { "group", parse_claim_group, FIELD(group) },
    { "duration", parse_duration, FIELD(duration_ms), .min = SHORTEST_MS },
    { "failback", parse_failback, FIELD(failback_ms) },
    { "leaseNamespace", parse_lease_namespace, FIELD(lease_namespace) },
    { "etcd", parse_section, .keys = etcd_keys, .check = check_etcd },
    { NULL },
};

void agent_addresses_check(struct parse *parse, const struct doc *section)
{
    const struct config *config = parse_config(parse);
    const struct doc *duration = doc_get(section, "duration");
    int64_t ms = config->addresses.duration_ms;
    if (ms > LONGEST_MS || ms % SECOND_MS != 0)
        doc_raise(parse->document, duration ? duration : section, parse->errors,
                  config_claim_duration_wrong);
}
