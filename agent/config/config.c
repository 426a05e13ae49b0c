// SPDX-License-Identifier: Apache-2.0
/*
 * The configuration: its keys, its defaults, and what its values must be to each other.
 *
 * The tables below are the file's grammar, in the order of the documentation. A key that is not
 * in them is an error. Loading fills a new struct config with defaults and lets the file overwrite
 * them, so that nothing half-read is ever seen by others.
 */
#include "config/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ours.h"
#include "config/parse.h"
#include "config/together.h"
#include "faults/config.h"
#include "faults/documents.h"

#define FIELD(member) .offset = offsetof(struct config, member)

static void check_source(struct parse *parse, const struct doc *section)
{
    if (!parse_config(parse)->source.manifests && !parse_config(parse)->source.kubernetes)
        doc_raise(parse->document, section, parse->errors, config_key_missing,
                  .key = "manifests or kubernetes", .expected = "where the objects come from");
}

static const struct config_key kubernetes_keys[] = {
    { "kubeconfig", parse_path, FIELD(source.kubeconfig) },
    { "events", parse_bool, FIELD(source.events) },
    { NULL },
};

/* An empty map has a meaning of its own: the agent runs in a pod. */
void parse_kubernetes(struct parse *parse, const struct config_key *key, const struct doc *node,
                      void *field)
{
    (void)key;
    if (doc_get(node->parent, "manifests"))
        doc_raise_key(parse->document, node, parse->errors, config_source_ambiguous);
    *(bool *)field = true;
    parse_keys(parse, kubernetes_keys, node);
}

static void check_hold_down(struct parse *parse, const struct doc *section)
{
    const struct config *config = parse_config(parse);
    const struct doc *initial = doc_get(section, "initial");
    char longer[CLOCK_STRLEN], shorter[CLOCK_STRLEN];
    if (config->routes.hold_initial_ms > config->routes.hold_max_ms)
        doc_raise(parse->document, initial ? initial : doc_get(section, "max"), parse->errors,
                  config_hold_down_reversed,
                  .longer = clock_ago(config->routes.hold_initial_ms, longer),
                  .shorter = clock_ago(config->routes.hold_max_ms, shorter));
}

void parse_deadman(struct parse *parse, const struct config_key *key, const struct doc *node,
                   void *field)
{
    if (node->type == DOC_SCALAR && strcmp(node->text, "off") == 0)
        *(int64_t *)field = 0;
    else
        parse_duration(parse, key, node, field);
}

static bool is_node_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= 253 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == length;
}

void parse_node(struct parse *parse, const struct config_key *key, const struct doc *node,
                void *field)
{
    (void)key;
    parse_checked(parse, node, field, is_node_name, "a node's name (a-z, 0-9, dots and dashes)");
}

static const struct config_key source_keys[] = {
    { "manifests", parse_path, FIELD(source.manifests) },
    { "kubernetes", parse_kubernetes, FIELD(source.kubernetes) },
    { "startWait", parse_duration, FIELD(source.start_wait_ms) },
    { "maxFileSize", parse_size, FIELD(source.max_file_bytes), .min = 1, .max = INT64_C(1) << 40 },
    { NULL },
};

static const struct config_key hold_down_keys[] = {
    { "initial", parse_duration, FIELD(routes.hold_initial_ms) },
    { "max", parse_duration, FIELD(routes.hold_max_ms) },
    { NULL },
};

static const struct config_key drain_keys[] = {
    { "shutdown", parse_duration, FIELD(routes.drain_shutdown_ms) },
    { "withdraw", parse_duration, FIELD(routes.drain_withdraw_ms) },
    { NULL },
};

static const struct config_key routes_keys[] = {
    { "enabled", parse_bool, FIELD(routes.enabled) },
    { "table", parse_table, FIELD(routes.table), .min = 1, .max = UINT32_MAX },
    { "holdDown", parse_section, .keys = hold_down_keys, .check = check_hold_down },
    { "drain", parse_section, .keys = drain_keys },
    { "deadman", parse_deadman, FIELD(routes.deadman_ms) },
    { "nodeGone", parse_duration, FIELD(routes.node_gone_ms) },
    { "direct", parse_bool, FIELD(routes.direct) },
    { NULL },
};

