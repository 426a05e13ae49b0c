// SPDX-License-Identifier: Apache-2.0
/*
 * Results; see result.h.
 *
 * Versions below 1.0.0 tell the family of each address ("version"), and 1.1.0 the MTU of each
 * interface. Members without a value are left out, apart from `dns`, which all versions write.
 */
#include "cni/result.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "format/json.h"
#include "format/json_go.h"

static void write_interface(struct json *json, const struct cni_request *request, const char *name,
                            const uint8_t mac[static 6], uint32_t mtu, const char *sandbox)
{
    json_begin_object(json, NULL);
    json_string(json, "name", name);
    json_stringf(json, "mac", "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
                 mac[4], mac[5]);
    if (request->version->mtu && mtu)
        json_int(json, "mtu", mtu);
    if (sandbox)
        json_string(json, "sandbox", sandbox);
    json_end_object(json);
}

/* By which gateway a family leaves; NULL: by none. */
static const struct ip *gateway_of(const struct plan *plan, uint8_t family)
{
    vec_each(const struct ip, it, &plan->gateways) {
        if (it->family == family)
            return it;
    }
    return NULL;
}

static void write_address(struct json *json, const struct cni_request *request,
                          const struct plan *plan, const struct prefix *address)
{
    char prefix[PREFIX_STRLEN], ip[IP_STRLEN];
    const struct ip *gateway = gateway_of(plan, address->ip.family);
    json_begin_object(json, NULL);
    if (request->version->ip_versions)
        json_string(json, "version", address->ip.family == IP_V4 ? "4" : "6");
    json_int(json, "interface", 0);
    json_string(json, "address", prefix_str(address, prefix));
    if (gateway)
        json_string(json, "gateway", ip_str(gateway, ip));
    json_end_object(json);
}

static void write_route(struct json *json, const struct plan_route *route)
{
    char prefix[PREFIX_STRLEN], ip[IP_STRLEN];
    json_begin_object(json, NULL);
    json_string(json, "dst", prefix_str(&route->to, prefix));
    json_string(json, "gw", ip_str(&route->via, ip));
    json_end_object(json);
}

void result_write(struct text *out, const struct cni_request *request, const struct plan *plan,
                  const struct pod_ends *ends)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "cniVersion", request->version->name);
    json_begin_array(&json, "interfaces");
    write_interface(&json, request, request->interface, ends->pod_mac, plan->mtu, request->netns);
    write_interface(&json, request, plan->host_interface, ends->host_mac, plan->mtu, NULL);
    json_end_array(&json);
    json_begin_array(&json, "ips");
    vec_each(const struct prefix, it, &plan->addresses)
        write_address(&json, request, plan, it);
    json_end_array(&json);
    json_begin_array(&json, "routes");
    vec_each(const struct plan_route, it, &plan->routes)
        write_route(&json, it);
    json_end_array(&json);
    json_begin_object(&json, "dns");
    json_end_object(&json);
    json_end_object(&json);
}

static int is_wrong(const struct doc *node, struct cni_error *error)
{
    AUTOFREE char *path = doc_path(node);
    return cni_fail(error, CNI_NOT_DECODED, "see the plugin before agent-cni in the conflist",
                    "network configuration: %s: an address and its length are wanted",
                    path ? path : "prevResult");
}

/* True if an address of the result is another interface's: that of a sidecar, or the node's. */
static bool is_of_another(const struct cni_request *request, const struct doc *address)
{
    AUTOFAULTS struct faults faults = { 0 };
    int64_t index = -1;
    const char *name = request->interface;
    if (doc_int(request->config, doc_get(address, "interface"), 0, 1000, &index, &faults) <= 0)
        return false;
    doc_each(it, doc_get(request->previous, "interfaces")) {
        if (it->index == index)
            (void)doc_string(request->config, doc_get(it, "name"), &name, &faults);
    }
    return strcmp(name, request->interface) != 0;
}

int result_addresses(const struct cni_request *request, ip_list *ret_addresses,
                     struct cni_error *error)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC ip_list addresses = { 0 };
    doc_each(it, doc_get(request->previous, "ips")) {
        const char *text = "";
        char ip_text[IP_STRLEN];
        struct ip ip = { 0 };
        if (is_of_another(request, it))
            continue;
        (void)doc_string(request->config, doc_get(it, "address"), &text, &faults);
        (void)snprintf(ip_text, sizeof(ip_text), "%.*s", (int)strcspn(text, "/"), text);
        if (!strchr(text, '/') || ip_parse(ip_text, &ip) < 0)
            return is_wrong(it, error);
        if (vec_push(&addresses, ip) < 0)
            return cni_fail(error, CNI_INTERNAL, "free memory on the node", "no memory");
    }
    if (addresses.count == 0)
        return cni_fail(error, CNI_BAD_CONFIGURATION,
                        "egress needs an address: see the plugin before agent-cni",
                        "network configuration: prevResult has no address of %s",
                        request->interface);
    vec_move(ret_addresses, &addresses);
    return 0;
}

int result_pass(struct text *out, const struct cni_request *request, struct cni_error *error)
{
    if (json_go_value(out, request->previous) == 0)
        return 0;
    return cni_fail(error, CNI_NOT_DECODED, "see the plugin before agent-cni in the conflist",
                    "network configuration: prevResult can't be repeated");
}
