// SPDX-License-Identifier: Apache-2.0
/* What a change takes service away from, which addresses it is about, and whether it is one. */
#include "plan/nat/nat_change.h"

#include "nat_planning.h"

#define HERE  "{addresses: [10.0.0.1], nodeName: node-1}"
#define THERE "{addresses: [10.0.0.2], nodeName: node-2}"
#define PORT  "ports: [{name: h, port: 80, nodePort: 30080}]"
#define TWO   "ports: [{name: h, port: 80, nodePort: 30080}, {name: g, port: 81}]"
#define LOCAL "externalTrafficPolicy: Local, "
#define ALL   "10.96.0.1 198.51.100.1 203.0.113.1"

/* The Service d/web with its slice: `cluster_ips` NULL: there is none. */
struct version {
    const char *cluster_ips, *spec, *ingress, *endpoints;
};

static struct nat_row *row_at(const struct version *version)
{
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    add_range(&planning.config->services.external_ips, "203.0.113.0/24");
    add_range(&planning.config->services.external_ips, "192.0.2.0/24");
    put_node(&planning, "node-1", "", "{type: InternalIP, address: 192.0.2.1}");
    if (!version->cluster_ips)
        return NULL;
    put_served(&planning, "web", "LoadBalancer", version->cluster_ips, version->spec,
               version->ingress);
    if (version->endpoints)
        put_slice(&planning, "web-1", version->endpoints);
    return nat_of(&planning, "web");
}

static void assert_ips(const ip_list *list, const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    char buffer[IP_STRLEN];
    vec_each(const struct ip, ip, list)
        text_addf(&out, "%s%s", out.length ? " " : "", ip_str(ip, buffer));
    assert_string_equal(text_str(&out), expected);
}

#define SPEC(more) "externalIPs: [203.0.113.1], " more
#define VIP        "{ip: 198.51.100.1}"
#define WEB(more, where)                    \
    {                                       \
        "10.96.0.1", SPEC(more), VIP, where \
    }

