// SPDX-License-Identifier: Apache-2.0
/*
 * A datapath that can't be opened: each step says what failed, and leaves nothing open. Linked with
 * --wrap for what the kernel is asked on the way.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/files/file.h"
#include "nat_datapath_lab.h"
#include "raised.h"

static int load_error, get_error, pin_error; /* 0: the kernel decides */

int __real_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton);
int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton);
int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton)
{
    return load_error ? load_error : __real_bpf_object__load_skeleton(skeleton);
}

int __real_bpf_obj_get(const char *path);
int __wrap_bpf_obj_get(const char *path);
int __wrap_bpf_obj_get(const char *path)
{
    errno = -get_error;
    return get_error ? get_error : __real_bpf_obj_get(path);
}

int __real_bpf_obj_pin(int fd, const char *path);
int __wrap_bpf_obj_pin(int fd, const char *path);
int __wrap_bpf_obj_pin(int fd, const char *path)
{
    errno = -pin_error;
    return pin_error ? pin_error : __real_bpf_obj_pin(fd, path);
}

/* Opening fails with this fault and no other. */
static void assert_fails(const char *pins, const char *code, const char *place, const char *words)
{
    const struct nat_datapath_options options = { pins, 1024, 4096, 16384 };
    struct nat_datapath *datapath = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    assert_true(nat_datapath_open(&options, &datapath, &faults) < 0);
    assert_null(datapath);
    const struct fault *fault = raised(&faults, code);
    assert_int_equal(faults.list.count, 1);
    assert_string_equal(fault->place, place);
    if (!fault->remedy || (!strstr(fault->message, words) && !strstr(fault->remedy, words)))
        fail_msg("%s: %s", fault->message, fault->remedy);
}

static void programs_that_are_refused(void **state)
{
    (void)state;
    load_error = -ENOMEM;
    assert_fails(NULL, "nat-programs-memoryless", "service NAT", "services.maps");
    load_error = -EINVAL;
    assert_fails(NULL, "nat-programs-refused", "service NAT", "Invalid argument");
    load_error = 0;
}

/* A file stands where the folder is to be. */
static void a_folder_that_cannot_be_made(void **state)
{
    (void)state;
    AUTOFREE char *below = text_format("%s/below", lab_pins);
    get_error = pin_error = 0;
    const int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "any", 4, 4, 1, NULL);
    assert_true(fd >= 0 && bpf_obj_pin(fd, lab_pins) == 0);
    assert_fails(below, "nat-pins-unusable", below, "Not a directory");
    assert_int_equal(unlink(lab_pins), 0);
    close(fd);
}

static void pins_that_cannot_be_used(void **state)
{
    (void)state;
    get_error = -EACCES;
    assert_fails(lab_pins, "nat-map-unopened", "service NAT", "chown");
    get_error = -EPERM;
    assert_fails(lab_pins, "nat-map-unopened", "service NAT", "CAP_");
    get_error = -EMFILE;
    assert_fails(lab_pins, "nat-map-unopened", "service NAT", "LimitNOFILE");
    get_error = 0;
    pin_error = -ENOSPC;
    assert_fails(lab_pins, "nat-map-unfinished", "service NAT", "can't be pinned");
    pin_error = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(programs_that_are_refused, lab_clean),
        cmocka_unit_test_teardown(a_folder_that_cannot_be_made, lab_clean),
        cmocka_unit_test_teardown(pins_that_cannot_be_used, lab_clean),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
