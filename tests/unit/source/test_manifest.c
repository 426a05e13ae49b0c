// SPDX-License-Identifier: Apache-2.0
/* The manifest source and single files in a real folder, with the kernel's events. */
#include "folder_fixture.h"

static void reads_what_is_there_at_the_start(void **state)
{
    struct fixture *fx = *state;
    write_file(fx, "a.yaml", service_yaml("a", 80));
    write_file(fx, "b.yml", service_yaml("b", 81));
    write_file(fx, "c.json",
               "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"c\"},"
               "\"spec\":{\"clusterIP\":\"10.96.0.9\",\"ports\":[{\"port\":82}]}}");
    write_file(fx, "d.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: d}\nspec: [\n");
    write_file(fx, "README.txt", "not for us");
    write_file(fx, ".hidden.yaml", service_yaml("hidden", 80));
    fixture_start(fx);
    assert_false(fx->status.synced);
    assert_true(manifest_source_loaded_generation(fx->source) < fx->status.observed_generation);

    settle(fx);
    assert_true(fx->status.synced);
    assert_true(fx->calls > 0);
    assert_int_equal(port_of(fx->store, "a"), 80);
    assert_int_equal(port_of(fx->store, "b"), 81);
    assert_int_equal(port_of(fx->store, "c"), 82);
    assert_int_equal(port_of(fx->store, "hidden"), 0);
    assert_int_equal(fx->status.files, 4);
    assert_int_equal(fx->status.broken_files, 1);
    assert_int_equal(fx->status.ignored_files, 1);
    assert_non_null(fault_in(fx, "d.yaml", ""));
    assert_string_equal(fx->status.name, "manifests");
    assert_string_equal(fx->status.path, fx->folder);
    assert_int_equal(fx->status.last_event_wall_ms, 0);
}

static void an_empty_folder_is_synced(void **state)
{
    struct fixture *fx = *state;
    fixture_start(fx);
    settle(fx);
    assert_true(fx->status.synced);
    assert_int_equal(fx->status.files, 0);
    assert_true(fx->status.observed_generation > 0);
}

static void follows_writes_and_renames(void **state)
{
    struct fixture *fx = *state;
    fixture_start(fx);
    settle(fx);

    write_file(fx, "web.yaml", service_yaml("web", 80));
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 80);
    assert_true(fx->status.last_event_wall_ms > 0);

    write_file(fx, "web.yaml", service_yaml("web", 81));
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 81);

    rename_over(fx, "web.yaml", service_yaml("web", 82));
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 82);

    assert_int_equal(rename(path_of(fx, "web.yaml"), path_of(fx, "other.json")), 0);
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 0); /* it is no JSON */
    assert_non_null(fault_in(fx, "other.json", ""));
    assert_int_equal(rename(path_of(fx, "other.json"), path_of(fx, "other.yaml")), 0);
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 82);
    assert_int_equal(fault_book_count(fx->faults), 0);
    assert_int_equal(fx->status.files, 1);
    assert_int_equal(fx->status.broken_files, 0);
}

static void a_key_that_a_file_no_longer_has_goes(void **state)
{
    struct fixture *fx = *state;
    AUTOTEXT struct text two = { 0 };
    text_addf(&two, "%s---\n%s", service_yaml("a", 80), service_yaml("b", 81));
    write_file(fx, "both.yaml", text_str(&two));
    fixture_start(fx);
    settle(fx);
    assert_int_equal(port_of(fx->store, "a"), 80);
    assert_int_equal(port_of(fx->store, "b"), 81);

    rename_over(fx, "both.yaml", service_yaml("b", 82));
    settle(fx);
    assert_int_equal(port_of(fx->store, "a"), 0);
    assert_int_equal(port_of(fx->store, "b"), 82);

    write_file(fx, "both.yaml", "");
    settle(fx);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 0);
    assert_int_equal(fx->status.broken_files, 0);
}

static void waits_for_the_writer_of_a_new_file(void **state)
{
    struct fixture *fx = *state;
    fixture_start(fx);
    settle(fx);
    uint64_t before = fx->status.observed_generation;

    int fd = open(path_of(fx, "web.yaml"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    const char *content = service_yaml("web", 80);
    assert_int_equal(write(fd, content, 40), 40);
    assert_int_equal(fchmod(fd, 0600), 0); /* an event as well, and no end of writing */
    settle(fx);
    assert_int_equal(fx->status.observed_generation, before);
    assert_int_equal(fault_book_count(fx->faults), 0);

    assert_true(write(fd, content + 40, strlen(content + 40)) > 0);
    assert_int_equal(close(fd), 0);
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 80);
}

static void links_count_at_once(void **state)
{
    struct fixture *fx = *state;
    fixture_start(fx);
    settle(fx);
    char target[128];
    snprintf(target, sizeof(target), "%s/elsewhere", fx->base);
    put_file(target, service_yaml("web", 80), strlen(service_yaml("web", 80)));

    assert_int_equal(symlink(target, path_of(fx, "soft.yaml")), 0);
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 80);
    remove_file(fx, "soft.yaml");
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 0);
    assert_int_equal(link(target, path_of(fx, "hard.yaml")), 0);
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 80);
}

