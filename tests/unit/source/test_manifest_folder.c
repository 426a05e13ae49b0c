// SPDX-License-Identifier: Apache-2.0
/* The manifest source when the folder as a whole changes, vanishes, or is in doubt. */
#include <errno.h>

#include "folder_fixture.h"
#include "source/manifest_file.h"

static int watch_error, open_error; /* 0: the kernel decides */

int __real_sd_event_add_inotify_fd(sd_event *event, sd_event_source **source, int fd, uint32_t mask,
                                   sd_event_inotify_handler_t callback, void *userdata);
int __wrap_sd_event_add_inotify_fd(sd_event *event, sd_event_source **source, int fd, uint32_t mask,
                                   sd_event_inotify_handler_t callback, void *userdata);
int __wrap_sd_event_add_inotify_fd(sd_event *event, sd_event_source **source, int fd, uint32_t mask,
                                   sd_event_inotify_handler_t callback, void *userdata)
{
    return watch_error
               ? watch_error
               : __real_sd_event_add_inotify_fd(event, source, fd, mask, callback, userdata);
}

int __real_manifest_file_open(const char *directory, const char *name, uint64_t max_bytes,
                              struct manifest_file **ret_file);
int __wrap_manifest_file_open(const char *directory, const char *name, uint64_t max_bytes,
                              struct manifest_file **ret_file);
int __wrap_manifest_file_open(const char *directory, const char *name, uint64_t max_bytes,
                              struct manifest_file **ret_file)
{
    return open_error ? open_error
                      : __real_manifest_file_open(directory, name, max_bytes, ret_file);
}

static void swap_data(struct fixture *fx, const char *version)
{
    assert_int_equal(symlink(version, path_of(fx, "..data_tmp")), 0);
    assert_int_equal(rename(path_of(fx, "..data_tmp"), path_of(fx, "..data")), 0);
}

static void a_config_map_is_replaced_by_its_data_link(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(mkdir(path_of(fx, "..1"), 0755), 0);
    assert_int_equal(mkdir(path_of(fx, "..2"), 0755), 0);
    write_file(fx, "..1/a.yaml", service_yaml("a", 80));
    write_file(fx, "..1/b.yaml", service_yaml("b", 80));
    write_file(fx, "..2/a.yaml", service_yaml("a", 81));
    write_file(fx, "..2/c.yaml", service_yaml("c", 81));
    swap_data(fx, "..1");
    assert_int_equal(symlink("..data/a.yaml", path_of(fx, "a.yaml")), 0);
    assert_int_equal(symlink("..data/b.yaml", path_of(fx, "b.yaml")), 0);
    fixture_start(fx);
    settle(fx);
    assert_int_equal(port_of(fx->store, "a"), 80);
    assert_int_equal(port_of(fx->store, "b"), 80);
    assert_int_equal(fx->status.ignored_files, 0);

    swap_data(fx, "..2");
    settle(fx);
    assert_int_equal(port_of(fx->store, "a"), 81);
    assert_int_equal(port_of(fx->store, "b"), 80); /* its link leads nowhere: what was stays */
    assert_non_null(fault_in(fx, "b.yaml", "leads nowhere"));
    remove_file(fx, "b.yaml");
    assert_int_equal(symlink("..data/c.yaml", path_of(fx, "c.yaml")), 0);
    settle(fx);
    assert_int_equal(port_of(fx->store, "b"), 0);
    assert_int_equal(port_of(fx->store, "c"), 81);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

static void a_rescan_finds_what_no_event_told(void **state)
{
    struct fixture *fx = *state;
    char target[128];
    snprintf(target, sizeof(target), "%s/elsewhere", fx->base);
    put_file(target, service_yaml("web", 80), strlen(service_yaml("web", 80)));
    assert_int_equal(symlink(target, path_of(fx, "web.yaml")), 0);
    fixture_start(fx);
    settle(fx);

    put_file(target, service_yaml("web", 81), strlen(service_yaml("web", 81)));
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 80);
    manifest_source_rescan(fx->source);
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 81);

    /* Once the file's times tell it from any later content, a rescan reads nothing. */
    struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    assert_int_equal(utimensat(AT_FDCWD, target, old, 0), 0);
    run_until(fx, ({
                  uint64_t before = fx->status.observed_generation;
                  manifest_source_rescan(fx->source);
                  bool quiet = before == fx->status.observed_generation;
                  settle(fx);
                  quiet;
              }));
}

