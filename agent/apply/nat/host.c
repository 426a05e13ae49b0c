// SPDX-License-Identifier: Apache-2.0
/*
 * The host's settings, read where sysctl(8) reads them; see host.h.
 *
 * accept_local: the node's own packets to its node ports come back by the loopback with the node's
 * address as their source, which IPv4 takes for forged otherwise. The kernel takes the setting of
 * "all" or of the interface. A file that is not there belongs to a protocol that this kernel does
 * not have.
 */
#include "apply/nat/host.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"

enum { VALUE_MAX = 64 };

/* False if it is 0. */
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