static void a_deleted_file_goes_after_a_moment(void **state)
{
    struct fixture *fx = *state;
    write_file(fx, "web.yaml", service_yaml("web", 80));
    fixture_start(fx);
    settle(fx);

    int64_t removed_ms = clock_mono_ms();
    remove_file(fx, "web.yaml");
    run_until(fx, fx->status.observed_generation > manifest_source_loaded_generation(fx->source));
    assert_int_equal(port_of(fx->store, "web"), 80);
    settle(fx);
    assert_true(clock_mono_ms() - removed_ms >= 200);
    assert_int_equal(port_of(fx->store, "web"), 0);
    assert_int_equal(fx->status.files, 0);
}

static void a_file_that_is_back_in_time_was_never_away(void **state)
{
    struct fixture *fx = *state;
    write_file(fx, "web.yaml", service_yaml("web", 80));
    fixture_start(fx);
    settle(fx);
    change_list changes = { 0 };
    store_changes_done(fx->store);

    assert_int_equal(rename(path_of(fx, "web.yaml"), path_of(fx, "web.yaml~")), 0);
    run_until(fx, fx->status.observed_generation > manifest_source_loaded_generation(fx->source));
    while (sd_event_run(fx->event, 0) > 0)
        ; /* the file was looked for, and is waited for */
    assert_int_equal(rename(path_of(fx, "web.yaml~"), path_of(fx, "web.yaml")), 0);
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 80);
    assert_int_equal(store_changes(fx->store, &changes), 0);
    assert_int_equal(changes.count, 0);
    vec_done(&changes);
}

static void a_broken_file_keeps_its_last_good_content(void **state)
{
    struct fixture *fx = *state;
    write_file(fx, "web.yaml", service_yaml("web", 80));
    write_file(fx, "other.yaml", service_yaml("other", 80));
    fixture_start(fx);
    settle(fx);

    AUTOTEXT struct text half = { 0 };
    text_addf(&half, "%s---\n%s", service_yaml("new", 80), service_yaml("web", 70000));
    rename_over(fx, "web.yaml", text_str(&half));
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 80);
    assert_int_equal(port_of(fx->store, "new"), 0);
    assert_int_equal(port_of(fx->store, "other"), 80);
    assert_int_equal(fx->status.broken_files, 1);
    const struct known_fault *fault = fault_in(fx, "web.yaml", "port");
    assert_non_null(fault);
    assert_memory_equal(fault->place, "web.yaml:17:", 12);
    int64_t since = fault->since_wall_ms;

    rename_over(fx, "web.yaml", text_str(&half));
    settle(fx);
    assert_int_equal(fault_in(fx, "web.yaml", "port")->since_wall_ms, since);

    rename_over(fx, "web.yaml", service_yaml("web", 81));
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 81);
    assert_int_equal(fault_book_count(fx->faults), 0);
    assert_int_equal(fx->status.broken_files, 0);

    rename_over(fx, "web.yaml", "kind: [");
    settle(fx);
    remove_file(fx, "web.yaml");
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 0);
    assert_int_equal(fault_book_count(fx->faults), 0);
    assert_int_equal(fx->status.broken_files, 0);
    assert_int_equal(fx->status.files, 1);
}

static void a_key_in_two_files_is_told_and_taken_over(void **state)
{
    struct fixture *fx = *state;
    fixture_start(fx);
    write_file(fx, "b.yaml", service_yaml("web", 82));
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 82);
    write_file(fx, "a.yaml", service_yaml("web", 81));
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 81);
    assert_non_null(fault_in(fx, "duplicates", ""));
    remove_file(fx, "b.yaml");
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 81);
    assert_int_equal(fault_book_count(fx->faults), 0);
    write_file(fx, "b.yaml", service_yaml("web", 82));
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 81);
    assert_non_null(fault_in(fx, "duplicates", ""));
    remove_file(fx, "a.yaml");
    settle(fx);
    assert_int_equal(port_of(fx->store, "web"), 82);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

static void what_is_no_file_does_not_block_the_others(void **state)
{
    struct fixture *fx = *state;
    fixture_start(fx);
    settle(fx);
    assert_int_equal(symlink("loop.yaml", path_of(fx, "loop.yaml")), 0);
    assert_int_equal(mkdir(path_of(fx, "folder.yaml"), 0755), 0);
    assert_int_equal(mkfifo(path_of(fx, "fifo.yaml"), 0644), 0);
    assert_int_equal(symlink("/dev/zero", path_of(fx, "device.yaml")), 0);
    write_file(fx, "web.yaml", service_yaml("web", 80));
    settle(fx);
    assert_non_null(fault_in(fx, "loop.yaml", "circle"));
    assert_non_null(fault_in(fx, "folder.yaml", "folder"));
    assert_non_null(fault_in(fx, "fifo.yaml", "pipe"));
    assert_non_null(fault_in(fx, "device.yaml", "device"));
    assert_int_equal(fault_book_count(fx->faults), 4);
    assert_int_equal(fx->status.broken_files, 4);
    assert_int_equal(port_of(fx->store, "web"), 80);

    remove_file(fx, "loop.yaml");
    assert_int_equal(rmdir(path_of(fx, "folder.yaml")), 0);
    remove_file(fx, "fifo.yaml");
    rename_over(fx, "device.yaml", service_yaml("device", 80));
    settle(fx);
    assert_int_equal(fault_book_count(fx->faults), 0);
    assert_int_equal(port_of(fx->store, "device"), 80);
}

