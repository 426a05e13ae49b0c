// SPDX-License-Identifier: Apache-2.0
/* The Prometheus text. `promtool check metrics` was run on it by hand. */
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "faults/bgp.h"
#include "faults/raise.h"
#include "state.h"

static int setup(void **state)
{
    *state = made_state_new();
    return 0;
}

static int teardown(void **state)
{
    made_state_free(*state);
    return 0;
}

static void scrape(const struct made_state *made, struct text *out)
{
    view_metrics(&made->api, out);
    assert_int_equal(text_error(out), 0);
}

/* Whole lines, so that a missing or longer value fails. */
static void assert_line(const struct text *out, const char *line)
{
    AUTOFREE char *whole = text_format("\n%s\n", line);
    if (!strstr(text_str(out), whole))
        fail_msg("no line \"%s\" in\n%s", line, text_str(out));
}

static void test_values(void **state)
{
    static const char *const lines[] = {
        "fingerpost_build_info{version=\"0.1.0\"} 1",
        "process_start_time_seconds 1794882740",
        "fingerpost_source_synced{source=\"manifests\"} 1",
        "fingerpost_source_observed_generation{source=\"manifests\"} 8",
        "fingerpost_source_applied_generation{source=\"manifests\"} 7",
        "fingerpost_source_files{source=\"manifests\"} 3",
        "fingerpost_source_broken_files{source=\"manifests\"} 1",
        "fingerpost_source_last_event_timestamp_seconds{source=\"manifests\"} 1795160000",
        "fingerpost_source_objects{source=\"manifests\",kind=\"Service\"} 1",
        "fingerpost_source_objects{source=\"manifests\",kind=\"EndpointSlice\"} 2",
        "fingerpost_source_objects{source=\"manifests\",kind=\"Egress\"} 0",
        "fingerpost_addresses{state=\"announced\"} 1",
        "fingerpost_addresses{state=\"blocked\"} 0",
        "fingerpost_addresses{state=\"withheld\"} 2",
        "fingerpost_addresses{state=\"held\"} 1",
        "fingerpost_blocks 1",
        "fingerpost_route_operations_total{op=\"add\"} 9",
        "fingerpost_route_operations_total{op=\"replace\"} 2",
        "fingerpost_route_operations_total{op=\"delete\"} 3",
        "fingerpost_route_repairs_total 1",
        "fingerpost_passes_total 20",
        "fingerpost_full_passes_total 4",
        "fingerpost_full_pass_seconds 0.001250",
        /* wanted: one address and the block; the guards of two addresses; the block's guard */
        "fingerpost_desired_entries{table=\"119\"} 2",
        "fingerpost_desired_entries{table=\"120\"} 2",
        "fingerpost_desired_entries{table=\"main\"} 1",
        /* of three routes in 119 one is foreign */
        "fingerpost_installed_entries{table=\"119\"} 2",
        "fingerpost_installed_entries{table=\"120\"} 1",
        "fingerpost_installed_entries{table=\"main\"} 0",
        "fingerpost_faults{subsystem=\"manifests\"} 0",
        "fingerpost_faults{subsystem=\"routes\"} 0",
    };
    AUTOTEXT struct text out = { 0 };

    scrape(*state, &out);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_line(&out, lines[i]);
}

static void test_faults_are_counted_by_subsystem(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 };

    made_fault(made, "routes", "a", "a", "x", NULL);
    made_fault(made, "routes", "b", "b", "x", NULL);
    made_fault(made, "kernel", "a", "a", "x", NULL);
    made_fault(made, "kernel", "b", "b", "x", NULL);
    scrape(made, &out);
    assert_line(&out, "fingerpost_faults{subsystem=\"routes\",code=\"\",severity=\"degraded\"} 2");
    assert_line(&out, "fingerpost_faults{subsystem=\"kernel\",code=\"\",severity=\"degraded\"} 2");
    const char *kernel = strstr(text_str(&out), "\"kernel\"");
    assert_null(strstr(kernel + 1, "\"kernel\""));
}

/* Those of one kind are counted together, wherever they are in the book. */
static void test_faults_are_counted_by_code(void **state)
{
    struct made_state *made = *state;
    AUTOFAULTS struct faults sessions = { 0 };
    AUTOTEXT struct text out = { 0 };

    fault_raise(&sessions, "tor1", bgp_session_missing);
    fault_raise(&sessions, "tor1", bgp_routes_filtered, .count = 3);
    fault_raise(&sessions, "tor2", bgp_session_missing);
    fault_book_replace(made->status.faults, "bgp", "sessions", &sessions, 1);
    scrape(made, &out);
    assert_line(&out, "fingerpost_faults{subsystem=\"bgp\",code=\"bgp-session-missing\","
                      "severity=\"degraded\"} 2");
    assert_line(&out, "fingerpost_faults{subsystem=\"bgp\",code=\"bgp-routes-filtered\","
                      "severity=\"degraded\"} 1");
    assert_line(&out, "fingerpost_faults{subsystem=\"routes\"} 0");
    assert_null(strstr(text_str(&out), "fingerpost_faults{subsystem=\"bgp\"}"));
}

