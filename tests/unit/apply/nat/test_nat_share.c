// SPDX-License-Identifier: Apache-2.0
/*
 * Tenants of the maps: one that takes all it can get, and neighbours who go on. Sizes are small, so
 * that the maps are soon full; ids that rest stay at rest, as in the moment after a change.
 */
#include <errno.h>

#include "apply/nat/services/share.h"
#include "nat_datapath_lab.h"

/* Of endpoints 40 must stay free when somebody with too much grows, 20 when he changes, 10 when
 * others grow: see share.c. */
static const struct nat_datapath_options small = { NULL, 1024, 64, 199 };

static void what_stays_free(void **state)
{
    (void)state;
    static const struct {
        bool over, grows;
        uint32_t reserve;
    } cases[] = { { true, true, 200 }, { true, false, 100 }, { false, true, 50 }, { 0, 0, 0 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(nat_share_reserve(1000, cases[i].over, cases[i].grows), cases[i].reserve);
    assert_int_equal(nat_share_reserve(3, true, true), 0);
}

static void a_share(void **state)
{
    (void)state;
    assert_int_equal(nat_share_fair(6400, 0), 6400);
    assert_int_equal(nat_share_fair(6400, 1), 6400);
    assert_int_equal(nat_share_fair(6400, 3), 2133);
    assert_int_equal(nat_share_fair(6400, 64), 100);
    assert_int_equal(nat_share_fair(6400, 1000), 100);
}

/* A Service with so many endpoints; `version`: another one has others. */
static struct nat_row *row_of(const char *namespace, unsigned number, unsigned endpoints,
                              unsigned version)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "s%02u", number);
    struct nat_row *row = row_new(text);
    free(row->namespace);
    row->namespace = strdup(namespace);
    struct nat_family *family = row_family(row, IP_V4);
    uint32_t port = row_port(family, PROTOCOL_TCP, 80);
    for (unsigned i = 0; i < endpoints; i++) {
        (void)snprintf(text, sizeof(text), "10.%u.%u.%u", version, (unsigned char)*namespace,
                       i + 1);
        row_endpoint(family, port, text, (uint16_t)(8000 + number), 1);
    }
    (void)snprintf(text, sizeof(text), "10.96.%u.%u", (unsigned char)*namespace, number + 1);
    row_frontend(family, port, NAT_FRONTEND_CLUSTER_IP, text, 80);
    return row;
}

/* Returns as nat_datapath_write(); the last fault goes to `ret_words`. */
static int put_row(struct nat_datapath *datapath, struct nat_row *row, struct text *ret_words)
{
    AUTOROW struct nat_row *owned = row;
    AUTOFAULTS struct faults faults = { 0 };
    int r = nat_datapath_write(datapath, owned, &faults);
    assert_int_equal(faults.list.count, r < 0);
    if (r < 0 && ret_words) {
        text_truncate(ret_words, 0);
        text_addf(ret_words, "%s: %s -> %s", faults.list.items[0].place,
                  faults.list.items[0].message, faults.list.items[0].remedy);
    }
    return r;
}

static int put(struct nat_datapath *datapath, const char *namespace, unsigned number,
               unsigned endpoints, unsigned version)
{
    return put_row(datapath, row_of(namespace, number, endpoints, version), NULL);
}

/* Services of ten endpoints until no more is to be had; their number. */
static unsigned fill(struct nat_datapath *datapath, const char *namespace, int expected,
                     struct text *words)
{
    for (unsigned number = 1;; number++) {
        int r = put_row(datapath, row_of(namespace, number, 10, 0), words);
        if (r == 1)
            continue;
        assert_int_equal(r, expected);
        return number - 1;
    }
}

static void one_takes_all_and_others_go_on(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&small, false);
    AUTOTEXT struct text words = { 0 };
    assert_int_equal(put(datapath, "a", 0, 10, 0), 1);
    assert_int_equal(put(datapath, "b", 0, 10, 0), 1);
    assert_int_equal(fill(datapath, "evil", -EDQUOT, &words),
                     13); /* 150 of 199, and one more not */
    assert_string_equal(text_str(&words),
                        "Service evil/s14: the map endpoints is nearly full, and namespace evil "
                        "would have 140 of its entries, more than its share of 66 -> let namespace "
                        "evil have fewer, or raise services.maps.endpoints");

    /* Who is served is served on, wherever his pods move; twice before the old ids have rested. */
    assert_int_equal(put(datapath, "a", 0, 10, 1), 1);
    assert_int_equal(put(datapath, "b", 0, 10, 1), 1);
    assert_int_equal(put(datapath, "a", 0, 10, 2), 1);
    datapath_wake(datapath);
    assert_int_equal(put(datapath, "a", 0, 15, 2), 1); /* grows within his share */
    assert_int_equal(put(datapath, "c", 0, 10, 0), 1); /* comes */
    assert_int_equal(put(datapath, "evil", 1, 11, 0), -EDQUOT);
    assert_int_equal(put(datapath, "evil", 1, 10, 3), 1); /* changes while a tenth stays free */
    assert_int_equal(put(datapath, "evil", 2, 10, 3), -EDQUOT);
    assert_int_equal(put(datapath, "b", 0, 10, 2), 1);
    assert_int_equal(put(datapath, "a", 0, 10, 3), 1);
    datapath_wake(datapath);
    assert_int_equal(put(datapath, "evil", 2, 1, 3), 1);
}

