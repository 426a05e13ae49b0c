// SPDX-License-Identifier: Apache-2.0
/* What somebody else does to the maps: each kind of damage is found, and mended by the next write.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>

#include "nat_datapath_lab.h"

static void take_entry(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    assert_int_equal(
        nat_table_remove(datapath, NAT_MAP_FRONTENDS, &installed->entries.items[1].key), 0);
}

static void bend_entry(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    const struct nat_frontend_key *key = &installed->entries.items[0].key;
    struct nat_frontend_value value;
    assert_int_equal(nat_table_get(datapath, NAT_MAP_FRONTENDS, key, &value), 0);
    value.kind = NAT_FRONTEND_FOREIGN;
    assert_int_equal(nat_table_put(datapath, NAT_MAP_FRONTENDS, key, &value, BPF_ANY), 0);
}

static void uncheck_entry(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    const struct nat_frontend_key *key = &installed->entries.items[0].key;
    struct nat_frontend_value value;
    assert_int_equal(nat_table_get(datapath, NAT_MAP_FRONTENDS, key, &value), 0);
    value.check ^= 1;
    assert_int_equal(nat_table_put(datapath, NAT_MAP_FRONTENDS, key, &value, BPF_ANY), 0);
}

static void add_entry_of(struct nat_datapath *datapath, uint32_t service)
{
    struct ip address = ip("203.0.113.7");
    struct nat_frontend_key key = { .addr = nat_addr_of(&address), .port = htons(1) };
    struct nat_frontend_value value = { .service = service, .check = nat_frontend_check(&key) };
    assert_int_equal(nat_table_put(datapath, NAT_MAP_FRONTENDS, &key, &value, BPF_ANY), 0);
}

static void add_entry(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    add_entry_of(datapath, installed->id);
}

static void take_name(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    assert_int_equal(nat_table_remove(datapath, NAT_MAP_NAMES, &installed->id), 0);
}

static void take_range(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    uint32_t bank = nat_service_bank(datapath, installed->id);
    struct nat_range_key key =
        nat_range_key_of(&installed->ranges[bank].items[0], installed->id, bank);
    assert_int_equal(nat_table_remove(datapath, NAT_MAP_RANGES, &key), 0);
}

static void bend_word(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    datapath->services[installed->id] ^= NAT_SERVICE_RANGES_V6;
}

static void bend_affinity(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    datapath->services[installed->id] ^= 1 << NAT_SERVICE_AFFINITY_SHIFT;
}

static void bend_outcome(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    port_of(datapath, installed)->outcomes ^= 8;
}

static void bend_owner(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    port_of(datapath, installed)->owner ^= 1;
}

static void bend_set(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    port_of(datapath, installed)->sets[NAT_SET_CLUSTER] = ~0ull;
}

static void bend_slot(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    datapath->slots[port_of(datapath, installed)->sets[NAT_SET_CLUSTER] >> 32] ^= 1;
}

static void end_endpoint(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    endpoint_of(datapath, installed, 1)->state = 0;
}

static void end_idle_endpoint(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    endpoint_of(datapath, installed, 4)->state = 0; /* of 10.0.0.9 */
}

static void swap_slots(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    __u64 *slots = &datapath->slots[port_of(datapath, installed)->sets[NAT_SET_CLUSTER] >> 32];
    __u64 first = slots[0];
    slots[0] = slots[1];
    slots[1] = first;
}

static void bend_protocol(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    endpoint_of(datapath, installed, 2)->protocol = PROTOCOL_UDP;
}

static void bend_place(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    endpoint_of(datapath, installed, 0)->state ^= NAT_ENDPOINT_ON_NODE;
}

static void bend_address(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    endpoint_of(datapath, installed, 0)->addr.bytes[15] ^= 0xf0;
}

static void empty_filter(struct nat_datapath *datapath, const struct nat_installed *installed)
{
    (void)installed;
    memset(datapath->filter, 0, datapath->maps[NAT_MAP_FILTER].value_size);
}

static void what_others_do_is_found_and_mended(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*damage)(struct nat_datapath *datapath, const struct nat_installed *installed);
    } damages[] = {
        { "take entry", take_entry },       { "bend entry", bend_entry },
        { "uncheck entry", uncheck_entry }, { "add entry", add_entry },
        { "take name", take_name },         { "take range", take_range },
        { "bend word", bend_word },         { "bend affinity", bend_affinity },
        { "bend outcome", bend_outcome },   { "bend owner", bend_owner },
        { "bend set", bend_set },           { "bend slot", bend_slot },
        { "end endpoint", end_endpoint },   { "end endpoint outside of sets", end_idle_endpoint },
        { "swap slots", swap_slots },       { "bend protocol", bend_protocol },
        { "bend place", bend_place },       { "bend address", bend_address },
        { "empty filter", empty_filter },
    };
    AUTOROW struct nat_row *row = row_web();
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    AUTOFREE char *dump = datapath_dump(datapath);
    for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
        damages[i].damage(datapath, installed_of(datapath, "d/web"));
        size_t differences = count_differences(datapath, row);
        if (differences == 0)
            print_message("# not found: %s\n", damages[i].name);
        assert_true(differences > 0);
        expect_write(datapath, row, 1);
        expect_verified(datapath, &row, 1);
        expect_write(datapath, row, 0);
        expect_dump(datapath, dump);
    }
}

static void doubt_finds_what_is_missing(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_web();
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    take_entry(datapath, installed_of(datapath, "d/web"));
    expect_write(datapath, row, 0); /* it remembers */
    nat_datapath_invalidate(datapath);
    expect_write(datapath, row, 1);
    expect_verified(datapath, &row, 1);
    nat_datapath_invalidate(datapath);
    expect_write(datapath, row, 0);
}

static void entries_of_nobody(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_web();
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    add_entry_of(datapath, 999);
    assert_int_equal(count_differences(datapath, row), 1);
    int64_t next_ms;
    assert_int_equal(nat_datapath_sweep(datapath, 1000, &next_ms), 0);
    expect_verified(datapath, &row, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_do_is_found_and_mended),
        cmocka_unit_test(doubt_finds_what_is_missing),
        cmocka_unit_test(entries_of_nobody),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
