// SPDX-License-Identifier: Apache-2.0
/*
 * The documents of one Service: its annotations are read by kube-service-exporter's rules, and each
 * of its ports gets one document. Called by plan/export/export.c.
 *
 * An invalid annotation refuses the whole Service, as there: half of its ports would be worse than
 * the existing documents in KV. Where kube-service-exporter silently uses the default for a wrong
 * value, this does the same, and adds a fault.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "faults/export.h"
#include "faults/raise.h"
#include "format/quote.h"
#include "format/reader.h"
#include "model/services/service_export.h"
#include "plan/export/export_parts.h"
#include "plan/export/exported.h"
#include "plan/object_fault.h"

enum { PORT_NAME_LEN = 16, DOMAIN_MAX = 253, DOMAIN_LABEL_MAX = 63, FILE_NAME_MAX = 200 };

/* The state of reading one Service. */
struct reading {
    struct exporting *exporting;
    const struct service *service;
    const char *const *texts; /* by enum export_annotation */
    enum export_addresses addresses;
    struct exported exported;              /* common to all ports */
    const struct service_port *ingress;    /* the port that replaces its own; NULL: none */
    const struct service *ingress_service; /* its Service */
    struct document *attributes;           /* the text of custom-attrs, or NULL */
};

static bool parse_bool(const char *text, bool *ret_value)
{
    static const char *const words[2][6] = {
        { "0", "f", "F", "false", "FALSE", "False" },
        { "1", "t", "T", "true", "TRUE", "True" },
    };
    for (size_t i = 0; i < 2 * ARRAY_SIZE(words[0]); i++) {
        if (strcmp(text, words[i % 2][i / 2]) == 0) {
            *ret_value = i % 2;
            return true;
        }
    }
    return false;
}

/*
 * The kind of addresses for load balancers, by the Service's annotation or the configuration.
 * Returns 0, or -EINVAL for an invalid annotation.
 */
static int addresses_of(const struct export_config *config, const struct service *service,
                        enum export_addresses *ret_addresses)
{
    const char *text = service->exports ? service->exports[EXPORT_ADDRESSES] : NULL;
    *ret_addresses = config->addresses;
    if (!text)
        return 0;
    for (int i = 0; i < EXPORT_ADDRESS_WORDS; i++) {
        if (strcmp(text, export_addresses_names[i]) == 0) {
            *ret_addresses = (enum export_addresses)i;
            return 0;
        }
    }
    return -EINVAL;
}

static bool is_selected_namespace(const struct export_config *config, const char *namespace)
{
    vec_each(char *, name, &config->namespaces) {
        if (strcmp(*name, namespace) == 0)
            return true;
    }
    return config->namespaces.count == 0;
}

bool export_is_asked(const struct export_config *config, const struct service *service)
{
    bool asked = false;
    enum export_addresses addresses;
    if (!service->exports || !parse_bool(service->exports[EXPORT_EXPORTED], &asked) || !asked ||
        !is_selected_namespace(config, service->object.namespace))
        return false;
    if (service->type == SERVICE_LOAD_BALANCER || service->type == SERVICE_NODE_PORT)
        return true;
    return service->type == SERVICE_CLUSTER_IP && addresses_of(config, service, &addresses) == 0 &&
           addresses == EXPORT_PODS;
}

static const char *text_or_empty(const struct reading *reading, enum export_annotation annotation)
{
    return reading->texts[annotation] ? reading->texts[annotation] : "";
}

/* Refuses the Service because of an annotation. Returns 1 or -ENOMEM. */
static int refuse_annotation(struct reading *reading, enum export_annotation annotation,
                             const char *wanted)
{
    char quoted[QUOTE_LEN];
    AUTOTEXT struct text remedy = { 0 };
    text_addf(&remedy, "set the annotation to %s, or remove it", wanted);
    int r = text_error(&remedy);
    if (r < 0)
        return r;
    r = export_refuse(reading->exporting, reading->service, text_str(&remedy),
                      "annotation %s is %s", export_annotation_name(annotation),
                      quote(text_or_empty(reading, annotation), quoted));
    return r < 0 ? r : 1;
}

