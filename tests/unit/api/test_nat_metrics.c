// SPDX-License-Identifier: Apache-2.0
/* NAT in the Prometheus text. `promtool check metrics` was run on it by hand. */
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "nat_state.h"

static int setup(void **state)
{
    *state = made_nat_new(made_state_new());
    return 0;
}

static int teardown(void **state)
{
    struct made_nat *nat = *state;
    struct made_state *made = nat->state;
    made_nat_free(nat);
    made_state_free(made);
    return 0;
}

static void scrape(const struct made_nat *nat, struct text *out)
{
    view_metrics(&nat->state->api, out);
    assert_int_equal(text_error(out), 0);
}

/* Whole lines, so that a missing or longer value fails. */
static void assert_line(const struct text *out, const char *line)
{
    AUTOFREE char *whole = text_format("\n%s\n", line);
    if (!strstr(text_str(out), whole))
        fail_msg("no line \"%s\" in\n%s", line, text_str(out));
}

static void assert_lines(const struct text *out, const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_line(out, lines[i]);
}

static void fill(struct made_nat *nat)
{
    struct nat_status *status = &nat->state->status.nat;
    const struct nat_interface_status eth0 = { "eth0", 0x3, 0x1 }, svc0 = { "svc0", 0x20, 0x20 };

    assert_int_equal(vec_push(&status->interfaces, eth0), 0);
    assert_int_equal(vec_push(&status->interfaces, svc0), 0);
    status->services = 2;
    status->frontends = 5;
    status->endpoints = 12;
    status->proved = 3;
    status->unproved = 1;
    status->established = 1204;
    status->flows[NAT_STATE_ESTABLISHED] = 1204;
    status->flows[NAT_STATE_HALF_OPEN] = 3;
    status->flows[NAT_STATE_HALF_CLOSED] = 5;
    status->pressure = (struct nat_pressure){ 900, 11, 12, 13, 14, 15, 16 };
    status->path = "stack";
    status->hook_packets[NAT_HOOK_UPLINK_IN] = 48211;
    status->hook_packets[NAT_HOOK_SVC_OUT] = 7;
    status->ended = 77;
    status->writes = 6;
    status->repairs = 4;
    memcpy(status->maps, nat->maps, sizeof(nat->maps));
    status->map_count = 2;
    status->service_changes = 8;
    status->service_pending = 1;
    status->endpoint_changes = 9;
    status->endpoint_pending = 2;
    status->last_queued_wall_ms = WALL_MS + 50;
    nat->state->status.health.healthz.ok = 21;
    nat->state->status.health.livez.unavailable = 22;
}

static void test_values(void **state)
{
    static const char *const lines[] = {
        "fingerpost_nat_services 2",
        "fingerpost_nat_frontends 5",
        "fingerpost_nat_endpoints 12",
        "fingerpost_nat_addresses{state=\"proved\"} 3",
        "fingerpost_nat_addresses{state=\"unproved\"} 1",
        "fingerpost_nat_hooks{state=\"attached\"} 2",
        "fingerpost_nat_hooks{state=\"missing\"} 1",
        "fingerpost_nat_hook_packets_total{hook=\"uplink-in\"} 48211",
        "fingerpost_nat_hook_packets_total{hook=\"pod-out\"} 0",
        "fingerpost_nat_hook_packets_total{hook=\"svc-out\"} 7",
        "fingerpost_nat_flows{state=\"established\"} 1204",
        "fingerpost_nat_flows{state=\"half-closed\"} 5",
        "fingerpost_nat_flows_dropped_total 11",
        "fingerpost_nat_flows_refused_total 12",
        "fingerpost_nat_source_ports_searched_total 13",
        "fingerpost_nat_source_ports_dropped_total 14",
        "fingerpost_nat_source_ports_refused_total 15",
        "fingerpost_nat_errors_spread_total 16",
        "fingerpost_nat_path{path=\"stack\"} 1",
        "fingerpost_nat_path{path=\"direct\"} 0",
        "fingerpost_nat_flows{state=\"half-open\"} 3",
        "fingerpost_nat_flows_ended_total 77",
        "fingerpost_nat_writes_total 6",
        "fingerpost_nat_repairs_total 4",
        "fingerpost_nat_map_entries{map=\"flows\"} 65536",
        "fingerpost_nat_map_capacity{map=\"flows\"} 524288",
        "fingerpost_nat_map_bytes{map=\"frontends\"} 4194304",
        "fingerpost_nat_service_packets_total{namespace=\"default\",name=\"web\"} 48211",
        "fingerpost_nat_service_bytes_total{namespace=\"default\",name=\"web\"} 36700160",
        "fingerpost_nat_service_flows_total{namespace=\"default\",name=\"web\"} 1204",
        "fingerpost_nat_service_refused_packets_total{namespace=\"default\",name=\"web\"} 12",
        "kubeproxy_sync_proxy_rules_service_changes_total 8",
        "kubeproxy_sync_proxy_rules_service_changes_pending 1",
        "kubeproxy_sync_proxy_rules_endpoint_changes_total 9",
        "kubeproxy_sync_proxy_rules_endpoint_changes_pending 2",
        "kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds 1795160000.050",
        /* idle: its endpoint is elsewhere, and its internal policy Local */
        "kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy=\"internal\"} 1",
        "kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy=\"external\"} 0",
        "kubeproxy_proxy_healthz_total{code=\"200\"} 21",
        "kubeproxy_proxy_healthz_total{code=\"503\"} 0",
        "kubeproxy_proxy_livez_total{code=\"503\"} 22",
    };
    struct made_nat *nat = *state;
    AUTOTEXT struct text out = { 0 };

    fill(nat);
    scrape(nat, &out);
    assert_lines(&out, lines, ARRAY_SIZE(lines));
    assert_null(strstr(text_str(&out), "name=\"idle\"")); /* not in the maps */
}

