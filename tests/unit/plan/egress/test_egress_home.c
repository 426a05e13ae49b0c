// SPDX-License-Identifier: Apache-2.0
/* Behind which port of a bridge an address is, by what was found and what was known before. */
#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/egress/egress_home.h"

enum { PORTS = 3 };

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static void one_cause_at_a_time(void **state)
{
    (void)state;
    static const struct {
        uint32_t found[PORTS], before, port;
        size_t count;
    } cases[] = {
        { { 0 }, 0, 0, 0 },       /* nobody has it */
        { { 5 }, 0, 5, 1 },       /* one has */
        { { 5 }, 5, 5, 1 },       /* still */
        { { 5 }, 4, 5, 1 },       /* it has moved */
        { { 0 }, 4, 4, 0 },       /* it is nobody's until it is found */
        { { 5, 6 }, 0, 0, 2 },    /* two from the start */
        { { 5, 6 }, 6, 6, 2 },    /* who had it keeps it */
        { { 5, 6, 7 }, 4, 4, 3 }, /* several, and none had it */
    };
    const struct ip address = ip_of("10.1.0.5");
    const struct port_address others[] = { { ip_of("10.1.0.4"), 8 }, { ip_of("10.1.0.6"), 9 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOSORTED struct sorted found = SORTED(struct port_address, port_address_cmp);
        assert_int_equal(sorted_put(&found, &others[0]), 0);
        assert_int_equal(sorted_put(&found, &others[1]), 0);
        for (size_t n = 0; n < PORTS && cases[i].found[n]; n++) {
            const struct port_address item = { address, cases[i].found[n] };
            assert_int_equal(sorted_put(&found, &item), 0);
        }
        assert_int_equal(plan_home_count(&found, &address), cases[i].count);
        assert_int_equal(plan_home(&found, &address, cases[i].before), cases[i].port);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_cause_at_a_time) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
