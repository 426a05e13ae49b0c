// SPDX-License-Identifier: Apache-2.0
/*
 * What the API refuses in a Service because it would do nothing: a field that goes with another
 * type or policy, a second port without a name. Nobody refuses it in a manifest, whose owner would
 * believe that it counts. Called by service.c.
 */
#include "model/services/service_idle.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/quote.h"

/* As good as absent: empty, or 0. */
static bool is_nothing(const struct doc *node)
{
    return !node || (node->type == DOC_LIST && node->count == 0) ||
           (node->type == DOC_SCALAR && (!*node->text || strcmp(node->text, "0") == 0));
}

static void warn_if(struct decoder *decoder, bool idle, const struct doc *node, const char *needs)
{
    if (idle && !is_nothing(node))
        decode_warning(decoder, node, object_field_idle, .needs = needs);
}

static bool has_external(const struct doc *spec)
{
    const struct doc *list = doc_get(spec, "externalIPs");
    return list && list->type == DOC_LIST && list->count > 0;
}

static void check_type(struct decoder *decoder, const struct doc *spec,
                       const struct service *service)
{
    static const char balancer[] = "type: LoadBalancer";
    const bool balanced = service->type == SERVICE_LOAD_BALANCER;
    const bool open = balanced || service->type == SERVICE_NODE_PORT;
    warn_if(decoder, !balanced, doc_get(spec, "loadBalancerSourceRanges"), balancer);
    warn_if(decoder, !balanced, doc_get(spec, "loadBalancerClass"), balancer);
    warn_if(decoder, !open && !has_external(spec) && service->external_local,
            doc_get(spec, "externalTrafficPolicy"), "type: LoadBalancer or NodePort");
    warn_if(decoder, !service->affinity_seconds, doc_get(spec, "sessionAffinityConfig"),
            "sessionAffinity: ClientIP");
    doc_each(port, doc_get(spec, "ports")) {
        warn_if(decoder, !open, doc_get(port, "nodePort"), "type: LoadBalancer or NodePort");
    }
}

static int name_cmp(const void *a, const void *b)
{
    return strcmp(((const struct service_port *)a)->name, ((const struct service_port *)b)->name);
}

/* Endpoints are found by the port's name, so that two of one name would have the same. */
static void check_names(struct decoder *decoder, const struct doc *spec,
                        const struct service *service)
{
    const size_t count = service->port_count;
    char quoted[QUOTE_LEN];
    AUTOFREE bool *marks = calloc(count + 1, sizeof(*marks));
    if (!marks ||
        mark_duplicates(service->ports, count, sizeof(*service->ports), name_cmp, marks) < 0) {
        decoder->no_memory = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!marks[i])
            continue;
        decode_warning(decoder, doc_get(spec, "ports"), service_port_name_twice,
                       .name = quote(service->ports[i].name, quoted));
        return;
    }
}

static void check_cluster_ip(struct decoder *decoder, const struct doc *spec)
{
    const struct doc *single = doc_get(spec, "clusterIP"), *list = doc_get(spec, "clusterIPs");
    const struct doc *first = list && list->type == DOC_LIST ? list->first : NULL;
    char quoted[QUOTE_LEN];
    if (single && first && single->type == DOC_SCALAR && first->type == DOC_SCALAR &&
        *single->text && strcmp(single->text, "None") != 0 &&
        strcmp(single->text, first->text) != 0)
        decode_warning(decoder, single, service_cluster_ip_differs,
                       .first = quote(first->text, quoted));
}

void service_idle_check(struct decoder *decoder, const struct doc *spec,
                        const struct service *service)
{
    if (decoder->silent || decoder->error_count || service->type == SERVICE_EXTERNAL_NAME)
        return;
    check_type(decoder, spec, service);
    if (!service->headless)
        check_names(decoder, spec, service);
    check_cluster_ip(decoder, spec);
}
