// SPDX-License-Identifier: Apache-2.0
/*
 * The part of a Service that says who may come and whom a client stays with: source ranges, session
 * affinity, the health port. Called by service.c; the NAT planner goes by what is read here.
 *
 * A range that can't be used is skipped with a warning, as an address is. Since no range at all
 * means "open to everyone", a list of which nothing is left gets a warning of its own.
 */
#include "model/services/service_balance.h"

enum { TIMEOUT_DEFAULT = 10800, TIMEOUT_MAX = 86400 };

bool service_decode_ranges(struct decoder *decoder, const struct doc *list,
                           const struct field *field, void *base)
{
    const struct service *service = base;
    (void)field_list.decode(decoder, list, field, base);
    if (service->source_ranges && service->source_range_count == 0)
        decode_warning(decoder, list, service_sources_unusable);
    return true;
}

static DECODE_FIELD(decode_affinity, node)
{
    static const char *const words[] = { "None", "ClientIP", NULL };
    uint32_t *seconds = field_member(field, base);
    const struct doc *config = decode_map(decoder, doc_get(decoder->map, "sessionAffinityConfig"));
    const struct doc *client = decode_map(decoder, doc_get(config, "clientIP"));
    int64_t timeout =
        decode_int(decoder, doc_get(client, "timeoutSeconds"), 1, TIMEOUT_MAX, TIMEOUT_DEFAULT);
    *seconds = decode_word(decoder, node, words) == 1 ? (uint32_t)timeout : 0;
    return true;
}

static ENCODE_FIELD(encode_affinity)
{
    const struct service *service = base;
    if (!service->affinity_seconds)
        return;
    json_string(json, field->key, "ClientIP");
    json_begin_object(json, "sessionAffinityConfig");
    json_begin_object(json, "clientIP");
    json_int(json, "timeoutSeconds", service->affinity_seconds);
    json_end_object(json);
    json_end_object(json);
}

const struct field_type service_affinity_type = { decode_affinity, field_numbers_equal,
                                                  encode_affinity };
