// SPDX-License-Identifier: Apache-2.0
/*
 * The datapath as a whole: what is pinned and found again, other sizes, what the kernel refuses;
 * and what becomes of endpoints when a Service changes.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "apply/nat/flows/flows.h"
#include "apply/nat/hooks/programs.h"
#include "nat_datapath_lab.h"
#include "raised.h"

static struct nat_tuple tuple(const char *source, uint16_t sport, const char *destination,
                              uint16_t dport)
{
    struct ip src = ip(source), dst = ip(destination);
    return (struct nat_tuple){ .src = nat_addr_of(&src),
                               .dst = nat_addr_of(&dst),
                               .sport = htons(sport),
                               .dport = htons(dport),
                               .protocol = PROTOCOL_TCP };
}

static void put_flow(int fd, const struct nat_tuple *key)
{
    struct nat_flow flow = { .check = nat_tuple_check(key), .half = NAT_HALF_DIRECT };
    assert_int_equal(bpf_map_update_elem(fd, key, &flow, BPF_ANY), 0);
}

static bool has_flow(const struct nat_datapath *datapath, const struct nat_tuple *key)
{
    struct nat_flow flow;
    return nat_table_get(datapath, NAT_MAP_FLOWS, key, &flow) == 0 && nat_flow_whole(key, &flow);
}

static void what_is_pinned_is_found_again(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_web();
    CLEANUP(nat_datapath_closep) struct nat_datapath *datapath = datapath_open(&lab_roomy, true);
    expect_write(datapath, row, 1);
    const struct nat_installed *installed = installed_of(datapath, "d/web");
    uint32_t id = installed->id, first = installed->endpoints.items[0];
    uint64_t slot = nat_slot_of(datapath, first), word = datapath->services[id];
    datapath->counters[id * NAT_COUNTER_STRIPES + 3].packets = 7;
    assert_int_not_equal(nat_datapath_twin(datapath, NAT_HOOK_POD_IN),
                         nat_datapath_program(datapath, NAT_HOOK_POD_IN, false));
    for (int hook = 0; hook < NAT_HOOKS; hook++)
        assert_int_not_equal(nat_datapath_program_id(datapath, hook, false), 0);
    nat_datapath_close(datapath);

    datapath = datapath_open(&lab_roomy, true);
    expect_verified(datapath, &row, 1);
    expect_write(datapath, row, 0);
    installed = installed_of(datapath, "d/web");
    assert_int_equal(installed->id, id);
    assert_int_equal(datapath->services[id], word);
    assert_int_equal(nat_slot_of(datapath, installed->endpoints.items[0]), slot);
    struct nat_counter counter;
    assert_true(nat_datapath_counters(datapath, "d", "web", &counter));
    assert_int_equal(counter.packets, 7);
    nat_datapath_close(datapath);

    assert_int_equal(nat_datapath_unpin(lab_pins), NAT_MAP_COUNT);
    assert_int_equal(nat_datapath_unpin(lab_pins), 0);
    datapath = datapath_open(&lab_roomy, true);
    expect_verified(datapath, NULL, 0);
}

static void add_affinity(const struct nat_datapath *datapath)
{
    struct ip client = ip("10.9.9.9");
    struct nat_affinity_key key = { .port = 1, .client = nat_addr_of(&client) };
    struct nat_affinity_value value = { .choice = 42 };
    assert_int_equal(nat_table_put(datapath, NAT_MAP_AFFINITY, &key, &value, BPF_ANY), 0);
}

static bool has_affinity(const struct nat_datapath *datapath)
{
    struct ip client = ip("10.9.9.9");
    struct nat_affinity_key key = { .port = 1, .client = nat_addr_of(&client) };
    struct nat_affinity_value value;
    return nat_table_get(datapath, NAT_MAP_AFFINITY, &key, &value) == 0 && value.choice == 42;
}

static void other_sizes(void **state)
{
    (void)state;
    static const struct nat_datapath_options sizes[] = {
        { NULL, 2048, 64, 64 },   { NULL, 8192, 64, 64 },    { NULL, 8192, 300, 64 },
        { NULL, 8192, 300, 999 }, { NULL, 9000, 400, 2000 }, { NULL, 1024, 16, 32 },
    };
    AUTOROW struct nat_row *web = row_web();
    AUTOROW struct nat_row *dns = row_simple("dns", "10.96.0.2", ENDPOINTS("10.0.1.1"));
    struct nat_row *rows[] = { web, dns };
    struct nat_tuple early = tuple("10.9.9.9", 1000, "10.0.0.1", 8080);
    CLEANUP(nat_datapath_closep) struct nat_datapath *datapath = datapath_open(&sizes[0], true);
    expect_write(datapath, web, 1);
    expect_write(datapath, dns, 1);
    put_flow(datapath->maps[NAT_MAP_FLOWS].fd, &early);
    add_affinity(datapath);
    for (size_t i = 1; i < ARRAY_SIZE(sizes); i++) {
        AUTOCLOSE int before = dup(datapath->maps[NAT_MAP_FLOWS].fd);
        struct nat_tuple late = tuple("10.9.9.9", (uint16_t)(2000 + i), "10.0.0.1", 8080);
        nat_datapath_close(datapath);
        datapath = datapath_open(&sizes[i], true);
        expect_verified(datapath, rows, 2);
        expect_write(datapath, web, 0);
        expect_write(datapath, dns, 0);
        assert_true(has_flow(datapath, &early) && has_affinity(datapath));
        assert_int_equal(datapath->control->filter_words, nat_filter_words(datapath));

        /* What the old programs enter until the hooks hold the new ones. */
        put_flow(before, &late);
        assert_int_equal(has_flow(datapath, &late), sizes[i].max_flows == sizes[i - 1].max_flows);
        assert_int_equal(nat_datapath_settle(datapath), 0);
        assert_true(has_flow(datapath, &late) && has_flow(datapath, &early));
        assert_int_equal(nat_datapath_settle(datapath), 0);
    }
}

