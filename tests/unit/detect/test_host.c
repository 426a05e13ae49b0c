// SPDX-License-Identifier: Apache-2.0
/* The rows of all tables of detectors, and what those about the host find. */
#include <string.h>

#include "found.h"

static void a_row_is_whole(const struct detector *row)
{
    assert_ptr_equal(detector_find(row->name), row); /* no other row has its name */
    assert_non_null(row->subsystem);
    assert_non_null(row->group);
    assert_non_null(row->codes[0]);
    assert_true(row->facts != 0);
    assert_true(row->period_ms >= 0 && row->period_ms % DETECTORS_PERIOD_MS == 0);
    assert_int_equal(row->period_ms == 0, (row->facts & FACT_TRACKING) == 0);
    assert_true(row->hold_ms >= 0 && row->linger_ms >= 0);
    assert_non_null(row->detect);
    assert_int_equal(row->touched != NULL, (row->facts & FACT_OBJECTS) != 0);
    assert_int_equal(row->rest != NULL, (row->facts & FACT_SERVICE) != 0);
}

static void rows_are_whole(void **state)
{
    size_t rows = 0;
    (void)state;
    for (const struct detector *const *table = detector_tables; *table; table++)
        for (const struct detector *row = *table; row->name; row++, rows++)
            a_row_is_whole(row);
    assert_true(rows > 0);
    assert_null(detector_find("no such"));
}

static void tracking_is_nearly_full_from_nine_tenths_on(void **state)
{
    static const char full[] = "nat-tracking-full at net.netfilter.nf_conntrack_max\n";
    struct detector_facts facts = { 0 };
    (void)state;
    assert_found("tracking", &facts, "");
    facts.tracking = (struct tracking_facts){ .known = true, .count = 899, .most = 1000 };
    assert_found("tracking", &facts, "");
    facts.tracking.count = 900;
    assert_found("tracking", &facts, full);
    facts.tracking = (struct tracking_facts){ .known = true, .count = 44, .most = 49 };
    assert_found("tracking", &facts, "");
    facts.tracking.count = INT64_C(1) << 62;
    facts.tracking.most = INT64_C(1) << 62;
    assert_found("tracking", &facts, full);
}

static void helpers_by_port_are_told(void **state)
{
    struct detector_facts facts = { 0 };
    (void)state;
    assert_found("tracking-helpers", &facts, "");
    facts.tracking.helpers = true;
    assert_found("tracking-helpers", &facts,
                 "nat-tracking-helpers at net.netfilter.nf_conntrack_helper\n");
}

static void settings_that_are_off_are_told(void **state)
{
    struct detector_facts facts = { 0 };
    (void)state;
    assert_found("forwarding", &facts, ""); /* of no family */
    facts.settings.v4 = true;
    assert_found("forwarding", &facts, "nat-forwarding-off-ipv4 at net.ipv4.ip_forward\n");
    assert_found("nat-settings", &facts,
                 "nat-local-not-accepted at net.ipv4.conf.lo.accept_local\n");
    facts.settings = (struct setting_facts){ .v6 = true };
    assert_found("forwarding", &facts, "nat-forwarding-off-ipv6 at net.ipv6.conf.all.forwarding\n");
    assert_found("nat-settings", &facts,
                 "nat-svc0-without-ipv6 at net.ipv6.conf.svc0.disable_ipv6\n");
    facts.settings = (struct setting_facts){ true, true, true, true, true, true };
    assert_found("forwarding", &facts, "");
    assert_found("nat-settings", &facts, "");
}

static void a_chain_of_others_overrules_accept(void **state)
{
    struct config config = { .services.firewall.mode = FIREWALL_ACCEPT };
    struct detector_facts facts = { .config = &config, .firewall = { "inet fw input" } };
    (void)state;
    assert_found("firewall-overruled", &facts,
                 "firewall-accept-overruled at nftables, table inet fingerpost\n");
    config.services.firewall.mode = FIREWALL_MARK; /* the chain may accept the mark */
    assert_found("firewall-overruled", &facts, "");
    config.services.firewall.mode = FIREWALL_ACCEPT;
    facts.firewall.drop_chain = "";
    assert_found("firewall-overruled", &facts, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(helpers_by_port_are_told),
        cmocka_unit_test(settings_that_are_off_are_told),
        cmocka_unit_test(a_chain_of_others_overrules_accept),
        cmocka_unit_test(tracking_is_nearly_full_from_nine_tenths_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