/* Adds a fault: a word other than those two means the default, as in kube-service-exporter. */
static void doubt(struct reading *reading, enum export_annotation annotation, const char *good,
                  const char *fallback)
{
    const char *text = reading->texts[annotation];
    const struct object *object = &reading->service->object;
    char quoted[QUOTE_LEN];
    if (!text || !*text || strcmp(text, good) == 0 || strcmp(text, fallback) == 0)
        return;
    object_raise(reading->exporting->faults, object, export_annotation_defaulted,
                 .annotation = export_annotation_name(annotation), .text = quote(text, quoted),
                 .fallback = fallback, .good = good);
}

/* As strconv.ParseInt(text, 10, 32): digits with an optional sign, nothing else. */
static bool parse_int32(const char *text, int32_t *ret_value)
{
    const char *digits = *text == '+' || *text == '-' ? text + 1 : text;
    if (!*digits || digits[strspn(digits, "0123456789")])
        return false;
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno || value < INT32_MIN || value > INT32_MAX)
        return false;
    *ret_value = (int32_t)value;
    return true;
}

/* Numbers of the annotations. Returns 0, 1 if the Service is refused, or -ENOMEM. */
static int read_numbers(struct reading *reading)
{
    struct exported *exported = &reading->exported;
    const char *listen = reading->texts[EXPORT_LISTEN_PORT];
    const char *health = reading->texts[EXPORT_HEALTH_PORT];
    const char *cluster = reading->texts[EXPORT_PER_CLUSTER];
    if (listen && !parse_int32(listen, &exported->listen_port))
        return refuse_annotation(reading, EXPORT_LISTEN_PORT, "a port's number");
    if (health && !parse_int32(health, &exported->health_port))
        return refuse_annotation(reading, EXPORT_HEALTH_PORT, "a port's number");
    if (cluster && !parse_bool(cluster, &exported->per_cluster))
        return refuse_annotation(reading, EXPORT_PER_CLUSTER, "\"true\" or \"false\"");
    if (addresses_of(reading->exporting->config, reading->service, &reading->addresses) < 0)
        return refuse_annotation(reading, EXPORT_ADDRESSES,
                                 "\"nodePorts\", \"pods\" or \"loadBalancer\"");
    return 0;
}

/* Returns likewise. */
static int read_attributes(struct reading *reading)
{
    const char *text = reading->texts[EXPORT_CUSTOM_ATTRS];
    AUTOFAULTS struct faults faults = { 0 };
    if (!text)
        return 0;
    int r = document_parse(text, strlen(text), "custom-attrs", READER_JSON, &reading->attributes,
                           &faults);
    if (r == -ENOMEM)
        return r;
    const struct doc *root = r == 1 ? reading->attributes->root : NULL;
    if (root && root->type == DOC_NULL) {
        reading->exported.attributes_null = true;
        return 0;
    }
    reading->exported.attributes = root;
    if (root && root->type == DOC_MAP)
        return 0;
    r = export_refuse(
        reading->exporting, reading->service,
        "write a JSON object into the annotation, as {\"team\": \"web\"}, or remove it",
        "annotation %s is no JSON object%s%s", export_annotation_name(EXPORT_CUSTOM_ATTRS),
        faults.list.count ? ": " : "", faults.list.count ? faults.list.items[0].message : "");
    return r < 0 ? r : 1;
}

static const struct service_port *port_named(const struct service *service, const char *name)
{
    for (uint32_t i = 0; i < service->port_count; i++) {
        if (strcmp(service->ports[i].name, name) == 0)
            return &service->ports[i];
    }
    return NULL;
}

static void ingress_port_fault(struct reading *reading, const struct object *ingress)
{
    object_raise(reading->exporting->faults, &reading->service->object, export_ingress_port_missing,
                 .namespace = ingress->namespace, .name = ingress->name,
                 .port = reading->texts[EXPORT_INGRESS_PORT]);
}