/* One that changes everything it has all the time. */
static void unrest_takes_nothing_from_others(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&small, false);
    assert_int_equal(put(datapath, "a", 0, 10, 0), 1);
    assert_int_equal(put(datapath, "b", 0, 10, 0), 1);
    unsigned services = fill(datapath, "evil", -EDQUOT, NULL), refused = 0;
    for (unsigned round = 1; round < 5; round++) {
        for (unsigned number = 1; number <= services; number++)
            refused += put(datapath, "evil", number, 10, round) == -EDQUOT;
    }
    assert_true(refused > 3 * services);
    assert_int_equal(put(datapath, "a", 0, 10, 1), 1);
    datapath_wake(datapath);
    assert_int_equal(put(datapath, "evil", 1, 10, 9), 1); /* after that, one at a time */
}

/* All within their shares: growth ends before changes do. */
static void equals_leave_room_for_changes(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&small, false);
    unsigned count = 0;
    nat_datapath_set_pod_interfaces(datapath, ARRAY_SIZE(names));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        int r = put(datapath, names[i], 0, 19, 0);
        assert_true(r == 1 || r == -ENOSPC);
        count += r == 1;
    }
    assert_int_equal(count, 9); /* 171 of 199; ten more would leave nothing */
    assert_int_equal(put(datapath, "a", 0, 19, 1), 1);
}

/* A port more costs a pod interface no endpoints, if it leads where another does. */
static void ports_that_are_alike_count_once(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&small, false);
    assert_int_equal(put(datapath, "a", 0, 10, 0), 1);
    AUTOROW struct nat_row *row = row_of("b", 0, 50, 0);
    struct nat_family *family = &row->families[0];
    for (uint16_t number = 81; number < 120; number++) {
        uint32_t port = row_port(family, PROTOCOL_TCP, number);
        const struct nat_port *first = &family->ports.items[0];
        struct nat_port *it = &family->ports.items[port];
        assert_int_equal(vec_append(&it->sets[NAT_SET_CLUSTER], &first->sets[NAT_SET_CLUSTER]), 0);
        assert_int_equal(vec_append(&it->serving, &first->serving), 0);
        row_frontend(family, port, NAT_FRONTEND_CLUSTER_IP, "10.96.98.1", number);
    }
    expect_write(datapath, row, 1);
    assert_int_equal(fill(datapath, "evil", -EDQUOT, NULL), 9); /* ten and fifty are not his */
}

static struct nat_row *fenced_row(const char *namespace, unsigned number, unsigned ranges)
{
    struct nat_row *row = row_of(namespace, number, 1, 0);
    char text[32];
    for (unsigned i = 0; i < ranges; i++) {
        (void)snprintf(text, sizeof(text), "172.%u.%u.0/24", number, i);
        row_range(&row->families[0], text);
    }
    (void)snprintf(text, sizeof(text), "203.%u.113.%u", (unsigned char)*namespace, number);
    row_frontend(&row->families[0], 0, NAT_FRONTEND_LOAD_BALANCER, text, 80);
    return row;
}

static void source_ranges_are_shared_too(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&small, false);
    AUTOTEXT struct text words = { 0 };
    unsigned number = 0;
    int r = 1;
    assert_int_equal(put_row(datapath, fenced_row("a", 0, 5), NULL), 1);
    while (r == 1)
        r = put_row(datapath, fenced_row("evil", ++number, 20), &words);
    assert_int_equal(r, -EDQUOT);
    assert_non_null(strstr(text_str(&words), "the map ranges is nearly full, and namespace evil"));
    assert_non_null(strstr(text_str(&words), "or raise services.maps.services"));
    assert_true(number > 4); /* 256 entries, of which each may take 40 */
    assert_int_equal(put_row(datapath, fenced_row("a", 0, 6), NULL), 1);
    assert_int_equal(put_row(datapath, fenced_row("b", 0, 5), NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stays_free),
        cmocka_unit_test(a_share),
        cmocka_unit_test(one_takes_all_and_others_go_on),
        cmocka_unit_test(unrest_takes_nothing_from_others),
        cmocka_unit_test(equals_leave_room_for_changes),
        cmocka_unit_test(ports_that_are_alike_count_once),
        cmocka_unit_test(source_ranges_are_shared_too),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
