// SPDX-License-Identifier: Apache-2.0
/*
 * The fields of an exported port: one table for its document, its hash, and its key. Called by
 * plan/export/export_service.c.
 *
 * The order of the table is that of the members in kube-service-exporter's documents, and the names
 * in its first column go into the hash: both are an interface. A member that is empty, zero or
 * false is omitted, except those marked as always present.
 */
#include "plan/export/exported.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/macro.h"
#include "format/json_go.h"
#include "plan/export/export_hash.h"

enum field_type { FIELD_TEXT, FIELD_NUMBER, FIELD_FLAG, FIELD_ATTRIBUTES, FIELD_VERSION };

struct export_field {
    const char *name;   /* of the Go struct: in templates and the hash */
    const char *member; /* of the document; NULL: none */
    enum field_type type;
    size_t offset;
    bool always;
};

#define FIELD(field) offsetof(struct exported, field)

enum { VERSION = 1 }; /* of the document's format, as in kube-service-exporter */

static const struct export_field fields[] = {
    { "ClusterId", "ClusterName", FIELD_TEXT, FIELD(cluster), true },
    { "Namespace", NULL, FIELD_TEXT, FIELD(namespace), false },
    { "Name", NULL, FIELD_TEXT, FIELD(name), false },
    { "PortName", NULL, FIELD_TEXT, FIELD(port_name), false },
    { "Port", "port", FIELD_NUMBER, FIELD(port), true },
    { "DNSName", "dns_name", FIELD_TEXT, FIELD(dns_name), false },
    { "ServicePerCluster", "service_per_cluster", FIELD_FLAG, FIELD(per_cluster), false },
    { "HealthCheckPath", "health_check_path", FIELD_TEXT, FIELD(health_path), false },
    { "HealthCheckPort", "health_check_port", FIELD_NUMBER, FIELD(health_port), false },
    { "BackendProtocol", "backend_protocol", FIELD_TEXT, FIELD(backend_protocol), false },
    { "ProxyProtocol", "proxy_protocol", FIELD_FLAG, FIELD(proxy_protocol), false },
    { "LoadBalancerClass", "load_balancer_class", FIELD_TEXT, FIELD(balancer_class), false },
    { "LoadBalancerListenPort", "load_balancer_listen_port", FIELD_NUMBER, FIELD(listen_port),
      false },
    { "IngressSNI", "ingress_sni", FIELD_TEXT, FIELD(sni), false },
    { "CustomAttrs", "custom_attrs", FIELD_ATTRIBUTES, 0, true },
    { "IdPrefix", NULL, FIELD_TEXT, FIELD(id_prefix), false },
    { "Version", NULL, FIELD_VERSION, 0, false },
};

static const char *text_of(const struct export_field *field, const struct exported *exported)
{
    return *(const char *const *)((const char *)exported + field->offset);
}

static int32_t number_of(const struct export_field *field, const struct exported *exported)
{
    return *(const int32_t *)((const char *)exported + field->offset);
}

static bool flag_of(const struct export_field *field, const struct exported *exported)
{
    return *(const bool *)((const char *)exported + field->offset);
}

static uint64_t field_hash(const struct export_field *field, const struct exported *exported)
{
    switch (field->type) {
    case FIELD_TEXT:
        return export_hash_text(text_of(field, exported));
    case FIELD_NUMBER:
        return export_hash_int32(number_of(field, exported));
    case FIELD_FLAG:
        return export_hash_bool(flag_of(field, exported));
    case FIELD_ATTRIBUTES:
        return export_hash_json(exported->attributes);
    case FIELD_VERSION:
        break;
    }
    return export_hash_int64(VERSION);
}

static uint64_t exported_hash(const struct exported *exported)
{
    uint64_t hash = export_hash_struct("ExportedService");
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        hash = export_hash_field(hash, fields[i].name, field_hash(&fields[i], exported));
    return hash;
}

