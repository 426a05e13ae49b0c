// SPDX-License-Identifier: Apache-2.0
/*
 * kube-service-exporter's environment: an EnvironmentFile= that was written for it works unchanged.
 * Called by controller_config.c before the file is read.
 *
 * The table has every variable. Empty ones count as unset, as there. What kube-service-exporter
 * takes for zero or false without a word (a port that is no number) is refused here; of settings
 * whose syntax its documentation and its code disagree about, both are taken. Where nothing in this
 * program corresponds (KSE_MAX_REQUEUE_COUNT, KSE_SERVICE_RESYNC_PERIOD: everything is compared
 * every five minutes, and a failed write is tried again), the variable is not looked at.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "config/export_config.h"
#include "faults/config.h"
#include "faults/raise.h"
#include "format/quote.h"
#include "format/reader.h"

/* What several variables make together. */
struct reading {
    struct export_config *config;
    const char *host, *port;               /* of Consul */
    const char *statsd_host, *statsd_port; /* NULL: not said */
    const char *http_ip, *http_port;
    bool tls, verify, statsd, statsd_said;
    struct faults *errors;
    int error; /* 0 or -ENOMEM */
};

typedef void (*variable_reader)(struct reading *reading, const char *name, const char *value,
                                void *field);

static void refuse(struct reading *reading, const char *name, const char *value, const char *wanted)
{
    char quoted[QUOTE_LEN];
    fault_raise(reading->errors, name, config_variable_wrong, .wanted = wanted,
                .found = quote(value, quoted));
}

static void set_text(struct reading *reading, const char *name, const char *value, void *field)
{
    (void)name;
    char **text = field, *copy = strdup(value);
    if (!copy) {
        reading->error = -ENOMEM;
        return;
    }
    free(*text);
    *text = copy;
}

static void set_borrowed(struct reading *reading, const char *name, const char *value, void *field)
{
    (void)reading, (void)name;
    *(const char **)field = value;
}

/* As strconv.ParseBool() has it. */
static void set_bool(struct reading *reading, const char *name, const char *value, void *field)
{
    static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True" };
    static const char *const no[] = { "0", "f", "F", "false", "FALSE", "False" };
    for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
        if (strcmp(value, yes[i]) == 0 || strcmp(value, no[i]) == 0) {
            *(bool *)field = strcmp(value, yes[i]) == 0;
            return;
        }
    }
    refuse(reading, name, value, "true or false");
}

static bool parse_number(const char *value, uint32_t max, uint32_t *ret_number)
{
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || number == 0 || number > max)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

static void set_count(struct reading *reading, const char *name, const char *value, void *field)
{
    if (!parse_number(value, INT32_MAX, field))
        refuse(reading, name, value, "a number above 0");
}

static void set_port(struct reading *reading, const char *name, const char *value, void *field)
{
    uint32_t port;
    if (parse_number(value, UINT16_MAX, &port))
        *(const char **)field = value;
    else
        refuse(reading, name, value, "a port from 1 to 65535");
}

static void add_name(struct reading *reading, const char *name, size_t length, string_list *list)
{
    char *copy = strndup(name, length);
    if (!copy || vec_push(list, copy) < 0) {
        free(copy);
        reading->error = -ENOMEM;
    }
}

/* Words between commas or blanks. */
static void set_words(struct reading *reading, const char *name, const char *value, void *field)
{
    static const char between[] = ", \t\r\n";
    (void)name;
    for (value += strspn(value, between); *value; value += strspn(value, between)) {
        size_t length = strcspn(value, between);
        add_name(reading, value, length, field);
        value += length;
    }
}

static struct document *read_json(struct reading *reading, const char *name, const char *value,
                                  enum doc_type type, const char *wanted)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    int r = document_parse(value, strlen(value), name, READER_JSON, &document, &faults);
    if (r == 1 && document->root->type == type)
        return TAKE_PTR(document);
    if (r == -ENOMEM)
        reading->error = r;
    else
        refuse(reading, name, value, wanted);
    return NULL;
}

/* One selector, or a JSON list of them. */
static void set_selectors(struct reading *reading, const char *name, const char *value, void *field)
{
    value += strspn(value, " \t\r\n");
    if (*value != '[') {
        size_t length = strlen(value);
        while (length > 0 && isspace((unsigned char)value[length - 1]))
            length--;
        add_name(reading, value, length, field);
        return;
    }
    CLEANUP(document_freep)
    struct document *document =
        read_json(reading, name, value, DOC_LIST, "a selector, or a JSON list of selectors");
    doc_each(item, document ? document->root : NULL) {
        if (item->type == DOC_SCALAR)
            add_name(reading, item->text, strlen(item->text), field);
        else
            refuse(reading, name, value, "a JSON list of texts");
    }
}

/* {"k":"v"}, as the code has it, or words between commas, as the documentation. */
static void set_tags(struct reading *reading, const char *name, const char *value, void *field)
{
    value += strspn(value, " \t\r\n");
    if (*value != '{') {
        set_words(reading, name, value, field);
        return;
    }
    CLEANUP(document_freep)
    struct document *document =
        read_json(reading, name, value, DOC_MAP, "tags between commas, or a JSON object");
    doc_each(item, document ? document->root : NULL) {
        AUTOFREE char *tag =
            item->type == DOC_SCALAR ? text_format("%s:%s", item->key, item->text) : NULL;
        if (tag)
            add_name(reading, tag, strlen(tag), field);
    }
}

