// SPDX-License-Identifier: Apache-2.0
/*
 * What is in force with a configuration file, key by key, for `agentctl config show`.
 *
 * The walk goes over the same tables of keys by which the file was parsed; how a value is written
 * follows from the parser that reads it, so that what is shown is what the file could say. A key
 * whose parser has no writer below is left out: a new parser wants a new writer (a test loads what
 * is shown, and looks for every key).
 */
#include "config/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ours.h"
#include "base/text.h"
#include "config/parse.h"
#include "format/json.h"

typedef void (*value_writer)(struct json *json, const struct config *config, const void *field);

static void write_string(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_string(json, NULL, *(char *const *)field);
}

static void write_bool(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_bool(json, NULL, *(const bool *)field);
}

static void write_count(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_int(json, NULL, *(const uint32_t *)field);
}

static void write_size(struct json *json, const struct config *config, const void *field)
{
    static const char *const units[] = { "", "KiB", "MiB", "GiB" };
    uint64_t bytes = *(const uint64_t *)field;
    size_t unit = 0;

    (void)config;
    while (unit + 1 < ARRAY_SIZE(units) && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    json_stringf(json, NULL, "%" PRIu64 "%s", bytes, units[unit]);
}

/* The longest unit of which it is a whole number. */
static void write_duration(struct json *json, const struct config *config, const void *field)
{
    int64_t ms = *(const int64_t *)field;

    (void)config;
    if (ms % SECOND_MS != 0)
        json_stringf(json, NULL, "%" PRId64 "ms", ms);
    else if (ms % MINUTE_MS != 0 || ms == 0)
        json_stringf(json, NULL, "%" PRId64 "s", ms / SECOND_MS);
    else
        json_stringf(json, NULL, "%" PRId64 "m", ms / MINUTE_MS);
}

static void write_deadman(struct json *json, const struct config *config, const void *field)
{
    if (*(const int64_t *)field == 0)
        json_string(json, NULL, "off");
    else
        write_duration(json, config, field);
}

static void write_pods_table(struct json *json, const struct config *config, const void *field)
{
    if (*(const uint32_t *)field == ROUTE_TABLE_MAIN)
        json_string(json, NULL, "main");
    else
        write_count(json, config, field);
}

static void write_names(struct json *json, const struct config *config, const void *field)
{
    const string_list *names = field;

    (void)config;
    json_begin_array(json, NULL);
    vec_each(char *const, name, names)
        json_string(json, NULL, *name);
    json_end_array(json);
}

static void write_uplinks(struct json *json, const struct config *config, const void *field)
{
    if (config->services.uplinks_auto)
        json_string(json, NULL, "auto");
    else
        write_names(json, config, field);
}

static void write_pod_interfaces(struct json *json, const struct config *config, const void *field)
{
    if (config->services.pod_interfaces_auto)
        json_string(json, NULL, "auto");
    else
        write_names(json, config, field);
}

static void write_claim_interfaces(struct json *json, const struct config *config,
                                   const void *field)
{
    if (config->addresses.interfaces_auto)
        json_string(json, NULL, "auto");
    else
        write_names(json, config, field);
}

static void write_claim_group(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_string(json, NULL, claim_group_names[*(const enum claim_group *)field]);
}

static void write_failback(struct json *json, const struct config *config, const void *field)
{
    if (*(const int64_t *)field == CLAIM_FAILBACK_NEVER)
        json_string(json, NULL, "never");
    else
        write_duration(json, config, field);
}

static void write_prefixes(struct json *json, const prefix_list *prefixes)
{
    char buffer[PREFIX_STRLEN];

    vec_each(const struct prefix, prefix, prefixes)
        json_string(json, NULL, prefix_str(prefix, buffer));
}

static void write_cidrs(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_begin_array(json, NULL);
    write_prefixes(json, field);
    json_end_array(json);
}

static void write_cluster_cidrs(struct json *json, const struct config *config, const void *field)
{
    if (config->services.cluster_cidrs_set)
        write_cidrs(json, config, field);
    else
        json_null(json, NULL);
}

static void write_node_ports(struct json *json, const struct config *config, const void *field)
{
    json_begin_array(json, NULL);
    if (config->services.node_port_primary)
        json_string(json, NULL, "primary");
    write_prefixes(json, field);
    json_end_array(json);
}

static void write_port_range(struct json *json, const struct config *config, const void *field)
{
    const struct port_range *range = field;

    (void)config;
    json_stringf(json, NULL, "%u-%u", range->first, range->last);
}

static void write_addresses(struct json *json, const struct config *config, const void *field)
{
    char buffer[IP_STRLEN];

    (void)config;
    json_begin_array(json, NULL);
    vec_each(const struct ip, ip, (const ip_list *)field)
        json_string(json, NULL, ip_str(ip, buffer));
    json_end_array(json);
}

static void write_unknown_pods(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_string(json, NULL, unknown_pods_names[*(const enum unknown_pods *)field]);
}

static void write_pod_tunnels(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_string(json, NULL, pod_tunnels_names[*(const enum pod_tunnels *)field]);
}

/* Only where there is none; else its keys are written. */
static void write_absent(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    (void)field;
    json_null(json, NULL);
}

static void write_expect_peers(struct json *json, const struct config *config, const void *field)
{
    if (!config->bird.expect_set)
        json_null(json, NULL);
    else if (config->bird.expect_names.count > 0)
        write_names(json, config, field);
    else
        json_int(json, NULL, config->bird.expect_count);
}

static void write_packet_path(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_string(json, NULL, packet_path_names[*(const enum packet_path *)field]);
}

static void write_firewall_fault(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_string(json, NULL, firewall_fault_names[*(const enum firewall_fault *)field]);
}

static void write_firewall_mode(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_string(json, NULL, firewall_mode_names[*(const enum firewall_mode *)field]);
}

static void write_firewall_scope(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_string(json, NULL, firewall_scope_names[*(const enum firewall_scope *)field]);
}

static void write_mark(struct json *json, const struct config *config, const void *field)
{
    (void)config;
    json_stringf(json, NULL, "0x%" PRIx32, *(const uint32_t *)field);
}

static void write_advertise(struct json *json, const struct config *config, const void *field)
{
    unsigned kinds = *(const unsigned *)field;

    (void)config;
    json_begin_array(json, NULL);
    if (kinds & ADVERTISE_LOAD_BALANCER)
        json_string(json, NULL, "loadBalancer");
    if (kinds & ADVERTISE_EXTERNAL)
        json_string(json, NULL, "external");
    if (kinds & ADVERTISE_CLUSTER)
        json_string(json, NULL, "cluster");
    json_end_array(json);
}

static void write_kubernetes(struct json *json, const struct config *config, const void *field)
{
    if (!*(const bool *)field) {
        json_null(json, NULL);
        return;
    }
    json_begin_object(json, NULL);
    if (config->source.kubeconfig)
        json_string(json, "kubeconfig", config->source.kubeconfig);
    json_bool(json, "events", config->source.events);
    json_end_object(json);
}

static value_writer writer_of(config_parser parser)
{
    static const struct {
        config_parser parse;
        value_writer write;
    } writers[] = {
        { parse_addresses, write_addresses },
        { parse_advertise, write_advertise },
        { parse_present, write_absent },
        { parse_packet_path, write_packet_path },
        { parse_bool, write_bool },
        { parse_cidrs, write_cidrs },
        { parse_claim_group, write_claim_group },
        { parse_claim_interfaces, write_claim_interfaces },
        { parse_cluster_cidrs, write_cluster_cidrs },
        { parse_class, write_string },
        { parse_consul_address, write_string },
        { parse_consul_name, write_string },
        { parse_count, write_count },
        { parse_deadman, write_deadman },
        { parse_duration, write_duration },
        { parse_endpoint, write_string },
        { parse_expect_peers, write_expect_peers },
        { parse_failback, write_failback },
        { parse_kubernetes, write_kubernetes },
        { parse_label_value, write_string },
        { parse_lease_namespace, write_string },
        { parse_firewall_fault, write_firewall_fault },
        { parse_firewall_mode, write_firewall_mode },
        { parse_firewall_scope, write_firewall_scope },
        { parse_mark, write_mark },
        { parse_node, write_string },
        { parse_node_ports, write_node_ports },
        { parse_path, write_string },
        { parse_pod_interfaces, write_pod_interfaces },
        { parse_pods_table, write_pods_table },
        { parse_port_range, write_port_range },
        { parse_serves, write_names },
        { parse_size, write_size },
        { parse_table, write_count },
        { parse_text, write_string },
        { parse_texts, write_names },
        { parse_namespaces, write_names },
        { parse_unknown_pods, write_unknown_pods },
        { parse_pod_tunnels, write_pod_tunnels },
        { parse_uplinks, write_uplinks },
    };

    for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
        if (writers[i].parse == parser)
            return writers[i].write;
    return NULL;
}

/* What the walk has in hand. `file` is NULL where the file is empty. */
struct walk {
    const struct config *config;
    const struct document *file;
    struct settings *settings;
};

static void setting_done(struct setting *setting)
{
    free(setting->key);
    free(setting->value);
}

static int add_setting(const struct walk *walk, const struct config_key *key, const char *path,
                       const struct doc *section)
{
    CLEANUP(setting_done) struct setting setting = { 0 };
    AUTOTEXT struct text value = { 0 };
    struct json json = { .out = &value };
    const value_writer write = writer_of(key->parse);
    const struct doc *node = doc_get(section, key->name);
    uint32_t column;

    if (!write)
        return 0;
    write(&json, walk->config, (const char *)walk->config + key->offset);
    setting.key = strdup(path);
    setting.value = text_take(&value);
    if (node)
        doc_where(walk->file, node, &setting.line, &column);
    if (node && node->key_line)
        setting.line = node->key_line;
    if (!setting.key || !setting.value || vec_push(&walk->settings->list, setting) < 0)
        return -ENOMEM;
    (void)TAKE_STRUCT(setting); /* the list's now */
    return 0;
}

/* Whether a section is one with a meaning of its own, and not there. */
static bool is_absent(const struct walk *walk, const struct config_key *key)
{
    return key->parse == parse_present &&
           !*((const bool *)((const char *)walk->config + key->offset));
}

/* Tables nest as deep as the grammar in config.c. */
static int walk_keys(const struct walk *walk, const struct config_key *keys, const char *prefix,
                     const struct doc *section)
{
    for (; keys->name; keys++) {
        AUTOFREE char *path = text_format("%s%s%s", prefix, *prefix ? "." : "", keys->name);
        if (!path)
            return -ENOMEM;
        int r = keys->keys && !is_absent(walk, keys)
                    ? walk_keys(walk, keys->keys, path, doc_get(section, keys->name))
                    : add_setting(walk, keys, path, section);
        if (r < 0)
            return r;
    }
    return 0;
}

int settings_load(const char *path, struct settings *ret_settings, struct faults *errors)
{
    CLEANUP(document_freep) struct document *document = NULL;
    CLEANUP(config_freep) struct config *config = NULL;
    CLEANUP(settings_done) struct settings settings = { 0 };

    int r = config_parse(path, &config, &document, errors);
    if (r < 0)
        return r;
    const struct walk walk = { config, document, &settings };
    r = walk_keys(&walk, config_keys, "", document ? document->root : NULL);
    if (r < 0)
        return r;
    *ret_settings = TAKE_STRUCT(settings);
    return 0;
}

int settings_of(const struct config *config, struct settings *ret_settings)
{
    CLEANUP(settings_done) struct settings settings = { 0 };
    const struct walk walk = { config, NULL, &settings };
    int r = walk_keys(&walk, config_keys, "", NULL);
    if (r < 0)
        return r;
    *ret_settings = TAKE_STRUCT(settings);
    return 0;
}

void settings_done(struct settings *settings)
{
    vec_each(struct setting, setting, &settings->list)
        setting_done(setting);
    vec_done(&settings->list);
}
