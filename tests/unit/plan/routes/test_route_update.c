// SPDX-License-Identifier: Apache-2.0
/* A plan that is kept up to date: what an update says has changed, and that it is all or nothing.
 */
#include "failing_heap.h"
#include "planning.h"

#define VIP   "198.51.100.1"
#define OTHER "198.51.100.2"

static const struct nat_svc0 svc0 = { .ifindex = 7, .v4 = { IP_V4, { 192, 0, 2, 1 } } };

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static void begin(struct planning *planning, struct route_plan *plan)
{
    planning_begin(planning);
    add_range(&planning->config->services.service_cidrs, "10.96.0.0/12");
    planning->facts.nat_svc0 = &svc0;
    put_endpoint(planning, "web-1", "web", "10.0.0.1", "node-1", "ready: true");
    put_service(planning, "web", "", "clusterIPs: [10.96.0.1]", "{ip: " VIP "}");
    route_plan_init(plan);
}

static void put_foreign(struct planning *planning)
{
    put(planning, "apiVersion: v1\nkind: Service\nmetadata: {name: their, namespace: d, labels:\n"
                  "  {service.kubernetes.io/service-proxy-name: x}}\n"
                  "spec: {clusterIPs: [10.96.0.2], ports: [{port: 80}]}\n");
}

static int update(struct planning *planning, struct route_plan *plan, bool all,
                  const ip_list *addresses, struct route_update *ret_update)
{
    const struct route_scope scope = { .all = all, .addresses = addresses };
    return route_plan_update(plan, &planning->inputs, &scope, ret_update);
}

static const struct address_update *turn_of(const struct route_update *update, const char *address)
{
    struct ip ip = ip_of(address);
    vec_each(const struct address_update, turn, &update->addresses) {
        if (ip_equal(&turn->address, &ip))
            return turn;
    }
    fail_msg("%s was not planned", address);
    return NULL;
}

static void a_turn_has_the_row_before_and_after(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(route_plan_done) struct route_plan plan;
    begin(&planning, &plan);
    struct route_update first;
    assert_int_equal(update(&planning, &plan, true, NULL, &first), 0);
    assert_true(first.all && first.blocks && first.nets);
    assert_int_equal(first.addresses.count, 2);
    assert_null(turn_of(&first, VIP)->before);
    assert_int_equal(turn_of(&first, VIP)->after->reason, REASON_ANNOUNCED);
    route_update_done(&first);

    /* It goes from one address to another; a third is nobody's, and one is named twice. */
    put_service(&planning, "web", "", "clusterIPs: [10.96.0.1]", "{ip: " OTHER "}");
    AUTOVEC ip_list touched = { 0 };
    assert_int_equal(vec_push(&touched, ip_of("203.0.113.9")), 0);
    assert_int_equal(vec_push(&touched, ip_of(OTHER)), 0);
    assert_int_equal(vec_push(&touched, ip_of(VIP)), 0);
    assert_int_equal(vec_push(&touched, ip_of(OTHER)), 0);
    struct route_update second;
    assert_int_equal(update(&planning, &plan, false, &touched, &second), 0);
    assert_false(second.all || second.blocks || second.nets);
    assert_int_equal(second.addresses.count, 3);
    assert_int_equal(turn_of(&second, VIP)->before->reason, REASON_ANNOUNCED);
    assert_null(turn_of(&second, VIP)->after);
    assert_null(turn_of(&second, OTHER)->before);
    assert_int_equal(turn_of(&second, OTHER)->after->reason, REASON_ANNOUNCED);
    assert_null(turn_of(&second, "203.0.113.9")->before);
    assert_null(turn_of(&second, "203.0.113.9")->after);
    route_update_done(&second);
    assert_int_equal(plan.addresses.count, 2);
}

/* An address that is left out moves what leads to svc0 behind a rule, so every route counts. */
static void a_moved_lead_concerns_everything(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(route_plan_done) struct route_plan plan;
    begin(&planning, &plan);
    struct route_update result;
    assert_int_equal(update(&planning, &plan, true, NULL, &result), 0);
    route_update_done(&result);
    assert_false(plan.svc0_by_rule);

    AUTOVEC ip_list touched = { 0 };
    assert_int_equal(vec_push(&touched, ip_of("10.96.0.2")), 0);
    put_foreign(&planning);
    assert_int_equal(update(&planning, &plan, false, &touched, &result), 0);
    assert_true(result.all && result.blocks && result.nets);
    assert_int_equal(result.addresses.count, 1);
    assert_int_equal(result.nets_before.count, 1);
    assert_int_equal(plan.nets.count, 1);
    assert_true(plan.svc0_by_rule && plan.foreign == 1);
    route_update_done(&result);

    assert_int_equal(update(&planning, &plan, false, &touched, &result), 0);
    assert_false(result.all);
    assert_int_equal(plan.foreign, 1);
    route_update_done(&result);

    assert_int_equal(store_remove(planning.store, "t", KIND_SERVICE, "d", "their"), 1);
    assert_int_equal(update(&planning, &plan, false, &touched, &result), 0);
    assert_true(result.all);
    assert_true(!plan.svc0_by_rule && plan.foreign == 0);
    route_update_done(&result);
}

static void without_memory_the_plan_stays_as_it_was(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(route_plan_done) struct route_plan plan;
    begin(&planning, &plan);
    struct route_update result;
    assert_int_equal(update(&planning, &plan, true, NULL, &result), 0);
    route_update_done(&result);
    put_foreign(&planning);
    put_service(&planning, "web", "", "clusterIPs: [10.96.0.1]", "{ip: " OTHER "}, {ip: " VIP "}");

    const struct address_row *const *rows = (void *)plan.addresses.items;
    const struct address_row *row = rows[1];
    for (int n = 0;; n++) {
        int r = with_heap(n, update(&planning, &plan, true, NULL, &result));
        if (r == 0)
            break; /* words of a fault may be missing */
        assert_int_equal(r, -ENOMEM);
        assert_true(n < 1000);
        assert_int_equal(plan.addresses.count, 2);
        assert_ptr_equal(((void **)plan.addresses.items)[1], row);
        assert_int_equal(row->reason, REASON_ANNOUNCED);
        assert_int_equal(plan.nets.count, 1);
        assert_true(!plan.svc0_by_rule && plan.foreign == 0);
    }
    assert_int_equal(plan.addresses.count, 4);
    assert_ptr_equal(turn_of(&result, VIP)->before, row);
    assert_true(plan.svc0_by_rule && plan.foreign == 1);
    route_update_done(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_has_the_row_before_and_after),
        cmocka_unit_test(a_moved_lead_concerns_everything),
        cmocka_unit_test(without_memory_the_plan_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
