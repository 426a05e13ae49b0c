// SPDX-License-Identifier: Apache-2.0
/* Source addresses of the node's own packets, and of what leaves masqueraded. */
#include "linking.h"

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static void assert_ip(const struct ip *ip, const char *expected)
{
    char text[IP_STRLEN];
    assert_string_equal(ip_str(ip, text), expected);
}

static void put_local(struct sorted *prefixes, const char *text)
{
    struct prefix prefix;
    assert_int_equal(prefix_parse(text, &prefix), 0);
    assert_int_equal(sorted_put(prefixes, &prefix), 0);
}

static void the_nodes_own_address(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    const struct default_sources defaults = { ip_of("10.9.0.1"), ip_of("fd09::1") };
    struct nat_svc0 path = plan_nat_svc0(&planning.facts, 7, &defaults);
    assert_int_equal(path.ifindex, 7);
    assert_ip(&path.v4, "10.9.0.1"); /* there is no Node object */
    assert_ip(&path.v6, "fd09::1");

    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {addresses: [\n"
                   "  {type: ExternalIP, address: 192.0.2.9},\n"
                   "  {type: InternalIP, address: 192.0.2.1}]}\n");
    path = plan_nat_svc0(&planning.facts, 7, &defaults);
    assert_ip(&path.v4, "192.0.2.1");
    assert_ip(&path.v6, "fd09::1");

    /* What no interface has can be no source: the kernel would refuse the route. */
    struct sorted prefixes = SORTED(struct prefix, (compare_fn)prefix_cmp);
    put_local(&prefixes, "192.0.2.0/24");
    planning.facts.local_prefixes = &prefixes;
    path = plan_nat_svc0(&planning.facts, 7, &defaults);
    assert_ip(&path.v4, "10.9.0.1");
    put_local(&prefixes, "192.0.2.1/32");
    path = plan_nat_svc0(&planning.facts, 7, &defaults);
    assert_ip(&path.v4, "192.0.2.1");
    sorted_done(&prefixes);

    path = plan_nat_svc0(&planning.facts, 7, &(struct default_sources){ 0 });
    assert_int_equal(path.v6.family, IP_NONE);
}

struct table {
    struct sorted links, addresses;
    struct default_sources defaults;
    const struct nat_svc0 *path;
};

static void table_done(struct table *table)
{
    sorted_done(&table->links);
    sorted_done(&table->addresses);
}

/* Two interfaces: 1 is asked for, 2 has addresses that are none of its business. */
static struct table table_begin(void)
{
    struct table table = {
        .links = SORTED(struct link, link_cmp),
        .addresses = SORTED(struct link_address, link_address_cmp),
    };
    put_link(&table.links, "eth0", "");
    put_link(&table.links, "eth1", "");
    put_address(&table.addresses, 2, "10.2.0.1");
    put_address(&table.addresses, 2, "fd02::1");
    return table;
}

#define AUTOTABLE CLEANUP(table_done)

static void assert_sources(const struct table *table, const char *v4, const char *v6)
{
    nat_interface_list list = { 0 };
    assert_int_equal(
        plan_nat_interfaces(&table->links, &table->addresses, &table->defaults, table->path, &list),
        0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].ifindex, 1);
    assert_int_equal(list.items[1].ifindex, 2);
    assert_ip(&list.items[0].v4, v4);
    assert_ip(&list.items[0].v6, v6);
    assert_ip(&list.items[1].v4, "10.2.0.1");
    assert_ip(&list.items[1].v6, "fd02::1");
    vec_done(&list);
}

static void without_an_address_the_nodes(void **state)
{
    (void)state;
    AUTOTABLE struct table table = table_begin();
    assert_sources(&table, "-", "-");
    const struct nat_svc0 path = { 7, ip_of("192.0.2.1"), ip_of("2001:db8::1") };
    table.path = &path;
    assert_sources(&table, "192.0.2.1", "2001:db8::1");
    put_address(&table.addresses, 1, "fd01::1");
    assert_sources(&table, "192.0.2.1", "fd01::1");
}

static void the_first_in_the_kernels_order(void **state)
{
    (void)state;
    AUTOTABLE struct table table = table_begin();
    put_address(&table.addresses, 1, "10.1.0.9");
    put_address(&table.addresses, 1, "10.1.0.1");
    put_address(&table.addresses, 1, "fd01::9");
    put_address(&table.addresses, 1, "fd01::1");
    assert_sources(&table, "10.1.0.9", "fd01::9");
    table.defaults = (struct default_sources){ ip_of("10.1.0.1"), ip_of("fd01::1") };
    assert_sources(&table, "10.1.0.1", "fd01::1");
    table.defaults = (struct default_sources){ ip_of("10.2.0.1"), ip_of("fd02::1") };
    assert_sources(&table, "10.1.0.9", "fd01::9"); /* of another interface */
}

static void some_are_better_than_others(void **state)
{
    (void)state;
    AUTOTABLE struct table table = table_begin();
    put_address(&table.addresses, 1, "10.1.0.1")->scope = 253;
    put_address(&table.addresses, 1, "fd01::1")->tentative = true;
    assert_sources(&table, "-", "-");
    struct link_address *temporary = put_address(&table.addresses, 1, "fd01::2");
    temporary->secondary = temporary->deprecated = true;
    assert_sources(&table, "-", "fd01::2");
    put_address(&table.addresses, 1, "fd01::3")->deprecated = true;
    assert_sources(&table, "-", "fd01::3");
    put_address(&table.addresses, 1, "fd01::4")->secondary = true;
    assert_sources(&table, "-", "fd01::4");
    put_address(&table.addresses, 1, "fd01::5");
    put_address(&table.addresses, 1, "10.1.0.2");
    assert_sources(&table, "10.1.0.2", "fd01::5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nodes_own_address),
        cmocka_unit_test(without_an_address_the_nodes),
        cmocka_unit_test(the_first_in_the_kernels_order),
        cmocka_unit_test(some_are_better_than_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
