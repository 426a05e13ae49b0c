// SPDX-License-Identifier: Apache-2.0
/*
 * The maps of egress, in the kernel: written by difference, known again by the next agent, empty at
 * the end. Needs root and BPF.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <sys/stat.h>

#include "apply/egress/datapath_inside.h"
#include "base/clock.h"
#include "faults/egress.h"
#include "nat/nat_datapath_lab.h"
#include "raised.h"

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

/* A set with gateways of the test's, one policy that leads to it, and one pod that has the policy.
 */
struct world {
    struct egress_set set;
    struct egress_policy policy;
    struct egress_pod pod;
    struct sorted sets, policies, pods;
    struct prefix exclusion;
    int64_t known_ms;
};

static void world_make(struct world *world, bool waiting, size_t count, const char *const *gateways)
{
    struct egress_policy_key key = { .family = IP_V4,
                                     .egresses = "internet/nat",
                                     .waiting = waiting };
    struct egress_set *set = &world->set;
    struct egress_policy *policy = &world->policy;
    struct egress_pod *pod = &world->pod;
    *world = (struct world){
        .set = { .egress = "internet/nat", .family = IP_V4, .by_client = true },
        .policy = { .key = key },
        .pod = { .address = ip_of("10.244.1.5"), .is_client = true, .policy = key },
        .sets = SORTED(struct egress_set *, egress_set_cmp),
        .policies = SORTED(struct egress_policy *, egress_policy_cmp),
        .pods = SORTED(struct egress_pod *, egress_pod_cmp),
        .exclusion = { .ip = ip_of("10.0.0.0"), .length = 8 },
        .known_ms = INT64_MAX,
    };
    for (size_t i = 0; i < count; i++) {
        const struct egress_gateway gateway = { .address = ip_of(gateways[i]), .node = "" };
        assert_int_equal(vec_push(&set->gateways, gateway), 0);
    }
    const struct egress_entry entry = { { .ip = ip_of("0.0.0.0"), .length = 0 }, "internet/nat" };
    assert_int_equal(vec_push(&policy->entries, entry), 0);
    assert_int_equal(sorted_put(&world->sets, &set), 0);
    assert_int_equal(sorted_put(&world->policies, &policy), 0);
    assert_int_equal(sorted_put(&world->pods, &pod), 0);
}

static void world_done(struct world *world)
{
    vec_done(&world->set.gateways);
    vec_done(&world->policy.entries);
    sorted_done(&world->sets);
    sorted_done(&world->policies);
    sorted_done(&world->pods);
}

static int world_try(struct egress_datapath *datapath, struct world *world, bool may_remove,
                     struct faults *faults)
{
    const struct egress_wanted wanted = {
        .sets = &world->sets,
        .policies = &world->policies,
        .pods = &world->pods,
        .excluded = &world->exclusion,
        .excluded_count = 1,
        .known_ms = world->known_ms,
        .may_remove = may_remove,
    };
    return egress_datapath_write(datapath, &wanted, faults);
}

static int world_write(struct egress_datapath *datapath, struct world *world, bool may_remove)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = world_try(datapath, world, may_remove, &faults);
    print_faults(&faults);
    assert_true(faults_none(&faults));
    return r;
}

static struct egress_datapath *open_egress(void)
{
    struct egress_datapath *datapath = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    int r = egress_datapath_open(lab_pins, &datapath, &faults);
    print_faults(&faults);
    assert_int_equal(r, 0);
    return datapath;
}

/* The place of a gateway in the only set. */
static struct egress_gateway_value *place_of(struct egress_datapath *datapath, const char *gateway)
{
    const struct ip ip = ip_of(gateway);
    const struct nat_addr addr = nat_addr_of(&ip);
    const struct egress_installed_set *set = sorted_at(&datapath->sets, 0);
    for (uint32_t i = 0; i < EGRESS_SET_MAX; i++) {
        struct egress_gateway_value *value = &datapath->gateways[set->id * EGRESS_SET_MAX + i];
        if (value->word && memcmp(&value->addr, &addr, sizeof(addr)) == 0)
            return value;
    }
    return NULL;
}

static const char *const two[] = { "192.0.2.20", "192.0.2.21" };
static const char *const others[] = { "192.0.2.21", "192.0.2.22" };

static void test_differences(void **state)
{
    (void)state;
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = open_egress();
    struct world world;
    world_make(&world, false, 2, two);
    assert_true(world_write(datapath, &world, true) > 0);
    assert_int_equal(world_write(datapath, &world, true), 0);
    uint64_t first = place_of(datapath, two[0])->word, kept = place_of(datapath, two[1])->word;
    struct egress_gateway_value *freed = place_of(datapath, two[0]);
    world_done(&world);

    world_make(&world, false, 2, others);
    assert_true(world_write(datapath, &world, true) > 0);
    assert_int_equal(place_of(datapath, others[0])->word, kept);
    assert_null(place_of(datapath, two[0]));
    /* The new one has the place of the one that went, under another generation. */
    assert_ptr_equal(place_of(datapath, others[1]), freed);
    assert_int_not_equal(place_of(datapath, others[1])->word >> 32, first >> 32);
    world_done(&world);
}

