// SPDX-License-Identifier: Apache-2.0
/*
 * From interfaces to attachments; see nat_hooks.h.
 *
 * The programs read Ethernet headers, so an interface without them (tun, WireGuard, IP tunnels) is
 * a fault by its name. A port of a bridge or bond hands its packets to its master before they are
 * routed: the program belongs on the master, and to name the port is a mistake. A VRF is a master
 * of routing tables only; its ports are served like any interface.
 *
 * The programs are attached to an interface that is down, too, so that no packet passes them by
 * when it comes up. They are always attached to the loopback and to svc0, which patterns do not
 * match.
 */
#include "plan/nat_hooks.h"

#include <errno.h>
#include <fnmatch.h>
#include <linux/if_arp.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static const char loopback[] = "lo";

static bool is_own(const struct link *link)
{
    return strcmp(link->name, loopback) == 0 || strcmp(link->name, SVC0_NAME) == 0 ||
           strcmp(link->name, SVC0_PEER_NAME) == 0;
}

static bool matches(const string_list *patterns, const struct link *link)
{
    if (is_own(link))
        return false;
    vec_each(char *, pattern, patterns) {
        if (fnmatch(*pattern, link->name, 0) == 0)
            return true;
    }
    return false;
}

/* The bridge, bond or the like that an interface is a port of. NULL: none. */
static const struct link *master_of(const struct sorted *links, const struct link *link)
{
    const struct link *master = link->master ? link_find(links, link->master) : NULL;
    return master && strcmp(master->kind, "vrf") != 0 ? master : NULL;
}

static bool can_serve(const struct sorted *links, const struct link *link)
{
    return link->type == ARPHRD_ETHER && !master_of(links, link);
}

static void refuse(const struct sorted *links, const struct link *link, struct faults *faults)
{
    const struct link *master = master_of(links, link);
    AUTOFREE char *place = text_format("interface %s", link->name);
    AUTOFREE char *remedy = master ? text_format("name %s instead", master->name) : NULL;

    if (master)
        faults_add(faults, place ? place : "interface", remedy,
                   "NAT is not attached: it is a port of %s %s", master->kind, master->name);
    else
        faults_add(faults, place ? place : "interface", "take it out of the configuration",
                   "NAT is not attached: it has no Ethernet header (type %u)", link->type);
}

static void in_both_lists(const struct link *link, struct faults *faults)
{
    AUTOFREE char *place = text_format("interface %s", link->name);
    faults_add(faults, place ? place : "interface",
               "let only one of services.uplinks and services.podInterfaces match it",
               "it matches both lists, and is served as an uplink");
}

static int attach(nat_attachment_list *wanted, const struct link *link, enum nat_hook hook)
{
    struct nat_attachment attachment = { .ifindex = link->ifindex, .hook = hook };
    memcpy(attachment.name, link->name, sizeof(attachment.name));
    return vec_push(wanted, attachment);
}

static int attach_both(nat_attachment_list *wanted, const struct link *link, enum nat_hook in,
                       enum nat_hook out)
{
    int r = attach(wanted, link, in);
    return r < 0 ? r : attach(wanted, link, out);
}

static int plan_link(const struct sorted *links, const struct link *link,
                     const struct config *config, nat_attachment_list *wanted,
                     struct faults *faults)
{
    if (strcmp(link->name, loopback) == 0)
        return attach(wanted, link, NAT_HOOK_LO_OUT);
    if (link_is_svc0(link))
        return attach(wanted, link, NAT_HOOK_SVC_OUT);

    bool uplink = matches(&config->services.uplinks, link);
    bool pod = matches(&config->services.pod_interfaces, link);
    if (!uplink && !pod)
        return 0;
    if (!can_serve(links, link)) {
        refuse(links, link, faults);
        return 0;
    }
    if (uplink && pod)
        in_both_lists(link, faults);
    return uplink ? attach_both(wanted, link, NAT_HOOK_UPLINK_IN, NAT_HOOK_UPLINK_OUT)
                  : attach_both(wanted, link, NAT_HOOK_POD_IN, NAT_HOOK_POD_OUT);
}

/* Pods come and go; that an uplink is not there is a mistake, or a broken node. */
static void miss_uplinks(const struct sorted *links, const struct config *config,
                         struct faults *faults)
{
    vec_each(char *, pattern, &config->services.uplinks) {
        bool found = false;
        sorted_each(const struct link, link, links)
            found |= !is_own(link) && fnmatch(*pattern, link->name, 0) == 0;
        if (!found)
            faults_add(faults, "services.uplinks", NULL, "no interface matches \"%s\"", *pattern);
    }
}

int plan_nat_hooks(const struct sorted *links, const struct config *config,
                   nat_attachment_list *ret_wanted, struct faults *faults)
{
    AUTOVEC nat_attachment_list wanted = { 0 };
    sorted_each(const struct link, link, links) {
        int r = plan_link(links, link, config, &wanted, faults);
        if (r < 0)
            return r;
    }
    miss_uplinks(links, config, faults);
    *ret_wanted = TAKE_STRUCT(wanted);
    return 0;
}

uint32_t plan_svc0_mtu(const struct sorted *links, const struct config *config)
{
    uint32_t largest = 0;
    sorted_each(const struct link, link, links) {
        if (matches(&config->services.uplinks, link) && can_serve(links, link))
            largest = MAX(largest, link->mtu);
    }
    return largest ? largest : 1500;
}