#define CONFIG(member)  offsetof(struct export_config, member)
#define READING(member) offsetof(struct reading, member)

struct variable {
    const char *name;
    variable_reader read;
    size_t offset;
    bool joined; /* a field of struct reading, not of the configuration */
};

static const struct variable variables[] = {
    { "KSE_CLUSTER_ID", set_text, CONFIG(cluster) },
    { "KSE_POD_NAME", set_text, CONFIG(identity) },
    { "KSE_CONSUL_KV_PREFIX", set_text, CONFIG(prefix) },
    { "KSE_CONSUL_HOST", set_borrowed, READING(host), .joined = true },
    { "KSE_CONSUL_PORT", set_port, READING(port), .joined = true },
    { "KSE_CONSUL_DATACENTER", set_text, CONFIG(consul.datacenter) },
    { "KSE_NODE_SELECTOR", set_selectors, CONFIG(node_selectors) },
    { "KSE_MIN_SELECTOR_NODES", set_count, CONFIG(min_nodes) },
    { "KSE_NAMESPACE_LIST", set_words, CONFIG(namespaces) },
    { "KSE_SERVICES_ENABLED", set_bool, CONFIG(services_asked) },
    { "KSE_SERVICES_KEY_TEMPLATE", set_text, CONFIG(key_template) },
    { "KSE_DOGSTATSD_ENABLED", set_bool, READING(statsd), .joined = true },
    { "KSE_DOGSTATSD_HOST", set_borrowed, READING(statsd_host), .joined = true },
    { "KSE_DOGSTATSD_PORT", set_port, READING(statsd_port), .joined = true },
    { "KSE_DOGSTATSD_TAGS", set_tags, CONFIG(statsd.tags) },
    { "KSE_HTTP_IP", set_borrowed, READING(http_ip), .joined = true },
    { "KSE_HTTP_PORT", set_port, READING(http_port), .joined = true },
    { "CONSUL_HTTP_TOKEN", set_text, CONFIG(consul.token) },
    { "CONSUL_HTTP_TOKEN_FILE", set_text, CONFIG(consul.token_file) },
    { "CONSUL_HTTP_AUTH", set_text, CONFIG(consul.auth) },
    { "CONSUL_HTTP_SSL", set_bool, READING(tls), .joined = true },
    { "CONSUL_HTTP_SSL_VERIFY", set_bool, READING(verify), .joined = true },
    { "CONSUL_CACERT", set_text, CONFIG(consul.ca_file) },
    { "CONSUL_CAPATH", set_text, CONFIG(consul.ca_path) },
    { "CONSUL_CLIENT_CERT", set_text, CONFIG(consul.cert_file) },
    { "CONSUL_CLIENT_KEY", set_text, CONFIG(consul.key_file) },
    { "CONSUL_TLS_SERVER_NAME", set_text, CONFIG(consul.server_name) },
    { "CONSUL_NAMESPACE", set_text, CONFIG(consul.namespace) },
    { "CONSUL_PARTITION", set_text, CONFIG(consul.partition) },
};

/* "HOST:PORT"; an IPv6 address goes into brackets. */
static void join(struct reading *reading, const char *scheme, const char *host, const char *port,
                 char **field)
{
    bool v6 = strchr(host, ':') && *host != '[';
    char *joined = text_format("%s%s%s%s:%s", scheme, v6 ? "[" : "", host, v6 ? "]" : "", port);
    if (!joined) {
        reading->error = -ENOMEM;
        return;
    }
    free(*field);
    *field = joined;
}

static const char *or_default(const char *value, const char *fallback)
{
    return value ? value : fallback;
}

static void join_all(struct reading *reading, char **listen)
{
    struct export_config *config = reading->config;
    config->consul.insecure = !reading->verify;
    join(reading, reading->tls ? "https://" : "http://", or_default(reading->host, "127.0.0.1"),
         or_default(reading->port, "8500"), &config->consul.address);
    if (reading->statsd && reading->statsd_said)
        join(reading, "", or_default(reading->statsd_host, "127.0.0.1"),
             or_default(reading->statsd_port, "8125"), &config->statsd.address);
    if (listen && (reading->http_ip || reading->http_port))
        join(reading, "", or_default(reading->http_ip, "0.0.0.0"),
             or_default(reading->http_port, "8080"), listen);
}

int export_environment(struct export_config *config, char *(*get)(const char *name), char **listen,
                       struct faults *errors)
{
    size_t before = errors->list.count;
    struct reading reading = {
        .config = config,
        .verify = true,
        .statsd = true,
        .errors = errors,
    };
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
        const struct variable *variable = &variables[i];
        char *base = variable->joined ? (char *)&reading : (char *)config;
        const char *value = get(variable->name);
        if (!value || !*value)
            continue;
        variable->read(&reading, variable->name, value, base + variable->offset);
        reading.statsd_said |= strstr(variable->name, "DOGSTATSD") != NULL;
    }
    join_all(&reading, listen);
    if (reading.error < 0)
        return reading.error;
    return errors->list.count > before ? -EBADMSG : 0;
}
