// SPDX-License-Identifier: Apache-2.0
/*
 * Rows into live maps: whatever edits led there, the maps say what the rows ask for, and the same
 * as maps that were filled from nothing; a full map leaves a Service as it was; and a process that
 * is killed, or stopped by the kernel, between any two writes leaves what the next one can adopt.
 *
 * Linked with --wrap for the system calls that change maps.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "nat_datapath_lab.h"
#include "nat_random_rows.h"
#include "raised.h"

int __real_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);
int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);
int __real_bpf_map_delete_elem(int fd, const void *key);
int __wrap_bpf_map_delete_elem(int fd, const void *key);

static int calls_left = -1; /* until the process is killed, or the kernel refuses; -1: never */
static int refusal;         /* the kernel's; 0: the process is killed instead */

static bool stops_here(void)
{
    if (calls_left < 0 || calls_left-- > 0)
        return false;
    if (refusal == 0)
        raise(SIGKILL);
    errno = refusal;
    return true;
}

int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
    return stops_here() ? -1 : __real_bpf_map_update_elem(fd, key, value, flags);
}

int __wrap_bpf_map_delete_elem(int fd, const void *key)
{
    return stops_here() && refusal == 0 ? -1 : __real_bpf_map_delete_elem(fd, key);
}

static int remove_any(const char *namespace, const char *name, void *context)
{
    return nat_datapath_remove(context, namespace, name) == 1 ? 0 : -1;
}

/* The datapath says the same as `other`, emptied, and filled in another order. */
static void expect_refilled_equal(struct nat_datapath *datapath, struct nat_datapath *other,
                                  const struct world *world)
{
    assert_int_equal(nat_datapath_each_service(other, remove_any, other), 0);
    expect_verified(other, NULL, 0);
    datapath_wake(other);
    for (int name = WORLD_NAMES; name-- > 0;) {
        if (world->rows[name])
            expect_write(other, world->rows[name], 1);
    }
    AUTOFREE char *dump = datapath_dump(other);
    expect_dump(datapath, dump);
}

static int try_name(struct nat_datapath *datapath, const struct world *world, int name)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "s%d", name);
    AUTOFAULTS struct faults faults = { 0 };
    int r = world->rows[name] ? nat_datapath_write(datapath, world->rows[name], &faults)
                              : nat_datapath_remove(datapath, "d", text);
    print_faults(&faults);
    datapath_wake(datapath);
    return r;
}

static void write_name(struct nat_datapath *datapath, const struct world *world, int name)
{
    assert_in_range(try_name(datapath, world, name), 0, 1);
}

static void expect_nothing_to_write(struct nat_datapath *datapath, const struct world *world)
{
    expect_verified(datapath, world->rows, WORLD_NAMES);
    for (int name = 0; name < WORLD_NAMES; name++) {
        if (world->rows[name])
            expect_write(datapath, world->rows[name], 0);
    }
}

static void edit(struct nat_datapath *datapath, struct world *world)
{
    bool changed[WORLD_NAMES] = { false };
    for (unsigned i = 0; i < 4; i++)
        changed[world_step(world)] = true;
    bool backwards = draw(world, 2);
    for (int i = 0; i < WORLD_NAMES; i++) {
        int name = backwards ? WORLD_NAMES - 1 - i : i;
        if (changed[name])
            write_name(datapath, world, name);
    }
}

static void random_edits(void **state)
{
    (void)state;
    AUTOWORLD struct world world = { .seed = 1 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    AUTOPLANE struct nat_datapath *other = datapath_open(&lab_roomy, false);
    for (int round = 0; round < 120; round++) {
        edit(datapath, &world);
        expect_nothing_to_write(datapath, &world);
        if (round % 10 == 0) {
            datapath_adopt(datapath);
            expect_nothing_to_write(datapath, &world);
        }
        if (round % 5 == 0)
            expect_refilled_equal(datapath, other, &world);
    }
    AUTOPLANE struct nat_datapath *fresh = datapath_open(&lab_roomy, false);
    expect_refilled_equal(datapath, fresh, &world);
}

/* What was there before stays if the row does not fit. Returns whether it does. */
static bool try_row(struct nat_datapath *datapath, const struct nat_row *row, unsigned *refused)
{
    AUTOFREE char *before = datapath_dump(datapath);
    AUTOFAULTS struct faults faults = { 0 };
    int r = nat_datapath_write(datapath, row, &faults);
    datapath_wake(datapath);
    if (r != -ENOSPC) {
        assert_in_range(r, 0, 1);
        assert_true(faults_none(&faults));
        return true;
    }
    expect_dump(datapath, before);
    (void)raised(&faults, "nat-map-full");
    assert_int_equal(faults.list.count, 1);
    assert_memory_equal(faults.list.items[0].remedy, "raise services.maps.", 20);
    for (int map = 0; map < NAT_MAP_COUNT; map++) {
        AUTOFREE char *words = text_format("the map %s is full", nat_map_name(map));
        refused[map] += strcmp(faults.list.items[0].message, words) == 0;
    }
    return false;
}

static void fill_up(const struct nat_datapath_options *tight, unsigned *refused)
{
    AUTOWORLD struct world world = { .seed = 7 };
    struct nat_row *written[WORLD_NAMES] = { NULL };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(tight, false);
    for (int step = 0; step < 300; step++) {
        int name = world_step(&world);
        if (!world.rows[name])
            write_name(datapath, &world, name);
        if (!world.rows[name] || try_row(datapath, world.rows[name], refused)) {
            nat_row_free(written[name]);
            written[name] = TAKE_PTR(world.rows[name]);
        }
        world_own(&world, written);
    }
    expect_verified(datapath, written, WORLD_NAMES);
    for (int name = 0; name < WORLD_NAMES; name++)
        nat_row_free(written[name]);
}

/* Too small for their rows: what does not fit is refused, and what stood stands. */
static void full_maps(void **state)
{
    (void)state;
    static const struct nat_datapath_options tight[] = {
        { NULL, 1024, 6, 4096 },
        { NULL, 1024, 10, 4096 },
        { NULL, 1024, 100, 60 },
    };
    static const enum nat_map_index maps[] = { NAT_MAP_FRONTENDS, NAT_MAP_SERVICES, NAT_MAP_PORTS,
                                               NAT_MAP_ENDPOINTS };
    unsigned refused[NAT_MAP_COUNT] = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(tight); i++)
        fill_up(&tight[i], refused);
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        assert_true(refused[maps[i]] > 10);
}