static void too_small_for_what_there_is(void **state)
{
    (void)state;
    static const struct nat_datapath_options large = { NULL, 1024, 64, 512 },
                                             small = { NULL, 1024, 16, 40 };
    struct nat_row *rows[40] = { NULL };
    CLEANUP(nat_datapath_closep) struct nat_datapath *datapath = datapath_open(&large, true);
    for (int i = 0; i < 40; i++) {
        char name[16], address[16];
        (void)snprintf(name, sizeof(name), "s%02d", i);
        (void)snprintf(address, sizeof(address), "10.96.0.%d", i + 1);
        rows[i] = row_simple(name, address, ENDPOINTS("10.0.0.1", "10.0.0.2"));
        expect_write(datapath, rows[i], 1);
    }
    nat_datapath_close(datapath);
    datapath = datapath_open(&small, true);
    datapath_wake(datapath);
    size_t written = 0;
    for (int i = 0; i < 40; i++) {
        AUTOFAULTS struct faults faults = { 0 };
        int r = nat_datapath_write(datapath, rows[i], &faults);
        if (r < 0) {
            assert_int_equal(r, -ENOSPC);
            nat_row_free(rows[i]);
            rows[i] = NULL;
        }
        written += r >= 0;
    }
    assert_int_equal(written, 16);
    expect_verified(datapath, rows, 40);
    for (int i = 0; i < 40; i++)
        nat_row_free(rows[i]);
}

static void a_pin_that_was_not_finished(void **state)
{
    (void)state;
    CLEANUP(nat_datapath_closep) struct nat_datapath *datapath = datapath_open(&lab_roomy, true);
    char left[128], path[128];
    (void)snprintf(left, sizeof(left), "%s/%d/flows-new", lab_pins, NAT_LAYOUT);
    (void)snprintf(path, sizeof(path), "%s/%d/flows", lab_pins, NAT_LAYOUT);
    assert_int_equal(bpf_obj_pin(datapath->maps[NAT_MAP_FLOWS].fd, left), 0);
    nat_datapath_close(datapath);
    assert_int_equal(unlink(path), 0);
    datapath = datapath_open(&lab_roomy, true);
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(access(path, F_OK), 0);
}