static void other_files_are_counted(void **state)
{
    struct fixture *fx = *state;
    fixture_start(fx);
    settle(fx);
    uint64_t observed = fx->status.observed_generation;
    write_file(fx, "notes.txt", "");
    write_file(fx, "web.yaml~", "");
    write_file(fx, ".web.yaml.swp", "");
    run_until(fx, fx->status.ignored_files == 2);
    remove_file(fx, "notes.txt");
    run_until(fx, fx->status.ignored_files == 1);
    assert_int_equal(fx->status.observed_generation, observed);

    write_file(fx, "mixed.yaml",
               "apiVersion: v1\nkind: List\nitems:\n"
               "- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n"
               "- {apiVersion: v1, kind: Namespace, metadata: {name: n}}\n"
               "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}\n");
    settle(fx);
    assert_int_equal(fx->status.ignored_objects, 2);
    assert_int_equal(store_count(fx->store, KIND_NAMESPACE), 1);
    remove_file(fx, "mixed.yaml");
    settle(fx);
    assert_int_equal(fx->status.ignored_objects, 0);
}

static int count_tick(sd_event_source *source, uint64_t now_us, void *userdata)
{
    (void)now_us;
    ++*(unsigned *)userdata;
    assert_true(sd_event_source_set_time_relative(source, 1000) >= 0);
    assert_true(sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) >= 0);
    return 0;
}

static void write_many(struct fixture *fx, const char *name, int count)
{
    AUTOTEXT struct text list = { 0 };
    text_add(&list, "{\"items\":[");
    for (int i = 0; i < count; i++)
        text_addf(&list,
                  "%s{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s%d\"},"
                  "\"spec\":{\"clusterIP\":\"10.96.%d.%d\",\"ports\":[{\"port\":80}]}}",
                  i ? "," : "", i, i / 250 % 250, i % 250 + 1);
    text_add(&list, "],\"kind\":\"List\",\"apiVersion\":\"v1\"}");
    assert_int_equal(text_error(&list), 0);
    put_file(path_of(fx, name), list.data, list.length);
}

static void a_long_file_does_not_stop_the_loop(void **state)
{
    struct fixture *fx = *state;
    enum { MANY = 20000 };
    fixture_start(fx);
    settle(fx);
    uint64_t loaded = manifest_source_loaded_generation(fx->source);
    unsigned ticks = 0, slices = 0;
    sd_event_source *timer = NULL;
    assert_true(sd_event_add_time_relative(fx->event, &timer, CLOCK_MONOTONIC, 0, 1, count_tick,
                                           &ticks) >= 0);
    write_many(fx, "many.json", MANY);
    run_until(fx, fx->status.observed_generation > loaded);
    ticks = 0;
    while (store_count(fx->store, KIND_SERVICE) == 0) {
        assert_int_equal(manifest_source_loaded_generation(fx->source), loaded);
        assert_true(sd_event_run(fx->event, UINT64_MAX) >= 0);
        slices++;
    }
    sd_event_source_disable_unref(timer);
    assert_true(slices > 5);
    assert_true(ticks > 2);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), MANY);
    settle(fx);
}

static void a_file_changed_while_it_is_read_is_read_again(void **state)
{
    struct fixture *fx = *state;
    fixture_start(fx);
    settle(fx);
    write_many(fx, "many.json", 20000);
    uint64_t loaded = manifest_source_loaded_generation(fx->source);
    run_until(fx, fx->status.observed_generation > loaded);
    for (int i = 0; i < 3; i++) /* some slices */
        assert_true(sd_event_run(fx->event, 0) > 0);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 0);
    write_many(fx, "many.json", 10);
    settle(fx);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 10);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(reads_what_is_there_at_the_start),
        in_folder(an_empty_folder_is_synced),
        in_folder(follows_writes_and_renames),
        in_folder(a_key_that_a_file_no_longer_has_goes),
        in_folder(waits_for_the_writer_of_a_new_file),
        in_folder(links_count_at_once),
        in_folder(a_deleted_file_goes_after_a_moment),
        in_folder(a_file_that_is_back_in_time_was_never_away),
        in_folder(a_broken_file_keeps_its_last_good_content),
        in_folder(a_key_in_two_files_is_told_and_taken_over),
        in_folder(what_is_no_file_does_not_block_the_others),
        in_folder(other_files_are_counted),
        in_folder(a_long_file_does_not_stop_the_loop),
        in_folder(a_file_changed_while_it_is_read_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
