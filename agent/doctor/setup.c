// SPDX-License-Identifier: Apache-2.0
/*
 * What is looked at, and what follows:
 *
 *     a kubeconfig beside agentd.yaml      source.kubernetes; else a folder of manifests
 *     Nodes of the manifests, addresses    node: the one that has an address of this machine
 *     BIRD, default routes                 see setup_bird.h
 *     routes and rules of table 119        another table, if somebody uses that one
 *
 * Whether service NAT takes kube-proxy's place is a decision, not a fact: it is written as off.
 */
#include "doctor/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply/mirror/kernel.h"
#include "base/ours.h"
#include "config/config.h"
#include "doctor/bird_unit.h"
#include "doctor/setup_bird.h"
#include "model/node.h"
#include "source/manifest.h"
#include "store/store.h"

enum {
    OTHER_TABLE = 219,
    MANIFEST_MAX = 256 << 20,
};

/* What was found. */
struct machine {
    struct kernel *kernel;
    struct default_sources sources;
    char *kubeconfig, *manifests, *node;
    bool node_known; /* a Node of the manifests has an address of this machine */
    uint32_t table;
    struct setup_bird bird;
};

static void machine_done(struct machine *machine)
{
    kernel_close(machine->kernel);
    free(machine->kubeconfig);
    free(machine->manifests);
    free(machine->node);
    setup_bird_done(&machine->bird);
}

/* A file beside another. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return slash ? text_format("%.*s/%s", (int)(slash - path), path, name) : strdup(name);
}

static int find_source(const struct setup_options *options, struct machine *machine)
{
    AUTOFREE char *kubeconfig = beside(options->config, "kubeconfig");

    if (!kubeconfig)
        return -ENOMEM;
    if (!options->manifests && access(kubeconfig, F_OK) == 0) {
        machine->kubeconfig = TAKE_PTR(kubeconfig);
        return 0;
    }
    machine->manifests =
        options->manifests ? strdup(options->manifests) : beside(options->config, "manifests");
    return machine->manifests ? 0 : -ENOMEM;
}

static bool is_here(const struct machine *machine, const struct ip *ip)
{
    sorted_each(const struct link_address, address, kernel_link_addresses(machine->kernel))
        if (ip_equal(&address->ip, ip))
            return true;
    return false;
}

/* Without a Node to tell, the name is that which agentd takes by itself: the host's. */
static int find_node(struct machine *machine)
{
    CLEANUP(store_freep) struct store *store = store_new();
    CLEANUP(config_freep) struct config *defaults = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC object_list nodes = { 0 };

    if (!store)
        return -ENOMEM;
    if (machine->manifests)
        (void)manifest_load(machine->manifests, MANIFEST_MAX, store, &faults);
    int r = store_list(store, KIND_NODE, &nodes);
    if (r < 0)
        return r;
    vec_each(const struct object *const, object, &nodes) {
        const struct node *node = to_node(*object);
        if (!is_here(machine, &node->primary_v4) && !is_here(machine, &node->primary_v6))
            continue;
        machine->node_known = true;
        machine->node = strdup(node->object.name);
        return machine->node ? 0 : -ENOMEM;
    }
    r = config_default("/", &defaults);
    if (r < 0)
        return r;
    machine->node = TAKE_PTR(defaults->node);
    return 0;
}

static void find_table(struct machine *machine)
{
    machine->table = ROUTE_TABLE_EXPORT;
    sorted_each(const struct route, route, kernel_routes(machine->kernel))
        if (route->table == ROUTE_TABLE_EXPORT && !route_is_ours(route, ROUTE_TABLE_EXPORT))
            machine->table = OTHER_TABLE;
    sorted_each(const struct rule, rule, kernel_rules(machine->kernel))
        if (rule->table == ROUTE_TABLE_EXPORT && !rule_is_ours(rule))
            machine->table = OTHER_TABLE;
}