/* Each system call of a change refused in turn. */
static void refused_writes(void **state)
{
    (void)state;
    AUTOWORLD struct world world = { .seed = 3 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    unsigned undone = 0;
    for (int step = 0; step < 120; step++) {
        int name = world_step(&world);
        if (!world.rows[name]) {
            write_name(datapath, &world, name);
            continue;
        }
        for (int call = 0;; call++) {
            AUTOFREE char *before = datapath_dump(datapath);
            AUTOFAULTS struct faults faults = { 0 };
            calls_left = call;
            refusal = call % 2 ? E2BIG : ENOMEM;
            int r = nat_datapath_write(datapath, world.rows[name], &faults);
            bool stopped = calls_left < 0;
            calls_left = -1;
            if (r >= 0)
                break;
            assert_true(stopped);
            assert_int_equal(r, call % 2 ? -ENOSPC : -ENOMEM);
            (void)raised(&faults, call % 2 ? "nat-map-full" : "nat-service-unwritten");
            assert_int_equal(faults.list.count, 1);
            expect_dump(datapath, before);
            undone++;
        }
        expect_verified(datapath, world.rows, WORLD_NAMES);
    }
    assert_true(undone > 300);
}

/* Runs a change in a child that is killed at a system call; false: it came to its end before. */
static bool killed_at(int call, struct nat_datapath *datapath, const struct world *world, int name)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        refusal = 0;
        calls_left = call;
        _exit(try_name(datapath, world, name) < 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        assert_int_equal(WTERMSIG(status), SIGKILL);
    else
        assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

static int remove_unwanted(const char *namespace, const char *name, void *context)
{
    void **of = context;
    const struct world *world = of[1];
    if (!world->rows[name[1] - '0'])
        assert_int_equal(nat_datapath_remove(of[0], namespace, name), 1);
    return 0;
}

static void converge(struct nat_datapath *datapath, const struct world *world)
{
    void *context[] = { datapath, (void *)world };
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(nat_datapath_each_service(datapath, remove_unwanted, context), 0);
    for (int name = 0; name < WORLD_NAMES; name++) {
        if (world->rows[name])
            assert_in_range(nat_datapath_write(datapath, world->rows[name], &faults), 0, 1);
    }
    assert_true(faults_none(&faults));
    expect_verified(datapath, world->rows, WORLD_NAMES);
}

/* Between any two system calls: whatever is left, the next start mends it. */
static void killed_between_calls(void **state)
{
    (void)state;
    AUTOWORLD struct world world = { .seed = 5 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    AUTOPLANE struct nat_datapath *other = datapath_open(&lab_roomy, false);
    unsigned kills = 0;
    for (int step = 0; step < 40; step++) {
        int name = world_step(&world);
        for (int call = 0; killed_at(call, datapath, &world, name); call++) {
            kills++;
            datapath_adopt(datapath);
            if (call % 3 == 2) /* the next child goes on with what this one has left */
                continue;
            struct nat_row *after = world.rows[name];
            world.rows[name] = world.before;
            converge(datapath, &world);
            world.rows[name] = after;
        }
        datapath_adopt(datapath);
        converge(datapath, &world);
        expect_refilled_equal(datapath, other, &world);
    }
    assert_true(kills > 200);
}

static void edit_until_killed(struct nat_datapath *datapath, struct world *world, int ready)
{
    for (int step = 0;; step++) {
        if (try_name(datapath, world, world_step(world)) < 0)
            _exit(1);
        if (step == 5 && write(ready, "", 1) != 1)
            _exit(1);
    }
}

/* At any instruction. */
static void killed_at_random(void **state)
{
    (void)state;
    AUTOWORLD struct world world = { .seed = 6 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    AUTOPLANE struct nat_datapath *other = datapath_open(&lab_roomy, false);
    for (unsigned round = 0; round < 120; round++) {
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        (void)draw(&world, 2); /* another child goes another way */
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            edit_until_killed(datapath, &world, ready[1]);
        (void)close(ready[1]);
        char byte;
        assert_int_equal(read(ready[0], &byte, 1), 1);
        (void)usleep(draw(&world, 2000)); /* waits for nothing: a moment to be killed in */
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        (void)close(ready[0]);

        (void)world_step(&world);
        datapath_adopt(datapath);
        datapath_wake(datapath);
        converge(datapath, &world);
        expect_refilled_equal(datapath, other, &world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_edits),     cmocka_unit_test(full_maps),
        cmocka_unit_test(refused_writes),   cmocka_unit_test(killed_between_calls),
        cmocka_unit_test(killed_at_random),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