static void test_peers(void **state)
{
    struct made_state *made = *state;
    struct bird_status *bird = &made->status.bird;
    const struct bgp_peer up = {
        .name = "tor4", .established = true, .received = 7, .announced = 3
    };
    const struct bgp_peer down = { .name = "tor6", .received = -1, .announced = -1 };
    AUTOTEXT struct text without = { 0 }, out = { 0 };

    scrape(made, &without);
    assert_null(strstr(text_str(&without), "fingerpost_bird"));
    bird->socket = "/run/bird/bird.ctl";
    bird->reachable = true;
    assert_int_equal(vec_push(&bird->peers, up), 0);
    assert_int_equal(vec_push(&bird->peers, down), 0);
    scrape(made, &out);
    assert_line(&out, "fingerpost_bird_up 1");
    assert_line(&out, "fingerpost_bgp_peer_up{peer=\"tor4\"} 1");
    assert_line(&out, "fingerpost_bgp_peer_up{peer=\"tor6\"} 0");
    assert_line(&out, "fingerpost_bgp_prefixes{peer=\"tor4\",direction=\"received\"} 7");
    assert_line(&out, "fingerpost_bgp_prefixes{peer=\"tor4\",direction=\"announced\"} 3");
    assert_null(strstr(text_str(&out), "peer=\"tor6\",direction"));
    assert_line(&out, "fingerpost_faults{subsystem=\"bgp\"} 0");
}

/* Only an agent that does kube-proxy's work has its metrics. */
static void test_health_answers(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text without = { 0 }, out = { 0 };

    made->status.nat.enabled = false;
    scrape(made, &without);
    assert_null(strstr(text_str(&without), "kubeproxy_"));
    made->status.nat.enabled = true;
    made->status.health = (struct health_status){ .healthz = { 3, 4 }, .livez = { 5, 6 } };
    scrape(made, &out);
    assert_line(&out, "kubeproxy_proxy_healthz_total{code=\"200\"} 3");
    assert_line(&out, "kubeproxy_proxy_healthz_total{code=\"503\"} 4");
    assert_line(&out, "kubeproxy_proxy_livez_total{code=\"200\"} 5");
    assert_line(&out, "kubeproxy_proxy_livez_total{code=\"503\"} 6");
}

static void test_labels_are_escaped(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 };

    made->status.version = "a\\b\"c\nd";
    scrape(made, &out);
    assert_line(&out, "fingerpost_build_info{version=\"a\\\\b\\\"c\\nd\"} 1");
}

/* Each family begins with HELP and TYPE, once, and its samples follow at once. */
static void test_families_stand_together(void **state)
{
    AUTOTEXT struct text out = { 0 }, seen = { 0 };
    char family[128] = "", *position = NULL;

    scrape(*state, &out);
    AUTOFREE char *copy = strdup(text_str(&out));
    for (char *line = strtok_r(copy, "\n", &position); line;
         line = strtok_r(NULL, "\n", &position)) {
        char name[128], help[128];
        if (sscanf(line, "# HELP %127s %127s", name, help) == 2) {
            AUTOFREE char *word = text_format(" %s ", name);
            assert_null(strstr(text_str(&seen), word));
            text_add(&seen, word);
            strcpy(family, name);
        } else if (sscanf(line, "# TYPE %127s %127s", name, help) == 2) {
            assert_string_equal(name, family);
            assert_true(strcmp(help, "gauge") == 0 || strcmp(help, "counter") == 0);
            assert_int_equal(strcmp(help, "counter") == 0, strstr(name, "_total") != NULL);
        } else {
            size_t length = strcspn(line, "{ ");
            assert_int_equal(length, strlen(family));
            assert_memory_equal(line, family, length);
        }
    }
    assert_true(seen.length > 0);
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_values),
        WITH_STATE(test_faults_are_counted_by_subsystem),
        WITH_STATE(test_faults_are_counted_by_code),
        WITH_STATE(test_peers),
        WITH_STATE(test_health_answers),
        WITH_STATE(test_labels_are_escaped),
        WITH_STATE(test_families_stand_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