static int find(const struct setup_options *options, struct machine *machine)
{
    const struct kernel_scope scope = scope_of_node(ROUTE_TABLE_EXPORT);

    int r = kernel_open(&scope, NL_HERE, &machine->kernel);
    if (r < 0)
        return r;
    r = kernel_default_sources(machine->kernel, &machine->sources);
    if (r < 0)
        return r;
    r = find_source(options, machine);
    if (r < 0)
        return r;
    r = find_node(machine);
    if (r < 0)
        return r;
    find_table(machine);
    return setup_find_bird(&machine->bird);
}

static void compose_agentd(const struct machine *machine, struct text *out)
{
    text_add(out, "# Made by agentctl setup for this machine. Every key: man agentd.yaml\n\n");
    text_addf(out, "# %s\nnode: \"%s\"\n\n",
              machine->node_known ? "The Node with an address of this machine is called so."
                                  : "The host's name; it has to be that of the Node object.",
              machine->node);
    if (machine->kubeconfig)
        text_addf(out,
                  "# The kubeconfig that lies here.\n"
                  "source:\n  kubernetes:\n    kubeconfig: \"%s\"\n\n",
                  machine->kubeconfig);
    else
        text_addf(out,
                  "# Kubernetes objects as files. With a kubeconfig, instead:\n"
                  "#   kubernetes: { kubeconfig: PATH }\n"
                  "source:\n  manifests: \"%s\"\n\n",
                  machine->manifests);
    text_addf(out, "# %s\nroutes:\n  table: %u\n\n",
              machine->table == ROUTE_TABLE_EXPORT
                  ? "The kernel table that BIRD learns from; nobody else uses it here."
                  : "Not 119: somebody else's routes or rules use that one here.",
              machine->table);
    text_add(out, "# false: beside kube-proxy. true: in its place, which has to be off then.\n"
                  "# Uplinks and pods' interfaces are found by routes and kinds.\n"
                  "services:\n  enabled: false\n");
    if (machine->bird.socket)
        text_addf(out, "\n# Where BIRD listens here.\nbird:\n  socket: \"%s\"\n",
                  machine->bird.socket);
    else
        text_add(out, "\n# No BIRD was found here. Once it runs:\n"
                      "#bird:\n#  socket: /run/bird/bird.ctl\n");
}

/* Whether an interface has an address of the family that others may use. */
static bool has_family(const struct machine *machine, uint8_t family)
{
    sorted_each(const struct link_address, address, kernel_link_addresses(machine->kernel)) {
        const struct ip *ip = &address->ip;
        const bool is_own =
            family == IP_V4 ? ip->bytes[0] == 127 : ip->bytes[0] == 0 || ip->bytes[0] == 0xfe;
        if (ip->family == family && !is_own)
            return true;
    }
    return false;
}

/* Families without a neighbor, which nothing would be sent to. */
static void add_next(const struct machine *machine, struct text *next)
{
    static const uint8_t families[] = { IP_V4, IP_V6 };
    static const int versions[] = { 4, 6 };
    if (!machine->bird.socket)
        text_add(next,
                 "  start BIRD, then again: agentctl setup --write (until then agentd does not "
                 "watch it, nor tell whether peers get its routes)\n");
    if (machine->bird.withdraws)
        text_addf(next, "  let BIRD restart without a withdrawal: %s\n",
                  bird_unit_remedy(machine->bird.unit));
    for (int i = 0; i < BIRD_FAMILIES; i++) {
        if (machine->bird.gateways[i].family == IP_NONE && has_family(machine, families[i]))
            text_addf(next,
                      "  give BIRD a session for IPv%d: no neighbour is known, since no default "
                      "route of IPv%d is there (not needed if no Service and no pod has IPv%d)\n",
                      versions[i], versions[i], versions[i]);
    }
}

int setup_compose(const struct setup_options *options, struct text *agentd, struct text *bird,
                  struct text *next)
{
    CLEANUP(machine_done) struct machine machine = { 0 };

    int r = find(options, &machine);
    if (r < 0)
        return r;
    compose_agentd(&machine, agentd);
    const struct setup_numbers numbers = {
        .asn = options->asn,
        .peer_asn = options->peer_asn,
        .table = machine.table,
        .router_id = machine.sources.v4,
    };
    setup_compose_bird(&machine.bird, &numbers, bird);
    add_next(&machine, next);
    r = text_error(agentd);
    return r < 0 ? r : text_error(bird);
}
