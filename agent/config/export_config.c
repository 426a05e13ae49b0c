// SPDX-License-Identifier: Apache-2.0
/* Export's settings as a value: defaults, and their end. See export_config.h. */
#include "config/export_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const export_addresses_names[EXPORT_ADDRESS_WORDS] = { "nodePorts", "pods",
                                                                   "loadBalancer" };

int export_config_defaults(struct export_config *config)
{
    *config = (struct export_config){
        .prefix = strdup("kube-service-exporter"),
        .key_template = strdup(""),
        .min_nodes = 1,
    };
    if (config->prefix && config->key_template)
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
    free(config->cluster);
    free(config->prefix);
    free(config->key_template);
    names_done(&config->namespaces);
    names_done(&config->node_selectors);
    *config = (struct export_config){ 0 };
}