/* The Service by which load balancers reach this one. Returns likewise. */
static int read_ingress(struct reading *reading)
{
    const char *namespace = text_or_empty(reading, EXPORT_INGRESS_NAMESPACE);
    const char *name = text_or_empty(reading, EXPORT_INGRESS_NAME);
    const char *port = text_or_empty(reading, EXPORT_INGRESS_PORT);
    if (!*namespace || !*name || !*port)
        return 0;
    const struct object *ingress =
        store_get(reading->exporting->store, KIND_SERVICE, namespace, name);
    if (!ingress) {
        int r = export_refuse(reading->exporting, reading->service,
                              "create the ingress Service, or correct the annotations",
                              "ingress service %s/%s not found for service %s/%s", namespace, name,
                              reading->service->object.namespace, reading->service->object.name);
        return r < 0 ? r : 1;
    }
    reading->ingress_service = to_service(ingress);
    reading->ingress = port_named(reading->ingress_service, port);
    if (!reading->ingress)
        ingress_port_fault(reading, ingress);
    return 0;
}

static void read_texts(struct reading *reading)
{
    const struct object *object = &reading->service->object;
    const char *const *texts = reading->texts;
    bool tcp = texts[EXPORT_BACKEND_PROTOCOL] && strcmp(texts[EXPORT_BACKEND_PROTOCOL], "tcp") == 0;
    doubt(reading, EXPORT_BACKEND_PROTOCOL, "tcp", "http");
    doubt(reading, EXPORT_PROXY_PROTOCOL, "*", "none");
    reading->exported = (struct exported){
        .cluster = reading->exporting->config->cluster,
        .namespace = object->namespace,
        .name = object->name,
        .dns_name = text_or_empty(reading, EXPORT_DNS_NAME),
        .per_cluster = true,
        .health_path = text_or_empty(reading, EXPORT_HEALTH_PATH),
        .backend_protocol = tcp ? "tcp" : "http",
        .proxy_protocol = strcmp(text_or_empty(reading, EXPORT_PROXY_PROTOCOL), "*") == 0,
        .balancer_class = text_or_empty(reading, EXPORT_CLASS),
        .sni = "",
        .id_prefix = text_or_empty(reading, EXPORT_ID_PREFIX),
    };
}

/* As a resolver accepts names; '_' too, and not only a number. */
static bool is_domain(const char *name)
{
    size_t length = strlen(name), label = 0;
    bool letter = false;
    if (length == 0 || length > DOMAIN_MAX)
        return false;
    for (size_t i = 0; i <= length; i++) {
        char c = name[i];
        if (c == '.' || c == '\0') {
            if (label == 0 || label > DOMAIN_LABEL_MAX || name[i - 1] == '-')
                return false;
            label = 0;
        } else if (isalnum((unsigned char)c) || c == '_' || (c == '-' && label > 0)) {
            letter = letter || !isdigit((unsigned char)c);
            label++;
        } else {
            return false;
        }
    }
    return letter;
}

/* Reads the members of one port. `sni` holds its name behind an ingress. Returns likewise. */
static int read_port(struct reading *reading, const struct service_port *port,
                     struct exported *exported, struct text *sni)
{
    const struct service *service = reading->service;
    bool own_health = reading->texts[EXPORT_HEALTH_PORT] != NULL;
    exported->port = reading->ingress ? reading->ingress->node_port : port->node_port;
    if (!own_health)
        exported->health_port = exported->port;
    if (!own_health && !reading->ingress && reading->exporting->config->details &&
        service->external_local && service->health_check_node_port)
        exported->health_port = service->health_check_node_port;
    if (!reading->ingress)
        return 0;
    bool digit = isdigit((unsigned char)*exported->port_name);
    text_addf(sni, "%s.%s.%s.local", digit ? "default" : exported->port_name, exported->name,
              exported->namespace);
    exported->sni = text_str(sni);
    if (is_domain(exported->sni))
        return text_error(sni);
    int r = export_refuse(reading->exporting, service, "give the port a shorter name",
                          "ingress_sni is not a valid domain name: %s", exported->sni);
    return r < 0 ? r : 1;
}

static char *keep(struct exporting *exporting, const struct text *text)
{
    return arena_strndup(exporting->plan->arena, text_str(text), text->length);
}