/* Entries of BPF maps; the kernel allocates them at once, so the bounds are what a node can bear.
 */
static const struct config_key maps_keys[] = {
    { "flows", parse_count, FIELD(services.max_flows), .min = 1024, .max = 1 << 24 },
    { "services", parse_count, FIELD(services.max_services), .min = 16, .max = 1 << 20 },
    { "endpoints", parse_count, FIELD(services.max_endpoints), .min = 16, .max = (1 << 24) - 1 },
    { NULL },
};

static const struct config_key timeouts_keys[] = {
    { "tcpOpening", parse_duration, FIELD(services.timeouts.tcp_opening_ms), .min = SECOND_MS },
    { "tcpEstablished", parse_duration, FIELD(services.timeouts.tcp_established_ms),
      .min = KEPT_ALIVE_MS },
    { "tcpHalfClosed", parse_duration, FIELD(services.timeouts.tcp_half_closed_ms),
      .min = SECOND_MS },
    { "tcpClosed", parse_duration, FIELD(services.timeouts.tcp_closed_ms), .min = SECOND_MS },
    { "udp", parse_duration, FIELD(services.timeouts.udp_ms), .min = SECOND_MS },
    { "udpStream", parse_duration, FIELD(services.timeouts.udp_stream_ms), .min = SECOND_MS },
    { NULL },
};

static const struct config_key services_keys[] = {
    { "enabled", parse_bool, FIELD(services.enabled) },
    { "uplinks", parse_uplinks, FIELD(services.uplinks) },
    { "podInterfaces", parse_pod_interfaces, FIELD(services.pod_interfaces) },
    { "clusterCIDRs", parse_cluster_cidrs, FIELD(services.cluster_cidrs) },
    { "serviceCIDRs", parse_cidrs, FIELD(services.service_cidrs) },
    { "nodePortAddresses", parse_node_ports, FIELD(services.node_port_addresses) },
    { "externalIPs", parse_cidrs, FIELD(services.external_ips) },
    { "loadBalancerIPs", parse_cidrs, FIELD(services.load_balancer_ips) },
    { "loadBalancerClass", parse_class, FIELD(services.load_balancer_class) },
    { "proxyName", parse_label_value, FIELD(services.proxy_name) },
    { "advertise", parse_advertise, FIELD(services.advertise) },
    { "masqueradeAll", parse_bool, FIELD(services.masquerade_all) },
    { "path", parse_packet_path, FIELD(services.path) },
    { "snatPorts", parse_port_range, FIELD(services.snat_ports) },
    { "timeouts", parse_section, .keys = timeouts_keys },
    { "maps", parse_section, .keys = maps_keys },
    { "firewall", parse_section, .keys = firewall_keys },
    { "firewallFault", parse_firewall_fault, FIELD(services.firewall_fault) },
    { "healthz", parse_endpoint, FIELD(services.healthz) },
    { "proxyModeListen", parse_endpoint, FIELD(services.proxy_mode) },
    { NULL },
};

static const struct config_key pools_keys[] = {
    { "allocate", parse_bool, FIELD(pools.allocate) },
    { "rest", parse_duration, FIELD(pools.rest_ms) },
    { NULL },
};

void parse_pods_table(struct parse *parse, const struct config_key *key, const struct doc *node,
                      void *field)
{
    (void)key;
    if (node->type == DOC_SCALAR && strcmp(node->text, "main") == 0)
        *(uint32_t *)field = ROUTE_TABLE_MAIN;
    else if (node->type == DOC_SCALAR && strcmp(node->text, "116") == 0)
        *(uint32_t *)field = ROUTE_TABLE_COIL;
    else
        doc_raise(parse->document, node, parse->errors, document_value_unexpected,
                  .expected = "main, or 116 as Coil has it");
}

static const struct config_key pods_keys[] = {
    { "enabled", parse_bool, FIELD(pods.enabled) },
    { "table", parse_pods_table, FIELD(pods.table) },
    { "rest", parse_duration, FIELD(pods.rest_ms) },
    { "leastRest", parse_duration, FIELD(pods.least_rest_ms) },
    { "emptyBlocks", parse_duration, FIELD(pods.empty_ms) },
    { "goneAfter", parse_duration, FIELD(pods.gone_ms) },
    { NULL },
};

