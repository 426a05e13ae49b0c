// SPDX-License-Identifier: Apache-2.0
/*
 * "egress" of `agentctl explain`.
 *
 *   egress    pod shop/web-1 leaves by internet/nat
 *             0.0.0.0/0 -> internet/nat: 192.0.2.21 (active), 192.0.2.22 (draining)
 *   egress    gateway of internet/nat: active, 1234 packets sent from here
 *   egress    client shop/web-1 of internet/nat: 12 flows begun, 0 refused, ports
 *             198.51.100.1:1024-1087
 */
#include "agentctl/explain/explain_egress.h"

#include "agentctl/field.h"
#include "agentctl/output.h"

static const char title[] = "  egress    ", below[] = "            ";

static void add_names(struct text *out, const struct doc *list)
{
    const char *comma = "";
    doc_each(item, list) {
        text_add(out, comma);
        add_clean(out, item->text);
        comma = ", ";
    }
}

static void add_pod_name(struct text *out, const struct doc *map)
{
    add_clean(out, field(map, "namespace"));
    text_add_char(out, '/');
    add_clean(out, field(map, "name"));
}

static void add_destination(struct text *out, const struct doc *destination)
{
    const struct doc *gateways = doc_get(destination, "gateways");
    const char *comma = "";
    text_addf(out, "%s%s -> ", below, field(destination, "prefix"));
    add_clean(out, field(destination, "egress"));
    text_add(out, gateways && gateways->count ? ": " : ": no gateway");
    doc_each(gateway, gateways) {
        text_addf(out, "%s%s (%s)", comma, field(gateway, "address"), field(gateway, "state"));
        comma = ", ";
    }
    text_add_char(out, '\n');
}

static void add_pod(struct text *out, const struct doc *pod)
{
    const struct doc *egresses = doc_get(pod, "egresses");
    text_addf(out, "%spod ", title);
    add_pod_name(out, pod);
    if (field_true(pod, "waiting"))
        text_add(out, " waits for an Egress: what does not stay in the cluster is dropped\n");
    else if (!egresses || egresses->count == 0)
        text_add(out, " leaves as it is\n");
    else {
        text_add(out, " leaves by ");
        add_names(out, egresses);
        text_add_char(out, '\n');
    }
    doc_each(destination, doc_get(pod, "destinations"))
        add_destination(out, destination);
}

static void add_client(struct text *out, const struct doc *client)
{
    const struct doc *ports = doc_get(client, "ports");
    text_addf(out, "%sclient ", title);
    add_pod_name(out, client);
    text_add(out, " of ");
    add_names(out, doc_get(client, "egresses"));
    text_addf(out, ": %s flows begun, %s refused", field(client, "flows"),
              field(client, "refused"));
    if (ports && ports->count) {
        text_add(out, ", ports ");
        add_names(out, ports);
    }
    text_add_char(out, '\n');
}

void add_egress_explanation(struct text *out, const struct doc *egress)
{
    if (!egress || egress->type != DOC_MAP)
        return;
    const struct doc *pod = doc_get(egress, "pod"), *client = doc_get(egress, "client");
    if (pod && pod->type == DOC_MAP)
        add_pod(out, pod);
    doc_each(gateway, doc_get(egress, "gatewayOf")) {
        text_addf(out, "%sgateway of ", title);
        add_clean(out, field(gateway, "egress"));
        text_addf(out, ": %s, %s packets sent from here\n", field(gateway, "state"),
                  field(gateway, "packets"));
    }
    if (client && client->type == DOC_MAP)
        add_client(out, client);
}