static void no_bpf_file_system(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    struct nat_datapath_options options = lab_roomy;
    struct nat_datapath *datapath = NULL;
    options.pins = "/tmp/fingerpost-nowhere/below/pins";
    assert_int_equal(nat_datapath_open(&options, &datapath, &faults), -ENOTSUP);
    assert_null(datapath);
    assert_int_equal(faults.list.count, 1);
    assert_string_equal(faults.list.items[0].place, options.pins);
    assert_string_equal(faults.list.items[0].message, "is not on a bpf file system");
    assert_string_equal(faults.list.items[0].remedy,
                        "mount -t bpf bpf /sys/fs/bpf && systemd-tmpfiles --create && "
                        "systemctl restart agentd");
    assert_int_equal(access("/tmp/fingerpost-nowhere", F_OK), -1);
}

/* The child's answer: 0 if the refusal is told as it should be. */
static int open_as_nobody(void)
{
    struct faults faults = { 0 };
    struct nat_datapath *datapath = NULL;
    if (setgid(65534) < 0 || setuid(65534) < 0)
        return 1;
    int r = nat_datapath_open(&lab_roomy, &datapath, &faults);
    if (r != -EPERM || datapath || faults.list.count != 1)
        return 2;
    return strstr(faults.list.items[0].remedy, "CAP_BPF") ? 0 : 3;
}

static void no_privilege(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(open_as_nobody());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- endpoints ---- */

static uint64_t slot_of(struct nat_datapath *datapath, const char *address)
{
    const struct nat_installed *installed = installed_of(datapath, "d/web");
    vec_each(const uint32_t, id, &installed->endpoints) {
        struct nat_endpoint endpoint = nat_endpoint_of(datapath, *id);
        struct ip wanted = ip(address);
        if (ip_equal(&endpoint.ip, &wanted))
            return nat_slot_of(datapath, *id);
    }
    return 0;
}

static void generations(void **state)
{
    (void)state;
    AUTOROW struct nat_row *all = row_simple("web", "10.96.0.1", ENDPOINTS("10.0.0.1", "10.0.0.2"));
    AUTOROW struct nat_row *one = row_simple("web", "10.96.0.1", ENDPOINTS("10.0.0.2"));
    AUTOROW struct nat_row *idle = row_simple("web", "10.96.0.1", ENDPOINTS("10.0.0.2"));
    row_endpoint(&idle->families[0], 0, "10.0.0.1", 8080, 0);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, all, 1);
    uint64_t first = slot_of(datapath, "10.0.0.1"), second = slot_of(datapath, "10.0.0.2");
    assert_true((uint32_t)first && (uint32_t)second && first != second);

    expect_write(datapath, idle, 1); /* out of the set, but it serves: its life goes on */
    assert_int_equal(slot_of(datapath, "10.0.0.1"), first);
    expect_write(datapath, one, 1);
    assert_int_equal(slot_of(datapath, "10.0.0.1"), 0);
    assert_int_equal(datapath->endpoints[first >> 32].state, 0);
    assert_int_equal(slot_of(datapath, "10.0.0.2"), second);

    uint32_t last = MAX((uint32_t)first, (uint32_t)second);
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            datapath_adopt(datapath);
        datapath_wake(datapath);
        expect_write(datapath, all, 1);
        uint64_t again = slot_of(datapath, "10.0.0.1");
        assert_true((uint32_t)again > last);
        assert_int_equal(slot_of(datapath, "10.0.0.2"), second);
        last = (uint32_t)again;
        expect_write(datapath, one, 1);
    }
}

static void sets_that_stay_keep_their_slots(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_web();
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    const struct nat_installed *installed = installed_of(datapath, "d/web");
    struct nat_port_value before = *port_of(datapath, installed);
    uint32_t used = datapath->ids.spaces[NAT_ID_SLOT].used;
    row_endpoint(&row->families[0], 0, "10.0.0.5", 8080, 1);
    expect_write(datapath, row, 1);
    struct nat_port_value *after = port_of(datapath, installed);
    assert_int_not_equal(after->sets[NAT_SET_CLUSTER], before.sets[NAT_SET_CLUSTER]);
    assert_int_equal(after->sets[NAT_SET_LOCAL], before.sets[NAT_SET_LOCAL]);
    /* What the old bank points to is as it was, for who is reading it. */
    uint32_t count;
    const __u64 *slots = nat_set_slots(datapath, before.sets[NAT_SET_CLUSTER], &count);
    assert_int_equal(count, 4);
    for (uint32_t i = 0; i < count; i++)
        assert_true(nat_endpoint_lives(datapath, (uint32_t)(slots[i] >> 32), installed->id));
    assert_int_equal(datapath->ids.spaces[NAT_ID_SLOT].used, used + 8);
}

