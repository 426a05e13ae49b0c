// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies of writes about addresses; see address_body.h. Called by address_job.c.
 *
 * Status of Services is written by strategic merge patches: conditions are a list by type, of which
 * ours is one, and `ingress` is replaced as a whole. Server-side apply has the same effect, but
 * costs the API server nearly twice as much, and ten thousand Services may request an address at
 * once. The resourceVersion in the body protects what belongs to others: the API refuses (409) a
 * decision about an older version of the Service. A condition keeps its lastTransitionTime while
 * its status stays. Status of pools, which are no built-in kind, is applied.
 */
#include "controller/pools/address_body.h"

#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "format/json.h"

/* "request-unreadable" as "WishUnreadable", as reasons of conditions are written. */
static void camel(const char *word, char *buffer, size_t size)
{
    size_t length = 0;
    bool upper = true;
    for (; *word && length + 1 < size; word++) {
        if (*word == '-') {
            upper = true;
            continue;
        }
        buffer[length++] = (char)(upper && *word >= 'a' ? *word - 'a' + 'A' : *word);
        upper = false;
    }
    buffer[length] = '\0';
}

static const char *reason_of(enum lack_reason reason)
{
    static char words[LACK_REASONS][32];
    if (!*words[reason])
        camel(lack_reason_name(reason), words[reason], sizeof(words[reason]));
    return words[reason];
}

/* What the condition of a Service says: NULL-terminated words. */
struct condition {
    bool is_true;
    const char *reason; /* "Exhausted" */
    struct text message;
};

static void condition_make(const struct assignment *row, struct condition *ret_condition)
{
    *ret_condition = (struct condition){ .is_true = true, .reason = "Assigned" };
    for (size_t i = 0; i < ARRAY_SIZE(row->lacks); i++) {
        const struct lack *lack = &row->lacks[i];
        char ip[IP_STRLEN];
        if (!lack->reason)
            continue;
        struct text *message = &ret_condition->message;
        text_addf(message, "%s%s: %s%s%s", message->length ? "; " : "",
                  lack->ip.family != IP_NONE ? ip_str(&lack->ip, ip)
                  : i                        ? "IPv6"
                                             : "IPv4",
                  lack_reason_text(lack->reason), lack->of ? ": " : "", lack->of ? lack->of : "");
        if (ret_condition->is_true)
            ret_condition->reason = reason_of(lack->reason);
        ret_condition->is_true = false;
    }
}

static void condition_done(struct condition *condition)
{
    text_done(&condition->message);
}

static const char *status_word(bool is_true)
{
    return is_true ? "True" : "False";
}

static bool has_ips(const struct service *service, const ip_list *ips)
{
    size_t found = 0;
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin != ADDRESS_LOAD_BALANCER || address->proxy_mode)
            continue;
        bool known = false;
        vec_each(const struct ip, ip, ips)
            known |= ip_equal(ip, &address->ip);
        if (!known)
            return false;
        found++;
    }
    return found == ips->count;
}

bool address_status_is(const struct service *service, const struct assignment *row)
{
    CLEANUP(condition_done) struct condition condition;
    condition_make(row, &condition);
    return service->assigned && has_ips(service, &row->ips) &&
           strcmp(service->assigned_status, status_word(condition.is_true)) == 0 &&
           strcmp(service->assigned_reason, condition.reason) == 0 &&
           strcmp(service->assigned_message, text_str(&condition.message)) == 0;
}

static void begin_object(struct json *json, const char *api_version, const char *kind,
                         const struct object *object)
{
    json_begin_object(json, NULL);
    json_string(json, "apiVersion", api_version);
    json_string(json, "kind", kind);
    json_begin_object(json, "metadata");
    json_string(json, "namespace", object->namespace);
    json_string(json, "name", object->name);
}

static void write_condition(struct json *json, const struct service *service,
                            const struct assignment *row, int64_t now_wall_ms)
{
    CLEANUP(condition_done) struct condition condition;
    char now[CLOCK_STRLEN];
    condition_make(row, &condition);
    const char *status = status_word(condition.is_true);
    bool same = strcmp(service->assigned_status, status) == 0 && *service->assigned_since;
    json_begin_array(json, "conditions");
    json_begin_object(json, NULL);
    json_string(json, "type", SERVICE_ASSIGNED);
    json_string(json, "status", status);
    json_string(json, "reason", condition.reason);
    json_string(json, "message", text_str(&condition.message));
    json_string(json, "lastTransitionTime",
                same ? service->assigned_since : clock_rfc3339(now_wall_ms, now));
    json_end_object(json);
    json_end_array(json);
    json->out->failed |= text_error(&condition.message) < 0;
}

