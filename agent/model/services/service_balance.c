// SPDX-License-Identifier: Apache-2.0
/*
 * The part of a Service that says who may come and whom a client stays with: source ranges, session
 * affinity, the health port. Called by service.c; the NAT planner goes by what is read here.
 *
 * A range that can't be used is skipped with a warning, as an address is. Since no range at all
 * means "open to everyone", a list of which nothing is left gets a warning of its own.
 */
#include "model/services/service_balance.h"

#include "model/fields/encode_member.h"
#include "model/fields/equal.h"

enum { PORT_MAX = 65535, TIMEOUT_DEFAULT = 10800, TIMEOUT_MAX = 86400 };

static void decode_ranges(struct decoder *decoder, const struct doc *spec, struct service *service)
{
    const struct doc *list = decode_list(decoder, doc_get(spec, "loadBalancerSourceRanges"));
    struct prefix *ranges = decode_alloc(decoder, list ? list->count : 0, sizeof(*ranges));
    if (!ranges)
        return;
    service->source_ranges = ranges;
    doc_each(node, list) {
        if (decode_cidr(decoder, node, &ranges[service->source_range_count]))
            service->source_range_count++;
    }
    if (service->source_range_count == 0)
        decode_warning(decoder, list, service_sources_unusable);
}

static uint32_t decode_affinity(struct decoder *decoder, const struct doc *spec)
{
    static const char *const words[] = { "None", "ClientIP", NULL };
    const struct doc *config = decode_map(decoder, doc_get(spec, "sessionAffinityConfig"));
    const struct doc *client = decode_map(decoder, doc_get(config, "clientIP"));
    int64_t timeout =
        decode_int(decoder, doc_get(client, "timeoutSeconds"), 1, TIMEOUT_MAX, TIMEOUT_DEFAULT);
    bool wanted = decode_word(decoder, doc_get(spec, "sessionAffinity"), words) == 1;
    return wanted ? (uint32_t)timeout : 0;
}

void service_balance_decode(struct decoder *decoder, const struct doc *spec,
                            struct service *service)
{
    decode_ranges(decoder, spec, service);
    service->affinity_seconds = decode_affinity(decoder, spec);
    service->health_check_node_port =
        (uint16_t)decode_int(decoder, doc_get(spec, "healthCheckNodePort"), 0, PORT_MAX, 0);
}

bool service_balance_equal(const struct service *a, const struct service *b)
{
    return a->health_check_node_port == b->health_check_node_port &&
           a->affinity_seconds == b->affinity_seconds &&
           prefixes_equal(a->source_ranges, a->source_range_count, b->source_ranges,
                          b->source_range_count);
}

void service_balance_encode(const struct service *service, struct json *json)
{
    if (service->source_range_count)
        encode_prefixes(json, "loadBalancerSourceRanges", service->source_ranges,
                        service->source_range_count);
    encode_number(json, "healthCheckNodePort", service->health_check_node_port);
    if (!service->affinity_seconds)
        return;
    json_string(json, "sessionAffinity", "ClientIP");
    json_begin_object(json, "sessionAffinityConfig");
    json_begin_object(json, "clientIP");
    json_int(json, "timeoutSeconds", service->affinity_seconds);
    json_end_object(json);
    json_end_object(json);
}