static void test_histograms(void **state)
{
    static const char *const lines[] = {
        "kubeproxy_sync_proxy_rules_duration_seconds_bucket{le=\"0.001\"} 1",
        "kubeproxy_sync_proxy_rules_duration_seconds_bucket{le=\"0.002\"} 2",
        "kubeproxy_sync_proxy_rules_duration_seconds_bucket{le=\"0.128\"} 2",
        "kubeproxy_sync_proxy_rules_duration_seconds_bucket{le=\"16.384\"} 2",
        "kubeproxy_sync_proxy_rules_duration_seconds_bucket{le=\"+Inf\"} 3",
        "kubeproxy_sync_proxy_rules_duration_seconds_sum 20.003000",
        "kubeproxy_sync_proxy_rules_duration_seconds_count 3",
        "kubeproxy_sync_full_proxy_rules_duration_seconds_count 1",
        "kubeproxy_sync_partial_proxy_rules_duration_seconds_count 2",
        "kubeproxy_sync_proxy_rules_last_timestamp_seconds 1795160000.007",
        "fingerpost_nat_passes_total 3",
        "fingerpost_nat_full_passes_total 1",
        "fingerpost_nat_full_pass_seconds 20.000000",
        "kubeproxy_network_programming_duration_seconds_bucket{le=\"0.25\"} 1",
        "kubeproxy_network_programming_duration_seconds_bucket{le=\"0.5\"} 1",
        "kubeproxy_network_programming_duration_seconds_bucket{le=\"1\"} 1",
        "kubeproxy_network_programming_duration_seconds_bucket{le=\"60\"} 1",
        "kubeproxy_network_programming_duration_seconds_bucket{le=\"65\"} 2",
        "kubeproxy_network_programming_duration_seconds_bucket{le=\"300\"} 2",
        "kubeproxy_network_programming_duration_seconds_sum 61.500000",
    };
    struct made_nat *nat = *state;
    struct nat_status *status = &nat->state->status.nat;
    AUTOTEXT struct text out = { 0 };

    nat_status_synced(status, false, 1000, WALL_MS);
    nat_status_synced(status, true, 20000000, WALL_MS + 5);
    nat_status_synced(status, false, 2000, WALL_MS + 7);
    nat_status_programmed(status, WALL_MS + 100, WALL_MS); /* that machine's clock is ahead */
    nat_status_programmed(status, WALL_MS - 61500, WALL_MS);
    scrape(nat, &out);
    assert_lines(&out, lines, ARRAY_SIZE(lines));
}

