// SPDX-License-Identifier: Apache-2.0
/*
 * The section `consul` of controller.yaml, as a table; see export_config.h for what each key means.
 * Called by controller_config.c; agent_consul.c has that of agentd.yaml.
 *
 * A secret has no key of its own: the token is in a file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/controller_config.h"
#include "config/parse.h"
#include "faults/config.h"
#include "faults/documents.h"
#include "format/quote.h"

#define FIELD(member) .offset = offsetof(struct controller_config, exports.member)

enum { NAMES_MAX = 1000, NAME_MAX_BYTES = 4096 };

static void add_name(struct parse *parse, const char *text, string_list *list)
{
    char *copy = strdup(text);
    if (!copy || vec_push(list, copy) < 0) {
        free(copy);
        parse->error = -ENOMEM;
    }
}

void parse_texts(struct parse *parse, const struct config_key *key, const struct doc *node,
                 void *field)
{
    (void)key;
    if (doc_expect(parse->document, node, DOC_LIST, parse->errors) <= 0)
        return;
    parse_clear_names(field);
    doc_each(item, node) {
        const char *text = "";
        if (doc_string(parse->document, item, &text, parse->errors) < 0)
            continue;
        if (item->index >= NAMES_MAX || strlen(text) > NAME_MAX_BYTES)
            doc_raise(parse->document, item, parse->errors, config_name_too_long);
        else
            add_name(parse, text, field);
    }
}

/* A name that no Namespace can have would export nothing, and nobody would say so. */
void parse_namespaces(struct parse *parse, const struct config_key *key, const struct doc *node,
                      void *field)
{
    char quoted[QUOTE_LEN];
    parse_texts(parse, key, node, field);
    doc_each(item, node) {
        if (item->type == DOC_SCALAR && !parse_is_namespace(item->text))
            doc_raise(parse->document, item, parse->errors, document_value_unexpected,
                      .expected = "a namespace (a-z, 0-9 and dashes)",
                      .found = quote(item->text, quoted));
    }
}

static void parse_addresses_word(struct parse *parse, const struct config_key *key,
                                 const struct doc *node, void *field)
{
    (void)key;
    unsigned word = *(enum export_addresses *)field;
    parse_word(parse, node, export_addresses_names, EXPORT_ADDRESS_WORDS, &word);
    *(enum export_addresses *)field = (enum export_addresses)word;
}

static bool is_address(const char *text)
{
    static const char *const schemes[] = { "http://", "https://", "unix:///" };
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        size_t length = strlen(schemes[i]);
        if (strncmp(text, schemes[i], length) == 0 && text[length])
            return i == 2 || parse_is_host(text + length);
    }
    return false;
}

void parse_consul_address(struct parse *parse, const struct config_key *key, const struct doc *node,
                          void *field)
{
    (void)key;
    parse_checked(parse, node, field, is_address,
                  "http://HOST:PORT, https://HOST:PORT or unix:///PATH");
}

static const struct config_key dogstatsd_keys[] = {
    { "address", parse_text, FIELD(statsd.address) },
    { "tags", parse_texts, FIELD(statsd.tags) },
    { NULL },
};

const struct config_key export_keys[] = {
    { "clusterID", parse_text, FIELD(cluster) },
    { "kvPrefix", parse_text, FIELD(prefix) },
    { "keyTemplate", parse_text, FIELD(key_template) },
    { "namespaces", parse_namespaces, FIELD(namespaces) },
    { "nodeSelectors", parse_texts, FIELD(node_selectors) },
    { "minNodes", parse_count, FIELD(min_nodes), .min = 1, .max = INT32_MAX },
    { "addresses", parse_addresses_word, FIELD(addresses) },
    { "details", parse_bool, FIELD(details) },
    { "maxShrink", parse_count, FIELD(shrink_percent), .min = 0, .max = 100 },
    { "holdDown", parse_duration, FIELD(hold_ms), .min = 0 },
    { "folder", parse_path, FIELD(folder) },
    { "identity", parse_text, FIELD(identity) },
    /* Consul's own limits: it refuses a longer session, and ends a longer question. */
    { "sessionTTL", parse_duration, FIELD(session_ms), .min = 10 * SECOND_MS, .max = 24 * HOUR_MS },
    { "blockingQuery", parse_duration, FIELD(wait_ms), .min = SECOND_MS, .max = 10 * MINUTE_MS },
    { "address", parse_consul_address, FIELD(consul.address) },
    { "tokenFile", parse_path, FIELD(consul.token_file) },
    { "caFile", parse_path, FIELD(consul.ca_file) },
    { "certFile", parse_path, FIELD(consul.cert_file) },
    { "keyFile", parse_path, FIELD(consul.key_file) },
    { "serverName", parse_text, FIELD(consul.server_name) },
    { "insecure", parse_bool, FIELD(consul.insecure) },
    { "datacenter", parse_consul_name, FIELD(consul.datacenter) },
    { "namespace", parse_consul_name, FIELD(consul.namespace) },
    { "partition", parse_consul_name, FIELD(consul.partition) },
    { "dogstatsd", parse_section, .keys = dogstatsd_keys },
    { NULL },
};

/* A fault of "consul.KEY", at the key's place if the file has it. */
static void add_at_key(struct parse *parse, const struct doc *section, const struct fault *fault)
{
    const struct doc *node = doc_get(section, strchr(fault->place, '.') + 1);
    if (node)
        doc_raise(parse->document, node, parse->errors, config_export_setting_wrong,
                  .reason = fault->message, .mend = fault->remedy);
    else
        faults_add_copy(parse->errors, fault->place, fault);
}

void export_check_at(struct parse *parse, const struct doc *section,
                     const struct export_config *config)
{
    AUTOFAULTS struct faults wrong = { 0 };
    export_config_check(config, &wrong);
    vec_each(const struct fault, fault, &wrong.list)
        add_at_key(parse, section, fault);
    parse->errors->incomplete |= wrong.incomplete;
}

/* What the environment said in part may be wrong with what the file says. */
void export_keys_check(struct parse *parse, const struct doc *section)
{
    const struct controller_config *config = parse->base;
    if (!config->exports.cluster)
        doc_raise(parse->document, section, parse->errors, config_key_missing, .key = "clusterID",
                  .expected = "the name of this cluster in Consul's keys");
    export_check_at(parse, section, &config->exports);
}
