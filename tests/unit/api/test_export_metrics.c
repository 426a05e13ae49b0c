// SPDX-License-Identifier: Apache-2.0
/* kube-service-exporter's metrics, under its names. */
#include <setjmp.h>

#include "api/metrics/view_metrics.h"
#include "cmocka_all.h"
#include "status/export_status.h"

static void tells_what_is_counted(void **state)
{
    (void)state;
    AUTOTEXT struct text none = { 0 }, out = { 0 };
    const struct export_target_status target = {
        .reads = 7,
        .written = 5,
        .created = 3,
        .removed = 2,
        .failures = 1,
        .conflicts = 1,
        .requests = 4,
        .request_ms = 1025,
    };
    const struct export_metrics exports = {
        .target = &target,
        .services = { 9, 8, 1 },
        .nodes = { 3, 0, 0 },
        .waiting_services = { .adds = 18, .length = 2 },
        .waiting_nodes = { .adds = 7, .done = 6, .length = 1 },
        .failed = { 4, 5, 6 },
        .elected = 2,
        .relinquished = 1,
        .listed = 3,
    };
    static const char *const lines[] = {
        "kube_service_exporter_kubernetes_service_handler_count_total{handler=\"add\"} 9\n",
        "kube_service_exporter_kubernetes_service_handler_count_total{handler=\"update\"} 8\n",
        "kube_service_exporter_kubernetes_service_handler_count_total{handler=\"delete\"} 1\n",
        "kube_service_exporter_kubernetes_node_handler_total{handler=\"add\"} 3\n",
        "kube_service_exporter_kubernetes_service_handler_queue_adds_total 18\n",
        "kube_service_exporter_kubernetes_service_handler_queue_length 2\n",
        "kube_service_exporter_kubernetes_node_handler_queue_add_total 7\n",
        "kube_service_exporter_kubernetes_node_handler_queue_done_total 6\n",
        "kube_service_exporter_kubernetes_node_handler_queue_length 1\n",
        "# TYPE kube_service_exporter_nodes gauge\nkube_service_exporter_nodes 3\n",
        "kube_service_exporter_target_service_success_total{handler=\"create\"} 3\n",
        "kube_service_exporter_target_service_success_total{handler=\"update\"} 2\n",
        "kube_service_exporter_target_service_success_total{handler=\"delete\"} 2\n",
        "kube_service_exporter_target_service_fail_total{handler=\"create\"} 4\n",
        "kube_service_exporter_target_service_fail_total{handler=\"update\"} 5\n",
        "kube_service_exporter_target_service_fail_total{handler=\"delete\"} 6\n",
        "kube_service_exporter_consul_kv_success_total{method=\"get\"} 7\n",
        "kube_service_exporter_consul_kv_success_total{method=\"put\"} 5\n",
        "kube_service_exporter_consul_kv_success_total{method=\"delete\"} 2\n",
        "kube_service_exporter_consul_kv_fail_total 2\n",
        "kube_service_exporter_consul_kv_time_seconds_sum 1.025\n",
        "kube_service_exporter_consul_kv_time_seconds_count 4\n",
        "kube_service_exporter_consul_leadership_elected_total 2\n",
        "kube_service_exporter_consul_leadership_relinquished_total 1\n",
    };
    write_export_metrics(NULL, &none);
    assert_string_equal(text_str(&none), "");
    write_export_metrics(&exports, &out);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        if (!strstr(text_str(&out), lines[i]))
            fail_msg("no %s in %s", lines[i], text_str(&out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