static void endpoints_on_this_node(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_web();
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    struct ip local[] = { ip("10.0.0.2"), ip("10.0.0.77") };
    assert_int_equal(nat_datapath_set_local(datapath, local, 1), 0);
    expect_write(datapath, row, 1);
    const struct nat_installed *installed = installed_of(datapath, "d/web");
    assert_true(endpoint_of(datapath, installed, 1)->state & NAT_ENDPOINT_ON_NODE);
    assert_false(endpoint_of(datapath, installed, 0)->state & NAT_ENDPOINT_ON_NODE);
    expect_verified(datapath, &row, 1);
    assert_int_equal(nat_datapath_set_local(datapath, &local[1], 1), 0);
    assert_false(endpoint_of(datapath, installed, 1)->state & NAT_ENDPOINT_ON_NODE);
    expect_write(datapath, row, 0);
    expect_verified(datapath, &row, 1);
}

static void each_protocol_is_written(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_web();
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    uint32_t port = row_port(&row->families[0], PROTOCOL_SCTP, 5000);
    row_endpoint(&row->families[0], port, "10.0.0.1", 5000, 1);
    row_frontend(&row->families[0], port, NAT_FRONTEND_CLUSTER_IP, "10.96.0.1", 5000);
    expect_write(datapath, row, 1);
    expect_write(datapath, row, 0);
    assert_int_equal(installed_of(datapath, "d/web")->ports.count, 2);
    expect_verified(datapath, &row, 1);
}

static void long_names(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    AUTOFREE char *name = calloc(1, NAT_NAME_MAX + 1);
    memset(name, 'x', NAT_NAME_MAX);
    AUTOROW struct nat_row *wide = row_simple(name, "10.96.0.9", ENDPOINTS("10.0.0.1"));
    assert_int_equal(nat_datapath_write(datapath, wide, &faults), -ENAMETOOLONG);
    assert_int_equal(nat_datapath_remove(datapath, "d", name), 0);
}

static void addresses_of_other_proxies(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_new("web");
    struct ip address = ip("10.96.0.5");
    assert_int_equal(vec_push(&row->foreign, address), 0);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    struct nat_frontend_key key = { .addr = nat_addr_of(&address) };
    struct nat_frontend_value value;
    assert_int_equal(nat_table_get(datapath, NAT_MAP_FRONTENDS, &key, &value), 0);
    assert_int_equal(value.kind, NAT_FRONTEND_FOREIGN);
    assert_int_equal(value.port, 0);
    datapath_adopt(datapath);
    expect_verified(datapath, &row, 1);
    expect_write(datapath, row, 0);
    assert_int_equal(nat_datapath_remove(datapath, "d", "web"), 1);
    assert_int_equal(nat_table_get(datapath, NAT_MAP_FRONTENDS, &key, &value), -ENOENT);
    assert_int_equal(nat_datapath_remove(datapath, "d", "web"), 0);
    expect_verified(datapath, NULL, 0);
}

/* The agent was killed after it pinned another filter, and before it filled it. */
static void a_filter_that_was_not_filled(void **state)
{
    (void)state;
    AUTOROW struct nat_row *web = row_web();
    CLEANUP(nat_datapath_closep) struct nat_datapath *datapath = datapath_open(&lab_roomy, true);
    expect_write(datapath, web, 1);
    memset(datapath->filter, 0, datapath->maps[NAT_MAP_FILTER].value_size);
    datapath->control->filter_words = 0;
    nat_datapath_close(datapath);
    datapath = datapath_open(&lab_roomy, true);
    expect_verified(datapath, &web, 1);
    assert_int_equal(datapath->control->filter_words, nat_filter_words(datapath));
}