/* The addresses are removed with the condition, which marks them as ours. */
static void write_removal(struct json *json, bool addresses)
{
    json_begin_array(json, "conditions");
    json_begin_object(json, NULL);
    json_string(json, "type", SERVICE_ASSIGNED);
    json_string(json, "$patch", "delete");
    json_end_object(json);
    json_end_array(json);
    if (!addresses)
        return;
    json_begin_object(json, "loadBalancer");
    json_null(json, "ingress");
    json_end_object(json);
}

static void write_ingress(struct json *json, const ip_list *ips)
{
    char text[IP_STRLEN];
    json_begin_object(json, "loadBalancer");
    json_begin_array(json, "ingress");
    vec_each(const struct ip, ip, ips) {
        json_begin_object(json, NULL);
        json_string(json, "ip", ip_str(ip, text));
        json_string(json, "ipMode", "VIP");
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void address_status_write(const struct service *service, const struct assignment *row,
                          bool addresses, int64_t now_wall_ms, struct text *out)
{
    struct json json = { .out = out };
    begin_object(&json, "v1", "Service", &service->object);
    json_string(&json, "resourceVersion", service->object.version);
    json_end_object(&json);
    json_begin_object(&json, "status");
    if (row) {
        write_condition(&json, service, row, now_wall_ms);
        write_ingress(&json, &row->ips);
    } else {
        write_removal(&json, addresses);
    }
    json_end_object(&json);
    json_end_object(&json);
}

struct ip_pool_counts address_pool_counts(const struct pool_use *use)
{
    struct ip_pool_counts counts;
    for (size_t i = 0; i < ARRAY_SIZE(counts.assigned); i++) {
        counts.assigned[i] = (int64_t)MIN(use->used[i], (uint64_t)INT64_MAX);
        counts.available[i] = (int64_t)MIN(use->free[i], (uint64_t)INT64_MAX);
    }
    return counts;
}

void address_pool_status_write(const struct object *pool, const struct ip_pool_counts *counts,
                               struct text *out)
{
    struct json json = { .out = out };
    begin_object(&json, "metallb.io/v1beta1", "IPAddressPool", pool);
    json_end_object(&json);
    json_begin_object(&json, "status");
    json_int(&json, "assignedIPv4", counts->assigned[0]);
    json_int(&json, "assignedIPv6", counts->assigned[1]);
    json_int(&json, "availableIPv4", counts->available[0]);
    json_int(&json, "availableIPv6", counts->available[1]);
    json_end_object(&json);
    json_end_object(&json);
}

/* The texts of an Event about a Service; the name is derived from `cause`. */
struct words {
    const char *reason;
    const struct text *cause, *note;
};

static void write_event(const struct service *service, const struct words *words,
                        const char *identity, int64_t now_wall_ms,
                        char ret_name[static KUBE_EVENT_NAME_MAX + 1], struct text *out)
{
    const struct object *object = &service->object;
    const struct kube_event event = {
        .namespace = object->namespace,
        .name = kube_event_name(object->name, text_str(words->cause), ret_name),
        .subject = { "v1", "Service", object->name, object->uid },
        .reason = words->reason,
        .action = "Assigning",
        .note = text_str(words->note),
        .controller = "fingerpost.io/agent-controller",
        .instance = identity,
    };
    kube_event_write(&event, now_wall_ms, out);
    out->failed |= text_error(words->cause) < 0 || text_error(words->note) < 0;
}

void address_event_write(const struct service *service, const struct assignment *row,
                         const char *identity, int64_t now_wall_ms,
                         char ret_name[static KUBE_EVENT_NAME_MAX + 1], struct text *out)
{
    CLEANUP(condition_done) struct condition condition;
    AUTOTEXT struct text cause = { 0 };
    AUTOTEXT struct text note = { 0 };
    condition_make(row, &condition);
    text_addf(&cause, "%s %s", service->object.uid, text_str(&condition.message));
    text_addf(&note, "%s: %.900s",
              row->ips.count ? "not every LoadBalancer address" : "no LoadBalancer address",
              text_str(&condition.message));
    const struct words words = { "AddressPending", &cause, &note };
    write_event(service, &words, identity, now_wall_ms, ret_name, out);
    out->failed |= text_error(&condition.message) < 0;
}

void address_loss_event_write(const struct service *service, const char *loss, const char *identity,
                              int64_t now_wall_ms, char ret_name[static KUBE_EVENT_NAME_MAX + 1],
                              struct text *out)
{
    AUTOTEXT struct text cause = { 0 };
    AUTOTEXT struct text note = { 0 };
    text_addf(&cause, "%s loses %s", service->object.uid, loss);
    text_addf(&note, "does not keep what its status says: %.900s", loss);
    const struct words words = { "AddressLost", &cause, &note };
    write_event(service, &words, identity, now_wall_ms, ret_name, out);
}
