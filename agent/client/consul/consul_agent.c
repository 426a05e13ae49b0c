// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies and answers of the Consul agent's API; see consul_agent.h. Called by
 * report/consul_keeper.c.
 *
 * An agent answers with one object whose members are services, or checks, by their ids. The id of
 * our check is "fingerpost:" and the id of its service. kube-service-exporter's own check is named
 * NodePort, and so is ours of that kind.
 */
#include "client/consul/consul_agent.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/consul/consul.h"
#include "format/json.h"
#include "format/reader.h"

#define CHECK_ID            "fingerpost:"
#define NODE_MAINTENANCE    "_node_maintenance"
#define SERVICE_MAINTENANCE "_service_maintenance:"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *member(const struct doc *map, const char *name)
{
    const struct doc *node = doc_get(map, name);
    return node && node->type == DOC_SCALAR ? node->text : "";
}

bool consul_agent_has_tag(const struct consul_agent_service *service, const char *tag)
{
    doc_each(item, service->tags) {
        if (item->type == DOC_SCALAR && strcmp(item->text, tag) == 0)
            return true;
    }
    return false;
}

const char *consul_agent_meta(const struct consul_agent_service *service, const char *name)
{
    return member(service->meta, name);
}

/* The object of an answer. Returns 0, -EBADMSG or -ENOMEM. */
static int read_map(const char *body, size_t size, struct document **ret_document)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    int r = document_parse(body, size, "answer", READER_JSON, &document, &faults);
    if (r != 1 || document->root->type != DOC_MAP)
        return r == -ENOMEM ? r : -EBADMSG;
    *ret_document = TAKE_PTR(document);
    return 0;
}

static const struct doc *container(const struct doc *map, const char *name, enum doc_type type)
{
    const struct doc *node = doc_get(map, name);
    return node && node->type == type ? node : NULL;
}

int consul_agent_read_services(const char *body, size_t size, consul_agent_service_fn each,
                               void *context)
{
    CLEANUP(document_freep) struct document *document = NULL;
    int r = read_map(body, size, &document);
    if (r < 0)
        return r;
    doc_each(item, document->root) {
        const struct consul_agent_service service = {
            .id = member(item, "ID"),
            .name = member(item, "Service"),
            .address = member(item, "Address"),
            .port = (unsigned)strtoul(member(item, "Port"), NULL, 10),
            .tags = container(item, "Tags", DOC_LIST),
            .meta = container(item, "Meta", DOC_MAP),
        };
        r = *service.id ? each(context, &service) : -EBADMSG;
        if (r < 0)
            return r;
    }
    return 0;
}

int consul_agent_read_checks(const char *body, size_t size, consul_agent_check_fn each,
                             void *context)
{
    CLEANUP(document_freep) struct document *document = NULL;
    int r = read_map(body, size, &document);
    if (r < 0)
        return r;
    doc_each(item, document->root) {
        const char *id = member(item, "CheckID");
        const bool shut = strcmp(id, NODE_MAINTENANCE) == 0 || begins(id, SERVICE_MAINTENANCE);
        const struct consul_agent_check check = {
            .service = member(item, "ServiceID"),
            .status = member(item, "Status"),
            .output = member(item, "Output"),
            .maintenance = shut ? member(item, "Notes") : NULL,
        };
        const bool ours = begins(id, CHECK_ID) && strcmp(id + strlen(CHECK_ID), check.service) == 0;
        if (shut || ours)
            r = each(context, &check);
        if (r < 0)
            return r;
    }
    return 0;
}

static const char *status_word(bool healthy)
{
    return healthy ? "passing" : "critical";
}

/* An IPv6 address is written in brackets. */
static void write_checks(const struct consul_registration *registration, struct json *json)
{
    bool v6 = strchr(registration->address, ':');
    const char *open = v6 ? "[" : "", *close = v6 ? "]" : "", *address = registration->address;
    json_begin_object(json, NULL);
    json_stringf(json, "CheckID", CHECK_ID "%s", registration->id);
    json_string(json, "Name", "Fingerpost");
    json_stringf(json, "TTL", "%" PRId64 "s", registration->ttl_s);
    json_string(json, "Status", status_word(registration->healthy));
    json_end_object(json);
    if (registration->tcp) {
        json_begin_object(json, NULL);
        json_string(json, "Name", "NodePort");
        json_stringf(json, "TCP", "%s%s%s:%u", open, address, close, registration->port);
        json_string(json, "Interval", "10s");
        json_string(json, "Timeout", "5s");
        json_end_object(json);
    }
    if (registration->health_port) {
        json_begin_object(json, NULL);
        json_string(json, "Name", "healthCheckNodePort");
        json_stringf(json, "HTTP", "http://%s%s%s:%u/", open, address, close,
                     registration->health_port);
        json_string(json, "Interval", "10s");
        json_string(json, "Timeout", "5s");
        json_end_object(json);
    }
}

void consul_agent_register(const struct consul_registration *registration, struct text *out)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "ID", registration->id);
    json_string(&json, "Name", registration->id);
    json_begin_array(&json, "Tags");
    for (size_t i = 0; i < sizeof(registration->tags) / sizeof(*registration->tags); i++)
        json_string(&json, NULL, registration->tags[i]);
    json_end_array(&json);
    json_string(&json, "Address", registration->address);
    json_int(&json, "Port", registration->port);
    json_begin_object(&json, "Meta");
    for (size_t i = 0; i < sizeof(registration->meta) / sizeof(*registration->meta); i++)
        json_string(&json, registration->meta[i].name, registration->meta[i].value);
    json_end_object(&json);
    json_begin_array(&json, "Checks");
    write_checks(registration, &json);
    json_end_array(&json);
    json_end_object(&json);
}

void consul_agent_update_path(const char *id, struct text *out)
{
    text_add(out, "/v1/agent/check/update/");
    consul_add_encoded(out, CHECK_ID);
    consul_add_encoded(out, id);
    text_add_char(out, '?');
}

void consul_agent_update(bool healthy, const char *why, struct text *out)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "Status", status_word(healthy));
    json_string(&json, "Output", why);
    json_end_object(&json);
}

void consul_agent_remove_path(const char *id, struct text *out)
{
    text_add(out, "/v1/agent/service/deregister/");
    consul_add_encoded(out, id);
    text_add_char(out, '?');
}