static void test_next_agent(void **state)
{
    (void)state;
    struct world world;
    struct egress_datapath *datapath = open_egress();
    world_make(&world, false, 2, two);
    assert_true(world_write(datapath, &world, true) > 0);
    uint64_t words[] = { place_of(datapath, two[0])->word, place_of(datapath, two[1])->word };
    egress_datapath_close(datapath);

    datapath = open_egress();
    assert_int_equal(datapath->sets.count, 1);
    assert_int_equal(datapath->pods.count, 1);
    assert_int_equal(datapath->policies.routes.count, 2);
    /* Before the source has synced nothing goes: the routes of the old policy are still there. */
    assert_true(world_write(datapath, &world, false) > 0);
    assert_int_equal(datapath->policies.routes.count, 3);
    assert_int_equal(world_write(datapath, &world, true), 1);
    assert_int_equal(datapath->policies.routes.count, 2);
    assert_int_equal(place_of(datapath, two[0])->word, words[0]);
    assert_int_equal(place_of(datapath, two[1])->word, words[1]);
    world_done(&world);
    egress_datapath_close(datapath);
}

static void test_waiting(void **state)
{
    (void)state;
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = open_egress();
    struct world world;
    world_make(&world, true, 1, two);
    assert_true(world_write(datapath, &world, true) > 0);
    const struct egress_installed_pod *pod = sorted_at(&datapath->pods, 0);
    assert_int_equal(pod->flags, EGRESS_POD_HELD);
    world_done(&world);
}

static uint32_t pod_flags(struct egress_datapath *datapath)
{
    return ((const struct egress_installed_pod *)sorted_at(&datapath->pods, 0))->flags;
}

/* A pod that came when a gateway learned of clients no more is new until it does again. What an
 * earlier agent has left was known before, unless it is marked. */
static void test_new_pods(void **state)
{
    (void)state;
    struct egress_datapath *datapath = open_egress();
    struct world world;
    world_make(&world, false, 2, two);
    world_write(datapath, &world, true);
    assert_int_equal(pod_flags(datapath), 0);
    world.known_ms = clock_mono_ms() - 3600 * SECOND_MS;
    world_write(datapath, &world, true);
    assert_int_equal(pod_flags(datapath), EGRESS_POD_NEW);
    egress_datapath_close(datapath);

    datapath = open_egress();
    world.known_ms = 0;
    world_write(datapath, &world, true);
    assert_int_equal(pod_flags(datapath), EGRESS_POD_NEW);
    world.known_ms = INT64_MAX;
    world_write(datapath, &world, true);
    assert_int_equal(pod_flags(datapath), 0);
    egress_datapath_close(datapath);

    datapath = open_egress();
    world.known_ms = 0;
    world_write(datapath, &world, true);
    assert_int_equal(pod_flags(datapath), 0);
    world_done(&world);
    egress_datapath_close(datapath);
}

/* A gateway that is stale keeps its place, and gets none that it did not have. */
static void test_stale_gateways(void **state)
{
    (void)state;
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = open_egress();
    struct world world;
    world_make(&world, false, 1, two);
    world_write(datapath, &world, true);
    world_done(&world);
    world_make(&world, false, 2, two);
    for (size_t i = 0; i < 2; i++)
        world.set.gateways.items[i].state = EGRESS_STALE;
    world_write(datapath, &world, true);
    assert_int_equal((uint32_t)place_of(datapath, two[0])->word,
                     EGRESS_GATEWAY_USED | EGRESS_GATEWAY_ACTIVE | EGRESS_GATEWAY_STALE);
    assert_null(place_of(datapath, two[1]));
    world_done(&world);
}

static void test_nothing_left(void **state)
{
    (void)state;
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = open_egress();
    struct world world;
    world_make(&world, false, 2, two);
    assert_true(world_write(datapath, &world, true) > 0);
    sorted_clear(&world.sets);
    sorted_clear(&world.policies);
    sorted_clear(&world.pods);
    assert_true(world_write(datapath, &world, true) > 0);
    assert_int_equal(
        datapath->sets.count + datapath->policies.installed.count + datapath->pods.count, 0);
    assert_int_equal(datapath->policies.routes.count, 1); /* the stay */
    for (uint32_t set = 0; set < datapath->set_limit; set++)
        assert_int_equal(datapath->set_words[set], 0);
    world_done(&world);
}

/* Maps of another version's layout go, too, as doctor says of cleanup. */
static void test_unpinned(void **state)
{
    (void)state;
    char older[100], gateway[100], map[120];
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = open_egress();
    (void)snprintf(older, sizeof(older), "%s/egress-%d", lab_pins, EGRESS_LAYOUT - 1);
    (void)snprintf(gateway, sizeof(gateway), "%s/egress-gateway-%d", lab_pins, EGRESS_LAYOUT);
    (void)snprintf(map, sizeof(map), "%s/egress_pods", older);
    assert_int_equal(mkdir(older, 0700) + mkdir(gateway, 0700), 0);
    assert_int_equal(bpf_obj_pin(datapath->fds[EGRESS_MAP_PODS], map), 0);
    assert_true(egress_datapath_unpin(lab_pins) > 1);
    assert_int_equal(access(older, F_OK), -1);
    assert_int_equal(access(gateway, F_OK), 0); /* the other side's */
    assert_int_equal(rmdir(gateway), 0);
}

