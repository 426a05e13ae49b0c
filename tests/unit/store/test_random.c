// SPDX-License-Identifier: Apache-2.0
/*
 * Random sequences of puts and removes against the simplest model there is: for each key and
 * origin a version number. After each step the store must say what the model says, and the same
 * as a store that was filled from nothing in another order.
 */
#include "base/macro.h"
#include "objects.h"
#include "store/store.h"

enum {
    NAMES = 5,
    ORIGINS = 3,
    VERSIONS = 18,
    ADDRESSES = 6,
    SERVICES = 3,
    KINDS = 3,
    ROUNDS = 3000
};

static const enum kind kinds[KINDS] = { KIND_SERVICE, KIND_ENDPOINT_SLICE, KIND_NODE };
static const char *const names[NAMES] = { "a", "b", "c", "d", "e" };
static const char *const origins[ORIGINS] = { "a.yaml", "api", "b.yaml" };
static const char *const addresses[ADDRESSES] = { "10.0.0.1", "10.0.0.2", "10.0.0.3",
                                                  "fd00::1",  "fd00::2",  "fd00::3" };
static const char *const services[SERVICES] = { "a", "b", "x" };

/* Version 0: not there. Different versions differ. */
struct model {
    int held[KINDS][NAMES][ORIGINS];
    int before[KINDS][NAMES]; /* what counted when the changes were taken */
};

static int winner(const struct model *model, int kind, int name)
{
    for (int origin = 0; origin < ORIGINS; origin++) {
        if (model->held[kind][name][origin])
            return model->held[kind][name][origin];
    }
    return 0;
}

static struct object *make(int kind, int name, int version)
{
    if (kinds[kind] == KIND_NODE)
        return make_node(names[name], version % 2);
    if (kinds[kind] == KIND_ENDPOINT_SLICE)
        return make_slice(names[name], services[version % SERVICES], (uint16_t)version);
    char list[128] = "";
    for (int i = 0; i < ADDRESSES; i++) {
        if (version * 5 >> i & 1)
            strcat(strcat(list, addresses[i]), " ");
    }
    if (version % 4 == 0)
        strcat(list, addresses[2]); /* possibly a second time */
    return make_service(names[name], version % 3, list);
}

static int versions_of(int kind)
{
    return kinds[kind] == KIND_NODE ? 2 : VERSIONS;
}

static void assert_is(const struct object *object, int kind, int name, int version)
{
    assert_int_equal(object != NULL, version != 0);
    if (!version)
        return;
    CLEANUP(object_freep) struct object *expected = make(kind, name, version);
    assert_true(object_equal(object, expected));
}

static void check_objects(const struct store *store, const struct model *model)
{
    for (int kind = 0; kind < KINDS; kind++) {
        size_t at = 0;
        object_list list;
        assert_int_equal(store_list(store, kinds[kind], &list), 0);
        for (int name = 0; name < NAMES; name++) {
            const struct object *object =
                store_get(store, kinds[kind], kinds[kind] == KIND_NODE ? "" : "n", names[name]);
            assert_is(object, kind, name, winner(model, kind, name));
            if (object)
                assert_ptr_equal(list.items[at++], object);
        }
        assert_int_equal(list.count, at);
        assert_int_equal(store_count(store, kinds[kind]), at);
        vec_done(&list);
    }
}

static bool carries(const struct object *object, const struct ip *ip)
{
    const struct service *service = to_service(object);
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (ip_equal(&service->addresses[i].ip, ip))
            return true;
    }
    return false;
}

static int precedence_cmp(const void *a, const void *b)
{
    return object_precedence_cmp(*(const struct object *const *)a,
                                 *(const struct object *const *)b);
}

static void check_services_at(const struct store *store)
{
    object_list list;
    ip_list known;
    size_t in_use = 0;
    assert_int_equal(store_list(store, KIND_SERVICE, &list), 0);
    assert_int_equal(store_addresses(store, &known), 0);
    vec_sort(&list, precedence_cmp);
    for (int i = 0; i < ADDRESSES; i++) {
        struct ip ip = address_of(addresses[i]);
        size_t count, at = 0;
        const struct service *const *found = store_services_at(store, &ip, &count);
        for (size_t j = 0; j < list.count; j++) {
            if (carries(list.items[j], &ip)) {
                assert_true(at < count);
                assert_ptr_equal(found[at++], list.items[j]);
            }
        }
        assert_int_equal(at, count);
        if (count)
            assert_true(ip_equal(&known.items[in_use++], &ip)); /* listed in this order */
    }
    assert_int_equal(known.count, in_use);
    vec_done(&list);
    vec_done(&known);
}

