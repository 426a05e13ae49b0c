// SPDX-License-Identifier: Apache-2.0
/* Sockets of other families and namespaces; generic netlink's names. */
#include <errno.h>
#include <linux/genetlink.h>
#include <sys/stat.h>

#include "apply/netlink/genl.h"
#include "base/cleanup.h"
#include "netns.h"

static struct nl_socket *open_generic(int netns)
{
    struct nl_socket *socket = NULL;
    assert_int_equal(nl_open_in(netns, NETLINK_GENERIC, &socket), 0);
    return socket;
}

/* The one family that every kernel has. */
static void names_are_found(void **state)
{
    (void)state;
    AUTOCLOSE int netns = another_netns();
    const int places[] = { NL_HERE, netns };
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        CLEANUP(nl_closep) struct nl_socket *socket = open_generic(places[i]);
        CLEANUP(nl_closep) struct nl_socket *listener = NULL;
        struct genl_family family = { 0 };
        uint32_t group = 0;
        assert_int_equal(genl_find(socket, "nlctrl", &family), 0);
        assert_int_equal(family.id, GENL_ID_CTRL);
        assert_int_equal(family.version, 2);
        assert_int_equal(genl_group(socket, "nlctrl", "notify", &group), 0);
        assert_true(group > 0);
        assert_int_equal(nl_open_listener(places[i], NETLINK_GENERIC, &group, 1, &listener), 0);
    }
}

static void unknown_names_are_told(void **state)
{
    (void)state;
    CLEANUP(nl_closep) struct nl_socket *socket = open_generic(NL_HERE);
    struct genl_family family = { .id = 7 };
    uint32_t group = 7;
    assert_int_equal(genl_find(socket, "no_such_family", &family), -ENOENT);
    assert_true(genl_find(socket, "a name that no family can have", &family) < 0);
    assert_int_equal(genl_group(socket, "no_such_family", "notify", &group), -ENOENT);
    assert_int_equal(genl_group(socket, "nlctrl", "no_such_group", &group), -ENOENT);
    assert_int_equal(genl_group(socket, "nlctrl", "notif", &group), -ENOENT);
    assert_int_equal(family.id, 7);
    assert_int_equal(group, 7);
    /* A socket that was refused something goes on. */
    assert_int_equal(genl_find(socket, "nlctrl", &family), 0);
}

static int count_rows(const struct nlmsghdr *row, void *context)
{
    assert_int_equal(row->nlmsg_type, GENL_ID_CTRL);
    (*(size_t *)context)++;
    return 0;
}

/* Commands by the family that was found: its dump lists it among others. */
static void commands_are_sent(void **state)
{
    (void)state;
    CLEANUP(nl_closep) struct nl_socket *socket = open_generic(NL_HERE);
    struct genl_family family;
    struct nl_request request;
    struct nl_result result;
    size_t rows = 0;
    assert_int_equal(genl_find(socket, "nlctrl", &family), 0);
    genl_begin(&request, &family, CTRL_CMD_GETFAMILY, 0);
    assert_int_equal(nl_dump(socket, &request, count_rows, NULL, &rows), 0);
    assert_true(rows > 0);
    genl_begin(&request, &family, 250, 0);
    assert_int_equal(nl_run(socket, &request, &result), -EOPNOTSUPP);
    assert_int_equal(result.error, -EOPNOTSUPP);
}

static ino_t own_netns(void)
{
    struct stat status;
    assert_int_equal(stat("/proc/thread-self/ns/net", &status), 0);
    return status.st_ino;
}

static void what_is_no_namespace_is_refused(void **state)
{
    (void)state;
    struct nl_socket *socket = NULL;
    const uint32_t group = RTNLGRP_LINK;
    const ino_t before = own_netns();
    AUTOCLOSE int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    AUTOCLOSE int uts = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    assert_int_equal(nl_open_in(file, NETLINK_ROUTE, &socket), -EINVAL);
    assert_int_equal(nl_open_in(uts, NETLINK_ROUTE, &socket), -EINVAL);
    assert_int_equal(nl_open_in(999, NETLINK_ROUTE, &socket), -EBADF);
    assert_int_equal(nl_open_listener(file, NETLINK_ROUTE, &group, 1, &socket), -EINVAL);
    assert_int_equal(nl_open_in(NL_HERE, 31, &socket), -EPROTONOSUPPORT);
    assert_null(socket);

    AUTOCLOSE int netns = another_netns();
    assert_int_equal(nl_open_in(netns, NETLINK_ROUTE, &socket), 0);
    nl_close(socket);
    assert_int_equal(own_netns(), before); /* nobody went anywhere */
    const uid_t real = getuid();
    assert_int_equal(seteuid(65534), 0);
    int r = nl_open_in(netns, NETLINK_ROUTE, &socket);
    assert_int_equal(seteuid(real), 0);
    assert_int_equal(r, -EPERM);
    assert_int_equal(own_netns(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_found, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(unknown_names_are_told, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(commands_are_sent, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(what_is_no_namespace_is_refused, lab_open, lab_close),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
