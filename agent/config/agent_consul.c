// SPDX-License-Identifier: Apache-2.0
/*
 * The section `consul` of agentd.yaml: the services of Consul's agent on this node. What is the
 * same for all of a cluster, and what only documents have, is the controller's to say
 * (export_keys.c). Called by config.c.
 */
#include "base/clock.h"
#include "config/parse.h"
#include "faults/config.h"

#define FIELD(member) .offset = offsetof(struct config, member)

static const struct config_key dogstatsd_keys[] = {
    { "address", parse_text, FIELD(exports.statsd.address) },
    { "tags", parse_texts, FIELD(exports.statsd.tags) },
    { NULL },
};

const struct config_key agent_consul_keys[] = {
    { "clusterID", parse_text, FIELD(exports.cluster) },
    { "namespaces", parse_namespaces, FIELD(exports.namespaces) },
    { "checkTTL", parse_duration, FIELD(consul.ttl_ms), .min = MINUTE_MS },
    { "resync", parse_duration, FIELD(consul.poll_ms), .min = SECOND_MS },
    { "address", parse_consul_address, FIELD(exports.consul.address) },
    { "tokenFile", parse_path, FIELD(exports.consul.token_file) },
    { "caFile", parse_path, FIELD(exports.consul.ca_file) },
    { "certFile", parse_path, FIELD(exports.consul.cert_file) },
    { "keyFile", parse_path, FIELD(exports.consul.key_file) },
    { "serverName", parse_text, FIELD(exports.consul.server_name) },
    { "insecure", parse_bool, FIELD(exports.consul.insecure) },
    { "datacenter", parse_consul_name, FIELD(exports.consul.datacenter) },
    { "namespace", parse_consul_name, FIELD(exports.consul.namespace) },
    { "partition", parse_consul_name, FIELD(exports.consul.partition) },
    { "dogstatsd", parse_section, .keys = dogstatsd_keys },
    { NULL },
};

void agent_consul_check(struct parse *parse, const struct doc *section)
{
    const struct config *config = parse_config(parse);
    if (!config->exports.cluster)
        doc_raise(parse->document, section, parse->errors, config_key_missing, .key = "clusterID",
                  .expected = "the name of this cluster in the ids of services");
    export_check_at(parse, section, &config->exports);
}