static const struct config_key bird_keys[] = {
    { "socket", parse_path, FIELD(bird.socket) },
    { "expectPeers", parse_expect_peers, FIELD(bird.expect_names), .max = EXPECT_PEERS_MAX },
    { NULL },
};

static const struct config_key api_keys[] = {
    { "listen", parse_endpoint, FIELD(api.listen) },
    { NULL },
};

static const struct config_key paths_keys[] = {
    { "run", parse_path, FIELD(paths.run), .max = SOCKET_FOLDER_MAX },
    { "state", parse_path, FIELD(paths.state) },
    { "bpf", parse_path, FIELD(paths.bpf) },
    { NULL },
};

const struct config_key config_keys[] = {
    { "node", parse_node, FIELD(node) },
    { "source", parse_section, .keys = source_keys, .check = check_source },
    { "routes", parse_section, .keys = routes_keys },
    { "services", parse_section, .keys = services_keys },
    { "egress", parse_section, .keys = egress_keys },
    { "pools", parse_section, .keys = pools_keys },
    { "pods", parse_section, .keys = pods_keys },
    { "addresses", parse_present, FIELD(addresses.enabled), .keys = agent_addresses_keys,
      .check = agent_addresses_check },
    { "bird", parse_section, .keys = bird_keys },
    { "consul", parse_present, FIELD(consul.enabled), .keys = agent_consul_keys,
      .check = agent_consul_check },
    { "api", parse_section, .keys = api_keys },
    { "paths", parse_section, .keys = paths_keys },
    { NULL },
};

/* The host's name as the kubelet takes it. */
static char *host_node(void)
{
    char name[256] = "";
    if (gethostname(name, sizeof(name) - 1) < 0)
        return NULL;
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return strdup(name);
}

static int set_default_strings(struct config *config)
{
    config->node = host_node();
    config->services.load_balancer_class = strdup("");
    config->services.proxy_name = strdup("");
    config->services.healthz = strdup("0.0.0.0:10256");
    config->api.listen = strdup("127.0.0.1:9394");
    config->addresses.lease_namespace = strdup("kube-system");
    config->addresses.etcd.prefix = strdup("/fingerpost/addresses/");
    config->paths.run = strdup("/run/fingerpost");
    config->paths.state = strdup("/var/lib/fingerpost");
    config->paths.bpf = strdup(OURS_PINS);
    return config->node && config->services.load_balancer_class && config->services.proxy_name &&
                   config->services.healthz && config->api.listen &&
                   config->addresses.lease_namespace && config->addresses.etcd.prefix &&
                   config->paths.run && config->paths.state && config->paths.bpf
               ? 0
               : -ENOMEM;
}

static const struct flow_timeouts default_timeouts = {
    .tcp_opening_ms = MINUTE_MS,
    .tcp_established_ms = KEPT_ALIVE_MS,
    .tcp_half_closed_ms = 60 * MINUTE_MS,
    .tcp_closed_ms = 10 * SECOND_MS,
    .udp_ms = 30 * SECOND_MS,
    .udp_stream_ms = 120 * SECOND_MS,
};

