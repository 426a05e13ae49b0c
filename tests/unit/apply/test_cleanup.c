// SPDX-License-Identifier: Apache-2.0
/* After an agent with NAT: nothing of ours is left, all else is. */
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "apply/cleanup.h"
#include "apply/nat/hooks/hooks.h"
#include "apply/nat/host/svc0.h"
#include "base/files/file.h"
#include "base/text.h"
#include "netns.h"
#include "raised.h"

/* But for what the kernel itself keeps there. */
static bool is_empty(const char *folder)
{
    DIR *directory = opendir(folder);
    int entries = 0;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        entries += entry->d_name[0] != '.' && !strstr(entry->d_name, ".debug");
    (void)closedir(directory);
    return entries == 0;
}

static void attach_to_loopback(const char *pins)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct nat_datapath_options options = {
        .pins = pins, .max_flows = 1024, .max_services = 64, .max_endpoints = 256
    };
    const struct nat_attachment wanted = { .ifindex = 1, .name = "lo", .hook = NAT_HOOK_LO_OUT };
    CLEANUP(nat_datapath_closep) struct nat_datapath *datapath = NULL;
    CLEANUP(nat_hooks_closep) struct nat_hooks *hooks = NULL;
    uint32_t repairs;
    assert_int_equal(nat_datapath_open(&options, &datapath, &faults), 0);
    assert_int_equal(nat_hooks_open(datapath, pins, &hooks), 0);
    assert_int_equal(nat_hooks_sync(hooks, &wanted, 1, &repairs, &faults), 1);
    assert_true(faults_none(&faults));
}

static struct cleanup_counts clean(const char *pins)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct cleanup_counts counts;
    assert_int_equal(cleanup_kernel(119, CLEANUP_ALL, &counts, &faults), 0);
    int r = cleanup_nat(pins, &counts, &faults);
    if (r < 0)
        print_error("%s: %s\n", faults.list.items[0].place, faults.list.items[0].message);
    assert_int_equal(r, 0);
    assert_true(faults_none(&faults));
    return counts;
}

static void nothing_of_nat_is_left(void **state)
{
    (void)state;
    char pins[] = "/tmp/cleanup.XXXXXX";
    AUTOFAULTS struct faults faults = { 0 };
    struct svc0 svc0;
    assert_true(mkdtemp(pins) && mount("bpf", pins, "bpf", 0, NULL) == 0);
    assert_int_equal(svc0_ensure(1500, &svc0, &faults), 1);
    attach_to_loopback(pins);
    assert_false(is_empty(pins));
    run("ip addr add 10.7.0.1/32 dev lo");
    run("ip route add 10.0.0.1 dev svc0 src 10.7.0.1 proto 33 table 120");
    run("ip -6 route add fd96::/112 dev svc0 proto 33 table 120");
    run("ip route add 10.0.0.2 dev svc0 table 120 proto static");
    run("ip rule add pref 1990 lookup 120 protocol 33");

    struct cleanup_counts counts = clean(pins);
    assert_int_equal(counts.routes, 2);
    assert_int_equal(counts.rules, 1);
    assert_int_equal(counts.programs, 1);
    assert_true(counts.pins >= NAT_MAP_COUNT);
    assert_true(counts.svc0);
    assert_true(is_empty(pins));
    assert_int_equal(if_nametoindex("svc0"), 0);

    counts = clean(pins);
    assert_int_equal(counts.routes + counts.rules + counts.programs + counts.pins, 0);
    assert_false(counts.svc0);
    assert_int_equal(umount(pins), 0);

    /* A folder that is no bpf file system is somebody's. */
    AUTOFREE char *file = text_format("%s/letter", pins);
    assert_int_equal(file_write_atomic(file, "x", 1), 0);
    assert_int_equal(clean(pins).pins, 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(pins), 0);
}

/* Of routes, -errno: what the kernel says instead of what it does. */
static int refusal;

int __real_kernel_apply_routes(struct kernel *kernel, const struct route_op *ops, size_t count,
                               struct op_result *results);
int __wrap_kernel_apply_routes(struct kernel *kernel, const struct route_op *ops, size_t count,
                               struct op_result *results);
int __wrap_kernel_apply_routes(struct kernel *kernel, const struct route_op *ops, size_t count,
                               struct op_result *results)
{
    if (refusal == 0)
        return __real_kernel_apply_routes(kernel, ops, count, results);
    for (size_t i = 0; i < count; i++)
        results[i] = (struct op_result){ .error = refusal, .text = "so it is" };
    return 0;
}

static void what_the_kernel_refuses_to_delete_is_told(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    struct cleanup_counts counts = { 0 };
    run("ip route add blackhole 10.0.0.9 proto 31 table 119");
    refusal = -EBUSY;
    assert_int_equal(cleanup_kernel(119, CLEANUP_ALL, &counts, &faults), -EIO);
    refusal = 0;
    assert_int_equal(faults.list.count, 1);
    assert_string_equal(code_of(&faults.list.items[0]), "cleanup-refused");
    assert_string_equal(faults.list.items[0].message,
                        "the kernel refuses to delete it: Device or resource busy: so it is");
    assert_non_null(faults.list.items[0].remedy);
    run("ip route del blackhole 10.0.0.9 proto 31 table 119");
}

static void what_cannot_be_removed_is_told(void **state)
{
    (void)state;
    char pins[] = "/tmp/cleanup.XXXXXX";
    AUTOFAULTS struct faults faults = { 0 };
    struct cleanup_counts counts = { 0 };
    assert_true(mkdtemp(pins) && mount("bpf", pins, "bpf", 0, NULL) == 0);
    attach_to_loopback(pins);
    assert_int_equal(mount(NULL, pins, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    assert_int_equal(cleanup_nat(pins, &counts, &faults), -EIO);
    assert_string_equal(code_of(&faults.list.items[0]), "cleanup-failed");
    assert_int_equal(mount(NULL, pins, NULL, MS_REMOUNT, NULL), 0);
    (void)clean(pins);
    assert_int_equal(umount(pins), 0);
    assert_int_equal(rmdir(pins), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_kernel_refuses_to_delete_is_told),
        cmocka_unit_test(what_cannot_be_removed_is_told),
        cmocka_unit_test(nothing_of_nat_is_left),
    };
    if (lab_missing())
        return 0;
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
