// SPDX-License-Identifier: Apache-2.0
/*
 * Every kind that a job may read, without selectors, since a decision for the cluster needs all
 * objects of a kind; except the accounts of gateways, which are selected by name. The jobs decide
 * which kinds are read.
 */
#include "controller/resources.h"

#include "plan/egress/workload.h"

static const struct kube_resource rows[KIND_COUNT] = {
    [KIND_SERVICE] = { KIND_SERVICE, "/api/v1/services" },
    [KIND_NODE] = { KIND_NODE, "/api/v1/nodes" },
    [KIND_ENDPOINT_SLICE] = { KIND_ENDPOINT_SLICE, "/apis/discovery.k8s.io/v1/endpointslices" },
    [KIND_NAMESPACE] = { KIND_NAMESPACE, "/api/v1/namespaces" },
    [KIND_ADDRESS_POOL] = { KIND_ADDRESS_POOL, "/apis/coil.cybozu.com/v2/addresspools",
                            .optional = true },
    [KIND_ADDRESS_BLOCK] = { KIND_ADDRESS_BLOCK, "/apis/coil.cybozu.com/v2/addressblocks",
                             .optional = true },
    [KIND_BLOCK_REQUEST] = { KIND_BLOCK_REQUEST, "/apis/coil.cybozu.com/v2/blockrequests",
                             .optional = true },
    [KIND_EGRESS] = { KIND_EGRESS, "/apis/coil.cybozu.com/v2/egresses", .optional = true },
    [KIND_DEPLOYMENT] = { KIND_DEPLOYMENT, "/apis/apps/v1/deployments" },
    [KIND_DISRUPTION_BUDGET] = { KIND_DISRUPTION_BUDGET, "/apis/policy/v1/poddisruptionbudgets" },
    [KIND_SERVICE_ACCOUNT] = { KIND_SERVICE_ACCOUNT, "/api/v1/serviceaccounts",
                               .field = "metadata.name=" WORKLOAD_ACCOUNT },
    [KIND_ROLE_BINDING] = { KIND_ROLE_BINDING,
                            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                            .field = "metadata.name=" WORKLOAD_BINDING },
    [KIND_IP_POOL] = { KIND_IP_POOL, "/apis/metallb.io/v1beta1/ipaddresspools", .optional = true },
};

struct kube_resource controller_resource(enum kind kind)
{
    return rows[kind];
}
