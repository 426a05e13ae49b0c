// SPDX-License-Identifier: Apache-2.0
/*
 * The node's side of a pod's wire; see wire.h.
 *
 * The pair is made from here, with the pod's end directly in its namespace: nothing of it is ever
 * seen elsewhere, and a name that is taken on either side fails before anything is there. From then
 * on both ends are known by their indexes: whoever has rights in the pod's namespace can rename,
 * move or delete its end, and can't make us touch another.
 *
 * The sysctls are the node's. They are agentd's request, which has no right to write them.
 */
#include "cni/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/netlink/link.h"
#include "apply/netlink/netns.h"
#include "base/cleanup.h"
#include "cni/sysctl.h"

static const char by_kernel[] = "see dmesg and agentctl doctor; the runtime tries again by itself";

static bool is_nodes(int netns)
{
    struct stat ours, theirs;
    return stat("/proc/self/ns/net", &ours) == 0 && fstat(netns, &theirs) == 0 &&
           ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static int open_netns(const struct cni_request *request, int *ret_netns, struct cni_error *error)
{
    AUTOCLOSE int netns = open(request->netns, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int reason = netns < 0 ? errno : 0;
    if (reason)
        return cni_fail(error, reason == ENOENT ? CNI_UNKNOWN_CONTAINER : CNI_IO_FAILURE,
                        "the container may be gone; otherwise see the runtime's log", "%s: %s",
                        request->netns, strerror(reason));
    if (ioctl(netns, NS_GET_NSTYPE) != CLONE_NEWNET)
        return cni_fail(error, CNI_BAD_ENVIRONMENT, "it is the container runtime that sets it",
                        "CNI_NETNS: %s is no network namespace", request->netns);
    if (is_nodes(netns))
        return cni_fail(error, CNI_BAD_ENVIRONMENT,
                        "a pod with hostNetwork has no interface of its own",
                        "CNI_NETNS: %s is the node's own network namespace", request->netns);
    *ret_netns = TAKE_FD(netns);
    return 0;
}

int wire_open(const struct cni_request *request, bool may_be_gone, struct wire *ret_wire,
              struct cni_error *error)
{
    struct wire wire = { .netns = -1 };
    int r = open_netns(request, &wire.netns, error);
    if (r < 0 && !may_be_gone)
        return r;
    r = nl_open(&wire.node);
    if (r < 0) {
        wire_done(&wire);
        return cni_fail(error, CNI_KERNEL_REFUSED, by_kernel, "netlink: %s", strerror(-r));
    }
    *ret_wire = wire;
    return 0;
}

void wire_done(struct wire *wire)
{
    if (wire->node)
        nl_close(wire->node);
    closep(&wire->netns);
    *wire = (struct wire){ .netns = -1 };
}

static int refused(const char *what, const char *name, int reason, const struct nl_result *result,
                   struct cni_error *error)
{
    return cni_fail(error, CNI_KERNEL_REFUSED, by_kernel, "%s %s: %s%s%s", what, name,
                    strerror(-reason), result->text[0] ? ": " : "", result->text);
}

/* True of a link whose other end is in the pod's namespace. */
static bool leads_to_pod(const struct wire *wire, const struct nl_link *link)
{
    int32_t pod_number = -1;
    return strcmp(link->kind, "veth") == 0 && link->peer_nsid >= 0 &&
           nl_netns_number(wire->node, wire->netns, &pod_number) == 0 &&
           link->peer_nsid == pod_number;
}

/* Its alias says so; or it has none, since the ADD that made it came no further. */
static bool is_earlier(const struct wire *wire, const struct plan *plan, const struct nl_link *link)
{
    return strcmp(link->alias, plan->alias) == 0 ||
           (link->alias[0] == '\0' && leads_to_pod(wire, link));
}

/* What an earlier ADD of this pod left. Another link of the same name is somebody else's. */
static int remove_earlier(struct wire *wire, const struct plan *plan, struct cni_error *error)
{
    struct nl_link link;
    struct nl_result result = { 0 };
    int r = nl_link_find(wire->node, plan->host_interface, &link);
    if (r == -ENODEV)
        return 0;
    if (r < 0)
        return refused("interface", plan->host_interface, r, &result, error);
    if (!is_earlier(wire, plan, &link))
        return cni_fail(error, CNI_KERNEL_REFUSED,
                        "remove or rename that interface: agentd did not make it",
                        "interface %s of the node: its name is taken, with the alias \"%.64s\"",
                        plan->host_interface, link.alias);
    r = nl_link_delete(wire->node, link.ifindex, &result);
    if (r < 0 && r != -ENODEV)
        return refused("interface", plan->host_interface, r, &result, error);
    return 0;
}

static int make_pair(struct wire *wire, const struct cni_request *request, const struct plan *plan,
                     struct cni_error *error)
{
    const struct nl_veth host = { .name = plan->host_interface,
                                  .mac = plan->has_host_mac ? plan->host_mac : NULL,
                                  .mtu = plan->mtu };
    const struct nl_veth pod = { .name = request->interface, .mtu = plan->mtu };
    struct nl_result result = { 0 };
    int r = nl_link_add_veth(wire->node, &host, &pod, wire->netns, &result);
    if (r == -EEXIST)
        return cni_fail(error, CNI_KERNEL_REFUSED,
                        "remove the interface, or name another one in the network's configuration",
                        "interface %s: there is one of that name in the pod already",
                        request->interface);
    return r < 0 ? refused("interface", request->interface, r, &result, error) : 0;
}

/* Which links they are, by their indexes, from the node's side. */
static int find_ends(struct wire *wire, const struct plan *plan, struct cni_error *error)
{
    struct nl_link link;
    const struct nl_result silent = { 0 };
    int r = nl_link_find(wire->node, plan->host_interface, &link);
    if (r < 0)
        return refused("interface", plan->host_interface, r, &silent, error);
    wire->ends.host_index = link.ifindex;
    wire->pod_index = link.peer;
    memcpy(wire->ends.host_mac, link.mac, sizeof(link.mac));
    return 0;
}

static int write_sysctls(const struct plan *plan, struct cni_error *error)
{
    vec_each(const struct plan_sysctl, it, &plan->sysctls) {
        int r = sysctl_write(it->name, it->value);
        if (r < 0)
            return cni_fail(error, CNI_KERNEL_REFUSED, by_kernel, "sysctl %s: %s", it->name,
                            strerror(-r));
    }
    return 0;
}

int wire_make(struct wire *wire, const struct cni_request *request, const struct plan *plan,
              struct cni_error *error)
{
    const struct nl_link_change change = { .alias = plan->alias, .state = NL_LINK_UP };
    struct nl_result result = { 0 };
    int r = remove_earlier(wire, plan, error);
    if (r < 0)
        return r;
    r = make_pair(wire, request, plan, error);
    if (r < 0)
        return r;
    r = find_ends(wire, plan, error);
    if (r < 0)
        return r;
    r = write_sysctls(plan, error);
    if (r < 0)
        return r;
    r = nl_link_change(wire->node, wire->ends.host_index, &change, &result);
    return r < 0 ? refused("interface", plan->host_interface, r, &result, error) : 0;
}

void wire_undo(struct wire *wire)
{
    if (wire->ends.host_index)
        (void)nl_link_delete(wire->node, wire->ends.host_index, NULL);
    wire->ends.host_index = 0;
}

/* "COIL:POOL:CONTAINER:INTERFACE", of this container's interface. Neither has a colon. */
static bool is_alias_of(const char *alias, const struct cni_request *request)
{
    static const char ours[] = "COIL:";
    const size_t length = strlen(request->container);
    const char *container =
        strncmp(alias, ours, strlen(ours)) == 0 ? strchr(alias + strlen(ours), ':') : NULL;
    return container && strncmp(container + 1, request->container, length) == 0 &&
           container[1 + length] == ':' &&
           strcmp(container + 1 + length + 1, request->interface) == 0;
}

int wire_remove(struct wire *wire, const struct cni_request *request, uint32_t host_index,
                struct cni_error *error)
{
    struct nl_link link = { .name = "of the pod" };
    struct nl_result result = { 0 };
    int r = nl_link_read(wire->node, host_index, &link);
    if (r >= 0 && (link.peer != wire->pod_index || !leads_to_pod(wire, &link) ||
                   !is_alias_of(link.alias, request)))
        return 0;
    r = r < 0 ? r : nl_link_delete(wire->node, host_index, &result);
    if (r < 0 && r != -ENODEV)
        return refused("interface", link.name, r, &result, error);
    return 0;
}

static int differs(const char *name, struct cni_error *error, const char *what)
{
    return cni_fail(error, CNI_DIFFERS,
                    "delete the pod: its network is made anew with the next one",
                    "interface %s of the node: %s", name, what);
}

int wire_find(struct wire *wire, const struct plan *plan, struct cni_error *error)
{
    struct nl_link link;
    int r = nl_link_find(wire->node, plan->host_interface, &link);
    if (r == -ENODEV)
        return differs(plan->host_interface, error, "it is gone");
    if (r < 0)
        return refused("interface", plan->host_interface, r, &(struct nl_result){ 0 }, error);
    if (strcmp(link.alias, plan->alias) != 0)
        return differs(plan->host_interface, error, "its alias is not this pod's");
    if (!link.up)
        return differs(plan->host_interface, error, "it is down");
    return wire_find_host(wire, link.peer, link.ifindex, error);
}

int wire_find_host(struct wire *wire, uint32_t pod_index, uint32_t host_index,
                   struct cni_error *error)
{
    struct nl_link link;
    char name[16];
    (void)snprintf(name, sizeof(name), "%u", host_index);
    int r = nl_link_read(wire->node, host_index, &link);
    if (r == -ENODEV)
        return differs(name, error, "there is none of this index");
    if (r < 0)
        return refused("interface", name, r, &(struct nl_result){ 0 }, error);
    if (link.peer != pod_index || !leads_to_pod(wire, &link))
        return differs(link.name, error, "its other end is not the pod's interface");
    wire->ends.host_index = link.ifindex;
    wire->pod_index = pod_index;
    memcpy(wire->ends.host_mac, link.mac, sizeof(link.mac));
    return 0;
}
