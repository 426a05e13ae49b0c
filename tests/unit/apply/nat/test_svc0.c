// SPDX-License-Identifier: Apache-2.0
/* svc0: made, kept, told from somebody else's, and carrying what is routed there. */
#include <errno.h>
#include <net/if.h>

#include "apply/host_facts.h"
#include "apply/nat/host/host.h"
#include "apply/nat/host/svc0.h"
#include "base/text.h"
#include "detect/detector.h"
#include "netns.h"
#include "raised.h"

static struct svc0 ensure(uint32_t mtu, int expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct svc0 svc0 = { 0 };
    int r = svc0_ensure(mtu, &svc0, &faults);
    if (!faults_none(&faults))
        print_error("%s\n", faults.list.items[0].message);
    assert_int_equal(r, expected);
    assert_true(faults_none(&faults));
    assert_int_equal(svc0.ifindex, if_nametoindex("svc0"));
    return svc0;
}

static const struct link *named(struct lab *lab, const char *name)
{
    assert_int_equal(kernel_read(lab->kernel), 0);
    return link_named(kernel_links(lab->kernel), name);
}

static void is_made_once(void **state)
{
    struct lab *lab = *state;
    struct svc0 first = ensure(9000, 1);
    struct svc0 again = ensure(9000, 0);
    assert_int_equal(first.ifindex, again.ifindex);
    assert_memory_equal(first.mac, again.mac, sizeof(first.mac));
    const struct link *svc0 = named(lab, "svc0"), *peer = named(lab, "svc0p");
    assert_true(link_is_svc0(svc0));
    assert_memory_equal(svc0->mac, first.mac, sizeof(first.mac));
    assert_true(svc0->up && peer->up);
    assert_int_equal(svc0->mtu, 9000);
    assert_int_equal(peer->mtu, 9000);
    assert_string_equal(peer->alias, "fingerpost");
    assert_int_equal(kernel_link_addresses(lab->kernel)->count, 0);
    run("test -z \"$(ip -6 addr show dev svc0)$(ip -6 addr show dev svc0p)\"");
    run("ip link show dev svc0 | grep -q NOARP && ip link show dev svc0p | grep -q NOARP");
}

static void is_kept_as_it_must_be(void **state)
{
    struct lab *lab = *state;
    static const char *const changes[] = {
        "ip link set svc0 down",      "ip link set svc0p down",
        "ip link set svc0 arp on",    "ip link set svc0 address 02:00:00:00:00:01",
        "ip link set svc0p mtu 1300", "ip link set svc0 addrgenmode eui64",
        "ip link set svc0p alias ''",
    };
    struct svc0 first = ensure(1500, 1);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        run(changes[i]);
        struct svc0 again = ensure(1500, 1);
        assert_int_equal(again.ifindex, first.ifindex);
        (void)ensure(1500, 0);
    }
    (void)ensure(1400, 1);
    assert_int_equal(named(lab, "svc0")->mtu, 1400);
    (void)ensure(100, 1); /* what IPv6 needs at least */
    assert_int_equal(named(lab, "svc0")->mtu, 1280);
    (void)ensure(100000, 1);
    assert_int_equal(named(lab, "svc0")->mtu, 65535);
}

static void comes_back(void **state)
{
    (void)state;
    struct svc0 first = ensure(1500, 1);
    run("ip link del svc0");
    struct svc0 again = ensure(1500, 1);
    assert_int_not_equal(again.ifindex, first.ifindex);
    assert_memory_equal(again.mac, first.mac, sizeof(first.mac));

    /* A pair that is none any more. */
    run("ip link set svc0p down && ip link set svc0p name else");
    (void)ensure(1500, 1);
    assert_int_equal(if_nametoindex("else"), 0);
    run("ip link set svc0 down && ip link set svc0 name else");
    (void)ensure(1500, 1);
    (void)ensure(1500, 0);
}

/* The agent died between making the pair and giving it its alias. */
static void is_finished_after_a_crash(void **state)
{
    struct lab *lab = *state;
    run("ip link add svc0 address 02:66:70:73:76:00 type veth peer name svc0p address "
        "02:66:70:73:76:01");
    uint32_t ifindex = if_nametoindex("svc0");
    assert_int_equal(ensure(1500, 1).ifindex, ifindex);
    assert_true(link_is_svc0(named(lab, "svc0")));
    assert_int_equal(svc0_remove(), 1);

    run("ip link add svc0 address 02:66:70:73:76:00 type veth peer name svc0p address "
        "02:66:70:73:76:01");
    assert_int_equal(svc0_remove(), 1);
    assert_int_equal(if_nametoindex("svc0p"), 0);
}

