// SPDX-License-Identifier: Apache-2.0
/*
 * The host's settings, read from the files that sysctl(8) reads; see host.h.
 *
 * accept_local: packets from the node itself to one of its node ports come back on the loopback
 * with the node's address as their source. Without this setting Linux drops them in IPv4 as forged.
 * The kernel uses the setting of "all" or of the interface. If a file does not exist, the kernel
 * lacks its protocol.
 */
#include "apply/nat/host.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"

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
