// SPDX-License-Identifier: Apache-2.0
/* Who has children in other namespaces, as the kernel tells it. */
#include <net/if.h>

#include "apply/nat/proof/children.h"
#include "apply/netlink/link.h"
#include "netns.h"

static int open_links(void **state)
{
    return lab_open(state) ||
           system("ip link add d0 type veth peer name d1 && ip link set d0 up && "
                  "ip link set d1 up");
}

static enum nat_children children_of(const char *name)
{
    return nat_children_of(if_nametoindex(name));
}

static void nobody_has_any(void **state)
{
    (void)state;
    assert_int_equal(children_of("d0"), NAT_CHILDREN_NONE);
    assert_int_equal(children_of("lo"), NAT_CHILDREN_NONE);
    assert_int_equal(nat_children_of(4711), NAT_CHILDREN_NONE);
}

/* It is told of while it is up, and of its parent only. */
static void a_macvlan_in_another_namespace(void **state)
{
    struct lab *lab = *state;
    AUTOCLOSE int netns = another_netns();
    CLEANUP(nl_closep) struct nl_socket *there = NULL;
    struct nl_link child;
    run("ip link add link d0 name c0 type macvlan mode bridge");
    assert_int_equal(nl_open_in(netns, NETLINK_ROUTE, &there), 0);
    assert_int_equal(nl_link_move(lab->other, if_nametoindex("c0"), netns, NULL, NULL), 0);
    assert_int_equal(nl_link_find(there, "c0", &child), 0);
    assert_int_equal(children_of("d0"), NAT_CHILDREN_NONE);

    const struct nl_link_change up = { .state = NL_LINK_UP };
    assert_int_equal(nl_link_change(there, child.ifindex, &up, NULL), 0);
    assert_int_equal(children_of("d0"), NAT_CHILDREN_MACVLAN);
    assert_int_equal(children_of("d1"), NAT_CHILDREN_NONE);
    assert_int_equal(nl_link_delete(there, child.ifindex, NULL), 0);
    assert_int_equal(children_of("d0"), NAT_CHILDREN_NONE);
}

/* keepalived makes such ones; so do VLANs with addresses of their own. */
static void a_macvlan_of_this_namespace_is_no_pods(void **state)
{
    (void)state;
    run("ip link add link d0 name c0 type macvlan mode private && ip link set c0 up");
    assert_int_equal(children_of("d0"), NAT_CHILDREN_NONE);
}

/* Addresses of groups are taken in for everybody. */
static void groups_are_nobody(void **state)
{
    (void)state;
    run("ip maddr add 01:00:5e:00:00:77 dev d0");
    assert_int_equal(children_of("d0"), NAT_CHILDREN_NONE);
}

/* The other ends of a tunnel are hosts, and not here. */
static void ends_of_tunnels_are_no_children(void **state)
{
    (void)state;
    run("ip link add v0 type vxlan id 7 dstport 4789 local 192.0.2.1 && ip link set v0 up && "
        "bridge fdb add 02:00:00:00:00:99 dev v0 dst 192.0.2.2 self permanent");
    assert_int_equal(children_of("v0"), NAT_CHILDREN_NONE);
}

/* Of an ipvlan in another namespace nothing is known here; of one beside it, that it is one. */
static void an_ipvlan_of_this_namespace(void **state)
{
    (void)state;
    if (system("ip link add link d0 name c0 type ipvlan mode l2 2>/dev/null") != 0) {
        print_message("# this kernel has no ipvlan\n");
        return;
    }
    assert_int_equal(children_of("d0"), NAT_CHILDREN_IPVLAN);
    assert_int_equal(children_of("d1"), NAT_CHILDREN_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_links, lab_close)

int main(void)
{
    if (lab_missing())
        return 0;
    const struct CMUnitTest tests[] = {
        TEST(nobody_has_any),
        TEST(a_macvlan_in_another_namespace),
        TEST(a_macvlan_of_this_namespace_is_no_pods),
        TEST(groups_are_nobody),
        TEST(ends_of_tunnels_are_no_children),
        TEST(an_ipvlan_of_this_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
