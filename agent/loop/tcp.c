// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses of TCP sockets, and sockets that listen.
 *
 * One socket on :: that is not "v6only" takes clients of both families, and keeps everybody else
 * from the port in both: half the descriptors of two sockets.
 */
#include "loop/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/net/socket_address.h"

enum { BACKLOG = 64 };

static int parse_port(const char *string, uint16_t *ret_port)
{
    size_t digits = strspn(string, "0123456789");
    if (digits == 0 || digits > 5 || string[digits] != '\0')
        return -EINVAL;
    unsigned long port = strtoul(string, NULL, 10);
    if (port == 0 || port > UINT16_MAX)
        return -EINVAL;
    *ret_port = (uint16_t)port;
    return 0;
}

int tcp_endpoint_parse(const char *endpoint, struct ip *ret_ip, uint16_t *ret_port)
{
    bool bracketed = *endpoint == '[';
    const char *host = endpoint + bracketed;
    size_t length = strcspn(host, bracketed ? "]" : ":");
    const char *rest = host + length + (bracketed && host[length] == ']');
    char buffer[IP_STRLEN];
    struct ip ip;
    uint16_t port;
    if (*rest != ':' || length >= sizeof(buffer) || parse_port(rest + 1, &port) < 0)
        return -EINVAL;
    memcpy(buffer, host, length);
    buffer[length] = '\0';
    if (ip_parse(buffer, &ip) < 0 || bracketed != (ip.family == IP_V6))
        return -EINVAL;
    *ret_ip = ip;
    *ret_port = port;
    return 0;
}

static bool set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

static int listen_on(const struct ip *ip, uint16_t port, bool both, enum tcp_presence presence,
                     int *ret_fd)
{
    struct sockaddr_storage address;
    socklen_t size = socket_address_of(ip, port, &address);
    AUTOCLOSE int fd =
        socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    /* Connections of the agent before this one may still be in TIME_WAIT. */
    if (fd < 0 || !set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) ||
        (ip->family == IP_V6 && !set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, !both)) ||
        (presence == TCP_ADDRESS_ANY && !set_option(fd, IPPROTO_IP, IP_FREEBIND, 1)) ||
        bind(fd, (const struct sockaddr *)&address, size) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int tcp_listen(const struct ip *ip, uint16_t port, enum tcp_presence presence, int *ret_fd)
{
    static const struct ip any_v4 = { .family = IP_V4 }, any_v6 = { .family = IP_V6 };
    if (ip->family != IP_NONE)
        return listen_on(ip, port, false, presence, ret_fd);
    int r = listen_on(&any_v6, port, true, presence, ret_fd);
    if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
        r = listen_on(&any_v4, port, false, presence, ret_fd);
    return r;
}