/* A hash table or trie of the kernel with one place, for keys and values of a map. */
static int tiny_map(enum bpf_map_type type, int like)
{
    LIBBPF_OPTS(bpf_map_create_opts, options,
                .map_flags = type == BPF_MAP_TYPE_LPM_TRIE ? BPF_F_NO_PREALLOC : 0);
    struct bpf_map_info info = { 0 };
    uint32_t length = sizeof(info);
    assert_int_equal(bpf_obj_get_info_by_fd(like, &info, &length), 0);
    int fd = bpf_map_create(type, "tiny", info.key_size, info.value_size, 1, &options);
    assert_true(fd >= 0);
    return fd;
}

static void expect(struct egress_datapath *datapath, struct world *world, const char *code,
                   const char *message)
{
    AUTOFAULTS struct faults faults = { 0 };
    (void)world_try(datapath, world, true, &faults);
    assert_only_raised(&faults, code, "egress", message);
}

static void test_no_room_for_destinations(void **state)
{
    (void)state;
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = open_egress();
    struct world world;
    world_make(&world, false, 2, two);
    const int all = datapath->policies.fd, trie = tiny_map(BPF_MAP_TYPE_LPM_TRIE, all);
    datapath->policies.fd = trie; /* the stay has its place */
    expect(datapath, &world, "egress-destinations-full",
           "there are more destinations of Egresses than the maps hold, pods of the others may "
           "speak to the cluster only: 1 policy has no place");
    close(trie);
    world_done(&world);
}

static void test_no_room_for_pods(void **state)
{
    (void)state;
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = open_egress();
    struct world world;
    struct egress_pod second = { .address = ip_of("10.244.1.6") }, *pointer = &second;
    world_make(&world, false, 2, two);
    assert_int_equal(sorted_put(&world.pods, &pointer), 0);
    const int hash = tiny_map(BPF_MAP_TYPE_HASH, datapath->fds[EGRESS_MAP_PODS]);
    datapath->fds[EGRESS_MAP_PODS] = hash;
    expect(datapath, &world, "egress-maps-full",
           "there are more Egresses, destinations or pods than the maps hold: Argument list too "
           "long");
    datapath->fds[EGRESS_MAP_PODS] = -1;
    expect(datapath, &world, "egress-maps-unwritable",
           "the maps can't be written: Bad file descriptor");
    close(hash);
    world_done(&world);
}

static void test_too_many_egresses(void **state)
{
    (void)state;
    enum { MANY = 600 };
    static struct egress_set sets[MANY];
    static char names[MANY][32];
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = open_egress();
    struct world world = { .sets = SORTED(struct egress_set *, egress_set_cmp),
                           .policies = SORTED(struct egress_policy *, egress_policy_cmp),
                           .pods = SORTED(struct egress_pod *, egress_pod_cmp) };
    for (size_t i = 0; i < MANY; i++) {
        struct egress_set *set = &sets[i];
        (void)snprintf(names[i], sizeof(names[i]), "internet/nat-%03zu", i);
        *set = (struct egress_set){ .egress = names[i], .family = IP_V4 };
        assert_int_equal(sorted_put(&world.sets, &set), 0);
    }
    expect(datapath, &world, "egress-sets-full",
           "there are more Egresses than the maps hold, pods of the others may speak to the "
           "cluster only: 511 have a place, Egress internet/nat-599 has none");
    world_done(&world);
}

static void test_pins_and_programs(void **state)
{
    (void)state;
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = open_egress(), *other = NULL;
    AUTOFAULTS struct faults pins = { 0 };
    AUTOFAULTS struct faults programs = { 0 };
    free(datapath->folder);
    datapath->folder = strdup("/proc/nowhere");
    egress_datapath_keep_pins(datapath, &pins);
    (void)raised(&pins, "egress-map-unpinned");
    assert_true(egress_datapath_open("/proc/nowhere", &other, &programs) < 0);
    (void)raised(&programs, "egress-programs-unavailable");
}

static int clean_all(void **state)
{
    return egress_datapath_unpin(lab_pins) < 0 ? -1 : lab_clean(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_differences, clean_all),
        cmocka_unit_test_teardown(test_next_agent, clean_all),
        cmocka_unit_test_teardown(test_waiting, clean_all),
        cmocka_unit_test_teardown(test_new_pods, clean_all),
        cmocka_unit_test_teardown(test_stale_gateways, clean_all),
        cmocka_unit_test_teardown(test_nothing_left, clean_all),
        cmocka_unit_test_teardown(test_unpinned, clean_all),
        cmocka_unit_test_teardown(test_no_room_for_destinations, clean_all),
        cmocka_unit_test_teardown(test_no_room_for_pods, clean_all),
        cmocka_unit_test_teardown(test_too_many_egresses, clean_all),
        cmocka_unit_test_teardown(test_pins_and_programs, clean_all),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
