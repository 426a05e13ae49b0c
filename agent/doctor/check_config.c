// SPDX-License-Identifier: Apache-2.0
/*
 * agentd.yaml, what it names, and whether it means this machine. The name of the node is what goes
 * wrong most often on bare metal (an FQDN here, a short name there) and is silent: without its Node
 * an agent announces nothing. So if a Node has an address of this machine, its name is the remedy.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "client/kube/kubeconfig.h"
#include "doctor/visit.h"
#include "model/node.h"
#include "plan/conflicts/node_conflicts.h"

static void fail_each(struct visit *visit, const struct faults *faults, const char *remedy)
{
    vec_each(const struct fault, fault, &faults->list)
        visit_fail(visit, fault->remedy ? fault->remedy : remedy, "%s: %s", fault->place,
                   fault->message);
}

/* Of what is not there the doctor knows more than who tried to read it. `path` may be NULL. */
static void fail_of_file(struct visit *visit, const struct faults *faults, const char *path,
                         const char *if_missing, const char *if_broken)
{
    if (!path || access(path, F_OK) == 0) {
        fail_each(visit, faults, if_broken);
        return;
    }
    vec_each(const struct fault, fault, &faults->list)
        visit_fail(visit, if_missing, "%s: %s", fault->place, fault->message);
}

static void check_file(struct visit *visit)
{
    if (!visit->config)
        fail_of_file(visit, &visit->config_faults, visit->path,
                     "agentctl setup --write makes one for this machine",
                     "mend the line; agentctl config check says when all is good");
    else
        visit_good(visit, "%s", visit->path);
}

static void check_kubeconfig(struct visit *visit)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(kube_config_freep) struct kube_config *config = NULL;

    if (!visit->config || !visit->config->source.kubernetes) {
        visit_skip(visit, "Kubernetes is not the source");
        return;
    }
    if (visit->config->source.kubeconfig)
        (void)kube_config_try(visit->config->source.kubeconfig, &faults);
    else
        (void)kube_config_in_cluster(KUBE_SERVICE_ACCOUNT, &config, &faults);
    static const char name_one[] =
        "name a kubeconfig that can be read: source.kubernetes.kubeconfig";
    fail_of_file(visit, &faults, visit->config->source.kubeconfig, name_one, name_one);
}

static void check_manifests(struct visit *visit)
{
    if (!visit->store) {
        visit_skip(visit, "manifests are not the source");
        return;
    }
    fail_of_file(visit, &visit->store_faults, visit->config->source.manifests,
                 "make the folder: mkdir -p, as source.manifests names it", "mend the file");
    if (!faults_none(&visit->store_faults))
        return;
    size_t services = store_count(visit->store, KIND_SERVICE);
    size_t nodes = store_count(visit->store, KIND_NODE);
    if (services + nodes == 0)
        visit_warn(
            visit,
            "put there what this prints: kubectl get nodes,services,endpointslices -A -o yaml",
            "%s has no objects", visit->config->source.manifests);
    else
        visit_good(visit, "%s: %zu Services, %zu Nodes", visit->config->source.manifests, services,
                   nodes);
}

/* True if an interface of this machine has the address. */
static bool is_here(const struct visit *visit, const struct ip *ip)
{
    sorted_each(const struct link_address, address, kernel_link_addresses(visit->kernel))
        if (ip_equal(&address->ip, ip))
            return true;
    return false;
}

static const struct node *node_of_machine(const struct visit *visit, const object_list *nodes)
{
    vec_each(const struct object *const, object, nodes) {
        const struct node *node = to_node(*object);
        if (is_here(visit, &node->primary_v4) || is_here(visit, &node->primary_v6))
            return node;
    }
    return NULL;
}

/* Node objects that manifests have. */
static void check_node(struct visit *visit)
{
    AUTOVEC object_list nodes = { 0 };
    AUTOFREE char *remedy = NULL;

    if (!visit->store) {
        visit_skip(visit, visit->config ? "asked of the API below" : "no configuration");
        return;
    }
    visit->error = store_list(visit->store, KIND_NODE, &nodes);
    const struct node *here = node_of_machine(visit, &nodes);
    const struct object *named = store_get(visit->store, KIND_NODE, "", visit->config->node);
    if (named && (!here || here == to_node(named))) {
        visit_good(visit, "%s", visit->config->node);
    } else if (here) {
        remedy = text_format("node: %s in %s", here->object.name, visit->path);
        visit_fail(visit, remedy,
                   "it is \"%s\", but the Node with an address of this machine is "
                   "\"%s\"",
                   visit->config->node, here->object.name);
    } else if (nodes.count > 0) {
        remedy = text_format("set node: in %s to one of them; the first is \"%s\"", visit->path,
                             (*nodes.items)->name);
        visit_fail(visit, remedy, "none of %zu Nodes is called \"%s\"", nodes.count,
                   visit->config->node);
    } else {
        visit_warn(visit, "put the Nodes into the folder: kubectl get nodes -o yaml",
                   "no Node objects; \"%s\" announces no block", visit->config->node);
    }
}

static void check_node_address(struct visit *visit)
{
    char text[IP_STRLEN];
    const struct object *object =
        visit->store ? store_get(visit->store, KIND_NODE, "", visit->config->node) : NULL;

    if (!object) {
        visit_skip(visit, "there is no Node object to compare with");
        return;
    }
    const struct ip *const addresses[] = { &to_node(object)->primary_v4,
                                           &to_node(object)->primary_v6 };
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
        if (addresses[i]->family != IP_NONE && !is_here(visit, addresses[i]))
            visit_fail(visit, "give it to the interface that faces the fabric, or mend the Node",
                       "no interface has %s, the InternalIP of Node \"%s\"",
                       ip_str(addresses[i], text), visit->config->node);
}

/* What other Nodes' objects, or Services, say of this node's networks and addresses. */
static void check_networks(struct visit *visit)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC prefix_list own = { 0 };

    if (!visit->store) {
        visit_skip(visit, "told by agentd, which knows all Nodes: agentctl faults");
        return;
    }
    visit->error = node_conflicts(visit->store, visit->config, &own, &faults);
    fail_each(visit, &faults, "give each its own");
}

const struct check config_checks[] = {
    { "config.file", "configuration", "a file that agentd takes", check_file },
    { "config.kubeconfig", "kubeconfig", "one with which the API can be asked", check_kubeconfig },
    { "config.manifests", "manifests", "a folder of good files", check_manifests },
    { "config.node", "node name", "the name of this machine's Node object", check_node },
    { "config.address", "node address", "the Node's addresses on this machine",
      check_node_address },
    { "config.networks", "networks of pods", "this node's alone", check_networks },
    { NULL },
};
