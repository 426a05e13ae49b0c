// SPDX-License-Identifier: Apache-2.0
/* What Services that are gone have left in the filter, and how it goes with a sweep of the flows.
 */
#include "base/clock.h"
#include "nat_flow_lab.h"

enum { MANY = 3000 };

/* Connections straight to an endpoint, so many that a round has several slices. */
static struct nat_tuple many_key(uint16_t number)
{
    return tuple_of("10.0.0.9", 8080, "10.9.9.9", number, PROTOCOL_TCP);
}

static void put_many(const struct nat_datapath *datapath, uint32_t seen_s)
{
    for (uint16_t number = 1; number <= MANY; number++) {
        struct nat_tuple key = many_key(number);
        put_half(datapath, &key, (struct nat_flow){ .half = NAT_HALF_DIRECT, .seen_s = seen_s });
    }
}

static void remove_many(const struct nat_datapath *datapath)
{
    for (uint16_t number = 1; number <= MANY; number++) {
        struct nat_tuple key = many_key(number);
        assert_int_equal(nat_table_remove(datapath, NAT_MAP_FLOWS, &key), 0);
    }
}

static void litter_goes_with_a_sweep(void **state)
{
    (void)state;
    AUTOROW struct nat_row *web = row_simple("web", "10.96.0.1", ENDPOINTS("10.0.0.1"));
    AUTOROW struct nat_row *dns = row_simple("dns", "10.96.0.2", ENDPOINTS("10.0.0.2"));
    AUTOROW struct nat_row *late = row_simple("late", "10.96.0.3", ENDPOINTS("10.0.0.3"));
    row_frontend(&dns->families[0], 0, NAT_FRONTEND_NODE_PORT, "192.0.2.100", 30053);
    struct nat_row *rows[] = { NULL, NULL, late };
    static const struct nat_datapath_options options = { NULL, 8192, 64, 64 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&options, false);
    int64_t now_ms = NOW_S * SECOND_MS, next_ms;
    expect_write(datapath, web, 1);
    expect_write(datapath, dns, 1);
    assert_true(filtered(datapath, "10.96.0.1", 0) && filtered(datapath, "10.0.0.1", 8080));
    assert_true(filtered(datapath, "192.0.2.100", 30053));
    assert_false(filtered(datapath, "192.0.2.100", 0) || filtered(datapath, "10.0.0.1", 0));
    (void)sweep(datapath, now_ms, &next_ms);

    /* What is gone is in there still, for its connections. */
    assert_int_equal(nat_datapath_remove(datapath, "d", "web"), 1);
    assert_int_equal(nat_datapath_remove(datapath, "d", "dns"), 1);
    (void)sweep(datapath, now_ms + 1000, &next_ms);
    assert_true(filtered(datapath, "10.96.0.1", 0) && filtered(datapath, "10.96.0.2", 0));

    struct flow flow = { 1000, PROTOCOL_TCP }, ending = { 1001, PROTOCOL_TCP, 999999, 999999 };
    put_flow(datapath, &flow, NOW_S + 100);
    ending.flags = ending.reply_flags = NAT_FLOW_RST;
    put_flow(datapath, &ending, NOW_S + 100);
    put_many(datapath, NOW_S + 100);
    assert_in_range(nat_datapath_sweep(datapath, now_ms + 100000, &next_ms), 0, 1); /* begins */
    assert_true(datapath->filter_refilling);
    expect_write(datapath, late, 1);
    (void)sweep(datapath, now_ms + 100000, &next_ms);
    assert_false(datapath->filter_refilling);
    assert_true(filtered(datapath, "10.96.0.1", 0) && filtered(datapath, "10.96.0.1", 80));
    assert_true(filtered(datapath, "10.0.0.1", 8080));
    assert_false(filtered(datapath, "10.96.0.2", 0) || filtered(datapath, "10.0.0.2", 8080));
    assert_false(filtered(datapath, "192.0.2.100", 30053));
    expect_verified(datapath, rows, 3);

    /* Its last connection ends. */
    remove_many(datapath);
    struct nat_tuple forward = forward_key(&flow), reply = reply_key(&flow);
    assert_int_equal(nat_table_remove(datapath, NAT_MAP_FLOWS, &forward), 0);
    assert_int_equal(nat_table_remove(datapath, NAT_MAP_FLOWS, &reply), 0);
    (void)sweep(datapath, now_ms + 200000, &next_ms);
    assert_true(filtered(datapath, "10.96.0.1", 0)); /* nothing has gone since: nothing is done */
    assert_int_equal(nat_datapath_remove(datapath, "d", "late"), 1);
    (void)sweep(datapath, now_ms + 300000, &next_ms);
    uint32_t words = nat_filter_words(datapath);
    for (uint32_t i = 0; i < words; i++)
        assert_int_equal(datapath->filter[datapath->control->filter_half * words + i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(litter_goes_with_a_sweep),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