static void test_external_policy_local(void **state)
{
    struct made_nat *nat = *state;
    struct nat_row *web = *(struct nat_row **)sorted_at(&nat->rows, 2);
    AUTOTEXT struct text out = { 0 };

    vec_each(struct nat_frontend, frontend, &web->families[0].frontends) {
        if (frontend->kind != NAT_FRONTEND_CLUSTER_IP && frontend->protocol == PROTOCOL_TCP)
            frontend->from[NAT_ORIGIN_OUTSIDE] =
                (struct nat_outcome){ NAT_ACT_DROP, NAT_CAUSE_NO_LOCAL, NAT_SET_LOCAL, false };
    }
    scrape(nat, &out);
    assert_line(&out, "kubeproxy_sync_proxy_rules_no_local_endpoints_total"
                      "{traffic_policy=\"external\"} 1");
}

static void test_refusals_never_fall(void **state)
{
    static const char reason[] = "fingerpost_nat_refused_packets_total{reason=\"no-endpoints\"} %d";
    const int expected[] = { 12, 12, 22, 23 };
    struct made_nat *nat = *state;
    char line[128];

    made_refusal(nat, 1, NAT_CAUSE_NO_ENDPOINTS, 5, 0, "10.0.0.1");
    made_refusal(nat, 2, NAT_CAUSE_NO_ENDPOINTS, 7, 0, "10.0.0.1");
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        AUTOTEXT struct text out = { 0 };
        if (i == 2) /* one has gained ten, the other's Service is gone */
            nat->refusals.items[0].count += 10, nat->refusals.count--;
        if (i == 3) /* and the id is another's */
            nat->refusals.items[0].count = 1;
        scrape(nat, &out);
        (void)snprintf(line, sizeof(line), reason, expected[i]);
        assert_line(&out, line);
        assert_line(&out, "fingerpost_nat_refused_packets_total{reason=\"too-big\"} 0");
        assert_null(strstr(text_str(&out), "reason=\"none\""));
    }
}

static void test_nothing_where_nat_is_off(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text off = { 0 }, broken = { 0 };

    nat->state->status.nat.enabled = false;
    scrape(nat, &off);
    assert_null(strstr(text_str(&off), "fingerpost_nat"));
    assert_null(strstr(text_str(&off), "kubeproxy"));
    /* It is on, and could not start. */
    nat->state->status.nat.enabled = true;
    nat->state->api.live = NULL;
    nat->state->api.nat = NULL;
    scrape(nat, &broken);
    assert_line(&broken, "fingerpost_nat_services 0");
    assert_null(strstr(text_str(&broken), "fingerpost_nat_service_"));
}

static bool is_sample_of(const char *line, const char *family, bool histogram)
{
    static const char *const suffixes[] = { "", "_bucket", "_sum", "_count" };
    const size_t length = strcspn(line, "{ "), base = strlen(family);

    if (length < base || memcmp(line, family, base) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
        if ((i > 0) == histogram && length - base == strlen(suffixes[i]) &&
            memcmp(line + base, suffixes[i], length - base) == 0)
            return true;
    return false;
}

/* Each family begins with HELP and TYPE, once, and its samples follow at once. */
static void test_families_stand_together(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text out = { 0 }, seen = { 0 };
    char family[128] = "", *position = NULL;
    bool histogram = false;

    fill(nat);
    scrape(nat, &out);
    AUTOFREE char *copy = strdup(text_str(&out));
    for (char *line = strtok_r(copy, "\n", &position); line;
         line = strtok_r(NULL, "\n", &position)) {
        char name[128], word[128];
        if (sscanf(line, "# HELP %127s %127s", name, word) == 2) {
            AUTOFREE char *whole = text_format(" %s ", name);
            assert_null(strstr(text_str(&seen), whole));
            text_add(&seen, whole);
            strcpy(family, name);
        } else if (sscanf(line, "# TYPE %127s %127s", name, word) == 2) {
            assert_string_equal(name, family);
            histogram = strcmp(word, "histogram") == 0;
            assert_int_equal(strcmp(word, "counter") == 0 || strcmp(word, "untyped") == 0,
                             strstr(name, "_total") != NULL);
        } else if (!is_sample_of(line, family, histogram)) {
            fail_msg("\"%s\" below %s", line, family);
        }
    }
    assert_non_null(strstr(text_str(&seen), " kubeproxy_proxy_livez_total "));
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_values),
        WITH_STATE(test_histograms),
        WITH_STATE(test_external_policy_local),
        WITH_STATE(test_refusals_never_fall),
        WITH_STATE(test_nothing_where_nat_is_off),
        WITH_STATE(test_families_stand_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
