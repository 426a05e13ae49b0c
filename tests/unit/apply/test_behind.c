// SPDX-License-Identifier: Apache-2.0
/*
 * What is read of a pod's addresses from the node: by CAP_NET_ADMIN alone, as agentd's unit gives
 * it, and by nobody else; of what is gone, of what has no other end, and of too many.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "apply/behind.h"
#include "apply/netlink/link.h"
#include "base/cleanup.h"
#include "netns.h"

static const struct nl_veth host_end = { .name = "veth0" }, pod_end = { .name = "eth0" };

/* A socket in the pod's namespace, at the other end of veth0. */
static struct nl_socket *make_pod(struct lab *lab, int netns)
{
    struct nl_socket *pod = NULL;
    assert_int_equal(nl_open_in(netns, NETLINK_ROUTE, &pod), 0);
    assert_int_equal(nl_link_add_veth(lab->other, &host_end, &pod_end, netns, NULL), 0);
    return pod;
}

static uint32_t index_of(struct nl_socket *socket, const char *name)
{
    struct nl_link link;
    assert_int_equal(nl_link_find(socket, name, &link), 0);
    return link.ifindex;
}

static int add(struct nl_socket *pod, uint8_t last, uint8_t third)
{
    const struct nl_address address = {
        .ifindex = index_of(pod, "eth0"),
        .ip = { .family = IP_V4, .bytes = { 10, 88, third, last } },
        .length = 24,
        .valid_s = NL_FOREVER,
        .preferred_s = NL_FOREVER,
    };
    return nl_address_add(pod, &address, NULL);
}

static void what_the_pod_has(void **state)
{
    struct lab *lab = *state;
    AUTOCLOSE int netns = another_netns();
    CLEANUP(nl_closep) struct nl_socket *pod = make_pod(lab, netns);
    AUTOVEC nl_address_list found = { 0 };
    const uint32_t host = index_of(lab->other, "veth0");
    assert_int_equal(behind_read(lab->other, host, &found), 0);
    assert_int_equal(found.count, 0);
    assert_int_equal(add(pod, 7, 0), 0);
    assert_int_equal(behind_read(lab->other, host, &found), 0);
    assert_int_equal(found.count, 1);
    assert_memory_equal(found.items[0].ip.bytes, ((uint8_t[]){ 10, 88, 0, 7 }), 4);
}

static void what_has_no_other_end(void **state)
{
    struct lab *lab = *state;
    AUTOVEC nl_address_list found = { 0 };
    assert_int_equal(system("ip link add pair0 type veth peer name pair1 && "
                            "ip address add 10.88.0.7/24 dev pair1 && ip link add d0 type bridge"),
                     0);
    assert_int_equal(behind_read(lab->other, index_of(lab->other, "pair0"), &found), 0);
    assert_int_equal(found.count, 0);
    assert_int_equal(behind_read(lab->other, index_of(lab->other, "d0"), &found), 0);
    assert_int_equal(found.count, 0);
    assert_int_equal(behind_read(lab->other, 4711, &found), -ENODEV);
}

static void too_many(void **state)
{
    struct lab *lab = *state;
    AUTOCLOSE int netns = another_netns();
    CLEANUP(nl_closep) struct nl_socket *pod = make_pod(lab, netns);
    AUTOVEC nl_address_list found = { 0 };
    for (int i = 0; i <= BEHIND_MAX; i++)
        assert_int_equal(add(pod, (uint8_t)(i % 200 + 1), (uint8_t)(i / 200)), 0);
    assert_int_equal(behind_read(lab->other, index_of(lab->other, "veth0"), &found), -E2BIG);
    assert_int_equal(found.count, 0);
    struct nl_link link; /* the socket is as good as before */
    assert_int_equal(nl_link_find(lab->other, "veth0", &link), 0);
}

/* What a process with these capabilities alone is told, as an exit status. */
static int read_with(uint32_t kept, uint32_t ifindex)
{
    const pid_t child = fork();
    if (child == 0) {
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        const struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
            { .effective = kept, .permitted = kept },
        };
        CLEANUP(nl_closep) struct nl_socket *socket = NULL;
        AUTOVEC nl_address_list found = { 0 };
        int r = syscall(SYS_capset, &header, data) < 0 ? -errno : nl_open(&socket);
        r = r < 0 ? r : behind_read(socket, ifindex, &found);
        _exit(r < 0 ? -r : found.count == 1 ? 0 : 255);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

static void by_whom(void **state)
{
    struct lab *lab = *state;
    AUTOCLOSE int netns = another_netns();
    CLEANUP(nl_closep) struct nl_socket *pod = make_pod(lab, netns);
    const uint32_t host = index_of(lab->other, "veth0");
    assert_int_equal(add(pod, 7, 0), 0);
    assert_int_equal(read_with(1U << CAP_NET_ADMIN, host), 0);
    assert_int_equal(read_with(0, host), EACCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_the_pod_has, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(what_has_no_other_end, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(too_many, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(by_whom, lab_open, lab_close),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