static void check_slices_of(const struct store *store)
{
    object_list list;
    assert_int_equal(store_list(store, KIND_ENDPOINT_SLICE, &list), 0);
    for (int i = 0; i < SERVICES; i++) {
        size_t count, at = 0;
        const struct endpoint_slice *const *found =
            store_slices_of(store, "n", services[i], &count);
        for (size_t j = 0; j < list.count; j++) {
            if (strcmp(to_endpoint_slice(list.items[j])->service, services[i]) == 0) {
                assert_true(at < count);
                assert_ptr_equal(found[at++], list.items[j]);
            }
        }
        assert_int_equal(at, count);
    }
    vec_done(&list);
}

static void check_changes(struct store *store, const struct model *model)
{
    change_list changes;
    size_t at = 0;
    assert_int_equal(store_changes(store, &changes), 0);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int name = 0; name < NAMES; name++) {
            int before = model->before[kind][name], after = winner(model, kind, name);
            if (before == after)
                continue;
            assert_true(at < changes.count);
            assert_is(changes.items[at].before, kind, name, before);
            assert_is(changes.items[at].after, kind, name, after);
            at++;
        }
    }
    assert_int_equal(changes.count, at);
    vec_done(&changes);
}

static void check_conflicts(const struct store *store, const struct model *model)
{
    AUTOFAULTS struct faults faults = { 0 };
    size_t expected = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int name = 0; name < NAMES; name++) {
            int held = 0;
            for (int origin = 0; origin < ORIGINS; origin++)
                held += model->held[kind][name][origin] != 0;
            expected += held > 1;
        }
    }
    store_conflicts(store, &faults);
    assert_int_equal(faults.list.count, expected);
}

static void check(struct store *store, const struct model *model)
{
    check_objects(store, model);
    check_services_at(store);
    check_slices_of(store);
    check_changes(store, model);
    check_conflicts(store, model);
}

/* One random put or remove; what the store answers must agree with the model. */
static void step(struct store *store, struct model *model)
{
    int kind = rand() % KINDS, name = rand() % NAMES, origin = rand() % ORIGINS;
    int before = winner(model, kind, name);
    bool remove = rand() % 3 == 0;
    int version = remove ? 0 : 1 + rand() % versions_of(kind);
    model->held[kind][name][origin] = version;
    int r = remove ? store_remove(store, origins[origin], kinds[kind],
                                  kinds[kind] == KIND_NODE ? "" : "n", names[name])
                   : store_put(store, origins[origin], make(kind, name, version));
    assert_int_equal(r, before != winner(model, kind, name));
}

static void take_changes(struct store *store, struct model *model)
{
    store_changes_done(store);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int name = 0; name < NAMES; name++)
            model->before[kind][name] = winner(model, kind, name);
    }
}

static void any_sequence_gives_what_the_model_says(void **state)
{
    (void)state;
    struct model model = { 0 };
    CLEANUP(store_freep) struct store *store = store_new();
    srand(11);
    for (int round = 0; round < ROUNDS; round++) {
        step(store, &model);
        check(store, &model);
        if (rand() % 8 == 0) {
            take_changes(store, &model);
            check(store, &model);
        }
    }
}

/* The model's content in a new store, put in a random order. */
static struct store *fill_shuffled(const struct model *model)
{
    int places[KINDS * NAMES * ORIGINS], count = ARRAY_SIZE(places);
    for (int i = 0; i < count; i++)
        places[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int other = rand() % (i + 1), place = places[i];
        places[i] = places[other];
        places[other] = place;
    }
    struct store *store = store_new();
    for (int i = 0; i < count; i++) {
        int kind = places[i] / ORIGINS / NAMES, name = places[i] / ORIGINS % NAMES;
        int origin = places[i] % ORIGINS, version = model->held[kind][name][origin];
        if (version)
            assert_true(store_put(store, origins[origin], make(kind, name, version)) >= 0);
    }
    return store;
}

static void assert_same_faults(const struct store *a, const struct store *b)
{
    AUTOFAULTS struct faults left = { 0 };
    AUTOFAULTS struct faults right = { 0 };
    store_conflicts(a, &left);
    store_conflicts(b, &right);
    assert_int_equal(left.list.count, right.list.count);
    for (size_t i = 0; i < left.list.count; i++) {
        assert_string_equal(left.list.items[i].place, right.list.items[i].place);
        assert_string_equal(left.list.items[i].message, right.list.items[i].message);
    }
}

static void the_order_of_puts_does_not_matter(void **state)
{
    (void)state;
    srand(12);
    for (int round = 0; round < 200; round++) {
        struct model model = { 0 };
        CLEANUP(store_freep) struct store *edited = store_new();
        for (int i = 0; i < 60; i++)
            step(edited, &model);
        CLEANUP(store_freep) struct store *fresh = fill_shuffled(&model);
        check(fresh, &model);
        check(edited, &model);
        assert_same_faults(edited, fresh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sequence_gives_what_the_model_says),
        cmocka_unit_test(the_order_of_puts_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
