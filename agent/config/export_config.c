// SPDX-License-Identifier: Apache-2.0
/*
 * Export's settings: their defaults, and what would be wrong with them. See export_config.h. Called
 * by controller_config.c, and by tests.
 *
 * A cluster's name and the prefix become parts of keys, so that a slash in the name would make one
 * cluster's keys those of another.
 */
#include "config/export_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "faults/config.h"
#include "faults/raise.h"
#include "format/quote.h"

enum { CLUSTER_MAX = 128, PREFIX_MAX = 256 };

const char *const export_addresses_names[EXPORT_ADDRESS_WORDS] = { "nodePorts", "pods",
                                                                   "loadBalancer" };

int export_config_defaults(struct export_config *config)
{
    *config = (struct export_config){
        .prefix = strdup("kube-service-exporter"),
        .key_template = strdup(""),
        .min_nodes = 1,
        .shrink_percent = 50,
        .hold_ms = 5 * MINUTE_MS,
        .session_ms = 15 * SECOND_MS,
        .wait_ms = MINUTE_MS,
        .consul.address = strdup("http://127.0.0.1:8500"),
    };
    if (config->prefix && config->key_template && config->consul.address)
        return 0;
    export_config_done(config);
    return -ENOMEM;
}

static void names_done(string_list *names)
{
    vec_each(char *, name, names)
        free(*name);
    vec_done(names);
}

void export_config_done(struct export_config *config)
{
    char *texts[] = {
        config->cluster,           config->prefix,
        config->key_template,      config->folder,
        config->identity,          config->consul.address,
        config->consul.token_file, config->consul.ca_file,
        config->consul.cert_file,  config->consul.key_file,
        config->consul.token,      config->consul.server_name,
        config->consul.datacenter, config->consul.namespace,
        config->consul.partition,  config->statsd.address,
        config->consul.ca_path,    config->consul.auth,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        free(texts[i]);
    names_done(&config->namespaces);
    names_done(&config->node_selectors);
    names_done(&config->statsd.tags);
    *config = (struct export_config){ 0 };
}

/* What may stand in a key without being taken for something else. */
static bool is_key_part(const char *text, size_t max, bool slashes)
{
    size_t length = strlen(text);
    if (length == 0 || length > max || text[0] == '/' || text[length - 1] == '/')
        return false;
    for (const char *at = text; *at; at++) {
        if (*at <= ' ' || *at >= 0x7f || (*at == '/' && (!slashes || at[1] == '/')))
            return false;
    }
    return true;
}

void export_config_check(const struct export_config *config, struct faults *errors)
{
    char quoted[QUOTE_LEN];
    if (config->cluster && !is_key_part(config->cluster, CLUSTER_MAX, false))
        fault_raise(errors, "consul.clusterID", config_key_part_wrong,
                    .text = quote(config->cluster, quoted));
    if (!is_key_part(config->prefix, PREFIX_MAX, true))
        fault_raise(errors, "consul.kvPrefix", config_key_prefix_wrong,
                    .text = quote(config->prefix, quoted));
    if (!config->consul.cert_file != !config->consul.key_file)
        fault_raise(errors, config->consul.cert_file ? "consul.keyFile" : "consul.certFile",
                    config_certificate_unpaired);
}
