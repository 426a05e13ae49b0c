// SPDX-License-Identifier: Apache-2.0
/* Who is told of an address, by how many frames at a time, and in whose turn. */
#include "plan/claims/telling.h"

#include <stdio.h>

#include "base/macro.h"
#include "cmocka_all.h"

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 7 };

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

/* Hosts 1 to `count` of each family. */
static void fill(telling_hosts *hosts, unsigned count)
{
    for (unsigned i = 1; i <= count; i++) {
        char text[2][32];
        (void)snprintf(text[0], 32, "192.0.%u.%u", i / 250, i % 250);
        (void)snprintf(text[1], 32, "2001:db8::%x", i);
        for (size_t j = 0; j < ARRAY_SIZE(text); j++) {
            const struct telling_host host = {
                .ip = ip_of(text[j]), .mac = { 2, 0, 0, 1, (uint8_t)(i >> 8), (uint8_t)i }
            };
            assert_int_equal(vec_push(hosts, host), 0);
        }
    }
}

static int begin(struct telling *telling, const char *address, const telling_hosts *hosts)
{
    const struct ip ip = ip_of(address);
    return telling_begin(telling, 3, &ip, mac, hosts);
}

/* How many frames go from now on; the time of the last. */
static unsigned run(struct telling *telling, int64_t *now_ms)
{
    struct telling_word word;
    unsigned sent = 0;
    while (telling_next_ms(telling) != INT64_MAX) {
        unsigned batch = 0;
        *now_ms = MAX(*now_ms, telling_next_ms(telling));
        for (; telling_next(telling, *now_ms, &word); batch++) {
            assert_int_equal(word.ifindex, 3);
            assert_memory_equal(word.mac, mac, sizeof(mac));
            assert_int_equal(word.host.ip.family, word.ip.family);
        }
        assert_true(batch <= TELLING_BATCH);
        sent += batch;
    }
    return sent;
}

static void each_neighbour_is_told_once(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        unsigned hosts, told;
    } rows[] = {
        { "192.0.2.9", 0, 0 },
        { "192.0.2.9", 1, 1 },
        { "2001:db8::99", 100, 100 },
        { "192.0.2.9", 1000, TELLING_MOST },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct telling telling = { 0 };
        AUTOVEC telling_hosts hosts = { 0 };
        int64_t now_ms = 1000;
        fill(&hosts, rows[i].hosts);
        assert_int_equal(begin(&telling, rows[i].address, &hosts), 0);
        assert_int_equal(run(&telling, &now_ms), rows[i].told);
        assert_true(now_ms - 1000 <= TELLING_MOST / TELLING_BATCH * TELLING_PAUSE_MS);
        telling_done(&telling);
    }
}

static void addresses_take_turns(void **state)
{
    (void)state;
    struct telling telling = { 0 };
    struct telling_word word;
    AUTOVEC telling_hosts hosts = { 0 };
    static const char *const addresses[] = { "192.0.2.7", "192.0.2.8", "192.0.2.9" };
    int64_t now_ms = 1000;
    fill(&hosts, 20);
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
        assert_int_equal(begin(&telling, addresses[i], &hosts), 0);
    for (unsigned i = 0; i < 9; i++) {
        const struct ip expected = ip_of(addresses[i % 3]);
        assert_true(telling_next(&telling, now_ms, &word));
        assert_true(ip_equal(&word.ip, &expected));
        assert_memory_equal(word.host.mac, hosts.items[2 * (i / 3)].mac, 6);
    }
    /* One begins anew, one is here no more: its turn was next. */
    const struct ip gone = ip_of(addresses[0]), next = ip_of(addresses[1]);
    assert_int_equal(begin(&telling, addresses[2], &hosts), 0);
    telling_end(&telling, 3, &gone);
    assert_true(telling_next(&telling, now_ms, &word));
    assert_true(ip_equal(&word.ip, &next));
    assert_int_equal(run(&telling, &now_ms), 16 + 20);
    telling_done(&telling);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_neighbour_is_told_once),
        cmocka_unit_test(addresses_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
