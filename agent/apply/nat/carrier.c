// SPDX-License-Identifier: Apache-2.0
/* Asks the kernel for the flags of an interface; see carrier.h. */
#include "apply/nat/carrier.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"

bool nat_has_carrier(uint32_t ifindex)
{
    struct ifreq request = { 0 };
    AUTOCLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || !if_indextoname(ifindex, request.ifr_name) ||
        ioctl(fd, SIOCGIFFLAGS, &request) < 0)
        return true;
    return !(request.ifr_flags & IFF_UP) || (request.ifr_flags & IFF_RUNNING);
}
