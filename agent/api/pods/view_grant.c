// SPDX-License-Identifier: Apache-2.0
/*
 * The plan of a pod's interface; see view_grant.h. Written for agent-cni, which does as it says.
 *
 * The pod's way out is a gateway that nobody has: an address of the link alone, for which agent-cni
 * sets the host's end as a permanent neighbour. So no address of the node has to be on the link,
 * and no family of pods depends on what addresses the node has.
 */
#include "api/pods/view_grant.h"

#include "base/macro.h"
#include "format/json.h"

static const char gateway_v4[] = "169.254.1.1", gateway_v6[] = "fe80::1";

static void add_route(struct json *json, const char *to, const char *via)
{
    json_begin_object(json, NULL);
    json_string(json, "to", to);
    json_string(json, "via", via);
    json_end_object(json);
}

/* "net.ipv6.conf.vethX.accept_ra" */
static void add_setting(struct json *json, const char *family, const char *interface,
                        const char *name, const char *value)
{
    AUTOFREE char *key = text_format("net.%s.conf.%s.%s", family, interface, name);
    json->out->failed |= key == NULL;
    if (key)
        json_string(json, key, value);
}

static void add_settings(struct json *json, const struct pod_grant *grant, bool v4, bool v6)
{
    json_begin_object(json, "sysctls");
    if (v4)
        json_string(json, "net.ipv4.ip_forward", "1");
    if (v6) {
        json_string(json, "net.ipv6.conf.all.forwarding", "1");
        add_setting(json, "ipv6", grant->host, "accept_ra", "0");
    }
    json_end_object(json);
}

static void add_addresses(struct json *json, const struct pod_interface *pod_interface)
{
    const struct ip *const ips[] = { &pod_interface->v4, &pod_interface->v6 };
    char text[PREFIX_STRLEN];
    json_begin_array(json, "addresses");
    for (size_t i = 0; i < ARRAY_SIZE(ips); i++) {
        const struct prefix host = ip_host_prefix(ips[i]);
        if (ips[i]->family != IP_NONE)
            json_string(json, NULL, prefix_str(&host, text));
    }
    json_end_array(json);
}

static void add_ways(struct json *json, bool v4, bool v6)
{
    json_begin_array(json, "gateways");
    if (v4)
        json_string(json, NULL, gateway_v4);
    if (v6)
        json_string(json, NULL, gateway_v6);
    json_end_array(json);
    json_begin_array(json, "routes");
    if (v4)
        add_route(json, "0.0.0.0/0", gateway_v4);
    if (v6)
        add_route(json, "::/0", gateway_v6);
    json_end_array(json);
}

void view_grant(const struct pod_grant *grant, struct text *out)
{
    const struct pod_interface *pod_interface = &grant->attachment.pod_interface;
    const bool v4 = pod_interface->v4.family != IP_NONE, v6 = pod_interface->v6.family != IP_NONE;
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_int(&json, "version", 1);
    json_string(&json, "interface", pod_interface->interface);
    json_string(&json, "hostInterface", grant->host);
    json_string(&json, "alias", grant->alias);
    json_int(&json, "mtu", grant->mtu);
    add_addresses(&json, pod_interface);
    add_ways(&json, v4, v6);
    add_settings(&json, grant, v4, v6);
    json_end_object(&json);
}
