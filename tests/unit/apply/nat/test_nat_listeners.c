// SPDX-License-Identifier: Apache-2.0
/* Who listens in the stack: rules of nftables where they matter, and policies of XFRM. */
#include "apply/nat/host/listeners.h"
#include "netns.h"

static struct nat_watch *watch;

static int open_watch(void **state)
{
    return lab_open(state) < 0 || nat_watch_open(&watch) < 0 ? -1 : 0;
}

static int close_watch(void **state)
{
    nat_watch_close(watch);
    return lab_close(state);
}

static void assert_listens(const char *who)
{
    struct nat_listeners found = nat_watch_look(watch);
    assert_string_equal(found.who, who);
    assert_int_equal(found.any, *who != '\0');
}

static void nobody_at_first(void **state)
{
    (void)state;
    assert_listens("");
    assert_listens("");
}

static void chains_that_listen(void **state)
{
    (void)state;
    static const struct {
        const char *family, *chain;
        bool listens;
    } cases[] = {
        { "inet", "type filter hook forward priority 0; policy drop;", true },
        { "ip", "type filter hook forward priority 0; ip saddr 192.0.2.1 drop", true },
        { "ip6", "type filter hook prerouting priority raw; tcp dport 25 drop", true },
        { "inet", "type filter hook postrouting priority 0; counter", true },
        { "ip", "type filter hook forward priority 0;", false },
        { "ip", "type filter hook input priority 0; policy drop;", false },
        { "ip", "type nat hook postrouting priority srcnat; oif lo masquerade", false },
        { "inet", "tcp dport 25 drop", false }, /* nobody jumps there */
        { "arp", "type filter hook input priority 0; policy drop;", false },
        { "netdev", "type filter hook ingress device lo priority 0; tcp dport 25 drop", true },
        { "netdev", "type filter hook egress device lo priority 0; tcp dport 25 drop", true },
        { "netdev", "type filter hook egress device lo priority 0;", false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char command[256], who[96] = "";
        (void)snprintf(command, sizeof(command), "nft 'table %s wall { chain c%zu { %s; }; }'",
                       cases[i].family, i, cases[i].chain);
        run(command);
        if (cases[i].listens)
            (void)snprintf(who, sizeof(who), "nftables chain %s wall c%zu", cases[i].family, i);
        assert_listens(who);
        run("nft flush ruleset");
        assert_listens("");
    }
}

/* What hears of rules; our own table is nobody's news. */
static void others_rules_are_heard(void **state)
{
    (void)state;
    assert_true(nat_watch_fd(watch) >= 0);
    (void)nat_watch_hear(watch);
    assert_false(nat_watch_hear(watch));
    run("nft 'table inet fingerpost { set x { type ipv4_addr; }; chain c { }; }'");
    run("nft add element inet fingerpost x '{ 192.0.2.1 }' && nft delete table inet fingerpost");
    assert_false(nat_watch_hear(watch));
    run("nft add table netdev wall");
    assert_true(nat_watch_hear(watch));
    assert_false(nat_watch_hear(watch));
    run("nft delete table netdev wall");
    assert_true(nat_watch_hear(watch));
}

/* One that is asked before all routing is known beside the first one. */
static void a_chain_at_ingress_is_known(void **state)
{
    (void)state;
    run("nft 'table inet wall { chain f { type filter hook forward priority 0; policy drop; }; }'");
    assert_string_equal(nat_watch_look(watch).early, "");
    run("nft 'table netdev door { chain in { type filter hook ingress device lo priority 0; "
        "policy drop; }; }'");
    assert_string_equal(nat_watch_look(watch).early, "nftables chain netdev door in");
    run("nft flush ruleset");
    assert_string_equal(nat_watch_look(watch).early, "");
}

static void rules_come_and_go(void **state)
{
    (void)state;
    run("nft 'table ip wall { chain routed { type filter hook forward priority 0; }; }'");
    assert_listens("");
    run("nft add rule ip wall routed ip saddr 192.0.2.1 drop");
    assert_listens("nftables chain ip wall routed");
    run("nft flush chain ip wall routed");
    assert_listens("");
}

static void policies_of_xfrm(void **state)
{
    (void)state;
    assert_false(nat_watch_look(watch).xfrm);
    run("ip xfrm policy add src 10.1.0.0/24 dst 10.2.0.0/24 dir out "
        "tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel");
    assert_listens("policies of XFRM");
    assert_true(nat_watch_look(watch).xfrm);
    run("ip xfrm policy flush");
    assert_listens("");
}

int main(void)
{
    if (lab_missing())
        return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_at_first, open_watch, close_watch),
        cmocka_unit_test_setup_teardown(chains_that_listen, open_watch, close_watch),
        cmocka_unit_test_setup_teardown(others_rules_are_heard, open_watch, close_watch),
        cmocka_unit_test_setup_teardown(a_chain_at_ingress_is_known, open_watch, close_watch),
        cmocka_unit_test_setup_teardown(rules_come_and_go, open_watch, close_watch),
        cmocka_unit_test_setup_teardown(policies_of_xfrm, open_watch, close_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