static bool is_left_out(const struct export_field *field, const struct exported *exported)
{
    if (!field->member)
        return true;
    if (field->always)
        return false;
    switch (field->type) {
    case FIELD_TEXT:
        return !*text_of(field, exported);
    case FIELD_NUMBER:
        return number_of(field, exported) == 0;
    case FIELD_FLAG:
        return !flag_of(field, exported);
    default:
        return false;
    }
}

static int add_attributes(struct text *out, const struct exported *exported)
{
    if (exported->attributes)
        return json_go_value(out, exported->attributes);
    text_add(out, exported->attributes_null ? "null" : "{}");
    return 0;
}

static int add_value(struct text *out, const struct export_field *field,
                     const struct exported *exported)
{
    switch (field->type) {
    case FIELD_TEXT:
        json_go_string(out, text_of(field, exported));
        return 0;
    case FIELD_FLAG:
        text_add(out, flag_of(field, exported) ? "true" : "false");
        return 0;
    case FIELD_ATTRIBUTES:
        return add_attributes(out, exported);
    default:
        text_addf(out, "%d", number_of(field, exported));
        return 0;
    }
}

int exported_members(const struct exported *exported, struct text *out)
{
    text_addf(out, "\"hash\":\"%" PRIx64 "\"", exported_hash(exported));
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (is_left_out(&fields[i], exported))
            continue;
        text_addf(out, ",\"%s\":", fields[i].member);
        int r = add_value(out, &fields[i], exported);
        if (r < 0)
            return r;
    }
    return text_error(out);
}

void exported_id(const struct exported *exported, struct text *out)
{
    if (*exported->id_prefix)
        text_addf(out, "%s-", exported->id_prefix);
    if (exported->per_cluster)
        text_addf(out, "%s-", exported->cluster);
    text_addf(out, "%s-%s-%s", exported->namespace, exported->name, exported->port_name);
}

static const struct export_field *find_field(const char *name, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0)
            return &fields[i];
    }
    return NULL;
}

/* A field as a template prints it. */
static int add_field(struct text *out, const struct exported *exported, const char *name,
                     size_t length, const char **ret_wrong)
{
    const struct export_field *field = find_field(name, length);
    if (!field || field->type == FIELD_ATTRIBUTES) {
        *ret_wrong = field ? "custom attributes can't be part of a key"
                           : "no exported Service has this field";
        return -EINVAL;
    }
    if (field->type == FIELD_TEXT)
        text_add(out, text_of(field, exported));
    else if (field->type == FIELD_VERSION)
        text_addf(out, "%d", VERSION);
    else
        (void)add_value(out, field, exported);
    return 0;
}

/* Adds the value of the text between the braces. */
static int add_action(struct text *out, const struct exported *exported, const char *action,
                      size_t length, const char **ret_wrong)
{
    for (; length && isspace((unsigned char)*action); length--)
        action++;
    while (length && isspace((unsigned char)action[length - 1]))
        length--;
    if (length == 2 && memcmp(action, "id", 2) == 0) {
        exported_id(exported, out);
        return 0;
    }
    if (length > 1 && *action == '.')
        return add_field(out, exported, action + 1, length - 1, ret_wrong);
    *ret_wrong = "only {{ .Field }} and {{ id }} are understood";
    return -EINVAL;
}

int exported_key(const struct exported *exported, const char *pattern, struct text *out,
                 const char **ret_wrong)
{
    for (const char *open; (open = strstr(pattern, "{{"));) {
        const char *close = strstr(open, "}}");
        if (!close) {
            *ret_wrong = "{{ without }}";
            return -EINVAL;
        }
        text_add_bytes(out, pattern, (size_t)(open - pattern));
        int r = add_action(out, exported, open + 2, (size_t)(close - open - 2), ret_wrong);
        if (r < 0)
            return r;
        pattern = close + 2;
    }
    text_add(out, pattern);
    return 0;
}