static void keep(struct nat_datapath *datapath)
{
    AUTOFAULTS struct faults faults = { 0 };
    nat_datapath_keep_pins(datapath, &faults);
    print_faults(&faults);
    assert_true(faults_none(&faults));
}

/* The folder's time is that of the last tick, or later: since 6.13 the kernel gives no file a time
 * before one that it gave with a finer clock. What comes within one can't be told by it. */
static void await_tick(const char *folder)
{
    struct timespec now;
    struct stat last;
    assert_int_equal(stat(folder, &last), 0);
    do {
        assert_int_equal(clock_gettime(CLOCK_REALTIME_COARSE, &now), 0);
    } while (now.tv_sec < last.st_mtim.tv_sec ||
             (now.tv_sec == last.st_mtim.tv_sec && now.tv_nsec <= last.st_mtim.tv_nsec));
}

/* By the next look; where the folder's time tells nothing, by one of the next dozen. */
static void pins_that_are_removed_come_back(void **state)
{
    (void)state;
    char path[128], folder[96];
    struct stat before;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, true);
    (void)snprintf(folder, sizeof(folder), "%s/%d", lab_pins, NAT_LAYOUT);
    (void)snprintf(path, sizeof(path), "%s/flows", folder);
    for (int i = 0; i < 3; i++) {
        keep(datapath);
        await_tick(folder);
        assert_int_equal(unlink(path), 0);
        keep(datapath);
        assert_int_equal(access(path, F_OK), 0);
    }
    assert_int_equal(nat_datapath_unpin(lab_pins), NAT_MAP_COUNT);
    keep(datapath);
    assert_int_equal(nat_datapath_unpin(lab_pins), NAT_MAP_COUNT);
    keep(datapath);
    keep(datapath);
    assert_int_equal(stat(folder, &before), 0);
    assert_int_equal(unlink(path), 0);
    const struct timespec times[] = { before.st_atim, before.st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, folder, times, 0), 0);
    keep(datapath);
    assert_int_equal(access(path, F_OK), -1); /* it went by the folder */
    for (int i = 0; i < 12; i++)
        keep(datapath);
    assert_int_equal(access(path, F_OK), 0);
}

/* What is in use works without its pin; the next agent finds nothing. */
static void a_pin_that_does_not_come_back_is_told(void **state)
{
    (void)state;
    char path[128];
    AUTOFAULTS struct faults faults = { 0 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, true);
    const int fd = datapath->maps[NAT_MAP_FLOWS].fd;
    (void)snprintf(path, sizeof(path), "%s/%d/flows", lab_pins, NAT_LAYOUT);
    assert_int_equal(unlink(path), 0);
    datapath->maps[NAT_MAP_FLOWS].fd = -1;
    nat_datapath_keep_pins(datapath, &faults);
    datapath->maps[NAT_MAP_FLOWS].fd = fd;
    assert_only_raised(&faults, "nat-map-unpinned", "service NAT",
                       "map flows can't be pinned again: Invalid argument");
    keep(datapath);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_pinned_is_found_again, lab_clean),
        cmocka_unit_test_teardown(other_sizes, lab_clean),
        cmocka_unit_test_teardown(too_small_for_what_there_is, lab_clean),
        cmocka_unit_test_teardown(a_pin_that_was_not_finished, lab_clean),
        cmocka_unit_test_teardown(a_filter_that_was_not_filled, lab_clean),
        cmocka_unit_test_teardown(pins_that_are_removed_come_back, lab_clean),
        cmocka_unit_test_teardown(a_pin_that_does_not_come_back_is_told, lab_clean),
        cmocka_unit_test(no_bpf_file_system),
        cmocka_unit_test(no_privilege),
        cmocka_unit_test(generations),
        cmocka_unit_test(sets_that_stay_keep_their_slots),
        cmocka_unit_test(endpoints_on_this_node),
        cmocka_unit_test(each_protocol_is_written),
        cmocka_unit_test(long_names),
        cmocka_unit_test(addresses_of_other_proxies),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
