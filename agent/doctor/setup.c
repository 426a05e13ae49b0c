// SPDX-License-Identifier: Apache-2.0
/*
 * What is looked at, and what follows:
 *
 *     a kubeconfig beside agentd.yaml      source.kubernetes; else a folder of manifests
 *     Nodes of the manifests, addresses    node: the one that has an address of this machine
 *     unix sockets called bird.ctl         bird.socket
 *     routes and rules of table 119        another table, if somebody uses that one
 *     default routes                       the neighbor of BIRD's sessions, and its router id
 *
 * Whether service NAT takes kube-proxy's place is a decision, not a fact: it is written as off.
 */
#include "doctor/setup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply/kernel.h"
#include "base/file.h"
#include "base/ours.h"
#include "config/config.h"
#include "model/node.h"
#include "source/manifest.h"
#include "store/store.h"

enum {
    OTHER_TABLE = 219,
    PROC_MAX = 16 << 20,
    MANIFEST_MAX = 256 << 20,
};

/* What was found. */
struct machine {
    struct kernel *kernel;
    struct default_sources sources;
    char *kubeconfig, *manifests, *node, *bird;
    bool node_known; /* a Node of the manifests has an address of this machine */
    uint32_t table;
    struct ip gateway_v4, gateway_v6;
};

static void machine_done(struct machine *machine)
{
    kernel_close(machine->kernel);
    free(machine->kubeconfig);
    free(machine->manifests);
    free(machine->node);
    free(machine->bird);
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
    if (r == 0)
        machine->node = TAKE_PTR(defaults->node);
    return r;
}

/* The path of a unix socket called bird.ctl that somebody listens at. */
static int find_bird(struct machine *machine)
{
    AUTOFREE char *sockets = NULL;
    size_t size;

    if (file_read("/proc/net/unix", PROC_MAX, &sockets, &size) < 0)
        return 0;
    char *rest = sockets;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *path = strchr(line, '/');
        const size_t length = path ? strlen(path) : 0;
        if (length < 9 || strcmp(path + length - 9, "/bird.ctl") != 0 || access(path, F_OK) < 0)
            continue;
        machine->bird = strdup(path);
        return machine->bird ? 0 : -ENOMEM;
    }
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

/* The gateways of the default routes, as /proc has them. */
static void find_gateways(struct machine *machine)
{
    AUTOFREE char *v4 = NULL, *v6 = NULL;
    char text[40] = "";
    unsigned destination, gateway, mask;
    size_t size;

    if (file_read("/proc/net/route", PROC_MAX, &v4, &size) == 0)
        for (char *rest = v4, *line; (line = strsep(&rest, "\n"));)
            if (sscanf(line, "%*s %x %x %*x %*d %*d %*d %x", &destination, &gateway, &mask) == 3 &&
                destination == 0 && mask == 0 && gateway != 0) {
                machine->gateway_v4 = (struct ip){ .family = IP_V4 };
                memcpy(machine->gateway_v4.bytes, &gateway, sizeof(gateway));
            }
    if (file_read("/proc/net/ipv6_route", PROC_MAX, &v6, &size) < 0)
        return;
    for (char *rest = v6, *line; (line = strsep(&rest, "\n"));) {
        struct ip ip = { .family = IP_V6 };
        if (sscanf(line, "%*32c 00 %*32c 00 %32s", text) != 1 ||
            strncmp(line, "00000000000000000000000000000000 00", 35) != 0 ||
            strspn(text, "0") == 32)
            continue;
        for (size_t i = 0; i < sizeof(ip.bytes); i++) {
            const char digits[] = { text[2 * i], text[2 * i + 1], '\0' };
            ip.bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
        }
        machine->gateway_v6 = ip;
    }
}

static int find(const struct setup_options *options, struct machine *machine)
{
    const struct kernel_scope scope = scope_of_node(ROUTE_TABLE_EXPORT);

    int r = kernel_open(&scope, NL_HERE, &machine->kernel);
    if (r == 0)
        r = kernel_default_sources(machine->kernel, &machine->sources);
    if (r == 0)
        r = find_source(options, machine);
    if (r == 0)
        r = find_node(machine);
    if (r == 0)
        r = find_bird(machine);
    if (r < 0)
        return r;
    find_table(machine);
    find_gateways(machine);
    return 0;
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
    if (machine->bird)
        text_addf(out, "\n# Where BIRD listens here.\nbird:\n  socket: \"%s\"\n", machine->bird);
    else
        text_add(out, "\n# No BIRD was found here. Once it runs:\n"
                      "#bird:\n#  socket: /run/bird/bird.ctl\n");
}

static void compose_session(const struct ip *gateway, int family, struct text *out)
{
    char text[IP_STRLEN];

    if (gateway->family == IP_NONE) {
        text_addf(out, "\n# No default route of IPv%d, so no neighbor of it is known.\n", family);
        return;
    }
    text_addf(
        out,
        "\nprotocol bgp tor_v%d {\n"
        "\tlocal as NODE_ASN;\n"
        "\tneighbor %s as TOR_ASN;  # the default route's gateway\n"
        "\tgraceful restart on;\n"
        "\tipv%d { table fingerpost%d; import none; export filter fingerpost_export; next hop "
        "self; };\n}\n",
        family, ip_str(gateway, text), family, family);
}

static void compose_bird(const struct machine *machine, struct text *out)
{
    char text[IP_STRLEN];

    text_add(out, "# Made by agentctl setup: what BIRD 2 needs beside what it has. Put it into its "
                  "configuration, with\n"
                  "# fingerpost.conf and classes.conf beside; check with bird -p, load with birdc "
                  "configure.\n"
                  "# The two AS numbers can't be seen from here: fill them in.\n"
                  "#define NODE_ASN = 64501;  # this node's\n"
                  "#define TOR_ASN  = 64600;  # the router's\n\n");
    if (machine->sources.v4.family == IP_NONE)
        text_add(out, "# No IPv4 address leads out: router id has to be given by hand.\n");
    else
        text_addf(out, "router id %s;\n", ip_str(&machine->sources.v4, text));
    text_addf(out,
              "\ndefine FINGERPOST_TABLE = %u;\n"
              "define FINGERPOST_ASN = NODE_ASN;\n"
              "define FINGERPOST_BLOCK = (TOR_ASN, 30);\n"
              "define FINGERPOST_SERVICE = (TOR_ASN, 31);\n"
              "include \"fingerpost.conf\";\n\n"
              "protocol device { scan time 10; }\n",
              machine->table);
    compose_session(&machine->gateway_v4, 4, out);
    compose_session(&machine->gateway_v6, 6, out);
}

int setup_compose(const struct setup_options *options, struct text *agentd, struct text *bird)
{
    CLEANUP(machine_done) struct machine machine = { 0 };

    int r = find(options, &machine);
    if (r < 0)
        return r;
    compose_agentd(&machine, agentd);
    compose_bird(&machine, bird);
    r = text_error(agentd);
    return r < 0 ? r : text_error(bird);
}