static void who_loses_service(void **state)
{
    (void)state;
    static const struct {
        struct version before, after;
        const char *losses;
    } cases[] = {
        { { 0 }, { 0 }, "" },
        { { 0 }, WEB(PORT, HERE), "" },
        { WEB(PORT, HERE), WEB(PORT, HERE), "" },
        { WEB(PORT, HERE), { 0 }, ALL },
        { WEB(PORT, HERE), WEB(PORT, NULL), ALL },
        { WEB(PORT, NULL), WEB(PORT, HERE), "" },
        { WEB(PORT, NULL), { 0 }, "" },
        { WEB(PORT, HERE), WEB(PORT, THERE), "" },
        /* Another port there goes on; then none does. */
        { WEB(TWO, HERE), WEB(PORT, HERE), "" },
        { WEB(TWO, HERE), WEB("ports: [{name: g, port: 81}]", HERE), ALL },
        /* The address itself goes. */
        { WEB(PORT, HERE), { "10.96.0.1", SPEC(PORT), "", HERE }, "198.51.100.1" },
        { WEB(PORT, HERE), { "10.96.0.2", PORT, VIP, HERE }, "10.96.0.1 203.0.113.1" },
        /* Policy Local: the outside loses it while pods do not; then they do. */
        { WEB(LOCAL PORT, HERE), WEB(LOCAL PORT, THERE), "198.51.100.1 203.0.113.1" },
        { WEB(PORT, THERE), WEB(LOCAL PORT, THERE), "198.51.100.1 203.0.113.1" },
        { WEB(LOCAL PORT, THERE), WEB(LOCAL PORT, NULL), ALL },
        { WEB(PORT, THERE), WEB("internalTrafficPolicy: Local, " PORT, THERE), "10.96.0.1" },
        /* Each family for itself. */
        { { "10.96.0.1, \"fd00:96::1\"", PORT, VIP ", {ip: \"2001:db8::1\"}", HERE },
          { "10.96.0.1, \"fd00:96::1\"", PORT, VIP ", {ip: \"2001:db8::1\"}", "" },
          "10.96.0.1 198.51.100.1" },
        /* A node port keeps no address of a Service alive. */
        { { "10.96.0.1", "externalIPs: [192.0.2.1], " PORT, "", HERE },
          { "10.96.0.1", PORT, "", HERE },
          "192.0.2.1" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTONAT struct nat_row *before = row_at(&cases[i].before);
        AUTONAT struct nat_row *after = row_at(&cases[i].after);
        ip_list losses = { 0 };
        assert_int_equal(nat_row_losses(before, after, &losses), 0);
        assert_ips(&losses, cases[i].losses);
        vec_done(&losses);
    }
}

static void addresses_of_both_rows(void **state)
{
    (void)state;
    AUTONAT struct nat_row *old = row_at(&(struct version)WEB(TWO, NULL));
    AUTONAT struct nat_row *row =
        row_at(&(struct version){ "10.96.0.1, \"fd00:96::1\"", PORT, VIP, HERE });
    ip_list addresses = { 0 };
    assert_int_equal(nat_row_addresses(NULL, &addresses), 0);
    assert_ips(&addresses, "");
    assert_int_equal(nat_row_addresses(row, &addresses), 0);
    assert_ips(&addresses, "10.96.0.1 198.51.100.1 fd00:96::1");
    assert_int_equal(nat_row_addresses(old, &addresses), 0);
    assert_ips(&addresses, ALL " fd00:96::1");
    vec_clear(&addresses);
    row->families[0].frontends.count = 0; /* all went to older Services */
    assert_int_equal(nat_row_addresses(row, &addresses), 0);
    assert_ips(&addresses, "10.96.0.1 fd00:96::1");
    vec_done(&addresses);
}

/* One change each, of what the row is made from. */
static void rows_of_the_same_are_equal(void **state)
{
    (void)state;
    static const char base[] = "loadBalancerSourceRanges: [10.0.0.0/8], " TWO;
    static const char both[] = "10.96.0.1, \"fd00:96::1\"";
    static const struct version versions[] = {
        { NULL, "", "", NULL },
        { both, base, VIP, HERE },
        { "10.96.0.1", base, VIP, HERE },
        { "10.96.0.2, \"fd00:96::1\"", base, VIP, HERE },
        { both, base, "{ip: 198.51.100.2}", HERE },
        { both, base, "", HERE },
        { both, base, VIP, THERE },
        { both, base, VIP, HERE ", " THERE },
        { both, base, VIP, NULL },
        { both, base, VIP,
          HERE ", {addresses: [10.0.0.3], conditions: {ready: false, serving: true}}" },
        { both, "loadBalancerSourceRanges: [10.0.0.0/9], " TWO, VIP, HERE },
        { both, "loadBalancerSourceRanges: [10.0.0.0/8, 11.0.0.0/8], " TWO, VIP, HERE },
        { both, "loadBalancerSourceRanges: [10.0.0.0/8, 192.0.2.1/32], " TWO, VIP, HERE },
        { both, "loadBalancerSourceRanges: [10.0.0.0/8], " PORT, VIP, HERE },
        { both, "sessionAffinity: ClientIP, loadBalancerSourceRanges: [10.0.0.0/8], " TWO, VIP,
          HERE },
        { both, LOCAL "loadBalancerSourceRanges: [10.0.0.0/8], " TWO, VIP, HERE },
        { both, LOCAL "healthCheckNodePort: 30099, loadBalancerSourceRanges: [10.0.0.0/8], " TWO,
          VIP, HERE },
        { both,
          "loadBalancerSourceRanges: [10.0.0.0/8],\n"
          "ports: [{name: h, port: 80, nodePort: 30081}, {name: g, port: 81}]",
          VIP, HERE },
        { both,
          "loadBalancerSourceRanges: [10.0.0.0/8],\n"
          "ports: [{name: h, port: 80, nodePort: 30080}, {name: f, port: 81}]",
          VIP, HERE },
        { both,
          "loadBalancerSourceRanges: [10.0.0.0/8],\n"
          "ports: [{name: h, port: 80, nodePort: 30080}, {name: g, port: 81, protocol: UDP}]",
          VIP, HERE },
    };
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        AUTONAT struct nat_row *one = row_at(&versions[i]);
        for (size_t j = 0; j < ARRAY_SIZE(versions); j++) {
            AUTONAT struct nat_row *other = row_at(&versions[j]);
            if (nat_row_equal(one, other) != (i == j))
                fail_msg("versions %zu and %zu", i, j);
        }
    }
}

static void what_only_others_change_counts_too(void **state)
{
    (void)state;
    AUTONAT struct nat_row *one = row_at(&(struct version)WEB(LOCAL PORT, HERE));
    AUTONAT struct nat_row *other = row_at(&(struct version)WEB(LOCAL PORT, HERE));
    assert_true(nat_row_equal(one, other));
    other->families[0].cluster_ips.count = 0;
    assert_false(nat_row_equal(one, other));
    other->families[0].cluster_ips.count = 1;
    other->families[0].local_ready++;
    assert_false(nat_row_equal(one, other));
    other->families[0].local_ready--;
    other->families[0].frontends.items[0].from[NAT_ORIGIN_NODE].masquerade ^= true;
    assert_false(nat_row_equal(one, other));
    other->families[0].frontends.items[0].from[NAT_ORIGIN_NODE].masquerade ^= true;
    other->families[0].frontends.items[0].kind = NAT_FRONTEND_EXTERNAL_IP;
    assert_false(nat_row_equal(one, other));
    other->families[0].frontends.items[0].kind = one->families[0].frontends.items[0].kind;
    assert_true(nat_row_equal(one, other));
    assert_int_equal(vec_push(&other->foreign, (struct ip){ .family = IP_V4 }), 0);
    assert_false(nat_row_equal(one, other));
    assert_int_equal(vec_push(&one->foreign, (struct ip){ .family = IP_V6 }), 0);
    assert_false(nat_row_equal(one, other));
    one->foreign.items[0].family = IP_V4;
    assert_true(nat_row_equal(one, other));
    other->name[0] = 'x';
    assert_false(nat_row_equal(one, other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_loses_service),
        cmocka_unit_test(addresses_of_both_rows),
        cmocka_unit_test(rows_of_the_same_are_equal),
        cmocka_unit_test(what_only_others_change_counts_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
