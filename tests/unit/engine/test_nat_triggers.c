// SPDX-License-Identifier: Apache-2.0
/* Which changes of slices are timed, and from when. */
#include "base/macro.h"
#include "cmocka_all.h"
#include "engine/nat/nat_triggers.h"
#include "model/services/service.h"

enum { START_MS = 1000 };

static struct endpoint_slice slice_of(const char *service, int64_t triggered_ms)
{
    return (struct endpoint_slice){
        .object = { .kind = KIND_ENDPOINT_SLICE, .namespace = "shop", .name = "any" },
        .service = service,
        .family = IP_V4,
        .triggered_ms = triggered_ms,
    };
}

static void came(struct nat_triggers *triggers, struct endpoint_slice slice)
{
    const struct change change = { NULL, &slice.object };
    assert_int_equal(nat_triggers_saw(triggers, &change), 0);
}

static void went(struct nat_triggers *triggers, struct endpoint_slice slice)
{
    const struct change change = { &slice.object, NULL };
    assert_int_equal(nat_triggers_saw(triggers, &change), 0);
}

static void assert_waits(const struct nat_triggers *triggers, size_t index, const char *name,
                         int64_t wall_ms)
{
    assert_true(index < triggers->services.count);
    const struct nat_trigger *trigger = sorted_at(&triggers->services, index);
    assert_string_equal(trigger->namespace, "shop");
    assert_string_equal(trigger->name, name);
    assert_int_equal(trigger->wall_ms, wall_ms);
}

static int setup(void **state)
{
    static struct nat_triggers triggers;
    nat_triggers_init(&triggers);
    triggers.started_wall_ms = START_MS;
    *state = &triggers;
    return 0;
}

static int teardown(void **state)
{
    nat_triggers_done(*state);
    return 0;
}

static void the_earliest_of_a_service_counts(void **state)
{
    struct nat_triggers *triggers = *state;
    came(triggers, slice_of("web", 5000));
    came(triggers, slice_of("web", 3000));
    came(triggers, slice_of("web", 4000));
    came(triggers, slice_of("dns", 7000));
    assert_int_equal(triggers->services.count, 2);
    assert_waits(triggers, 0, "dns", 7000);
    assert_waits(triggers, 1, "web", 3000);

    nat_triggers_forget(triggers, 1);
    assert_int_equal(triggers->services.count, 1);
    came(triggers, slice_of("web", 9000));
    assert_waits(triggers, 1, "web", 9000);
}

static void what_was_before_the_start_does_not_count(void **state)
{
    struct nat_triggers *triggers = *state;
    came(triggers, slice_of("web", 0));
    came(triggers, slice_of("web", START_MS));
    assert_int_equal(triggers->services.count, 0);
    came(triggers, slice_of("web", START_MS + 1));
    came(triggers, slice_of("web", START_MS - 1));
    assert_waits(triggers, 0, "web", START_MS + 1);
}

static void a_slice_that_goes_ends_the_waiting(void **state)
{
    struct nat_triggers *triggers = *state;
    came(triggers, slice_of("dns", 3000));
    came(triggers, slice_of("web", 4000));
    went(triggers, slice_of("dns", 6000));
    went(triggers, slice_of("idle", 6000));
    assert_int_equal(triggers->services.count, 1);
    assert_waits(triggers, 0, "web", 4000);
}

static void only_slices_of_a_service_count(void **state)
{
    struct nat_triggers *triggers = *state;
    struct endpoint_slice names = slice_of("web", 4000);
    struct service service = { .object = { .kind = KIND_SERVICE, .namespace = "shop" } };
    names.family = IP_NONE; /* FQDN */
    came(triggers, names);
    came(triggers, slice_of("", 4000));
    const struct change change = { &service.object, NULL };
    assert_int_equal(nat_triggers_saw(triggers, &change), 0);
    assert_int_equal(triggers->services.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_earliest_of_a_service_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_before_the_start_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slice_that_goes_ends_the_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(only_slices_of_a_service_count, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