/* What holds where the file is silent; only the source has no default. */
static int config_new(struct config **ret_config)
{
    CLEANUP(config_freep) struct config *config = calloc(1, sizeof(*config));
    if (!config)
        return -ENOMEM;
    config->source.events = true;
    config->source.start_wait_ms = 10 * SECOND_MS;
    config->source.max_file_bytes = UINT64_C(256) << 20;
    config->routes.enabled = true;
    config->routes.table = ROUTE_TABLE_EXPORT;
    config->routes.hold_initial_ms = 1 * SECOND_MS;
    config->routes.hold_max_ms = 60 * SECOND_MS;
    config->routes.drain_shutdown_ms = 10 * SECOND_MS;
    config->routes.drain_withdraw_ms = 20 * SECOND_MS;
    config->routes.node_gone_ms = MINUTE_MS;
    config->services.uplinks_auto = config->services.pod_interfaces_auto = true;
    config->services.node_port_primary = true;
    config->services.advertise = ADVERTISE_LOAD_BALANCER | ADVERTISE_EXTERNAL;
    config->services.snat_ports = (struct port_range){ 10000, 65535 };
    config->services.timeouts = default_timeouts;
    config->services.max_flows = 262144;
    config->services.max_services = 65536;
    config->services.max_endpoints = 262144;
    config->services.firewall.mark = FIREWALL_MARK_DEFAULT;
    config->pools.rest_ms = MINUTE_MS;
    config->pods.table = ROUTE_TABLE_MAIN;
    config->pods.rest_ms = MINUTE_MS;
    config->pods.least_rest_ms = 5 * SECOND_MS;
    config->pods.empty_ms = 10 * MINUTE_MS;
    config->pods.gone_ms = 5 * MINUTE_MS;
    config->addresses.interfaces_auto = true;
    config->addresses.duration_ms = 10 * SECOND_MS;
    config->addresses.failback_ms = 5 * MINUTE_MS;
    config->consul.ttl_ms = 60 * MINUTE_MS;
    config->consul.poll_ms = MINUTE_MS / 2;
    egress_defaults(config);
    int r = set_default_strings(config);
    if (r < 0)
        return r;
    r = export_config_defaults(&config->exports);
    if (r < 0)
        return r;
    *ret_config = TAKE_PTR(config);
    return 0;
}

int config_parse(const char *path, struct config **ret_config, struct document **ret_document,
                 struct faults *errors)
{
    static const char *const keys_of_controllers[] = { "election", "blocks", "image", NULL };
    static const struct config_grammar grammar = {
        .keys = config_keys,
        .elsewhere = { "controller.yaml", keys_of_controllers },
        .check = check_together,
    };
    CLEANUP(config_freep) struct config *config = NULL;
    int r = config_new(&config);
    if (r < 0)
        return r;
    r = parse_file(path, &grammar, config, ret_document, errors);
    if (r < 0)
        return r;
    *ret_config = TAKE_PTR(config);
    return 0;
}

int config_load(const char *path, struct config **ret_config, struct faults *errors)
{
    CLEANUP(document_freep) struct document *document = NULL;
    return config_parse(path, ret_config, &document, errors);
}

int config_default(const char *manifests, struct config **ret_config)
{
    CLEANUP(config_freep) struct config *config = NULL;
    int r = config_new(&config);
    if (r < 0)
        return r;
    config->source.manifests = strdup(manifests);
    if (!config->source.manifests)
        return -ENOMEM;
    *ret_config = TAKE_PTR(config);
    return 0;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    free(config->node);
    free(config->source.manifests);
    free(config->source.kubeconfig);
    parse_clear_names(&config->services.uplinks);
    parse_clear_names(&config->services.pod_interfaces);
    vec_done(&config->services.uplinks);
    vec_done(&config->services.pod_interfaces);
    parse_clear_names(&config->egress.gateway.serves);
    vec_done(&config->egress.gateway.serves);
    vec_done(&config->egress.gateway.addresses);
    vec_done(&config->egress.in_cluster);
    vec_done(&config->services.cluster_cidrs);
    vec_done(&config->services.service_cidrs);
    vec_done(&config->services.node_port_addresses);
    vec_done(&config->services.external_ips);
    vec_done(&config->services.load_balancer_ips);
    free(config->services.load_balancer_class);
    free(config->services.proxy_name);
    free(config->services.healthz);
    free(config->services.proxy_mode);
    parse_clear_names(&config->addresses.interfaces);
    vec_done(&config->addresses.interfaces);
    vec_done(&config->addresses.claim);
    vec_done(&config->addresses.own);
    free(config->addresses.lease_namespace);
    parse_clear_names(&config->addresses.etcd.endpoints);
    vec_done(&config->addresses.etcd.endpoints);
    free(config->addresses.etcd.prefix);
    free(config->addresses.etcd.ca_file);
    free(config->addresses.etcd.cert_file);
    free(config->addresses.etcd.key_file);
    free(config->addresses.etcd.user);
    free(config->addresses.etcd.password_file);
    free(config->bird.socket);
    parse_clear_names(&config->bird.expect_names);
    vec_done(&config->bird.expect_names);
    export_config_done(&config->exports);
    free(config->api.listen);
    free(config->paths.run);
    free(config->paths.state);
    free(config->paths.bpf);
    free(config);
}
