// SPDX-License-Identifier: Apache-2.0
/*
 * The keys of controller.yaml, their defaults, and what their values must be to each other.
 *
 * Keys that agentd.yaml has, too, have the same names and the same meaning there. A job that needs
 * to be told something has a section of its own (controller/job.h).
 */
#include "config/controller_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "config/parse.h"
#include "config/template_rights.h"
#include "faults/config.h"

#define FIELD(member) .offset = offsetof(struct controller_config, member)

static bool has_letters(const char *text, size_t max, const char *letters)
{
    size_t length = strlen(text);
    return length > 0 && length <= max && strspn(text, letters) == length;
}

static bool is_identity(const char *text)
{
    return has_letters(text, ELECTION_IDENTITY_MAX,
                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:");
}

static void parse_namespace(struct parse *parse, const struct config_key *key,
                            const struct doc *node, void *field)
{
    (void)key;
    parse_checked(parse, node, field, parse_is_namespace, "a namespace (a-z, 0-9 and dashes)");
}

static void parse_lease_name(struct parse *parse, const struct config_key *key,
                             const struct doc *node, void *field)
{
    (void)key;
    parse_checked(parse, node, field, parse_is_domain,
                  "the name of a Lease (a-z, 0-9, dots and dashes)");
}

static void parse_identity(struct parse *parse, const struct config_key *key,
                           const struct doc *node, void *field)
{
    (void)key;
    parse_checked(parse, node, field, is_identity,
                  "a name of up to 200 letters, digits, dots, dashes, colons and underscores");
}

static void parse_image(struct parse *parse, const struct config_key *key, const struct doc *node,
                        void *field)
{
    (void)key;
    parse_checked(parse, node, field, parse_is_image,
                  "an image, such as registry.example.com/fingerpost:1.0 (in lower case, no URL)");
}

static const struct config_key kubernetes_keys[] = {
    { "kubeconfig", parse_path, FIELD(source.kubeconfig) },
    { NULL },
};

static void check_source(struct parse *parse, const struct doc *section)
{
    const struct controller_config *config = parse->base;
    if (!config->source.kubernetes)
        doc_raise(parse->document, section, parse->errors, config_key_missing, .key = "kubernetes",
                  .expected = "{} in a pod, or its kubeconfig");
}

static const struct config_key source_keys[] = {
    { "kubernetes", parse_present, FIELD(source.kubernetes), .keys = kubernetes_keys },
    { NULL },
};

static const struct config_key election_keys[] = {
    { "namespace", parse_namespace, FIELD(election.namespace) },
    { "name", parse_lease_name, FIELD(election.name) },
    { "identity", parse_identity, FIELD(election.identity) },
    { "lease", parse_duration, FIELD(election.lease_ms), .min = SECOND_MS },
    { "renew", parse_duration, FIELD(election.renew_ms), .min = 1 },
    { "retry", parse_duration, FIELD(election.retry_ms), .min = 1 },
    { NULL },
};

static const struct doc *either(const struct doc *section, const char *key, const char *other)
{
    const struct doc *node = doc_get(section, key);
    return node ? node : doc_get(section, other);
}

/* The rules of plan/election.h, by the keys that are against them. */
/* As people write them: 15 or 0.5. */
static const char *seconds(int64_t ms, char text[static 24])
{
    (void)snprintf(text, 24, "%g", (double)ms / SECOND_MS);
    return text;
}

static void check_election(struct parse *parse, const struct doc *section)
{
    const struct controller_config *config = parse->base;
    const int64_t lease_ms = config->election.lease_ms, renew_ms = config->election.renew_ms;
    const int64_t retry_ms = config->election.retry_ms;
    char renew[24], lease[24], retry[24];
    if (lease_ms % SECOND_MS != 0)
        doc_raise(parse->document, doc_get(section, "lease"), parse->errors,
                  config_election_lease_unwhole);
    if (lease_ms <= renew_ms)
        doc_raise(parse->document, either(section, "renew", "lease"), parse->errors,
                  config_election_renew_long, .renew = seconds(renew_ms, renew),
                  .lease = seconds(lease_ms, lease));
    if (renew_ms * 10 <= retry_ms * 12)
        doc_raise(parse->document, either(section, "retry", "renew"), parse->errors,
                  config_election_renew_short, .renew = seconds(renew_ms, renew),
                  .retry = seconds(retry_ms, retry));
}

static const struct config_key addresses_keys[] = {
    { "enabled", parse_bool, FIELD(addresses.enabled) },
    { "loadBalancerClass", parse_class, FIELD(addresses.load_balancer_class) },
    { "rest", parse_duration, FIELD(addresses.rest_ms) },
    { NULL },
};

static const struct config_key blocks_keys[] = {
    { "enabled", parse_bool, FIELD(blocks.enabled) },
    { NULL },
};

/* One of the names; -1: none, which is a fault. */
static int template_right(struct parse *parse, const struct doc *node)
{
    static const char *const names[] = { TEMPLATE_RIGHT_NAMES };
    _Static_assert(ARRAY_SIZE(names) == TEMPLATE_RIGHTS, "each right has a name");
    unsigned right = TEMPLATE_RIGHTS;
    parse_word(parse, node, names, ARRAY_SIZE(names), &right);
    return right < TEMPLATE_RIGHTS ? (int)right : -1;
}

static void parse_rights(struct parse *parse, const struct config_key *key, const struct doc *node,
                         void *field)
{
    uint32_t bits = 0;
    (void)key;
    if (doc_expect(parse->document, node, DOC_LIST, parse->errors) < 0)
        return;
    doc_each(element, node) {
        int right = template_right(parse, element);
        if (right >= 0)
            bits |= UINT32_C(1) << right;
    }
    *(uint32_t *)field = bits;
}

static const struct config_key template_keys[] = {
    { "allow", parse_rights, FIELD(egress.template_allowed) },
    { NULL },
};

static const struct config_key workload_keys[] = {
    { "enabled", parse_bool, FIELD(egress.enabled) },
    { "image", parse_image, FIELD(egress.image) },
    { "template", parse_section, .keys = template_keys },
    { NULL },
};

static void check_workload(struct parse *parse, const struct doc *section)
{
    const struct controller_config *config = parse->base;
    if (config->egress.enabled && !(config->egress.image && *config->egress.image))
        doc_raise(parse->document, section, parse->errors, config_key_missing, .key = "image",
                  .expected = "the one that has agentd and agentctl");
}

static const struct config_key api_keys[] = {
    { "listen", parse_endpoint, FIELD(api.listen) },
    { NULL },
};

static const struct config_key paths_keys[] = {
    { "run", parse_path, FIELD(paths.run), .max = SOCKET_FOLDER_MAX },
    { NULL },
};

static const char *const keys_of_agents[] = { "node", "manifests", "routes", "services", "bird",
                                              "pods", "pools",     "state",  "bpf",      NULL };

static const struct config_key controller_keys[] = {
    { "source", parse_section, .keys = source_keys, .check = check_source },
    { "election", parse_section, .keys = election_keys, .check = check_election },
    { "blocks", parse_section, .keys = blocks_keys },
    { "addresses", parse_section, .keys = addresses_keys },
    { "egress", parse_section, .keys = workload_keys, .check = check_workload },
    { "api", parse_section, .keys = api_keys },
    { "paths", parse_section, .keys = paths_keys },
    { "consul", parse_section, .keys = export_keys, .check = export_keys_check },
    { NULL },
};

static char *host_name(void)
{
    char name[ELECTION_IDENTITY_MAX + 1] = "";
    if (gethostname(name, sizeof(name) - 1) < 0 || !*name)
        return strdup("controller");
    return strdup(name);
}

static int config_new(struct controller_config **ret_config)
{
    CLEANUP(controller_config_freep)
    struct controller_config *config = calloc(1, sizeof(*config));
    if (!config)
        return -ENOMEM;
    config->election.namespace = strdup("kube-system");
    config->election.name = strdup("fingerpost-controller");
    config->election.identity = host_name();
    config->election.lease_ms = 15 * SECOND_MS;
    config->election.renew_ms = 10 * SECOND_MS;
    config->election.retry_ms = 2 * SECOND_MS;
    config->blocks.enabled = true;
    config->addresses.enabled = true;
    config->addresses.load_balancer_class = strdup("");
    config->addresses.rest_ms = MINUTE_MS;
    config->api.listen = strdup("127.0.0.1:9395");
    config->paths.run = strdup("/run/fingerpost");
    if (!config->addresses.load_balancer_class || !config->election.namespace ||
        !config->election.name || !config->election.identity || !config->api.listen ||
        !config->paths.run || export_config_defaults(&config->exports) < 0)
        return -ENOMEM;
    *ret_config = TAKE_PTR(config);
    return 0;
}

/* The prefix and the cluster are checked here where the file has no section that does it. */
static int read_environment(struct controller_config *config, struct faults *errors)
{
    size_t before = errors->list.count;
    int r = export_environment(&config->exports, getenv, &config->api.listen, errors);
    if (r < 0)
        return r;
    export_config_check(&config->exports, errors);
    return errors->list.count > before ? -EBADMSG : 0;
}

static int load(const char *path, bool offline, struct controller_config **ret_config,
                struct faults *errors)
{
    const struct config_grammar grammar = {
        .keys = controller_keys,
        .elsewhere = { "agentd.yaml", keys_of_agents },
        .without_source = offline,
    };
    CLEANUP(document_freep) struct document *document = NULL;
    CLEANUP(controller_config_freep) struct controller_config *config = NULL;
    int r = config_new(&config);
    if (r < 0)
        return r;
    r = read_environment(config, errors);
    if (r < 0)
        return r;
    r = parse_file(path, &grammar, config, &document, errors);
    if (r < 0)
        return r;
    *ret_config = TAKE_PTR(config);
    return 0;
}

int controller_config_load(const char *path, struct controller_config **ret_config,
                           struct faults *errors)
{
    return load(path, false, ret_config, errors);
}

int controller_config_load_offline(const char *path, struct controller_config **ret_config,
                                   struct faults *errors)
{
    return load(path, true, ret_config, errors);
}

void controller_config_free(struct controller_config *config)
{
    if (!config)
        return;
    free(config->source.kubeconfig);
    free(config->election.namespace);
    free(config->election.name);
    free(config->election.identity);
    free(config->addresses.load_balancer_class);
    free(config->egress.image);
    free(config->api.listen);
    free(config->paths.run);
    export_config_done(&config->exports);
    free(config);
}
