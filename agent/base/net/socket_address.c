// SPDX-License-Identifier: Apache-2.0
/* Addresses and ports of sockets; see socket_address.h. */
#include "base/net/socket_address.h"

#include <netinet/in.h>
#include <string.h>

socklen_t socket_address_of(const struct ip *ip, uint16_t port, struct sockaddr_storage *address)
{
    *address = (struct sockaddr_storage){ 0 };
    if (ip->family == IP_V4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)address;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, ip->bytes, sizeof(v4->sin_addr));
        return sizeof(*v4);
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    memcpy(&v6->sin6_addr, ip->bytes, sizeof(v6->sin6_addr));
    return sizeof(*v6);
}

void socket_address_read(const struct sockaddr_storage *address, struct ip *ret_ip,
                         uint16_t *ret_port)
{
    *ret_ip = (struct ip){ .family = IP_NONE };
    *ret_port = 0;
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        ret_ip->family = IP_V4;
        memcpy(ret_ip->bytes, &v4->sin_addr, 4);
        *ret_port = ntohs(v4->sin_port);
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        bool mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
        ret_ip->family = mapped ? IP_V4 : IP_V6;
        memcpy(ret_ip->bytes, v6->sin6_addr.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
        *ret_port = ntohs(v6->sin6_port);
    }
}