static void foreign_ones_stay(void **state)
{
    (void)state;
    static const struct {
        const char *make, *place;
    } cases[] = {
        { "ip link add svc0 type veth peer name other", "interface svc0" },
        { "ip link add other type veth peer name svc0p", "interface svc0p" },
        { "ip link add svc0 address 02:66:70:73:76:00 type bridge && ip link set svc0 alias "
          "fingerpost",
          "interface svc0" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFAULTS struct faults faults = { 0 };
        struct svc0 svc0;
        run(cases[i].make);
        run("ip -o link > /dev/shm/links.$PPID");
        assert_int_equal(svc0_ensure(1500, &svc0, &faults), -EEXIST);
        AUTOFREE char *expected = text_format("nat-svc0-foreign at %s\n", cases[i].place);
        assert_raised(&faults, expected);
        assert_non_null(strstr(faults.list.items[0].message, "none of ours"));
        assert_int_equal(svc0_remove(), 0);
        run("ip -o link | diff /dev/shm/links.$PPID - && rm /dev/shm/links.$PPID");
        (void)system("ip link del svc0 2>&-; ip link del svc0p 2>&-");
    }
}

static void is_removed(void **state)
{
    (void)state;
    assert_int_equal(svc0_remove(), 0);
    (void)ensure(1500, 1);
    assert_int_equal(svc0_remove(), 1);
    assert_int_equal(if_nametoindex("svc0") | if_nametoindex("svc0p"), 0);
    assert_int_equal(svc0_remove(), 0);
}

/* What is routed there leaves by it in both families, without asking for a neighbour. */
static void carries_what_is_routed_there(void **state)
{
    (void)state;
    (void)ensure(1500, 1);
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up");
    run("ip addr add 10.7.0.1/24 dev d0 && ip -6 addr add fd07::1/64 dev d0 nodad");
    run("ip route add 10.96.0.0/12 dev svc0 src 10.7.0.1 table 120");
    run("ip -6 route add fd96::/112 dev svc0 src fd07::1 table 120");
    run("ip rule add pref 1990 lookup 120 && ip -6 rule add pref 1990 lookup 120");
    static const char *const targets[] = { "10.96.0.9", "fd96::9" };
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        AUTOFREE char *command =
            text_format("received() { ip -s -o link show svc0p; }; before=$(received); "
                        "bash -c 'echo x > /dev/udp/%s/9'; test \"$(received)\" != \"$before\"",
                        targets[i]);
        run(command);
    }
}

static void without_privilege_it_is_a_fault(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    struct svc0 svc0;
    uid_t real = getuid();
    assert_int_equal(seteuid(65534), 0);
    int r = svc0_ensure(1500, &svc0, &faults);
    assert_int_equal(seteuid(real), 0);
    assert_int_equal(r, -EPERM);
    assert_raised(&faults, "nat-svc0-refused at interface svc0\n");
    assert_non_null(strstr(faults.list.items[0].remedy, "CAP_NET_ADMIN"));
}

static void assert_lacking(bool v4, bool v6, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    struct detector_facts facts = { .settings = { .v4 = v4, .v6 = v6 } };
    host_facts_read(FACT_SETTINGS, &facts);
    detector_find("forwarding")->detect(&facts, &faults);
    detector_find("nat-settings")->detect(&facts, &faults);
    vec_each(const struct fault, fault, &faults.list) {
        text_addf(&out, "%s at %s\n", code_of(fault), fault->place);
        assert_non_null(strstr(fault->remedy, fault->place));
    }
    assert_string_equal(text_str(&out), expected);
}

static void settings_that_lack_are_told(void **state)
{
    (void)state;
    run("sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0 "
        "net.ipv4.conf.lo.accept_local=0 net.ipv4.conf.all.accept_local=0");
    assert_lacking(true, true,
                   "nat-forwarding-off-ipv4 at net.ipv4.ip_forward\n"
                   "nat-forwarding-off-ipv6 at net.ipv6.conf.all.forwarding\n"
                   "nat-local-not-accepted at net.ipv4.conf.lo.accept_local\n");
    assert_lacking(false, true, "nat-forwarding-off-ipv6 at net.ipv6.conf.all.forwarding\n");
    run("sysctl -qw net.ipv4.ip_forward=1");
    assert_lacking(true, false, "nat-local-not-accepted at net.ipv4.conf.lo.accept_local\n");
    run("sysctl -qw net.ipv4.conf.lo.accept_local=1 net.ipv6.conf.all.forwarding=2");
    assert_lacking(true, true, "");
    run("sysctl -qw net.ipv4.conf.lo.accept_local=0 net.ipv4.conf.all.accept_local=1");
    assert_lacking(true, true, "");
}

static void assert_interface(const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    nat_host_check_interface("lo", true, true, &faults);
    nat_host_check_uplink("lo", true, true, &faults);
    assert_raised(&faults, expected);
}

static void settings_of_an_interface_that_lack_are_told(void **state)
{
    (void)state;
    run("sysctl -qw net.ipv4.conf.lo.forwarding=1 net.ipv6.conf.lo.forwarding=1 net.ipv6.conf.lo.disable_ipv6=0 "
        "net.ipv4.conf.lo.arp_ignore=0 net.ipv4.conf.all.arp_ignore=0");
    assert_interface("");
    run("sysctl -qw net.ipv4.conf.lo.forwarding=0 net.ipv6.conf.lo.forwarding=0 net.ipv6.conf.lo.disable_ipv6=1 "
        "net.ipv4.conf.lo.arp_ignore=8");
    assert_interface("nat-interface-not-forwarding at net.ipv4.conf.lo.forwarding\n"
                     "nat-interface-not-forwarding at net.ipv6.conf.lo.forwarding\n"
                     "nat-interface-without-ipv6 at net.ipv6.conf.lo.disable_ipv6\n"
                     "nat-arp-ignored at net.ipv4.conf.lo.arp_ignore\n");
    assert_int_equal(system("ip link add svc0 type bridge && "
                            "sysctl -qw net.ipv6.conf.svc0.disable_ipv6=1 "
                            "net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 "
                            "net.ipv4.conf.lo.accept_local=1"),
                     0);
    assert_lacking(true, true, "nat-svc0-without-ipv6 at net.ipv6.conf.svc0.disable_ipv6\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_made_once, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(is_kept_as_it_must_be, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(comes_back, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(is_finished_after_a_crash, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(foreign_ones_stay, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(is_removed, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(carries_what_is_routed_there, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(without_privilege_it_is_a_fault, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(settings_that_lack_are_told, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(settings_of_an_interface_that_lack_are_told, lab_open,
                                        lab_close),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
