// SPDX-License-Identifier: Apache-2.0
/* What is told of addresses behind the ports of a bridge, which a pod may have made itself. */
#include <errno.h>
#include <stdio.h>

#include "apply/behind.h"
#include "cmocka_all.h"
#include "engine/egress/egress_homes.h"
#include "engine/egress/egress_state.h"
#include "status/fault_book.h"
#include "status/status.h"

const struct sorted *__wrap_kernel_links(const struct kernel *kernel);
int __wrap_behind_read(struct nl_socket *socket, uint32_t ifindex, nl_address_list *ret_addresses);
uint32_t __wrap_egress_datapath_port_of(const struct egress_datapath *datapath,
                                        const struct ip *address);

enum { BRIDGE = 1, ONE, OTHER, CROWDED, DENIED };

static struct sorted links = SORTED(struct link, link_cmp);
static const struct ip client = { .family = IP_V4, .bytes = { 10, 244, 1, 5 } };

const struct sorted *__wrap_kernel_links(const struct kernel *kernel)
{
    (void)kernel;
    return &links;
}

int __wrap_behind_read(struct nl_socket *socket, uint32_t ifindex, nl_address_list *ret_addresses)
{
    (void)socket;
    if (ifindex == CROWDED)
        return -E2BIG;
    if (ifindex == DENIED)
        return -EACCES;
    return vec_push(ret_addresses, (struct nl_address){ .ip = client });
}

uint32_t __wrap_egress_datapath_port_of(const struct egress_datapath *datapath,
                                        const struct ip *address)
{
    (void)datapath, (void)address;
    return 0;
}

static void put_link(uint32_t ifindex, const char *name, const char *kind, uint32_t master)
{
    struct link link = {
        .ifindex = ifindex, .up = true, .master = master, .peer_away = master != 0
    };
    (void)snprintf(link.name, sizeof(link.name), "%s", name);
    (void)snprintf(link.kind, sizeof(link.kind), "%s", kind);
    assert_int_equal(sorted_put(&links, &link), 0);
}

static void expect(const struct fault_book *book, size_t index, const char *code, const char *place)
{
    const struct known_fault *fault = fault_book_at(book, index);
    assert_string_equal(known_fault_code(fault), code);
    assert_string_equal(fault->place, place);
}

static void test_ports_of_a_bridge(void **state)
{
    (void)state;
    struct status status = { .faults = fault_book_new() };
    struct egress_engine egress = { .status = &status };
    struct egress_pod pod = {
        .address = client, .namespace = "shop", .name = "web-1", .is_client = true
    };
    struct egress_pod *pointer = &pod;
    const struct round round = { .all = true };
    egress_plan_init(&egress.plan);
    egress_homes_init(&egress.homes);
    assert_int_equal(sorted_put(&egress.plan.pods, &pointer), 0);
    put_link(BRIDGE, "br0", "bridge", 0);
    put_link(ONE, "veth1", "veth", BRIDGE);
    put_link(OTHER, "veth2", "veth", BRIDGE);
    put_link(CROWDED, "veth3", "veth", BRIDGE);
    put_link(DENIED, "veth4", "veth", BRIDGE);

    assert_int_equal(egress_homes_follow(&egress, &round), 0);
    assert_int_equal(fault_book_count(status.faults), 3);
    expect(status.faults, 0, "egress-pod-address-disputed", "Pod shop/web-1");
    expect(status.faults, 1, "egress-pod-addresses-excess", "interface veth3");
    expect(status.faults, 2, "egress-pod-addresses-unread", "interface veth4");
    assert_string_equal(fault_book_at(status.faults, 0)->message,
                        "several interfaces of one bridge have its address: 10.244.1.5: veth1, "
                        "veth2");

    sorted_clear(&egress.plan.pods);
    egress_plan_done(&egress.plan);
    egress_homes_done(&egress.homes);
    vec_done(&egress.touched.addresses);
    fault_book_free(status.faults);
    sorted_done(&links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports_of_a_bridge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
