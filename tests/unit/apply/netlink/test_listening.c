// SPDX-License-Identifier: Apache-2.0
/* Sockets that wait, as the kernel lists them: which there are, and which are none. */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "apply/netlink/listening.h"
#include "base/text.h"
#include "netns.h"

static int bound(int family, int type, const char *ip, uint16_t port)
{
    struct sockaddr_storage address = { .ss_family = (sa_family_t)family };
    struct ip parsed;
    assert_int_equal(ip_parse(ip, &parsed), 0);
    if (family == AF_INET) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, parsed.bytes, sizeof(v4->sin_addr));
    } else {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
        v6->sin6_port = htons(port);
        memcpy(&v6->sin6_addr, parsed.bytes, sizeof(v6->sin6_addr));
    }
    int fd = socket(family, type | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* "TCP 80 any", or "TCP 80 10.0.0.1", a line each, in the kernel's order. */
static char *seen(struct nl_socket *socket)
{
    AUTOVEC listening_list list = { 0 };
    AUTOTEXT struct text text = { 0 };
    char address[IP_STRLEN];
    assert_int_equal(listening_dump(socket, &list), 0);
    vec_each(const struct listening, it, &list)
        text_addf(&text, "%s %u %s %u\n", protocol_name(it->protocol), it->port,
                  it->ip.family == IP_NONE ? "any" : ip_str(&it->ip, address), it->uid);
    return text_take(&text);
}

static void those_that_wait_are_listed(void **state)
{
    (void)state;
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    assert_int_equal(listening_open(&socket), 0);
    AUTOFREE char *none = seen(socket);
    assert_string_equal(none, "");

    assert_int_equal(system("ip link set lo up"), 0);
    AUTOCLOSE int tcp4 = bound(AF_INET, SOCK_STREAM, "0.0.0.0", 80);
    AUTOCLOSE int tcp6 = bound(AF_INET6, SOCK_STREAM, "::1", 81);
    AUTOCLOSE int idle = bound(AF_INET, SOCK_STREAM, "0.0.0.0", 82); /* does not listen */
    AUTOCLOSE int udp = bound(AF_INET, SOCK_DGRAM, "127.0.0.1", 83);
    AUTOCLOSE int client = bound(AF_INET, SOCK_DGRAM, "127.0.0.1", 84);
    const struct sockaddr_in peer = { .sin_family = AF_INET,
                                      .sin_port = htons(83),
                                      .sin_addr = { htonl(INADDR_LOOPBACK) } };
    assert_int_equal(connect(client, (const struct sockaddr *)&peer, sizeof(peer)), 0);
    assert_true(idle >= 0 && udp >= 0);
    assert_int_equal(listen(tcp4, 1), 0);
    assert_int_equal(listen(tcp6, 1), 0);
    AUTOFREE char *some = seen(socket);
    assert_string_equal(some, "TCP 80 any 0\nTCP 81 ::1 0\nUDP 83 127.0.0.1 0\n");
}

int main(void)
{
    if (lab_missing())
        return 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(those_that_wait_are_listed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