static void the_folder_vanishes_and_returns(void **state)
{
    struct fixture *fx = *state;
    write_file(fx, "a.yaml", service_yaml("a", 80));
    write_file(fx, "b.yaml", service_yaml("b", 80));
    fixture_start(fx);
    settle(fx);

    remove_tree(fx->folder);
    run_until(fx, fault_in(fx, "", "missing"));
    settle(fx);
    assert_int_equal(port_of(fx->store, "a"), 80);
    assert_int_equal(port_of(fx->store, "b"), 80);
    assert_true(fx->status.synced);

    assert_int_equal(mkdir(fx->folder, 0755), 0);
    write_file(fx, "b.yaml", service_yaml("b", 81));
    run_until(fx, !fault_in(fx, "", "missing"));
    settle(fx);
    assert_int_equal(port_of(fx->store, "a"), 0);
    assert_int_equal(port_of(fx->store, "b"), 81);

    /* Moved away and replaced: what is watched is the path, not the old folder. */
    char aside[128];
    snprintf(aside, sizeof(aside), "%s/aside", fx->base);
    assert_int_equal(rename(fx->folder, aside), 0);
    assert_int_equal(mkdir(fx->folder, 0755), 0);
    write_file(fx, "c.yaml", service_yaml("c", 80));
    settle(fx);
    assert_int_equal(port_of(fx->store, "b"), 0);
    assert_int_equal(port_of(fx->store, "c"), 80);
    write_file(fx, "c.yaml", service_yaml("c", 81));
    settle(fx);
    assert_int_equal(port_of(fx->store, "c"), 81);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

static void a_folder_that_comes_late_is_found(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(rmdir(fx->folder), 0);
    fixture_start(fx);
    run_until(fx, fx->calls > 0);
    assert_string_equal(known_fault_code(fault_in(fx, "", "missing")), "manifest-folder-missing");
    assert_false(fx->status.synced);
    assert_true(manifest_source_loaded_generation(fx->source) < fx->status.observed_generation);

    char aside[128];
    snprintf(aside, sizeof(aside), "%s/aside", fx->base);
    assert_int_equal(mkdir(aside, 0755), 0);
    strcat(aside, "/web.yaml");
    put_file(aside, service_yaml("web", 80), strlen(service_yaml("web", 80)));
    *strrchr(aside, '/') = '\0';
    assert_int_equal(rename(aside, fx->folder), 0);
    settle(fx);
    assert_true(fx->status.synced);
    assert_int_equal(port_of(fx->store, "web"), 80);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

static void a_file_in_the_place_of_the_folder(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(rmdir(fx->folder), 0);
    put_file(fx->folder, "", 0);
    fixture_start(fx);
    run_until(fx, fault_in(fx, "", "Not a directory"));
    assert_string_equal(known_fault_code(fault_in(fx, "", "")), "manifest-folder-unreadable");
    assert_int_equal(unlink(fx->folder), 0);
    assert_int_equal(mkdir(fx->folder, 0755), 0);
    settle(fx);
    run_until(fx, !fault_in(fx, "", ""));
}

static void a_folder_behind_a_link_that_turns(void **state)
{
    struct fixture *fx = *state;
    char version[2][128];
    assert_int_equal(rmdir(fx->folder), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(version[i], sizeof(version[i]), "%s/v%d", fx->base, i);
        assert_int_equal(mkdir(version[i], 0755), 0);
        assert_int_equal(symlink(version[i], fx->folder), 0);
        write_file(fx, "web.yaml", service_yaml("web", 80 + i));
        assert_int_equal(unlink(fx->folder), 0);
    }
    assert_int_equal(symlink(version[0], fx->folder), 0);
    fixture_start(fx);
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 80);

    char link_name[128];
    snprintf(link_name, sizeof(link_name), "%s/link", fx->base);
    assert_int_equal(symlink(version[1], link_name), 0);
    assert_int_equal(rename(link_name, fx->folder), 0);
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 81);
}

static bool is_known(const struct fixture *fx, const char *code)
{
    for (size_t i = 0; i < fault_book_count(fx->faults); i++) {
        if (strcmp(known_fault_code(fault_book_at(fx->faults, i)), code) == 0)
            return true;
    }
    return false;
}

/* The kernel has no watch to give, and then one. */
static void a_folder_that_cannot_be_watched_is_told(void **state)
{
    struct fixture *fx = *state;
    write_file(fx, "a.yaml", service_yaml("a", 80));
    watch_error = -ENOSPC;
    fixture_start(fx);
    run_until(fx, is_known(fx, "manifest-folder-unwatched"));
    assert_int_equal(port_of(fx->store, "a"), 0);
    watch_error = 0;
    run_until(fx, port_of(fx->store, "a") == 80);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

/* What was known of the file stays. */
static void a_file_that_cannot_be_read_now_is_tried_again(void **state)
{
    struct fixture *fx = *state;
    write_file(fx, "a.yaml", service_yaml("a", 80));
    fixture_start(fx);
    settle(fx);
    open_error = -EMFILE;
    write_file(fx, "a.yaml", service_yaml("a", 81));
    run_until(fx, is_known(fx, "manifest-retried"));
    const struct known_fault *fault = fault_book_at(fx->faults, 0);
    assert_string_equal(fault->place, "a.yaml");
    assert_non_null(strstr(fault->remedy, "LimitNOFILE"));
    assert_int_equal(port_of(fx->store, "a"), 80);
    open_error = 0;
    run_until(fx, port_of(fx->store, "a") == 81);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(a_config_map_is_replaced_by_its_data_link),
        in_folder(a_rescan_finds_what_no_event_told),
        in_folder(the_folder_vanishes_and_returns),
        in_folder(a_folder_that_comes_late_is_found),
        in_folder(a_file_in_the_place_of_the_folder),
        in_folder(a_folder_behind_a_link_that_turns),
        in_folder(a_folder_that_cannot_be_watched_is_told),
        in_folder(a_file_that_cannot_be_read_now_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
