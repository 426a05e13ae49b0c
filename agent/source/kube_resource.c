// SPDX-License-Identifier: Apache-2.0
/*
 * The kinds that a node needs, with selectors that leave out what it does not.
 *
 * Slices of another proxy's Services and of headless ones are left out, as kube-proxy does; the
 * Services themselves are not: their ClusterIPs are in our networks and must not be taken for
 * unassigned addresses. Blocks and Nodes of the whole cluster are read: together they show which
 * addresses are pods, wherever they run. A proxy with a name of its own serves Services with its
 * label and those without one: no selector can express "or", so the plan filters the others.
 *
 * Pods are those of this node, unless it is a gateway of egress: then it serves the annotations of
 * any pod, and selectors can't match annotations.
 *
 * Namespaces select the pools of pods, and are read only by programs that allocate pod addresses.
 */
#include "source/kube_resource.h"

#include <string.h>

#include <curl/curl.h>

#include "base/macro.h"
#include "base/text.h"

#define PROXY_LABEL    "service.kubernetes.io/service-proxy-name"
#define HEADLESS_LABEL "service.kubernetes.io/headless"

static const struct kube_resource agent_rows[] = {
    { KIND_SERVICE, "/api/v1/services" },
    { KIND_ENDPOINT_SLICE, "/apis/discovery.k8s.io/v1/endpointslices",
      .label = "!" HEADLESS_LABEL ",!" PROXY_LABEL, .named_label = "!" HEADLESS_LABEL },
    { KIND_NODE, "/api/v1/nodes" },
    { KIND_POD, "/api/v1/pods", .field = "spec.nodeName=%s" },
    { KIND_ADDRESS_POOL, "/apis/coil.cybozu.com/v2/addresspools", .optional = true },
    { KIND_ADDRESS_BLOCK, "/apis/coil.cybozu.com/v2/addressblocks", .optional = true },
    { KIND_EGRESS, "/apis/coil.cybozu.com/v2/egresses", .optional = true },
    { KIND_IP_POOL, "/apis/metallb.io/v1beta1/ipaddresspools", .optional = true },
    { KIND_BGP_ADVERTISEMENT, "/apis/metallb.io/v1beta1/bgpadvertisements", .optional = true },
    { KIND_L2_ADVERTISEMENT, "/apis/metallb.io/v1beta1/l2advertisements", .optional = true },
    { KIND_NAMESPACE, "/api/v1/namespaces" }, /* last: only to allocate pod addresses */
};
_Static_assert(ARRAY_SIZE(agent_rows) <= KUBE_KINDS_MAX, "status has a row for each kind");
const struct kube_resources kube_agent_resources = { agent_rows, ARRAY_SIZE(agent_rows) - 1 };
const struct kube_resources kube_pods_resources = { agent_rows, ARRAY_SIZE(agent_rows) };

/* Adds "name=selector&", encoded. */
static void add_selector(struct text *path, const char *name, const char *selector,
                         const char *node)
{
    AUTOTEXT struct text plain = { 0 };
    const char *place = strstr(selector, "%s");
    text_add_bytes(&plain, selector, place ? (size_t)(place - selector) : strlen(selector));
    text_add(&plain, place ? node : "");
    char *encoded = curl_easy_escape(NULL, text_str(&plain), 0);
    if (encoded && text_error(&plain) == 0)
        text_addf(path, "%s=%s&", name, encoded);
    else
        path->failed = true;
    curl_free(encoded);
}

char *kube_resource_path(const struct kube_resource *resource, const struct kube_asker *asker)
{
    AUTOTEXT struct text path = { 0 };
    const char *label =
        *asker->proxy_name && resource->named_label ? resource->named_label : resource->label;
    bool every_node = resource->kind == KIND_POD && asker->all_pods;
    text_addf(&path, "%s?", resource->path);
    if (label)
        add_selector(&path, "labelSelector", label, asker->node);
    if (resource->field && !every_node)
        add_selector(&path, "fieldSelector", resource->field, asker->node);
    return text_take(&path);
}

char *kube_resource_node_path(const char *node)
{
    AUTOTEXT struct text path = { 0 };
    text_add(&path, "/api/v1/nodes?");
    add_selector(&path, "fieldSelector", "metadata.name=%s", node);
    text_add(&path, "limit=1");
    return text_take(&path);
}
