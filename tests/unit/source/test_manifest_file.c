// SPDX-License-Identifier: Apache-2.0
/* Folders read once: what one file may hold, what is refused, and how much is said about it. */
#include <errno.h>

#include "folder_fixture.h"
#include "raised.h"

static const struct fault *find_fault(const struct faults *faults, const char *place,
                                      const char *words)
{
    vec_each(const struct fault, fault, &faults->list) {
        if (strncmp(fault->place, place, strlen(place)) == 0 && strstr(fault->message, words))
            return fault;
    }
    return NULL;
}

static void load(struct fixture *fx, struct faults *faults)
{
    assert_int_equal(manifest_load(fx->folder, MAX_FILE_BYTES, fx->store, faults), 0);
}

static void all_forms_of_a_file(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "---\n%s---\n# nothing here\n---\n%s", service_yaml("a", 80),
              service_yaml("b", 81));
    write_file(fx, "multi.yaml", text_str(&text));
    write_file(fx, "list.yaml",
               "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Namespace\n"
               "  metadata: {name: one}\n- apiVersion: v1\n  kind: Node\n  metadata: {name: two}\n"
               "kind: List\n");
    write_file(fx, "several.json",
               "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"three\"}}\n"
               "{\"apiVersion\":\"v1\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
               "\"metadata\":{\"name\":\"four\"}}],\"kind\":\"List\"}");
    write_file(fx, "empty.yaml", "");
    write_file(fx, "empty.json", "");
    load(fx, &faults);
    assert_true(faults_none(&faults));
    assert_int_equal(port_of(fx->store, "a"), 80);
    assert_int_equal(port_of(fx->store, "b"), 81);
    assert_int_equal(store_count(fx->store, KIND_NAMESPACE), 3);
    assert_int_equal(store_count(fx->store, KIND_NODE), 1);
}

static void broken_files_name_file_and_line(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    write_file(fx, "good.yaml", service_yaml("good", 80));
    write_file(fx, "port.yaml", service_yaml("port", 70000));
    write_file(fx, "tab.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n\tname: tab\n");
    write_file(fx, "utf8.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: \"\xff\xfe\"\n");
    write_file(fx, "alias.yaml", "a: *none\n");
    write_file(fx, "cut.json", "{\"apiVersion\":\"v1\",\n\"kind\":\"Service\",\n\"metadata\":{");
    put_file(path_of(fx, "nul.yaml"), "kind: a\n\0\n", 10);
    load(fx, &faults);
    assert_non_null(find_fault(&faults, "port.yaml:8:", "port"));
    assert_non_null(find_fault(&faults, "tab.yaml:4:", ""));
    assert_non_null(find_fault(&faults, "utf8.yaml:4:", ""));
    assert_non_null(find_fault(&faults, "alias.yaml:1:", ""));
    assert_non_null(find_fault(&faults, "cut.json:3:", ""));
    assert_non_null(find_fault(&faults, "nul.yaml:2:", ""));
    assert_int_equal(faults.list.count, 6);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
    assert_int_equal(port_of(fx->store, "good"), 80);
}

static void a_broken_object_takes_its_whole_file_along(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "%s---\n%s---\n%s", service_yaml("a", 80), service_yaml("b", 0),
              service_yaml("c", 80));
    write_file(fx, "web.yaml", text_str(&text));
    load(fx, &faults);
    assert_int_equal(faults.list.count, 1);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 0);
}

static void a_key_twice_in_a_file_names_both_places(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "%s---\n%s---\n%s", service_yaml("a", 80), service_yaml("b", 80),
              service_yaml("a", 81));
    write_file(fx, "web.yaml", text_str(&text));
    load(fx, &faults);
    assert_int_equal(faults.list.count, 1);
    const struct fault *fault = &faults.list.items[0];
    assert_string_equal(fault->place, "web.yaml:19");
    assert_string_equal(fault->message,
                        "Service default/a stands in this file already, at web.yaml:1");
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 0);
}

static void many_errors_are_cut_short(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text text = { 0 };
    for (int i = 0; i < 1000; i++)
        text_addf(&text, "---\n%s", service_yaml("a", 70000 + i));
    write_file(fx, "web.yaml", text_str(&text));
    load(fx, &faults);
    assert_int_equal(faults.list.count, 21);
    assert_string_equal(raised(&faults, "manifest-errors-untold")->place, "web.yaml");
    assert_non_null(find_fault(&faults, "web.yaml:180:", "")); /* the twentieth */
}

