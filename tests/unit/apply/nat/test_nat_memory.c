// SPDX-License-Identifier: Apache-2.0
/* The datapath when memory runs out: what was asked for is done, or nothing of it. */
#include <errno.h>

#include "failing_malloc.h"
#include "nat_datapath_lab.h"

/* Evaluates an expression with only the first `n` allocations; `missed`: it asked for more. */
#define with_memory(n, ...)                              \
    ({                                                   \
        allocations = 0;                                 \
        allocations_left = (n);                          \
        __typeof__(__VA_ARGS__) memory_r_ = __VA_ARGS__; \
        allocations_left = -1;                           \
        missed = allocations > (unsigned)(n);            \
        memory_r_;                                       \
    })

static bool missed;

static struct nat_row *make_row(bool more)
{
    struct nat_row *row = row_simple("web", "10.96.0.1", ENDPOINTS("10.0.0.1", "10.0.0.2"));
    struct nat_family *family = &row->families[0];
    row_frontend(family, 0, NAT_FRONTEND_LOAD_BALANCER, "192.0.2.1", 80);
    row_range(family, "10.0.0.0/8");
    if (more) {
        uint32_t port = row_port(family, PROTOCOL_UDP, 53);
        row_endpoint(family, port, "10.0.0.3", 53, 3);
        row_endpoint(family, 0, "10.0.0.3", 8080, 3);
        row_frontend(family, port, NAT_FRONTEND_CLUSTER_IP, "10.96.0.1", 53);
    }
    return row;
}

static void writes(void **state)
{
    (void)state;
    AUTOROW struct nat_row *less = make_row(false), *more = make_row(true);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    struct nat_row *const steps[] = { less, more, less };
    int failures = 0;
    for (size_t step = 0; step < ARRAY_SIZE(steps); step++) {
        AUTOFREE char *before = datapath_dump(datapath);
        int n = 0, r;
        do {
            AUTOFAULTS struct faults faults = { 0 };
            r = with_memory(n, nat_datapath_write(datapath, steps[step], &faults));
            assert_true(r == 1 || (r == -ENOMEM && missed));
            assert_true(r == 1 || faults.list.count || faults.incomplete);
            if (r < 0)
                expect_dump(datapath, before);
            failures += r < 0;
            n++;
        } while (r < 0);
        expect_verified(datapath, &steps[step], 1);
    }
    assert_true(failures > 15);
}

static void removals(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = make_row(true);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    AUTOFREE char *before = datapath_dump(datapath);
    for (int n = 0;; n++) {
        int r = with_memory(n, nat_datapath_remove(datapath, "d", "web"));
        assert_true(r == 1 || (r == -ENOMEM && missed));
        if (r == 1)
            break;
        expect_dump(datapath, before);
        expect_verified(datapath, &row, 1);
    }
    expect_verified(datapath, NULL, 0);
}

static void adoption(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = make_row(true);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    AUTOFREE char *before = datapath_dump(datapath);
    int failures = 0;
    for (int n = 0;; n++) {
        nat_forget(datapath);
        int r = with_memory(n, nat_adopt(datapath));
        assert_true(r == 0 || (r == -ENOMEM && missed));
        if (r == 0)
            break;
        failures++;
    }
    assert_true(failures > 10);
    expect_dump(datapath, before);
    expect_verified(datapath, &row, 1);
    expect_write(datapath, row, 0);
}

static void questions(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = make_row(true);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    struct sorted rows = SORTED(struct nat_row *, nat_row_cmp);
    assert_int_equal(sorted_put(&rows, &row), 0);
    const struct nat_installed *installed = nat_installed_find(datapath, "d/web");
    struct ip address = ip("10.0.0.1");
    int failures = 0;
    for (int n = 0; n < 40; n++) {
        nat_difference_list list = { 0 };
        nat_endpoint_list endpoints = { 0 };
        nat_refusal_list refusals = { 0 };
        int r = with_memory(n, nat_datapath_verify(datapath, &rows, &list));
        assert_true((r == 0 && !missed) || (r == -ENOMEM && missed));
        assert_int_equal(list.count, 0);
        failures += r < 0;
        r = with_memory(n, nat_datapath_set_endpoints(datapath, installed->id,
                                                      installed->ports.items[0].id, NAT_SET_CLUSTER,
                                                      &endpoints));
        assert_true((r == 0 && !missed) || (r == -ENOMEM && missed));
        assert_int_equal(endpoints.count, r == 0 ? 3 : 0);
        r = with_memory(n, nat_datapath_refusals(datapath, &refusals));
        assert_true((r == 0 && !missed) || (r == -ENOMEM && missed));
        r = with_memory(n, nat_datapath_set_local(datapath, &address, 1));
        assert_true(r == 0 || (r == -ENOMEM && missed));
        assert_int_equal(datapath->local.count, r == 0);
        vec_done(&endpoints);
        vec_done(&refusals);
        nat_differences_done(&list);
    }
    assert_true(failures > 5);
    sorted_done(&rows);
}

static void differences(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = make_row(true);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    struct sorted rows = SORTED(struct nat_row *, nat_row_cmp);
    assert_int_equal(sorted_put(&rows, &row), 0);
    int failures = 0;
    for (int n = 0;; n++) {
        CLEANUP(nat_differences_done) nat_difference_list list = { 0 };
        int r = with_memory(n, nat_datapath_verify(datapath, &rows, &list));
        assert_true(r == 0 || (r == -ENOMEM && missed));
        assert_true(r < 0 || list.count == 1);
        failures += r < 0;
        if (r == 0)
            break;
    }
    assert_true(failures > 3);
    sorted_done(&rows);
}

static void sweeps(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = make_row(true);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    int64_t next_ms;
    expect_write(datapath, row, 1);
    assert_int_equal(with_memory(0, nat_datapath_sweep(datapath, 100000, &next_ms)), -ENOMEM);
    assert_false(datapath->sweep.under_way);
    assert_false(datapath->filter_refilling);
    assert_true(datapath->filter_litter);
    expect_verified(datapath, &row, 1);
    assert_int_equal(nat_datapath_sweep(datapath, 200000, &next_ms), 0);
    assert_int_equal(nat_datapath_sweep(datapath, 200000, &next_ms), 0);
    expect_verified(datapath, &row, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes),    cmocka_unit_test(removals),    cmocka_unit_test(adoption),
        cmocka_unit_test(questions), cmocka_unit_test(differences), cmocka_unit_test(sweeps),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
