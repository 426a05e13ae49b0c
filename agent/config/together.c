// SPDX-License-Identifier: Apache-2.0
/*
 * What one section of agentd.yaml asks of another; see together.h. Called once the whole file is
 * read, whatever was wrong in it: a value that was refused has its default here.
 */
#include "config/together.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "faults/config.h"

/* An address and port to listen on. */
struct listen {
    const char *section, *key, *value; /* NULL: nobody listens */
};

static bool is_any(const char *listen)
{
    return strncmp(listen, "0.0.0.0:", 8) == 0 || strncmp(listen, "[::]:", 5) == 0;
}

static bool clash(const char *a, const char *b)
{
    return strcmp(strrchr(a, ':'), strrchr(b, ':')) == 0 &&
           (is_any(a) || is_any(b) || strcmp(a, b) == 0);
}

/* Where the second one stands, or the first: one of them may be a default. */
static const struct doc *node_of(const struct doc *root, const struct listen *a,
                                 const struct listen *b)
{
    const struct doc *node = doc_get(doc_get(root, b->section), b->key);
    return node ? node : doc_get(doc_get(root, a->section), a->key);
}

static void tell_clash(struct parse *parse, const struct doc *node, const struct listen *a,
                       const struct listen *b)
{
    AUTOFREE char *key = text_format("%s.%s", a->section, a->key),
                  *other = text_format("%s.%s", b->section, b->key);
    if (!key || !other)
        parse->error = -ENOMEM;
    else
        doc_raise(parse->document, node, parse->errors, config_ports_clash, .key = key,
                  .value = a->value, .other = other, .other_value = b->value);
}

static void check_listens(struct parse *parse, const struct doc *root)
{
    const struct config *config = parse_config(parse);
    const bool nat = config->services.enabled;
    const struct listen all[] = {
        { "api", "listen", config->api.listen },
        { "services", "healthz", nat ? config->services.healthz : NULL },
        { "services", "proxyModeListen", nat ? config->services.proxy_mode : NULL },
    };
    for (size_t i = 1; i < ARRAY_SIZE(all); i++) {
        for (size_t k = 0; k < i; k++) {
            if (all[i].value && all[k].value && clash(all[i].value, all[k].value))
                tell_clash(parse, node_of(root, &all[k], &all[i]), &all[k], &all[i]);
        }
    }
}

static void check_peers(struct parse *parse, const struct doc *root)
{
    const struct config *config = parse_config(parse);
    if (config->bird.expect_set && !config->bird.socket)
        doc_raise(parse->document, doc_get(doc_get(root, "bird"), "expectPeers"), parse->errors,
                  config_bird_socket_needed);
}

static void check_sections(struct parse *parse, const struct doc *root)
{
    const struct config *config = parse_config(parse);
    if (config->services.enabled && !config->routes.enabled)
        doc_raise(parse->document, doc_get(doc_get(root, "routes"), "enabled"), parse->errors,
                  config_routes_needed_by_services);
    if (config->services.firewall.mode != FIREWALL_OFF && config->services.path == PATH_DIRECT)
        doc_raise(parse->document, doc_get(doc_get(root, "services"), "path"), parse->errors,
                  config_path_passes_firewall);
    if (config->pods.enabled && !config->routes.enabled)
        doc_raise(parse->document, doc_get(doc_get(root, "routes"), "enabled"), parse->errors,
                  config_routes_needed_by_pods);
    if (config->pools.allocate && config->source.kubernetes)
        doc_raise(parse->document, doc_get(doc_get(root, "pools"), "allocate"), parse->errors,
                  config_pools_in_cluster);
    if (config->addresses.enabled && !config->source.kubernetes &&
        config->addresses.etcd.endpoints.count == 0)
        doc_raise(parse->document, doc_get(root, "addresses"), parse->errors,
                  config_claims_storeless);
}

void check_together(struct parse *parse, const struct doc *root)
{
    check_sections(parse, root);
    check_listens(parse, root);
    check_peers(parse, root);
}