static void many_warnings_are_cut_short_and_refuse_nothing(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text text = { 0 };
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof(name), "s%d", i);
        text_addf(&text, "---\n%s  externalIPs: [bad-address-%d]\n", service_yaml(name, 80), i);
    }
    write_file(fx, "web.yaml", text_str(&text));
    load(fx, &faults);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 50);
    assert_int_equal(faults.list.count, 21);
    assert_non_null(find_fault(&faults, "web.yaml:10:", "bad-address-0"));
    assert_non_null(find_fault(&faults, "web.yaml", "30 more warnings"));
    assert_string_equal(raised(&faults, "manifest-warnings-untold")->place, "web.yaml");
}

static void a_file_above_the_limit_is_not_read(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    write_file(fx, "long.yaml", service_yaml("long", 80));
    write_file(fx, "short.yaml", "");
    assert_int_equal(manifest_load(fx->folder, 50, fx->store, &faults), 0);
    assert_non_null(find_fault(&faults, "long.yaml", "limit for one file is 50"));
    assert_raised(&faults, "manifest-too-long at long.yaml\n");
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 0);
}

/* None of these keeps the other files from being read. */
static void what_is_no_file_is_told(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    write_file(fx, "good.yaml", service_yaml("good", 80));
    assert_int_equal(mkfifo(path_of(fx, "fifo.yaml"), 0644), 0);
    assert_int_equal(symlink("nowhere", path_of(fx, "gone.yaml")), 0);
    assert_int_equal(symlink("ring.yaml", path_of(fx, "ring.yaml")), 0);
    assert_int_equal(symlink("good.yaml/web", path_of(fx, "through.yaml")), 0);
    load(fx, &faults);
    assert_raised(&faults, "manifest-not-file at fifo.yaml\nmanifest-link-dangling at gone.yaml\n"
                           "manifest-link-circular at ring.yaml\n"
                           "manifest-unopened at through.yaml\n");
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
}

static void keys_in_two_files_are_told(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    write_file(fx, "b.yaml", service_yaml("web", 82));
    write_file(fx, "a.yaml", service_yaml("web", 81));
    load(fx, &faults);
    assert_int_equal(port_of(fx->store, "web"), 81);
    assert_true(faults_none(&faults));
    store_conflicts(fx->store, &faults);
    assert_int_equal(faults.list.count, 1);
    assert_non_null(find_fault(&faults, "Service default/web", "a.yaml:1"));
}

static void a_missing_folder_is_an_error(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(rmdir(fx->folder), 0);
    assert_int_equal(manifest_load(fx->folder, MAX_FILE_BYTES, fx->store, &faults), -ENOENT);
    assert_int_equal(faults.list.count, 1);
    assert_string_equal(faults.list.items[0].place, fx->folder);
    assert_int_equal(mkdir(fx->folder, 0755), 0);
}

/* Only another user than root can be refused: the child becomes nobody and exits with its word. */
static void an_unreadable_file_is_a_fault_until_it_is_readable(void **state)
{
    struct fixture *fx = *state;
    write_file(fx, "web.yaml", service_yaml("web", 80));
    write_file(fx, "other.yaml", service_yaml("other", 80));
    assert_int_equal(chmod(path_of(fx, "web.yaml"), 0), 0);
    assert_int_equal(chmod(fx->base, 0755), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path_of(fx, "web.yaml"), 65534, 65534), 0);
        assert_int_equal(setresuid(65534, 65534, 0), 0);
    }
    fixture_start(fx);
    settle(fx);
    bool refused = fault_in(fx, "web.yaml", "may not be read");
    int other = port_of(fx->store, "other");
    int mended = chmod(path_of(fx, "web.yaml"), 0600);
    settle(fx);
    if (getuid() == 65534)
        assert_int_equal(setresuid(0, 0, 0), 0);
    assert_true(refused);
    assert_int_equal(other, 80);
    assert_int_equal(mended, 0);
    assert_int_equal(port_of(fx->store, "web"), 80);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(all_forms_of_a_file),
        in_folder(broken_files_name_file_and_line),
        in_folder(a_broken_object_takes_its_whole_file_along),
        in_folder(a_key_twice_in_a_file_names_both_places),
        in_folder(many_errors_are_cut_short),
        in_folder(many_warnings_are_cut_short_and_refuse_nothing),
        in_folder(a_file_above_the_limit_is_not_read),
        in_folder(what_is_no_file_is_told),
        in_folder(keys_in_two_files_are_told),
        in_folder(a_missing_folder_is_an_error),
        in_folder(an_unreadable_file_is_a_fault_until_it_is_readable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
