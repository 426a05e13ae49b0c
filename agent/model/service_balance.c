// SPDX-License-Identifier: Apache-2.0
/*
 * The part of a Service that says who may come and whom a client stays with: source ranges, session
 * affinity, the health port. Read by service.c, used by the NAT planner.
 *
 * A range that can't be used is skipped with a warning, as an address is. Since no range at all
 * means "open to everyone", a list of which nothing is left gets a warning of its own.
 */
#include <string.h>

#include "format/quote.h"
#include "model/decode.h"
#include "model/equal.h"
#include "model/service.h"

enum { PORT_MAX = 65535, TIMEOUT_DEFAULT = 10800, TIMEOUT_MAX = 86400 };

/* The text without blanks around it, as Kubernetes reads it; false if it is too long for a CIDR. */
static bool trim(const char *text, char trimmed[static PREFIX_STRLEN + IP_STRLEN])
{
    static const char blanks[] = " \t\n\v\f\r";
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]))
        length--;
    if (length >= PREFIX_STRLEN + IP_STRLEN)
        return false;
    memcpy(trimmed, text, length);
    trimmed[length] = '\0';
    return true;
}

static bool decode_range(struct decoder *decoder, const struct doc *node, struct prefix *ret_range)
{
    char trimmed[PREFIX_STRLEN + IP_STRLEN], quoted[QUOTE_LEN], canonical[PREFIX_STRLEN];
    const char *text = node->type == DOC_NULL ? "" : decode_text(decoder, node);
    struct prefix range;
    if (!text)
        return false;
    int r = trim(text, trimmed) ? prefix_parse(trimmed, &range) : -1;
    if (r < 0) {
        decode_warning(decoder, node, "%s is not a CIDR; skipped", quote(text, quoted));
        return false;
    }
    if (r > 0) {
        decode_warning(decoder, node, "%s has bits beyond its length; read as %s",
                       quote(trimmed, quoted), prefix_str(&range, canonical));
    }
    *ret_range = range;
    return true;
}

static void decode_ranges(struct decoder *decoder, const struct doc *spec, struct service *service)
{
    const struct doc *list = decode_list(decoder, doc_get(spec, "loadBalancerSourceRanges"));
    struct prefix *ranges = decode_alloc(decoder, list ? list->count : 0, sizeof(*ranges));
    if (!ranges)
        return;
    service->source_ranges = ranges;
    doc_each(node, list) {
        if (decode_range(decoder, node, &ranges[service->source_range_count]))
            service->source_range_count++;
    }
    if (service->source_range_count == 0)
        decode_warning(decoder, list, "no usable range: open to all sources");
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
