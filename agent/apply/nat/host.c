// SPDX-License-Identifier: Apache-2.0
/*
 * The host's settings, read from the files that sysctl(8) reads; see host.h.
 *
 * accept_local: packets from the node itself to one of its node ports come back on the loopback
 * with the node's address as their source. Without this setting Linux drops them in IPv4 as forged.
 * The kernel uses the setting of "all" or of the interface. If a file does not exist, the kernel
 * lacks its protocol.
 *
 * IPv4 is forwarded if the interface that a packet comes in by says so; ip_forward sets that of all
 * at once, and of those that come later. IPv6 asks the switch of all only, but an interface may
 * have no IPv6 at all.
 */
#include "apply/nat/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

enum { VALUE_MAX = 64 };

/* False if the file has a 0; a file that cannot be read counts as on. */
static bool is_on(const char *path)
{
    AUTOFREE char *content = NULL;
    size_t size;
    return file_read(path, VALUE_MAX, &content, &size) < 0 || strtol(content, NULL, 10) != 0;
}

void nat_host_check(bool v4, bool v6, struct faults *faults)
{
    if (v4 && !is_on("/proc/sys/net/ipv4/ip_forward"))
        faults_add(faults, "net.ipv4.ip_forward", "sysctl -w net.ipv4.ip_forward=1",
                   "is 0: no packet reaches a pod");
    if (v6 && !is_on("/proc/sys/net/ipv6/conf/all/forwarding"))
        faults_add(faults, "net.ipv6.conf.all.forwarding",
                   "sysctl -w net.ipv6.conf.all.forwarding=1", "is 0: no packet reaches a pod");
    if (v4 && !is_on("/proc/sys/net/ipv4/conf/lo/accept_local") &&
        !is_on("/proc/sys/net/ipv4/conf/all/accept_local"))
        faults_add(faults, "net.ipv4.conf.lo.accept_local",
                   "sysctl -w net.ipv4.conf.lo.accept_local=1 (61-fingerpost-services.conf of "
                   "sysctl.d keeps it)",
                   "is 0: this node does not reach its own node ports");
}

/* "net.ipv4.conf.eth0.forwarding", as sysctl(8) takes it: a dot in a name is a slash. */
static char *key_of(const char *family, const char *name, const char *setting)
{
    char *key = text_format("net.%s.conf.%s.%s", family, name, setting);
    char *at = key ? strstr(key, ".conf.") + strlen(".conf.") : NULL;
    for (const char *end = at ? at + strlen(name) : NULL; at && at < end; at++)
        *at = *at == '.' ? '/' : *at;
    return key;
}

static void check_switch(const char *family, const char *name, const char *setting, bool wanted,
                         const char *message, struct faults *faults)
{
    AUTOFREE char *path = text_format("/proc/sys/net/%s/conf/%s/%s", family, name, setting);
    if (!path) {
        faults->incomplete = true;
        return;
    }
    if (access(path, R_OK) < 0 || is_on(path) == wanted)
        return;
    AUTOFREE char *key = key_of(family, name, setting);
    AUTOFREE char *remedy = text_format("sysctl -w %s=%d", key ? key : "", wanted);
    faults_add(faults, key ? key : name, remedy, "%s", message);
}

void nat_host_check_interface(const char *name, bool v4, bool v6, struct faults *faults)
{
    if (v4)
        check_switch("ipv4", name, "forwarding", true,
                     "is 0: what comes in by this interface is not forwarded", faults);
    if (v6)
        check_switch("ipv6", name, "disable_ipv6", false,
                     "is 1: no IPv6 packet comes in or leaves by this interface", faults);
}
