// SPDX-License-Identifier: Apache-2.0
/*
 * Settings below /proc/sys/net; see settings.h.
 *
 * For a few of them (forwarding, rp_filter, proxy_neigh) the kernel sends a notification of each
 * change, with the index of the interface; for the others, accept_ra and disable_ipv6 among them,
 * it sends none. The value is read in both cases: the notification only identifies the interface.
 */
#include "apply/settings.h"

#include <errno.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "apply/netlink/message.h"
#include "base/cleanup.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "base/text.h"

enum {
    VALUE_MAX = 64,
    NOTED_MAX = 256, /* more are reported as SETTINGS_OF_ALL */
};

char *setting_key(const char *family, const char *interface, const char *name)
{
    char *key = text_format("net.%s.conf.%s.%s", family, interface, name);
    char *at = key ? strstr(key, ".conf.") + strlen(".conf.") : NULL;
    for (const char *end = at ? at + strlen(interface) : NULL; at && at < end; at++)
        *at = *at == '.' ? '/' : *at;
    return key;
}

int setting_read(const char *key, long *ret_value)
{
    AUTOFREE char *path = text_format("/proc/sys/%s", key);
    AUTOFREE char *content = NULL;
    size_t size;
    if (!path)
        return -ENOMEM;
    for (char *c = path + strlen("/proc/sys/"); *c; c++)
        *c = *c == '.' ? '/' : *c == '/' ? '.' : *c;
    int r = file_read(path, VALUE_MAX, &content, &size);
    if (r < 0)
        return r;
    *ret_value = strtol(content, NULL, 10);
    return 0;
}

static bool is_noted(const struct kernel_events *events, uint32_t ifindex)
{
    vec_each(const uint32_t, noted, &events->settings) {
        if (*noted == ifindex || *noted == SETTINGS_OF_ALL)
            return true;
    }
    return false;
}

/* "all" and "default" have negative numbers. */
static uint32_t interface_of(const struct nlmsghdr *message)
{
    static const struct nl_wanted wanted[] = { { NETCONFA_IFINDEX, sizeof(int32_t) } };
    const struct nlattr *attributes[NETCONFA_IFINDEX + 1];
    nl_parse(message, sizeof(struct netconfmsg), wanted, ARRAY_SIZE(wanted), attributes,
             NETCONFA_IFINDEX);
    const struct nlattr *index = attributes[NETCONFA_IFINDEX];
    return index && (int32_t)mnl_attr_get_u32(index) > 0 ? mnl_attr_get_u32(index)
                                                         : SETTINGS_OF_ALL;
}

int settings_hear(struct kernel_events *events, const struct nlmsghdr *message)
{
    uint32_t ifindex = interface_of(message);
    events->links = true;
    if (is_noted(events, ifindex))
        return 0;
    if (events->settings.count >= NOTED_MAX)
        ifindex = SETTINGS_OF_ALL;
    return vec_push(&events->settings, ifindex);
}