/* Adds the document to the plan; it may still lose its key to another Service. */
static int add_document(struct reading *reading, const struct service_port *port,
                        const struct exported *exported, const struct text *key,
                        const struct text *value)
{
    struct exporting *exporting = reading->exporting;
    AUTOTEXT struct text id = { 0 }, owner = { 0 };
    exported_id(exported, &id);
    text_addf(&owner, "%s/%s", exported->namespace, exported->name);
    struct export_document document = {
        .key = keep(exporting, key),
        .value = keep(exporting, value),
        .id = keep(exporting, &id),
        .owner = keep(exporting, &owner),
        .server = reading->ingress ? reading->ingress_service : reading->service,
        .port = reading->ingress ? reading->ingress : port,
    };
    if (text_error(&id) < 0 || text_error(&owner) < 0 || !document.key || !document.value ||
        !document.id || !document.owner)
        return -ENOMEM;
    return vec_push(&exporting->plan->documents, document);
}

/* Whether the parts of a key are valid file names: none hidden, no "." or "..". */
static bool is_path(const char *key)
{
    for (const char *part = key;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || length > FILE_NAME_MAX || *part == '.')
            return false;
        part += length;
        if (!*part)
            return true;
    }
}

/* Returns likewise. */
static int make_key(struct reading *reading, const struct exported *exported, struct text *key)
{
    const struct export_config *config = reading->exporting->config;
    const char *wrong = "";
    text_addf(key, "%s/services/", config->prefix);
    size_t before = key->length;
    int r = 0;
    if (*config->key_template)
        r = exported_key(exported, config->key_template, key, &wrong);
    else
        exported_id(exported, key);
    if (r == 0 && key->length == before)
        wrong = "the key is empty";
    text_addf(key, "/clusters/%s", config->cluster);
    if (key->length > EXPORT_KEY_MAX)
        wrong = "the key is too long";
    if (config->folder && !is_path(text_str(key)))
        wrong = "a part of the key can't be the name of a file";
    if (!*wrong)
        return text_error(key);
    r = export_refuse(reading->exporting, reading->service,
                      "correct consul.keyTemplate, or the annotations that it uses",
                      "no key can be made for port %s: %s", exported->port_name, wrong);
    return r < 0 ? r : 1;
}

static int make_value(struct reading *reading, const struct exported *exported,
                      const struct service_port *port, struct text *value)
{
    text_add_char(value, '{');
    int r = exported_members(exported, value);
    if (r >= 0)
        r = export_details(reading->exporting, reading->service, port, reading->addresses, value);
    text_add_char(value, '}');
    const char *wrong = r == -ERANGE                       ? "has a number that is too large"
                        : value->length > EXPORT_VALUE_MAX ? "makes the document too long"
                                                           : NULL;
    if (!wrong)
        return r < 0 ? r : text_error(value);
    r = export_refuse(reading->exporting, reading->service, "say less in the annotation",
                      "annotation %s %s", export_annotation_name(EXPORT_CUSTOM_ATTRS), wrong);
    return r < 0 ? r : 1;
}

static int export_port(struct reading *reading, const struct service_port *port)
{
    char number[PORT_NAME_LEN];
    AUTOTEXT struct text sni = { 0 }, key = { 0 }, value = { 0 };
    struct exported exported = reading->exported;
    (void)snprintf(number, sizeof(number), "%u", port->port);
    exported.port_name = *port->name ? port->name : number;
    int r = read_port(reading, port, &exported, &sni);
    if (r != 0)
        return r;
    r = make_key(reading, &exported, &key);
    if (r != 0)
        return r;
    if (!reading->exporting->ids_only)
        r = make_value(reading, &exported, port, &value);
    return r ? r : add_document(reading, port, &exported, &key, &value);
}

int export_service(struct exporting *exporting, const struct service *service)
{
    static int (*const steps[])(struct reading *) = { read_numbers, read_attributes, read_ingress };
    struct reading reading = {
        .exporting = exporting,
        .service = service,
        .texts = service->exports,
    };
    size_t before = exporting->plan->documents.count;
    int r = 0;
    read_texts(&reading);
    for (size_t i = 0; i < ARRAY_SIZE(steps) && r == 0; i++)
        r = steps[i](&reading);
    for (uint32_t i = 0; i < service->port_count && r == 0; i++)
        r = export_port(&reading, &service->ports[i]);
    document_free(TAKE_PTR(reading.attributes));
    if (r == 0)
        exporting->plan->services++;
    else
        exporting->plan->documents.count = before; /* drops all of its ports */
    return r < 0 ? r : 0;
}
