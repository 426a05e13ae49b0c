// SPDX-License-Identifier: Apache-2.0
/* Ports that masquerading, node ports and the kernel's own choice may fight for. */
#include "nat_planning.h"

static void assert_faults(const struct faults *faults, const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    vec_each(const struct fault, fault, &faults->list)
        text_addf(&out, "%s: %s\n", fault->place, fault->message);
    assert_string_equal(text_str(&out), expected);
}

#define SNAT "services.snatPorts: "
#define LOCAL                                                                                     \
    "net.ipv4.ip_local_port_range: node port 30080/TCP of Service d/web lies in 30000-60999 and " \
    "is not reserved\n"

static void overlaps(void **state)
{
    (void)state;
    static const struct {
        uint16_t node_port;
        struct port_range local, reserved[3];
        const char *faults;
    } cases[] = {
        { 30080, { 32768, 60999 }, { { 0 } }, "" },
        { 30080, { 0, 0 }, { { 0 } }, "" },
        { 30080,
          { 29999, 30000 },
          { { 0 } },
          SNAT "20000-29999 overlaps net.ipv4.ip_local_port_range 29999-30000\n" },
        { 30080,
          { 1024, 20000 },
          { { 0 } },
          SNAT "20000-29999 overlaps net.ipv4.ip_local_port_range 1024-20000\n" },
        { 30080, { 1024, 20001 }, { { 20000, 20001 } }, "" },
        { 30080, { 1024, 20001 }, { { 20001, 20001 }, { 80, 20000 } }, "" },
        { 30080,
          { 1024, 20001 },
          { { 20000, 20000 } },
          SNAT "20000-29999 overlaps net.ipv4.ip_local_port_range 1024-20001\n" },
        { 30080, { 25000, 65535 }, { { 24000, 26000 }, { 28001, 65535 }, { 26001, 28000 } }, "" },
        { 30080, { 30000, 60999 }, { { 0 } }, LOCAL },
        { 30080, { 30000, 60999 }, { { 30079, 30079 }, { 30081, 65535 } }, LOCAL },
        { 30080, { 30000, 60999 }, { { 30080, 30080 } }, "" },
        { 20000,
          { 30000, 60999 },
          { { 0 } },
          SNAT "node port 20000/TCP of Service d/web lies in 20000-29999\n" },
        /* Reserving is between the kernel and others only. */
        { 29999,
          { 30000, 60999 },
          { { 20000, 29999 } },
          SNAT "node port 29999/TCP of Service d/web lies in 20000-29999\n" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        put_node(&planning, "node-1", "", "{type: InternalIP, address: 192.0.2.1}");
        AUTOFREE char *ports =
            text_format("ports: [{name: h, port: 80, nodePort: %u}]", cases[i].node_port);
        put_served(&planning, "web", "NodePort", "10.96.0.1, \"fd00:96::1\"", ports, "");
        /* Numbers that no node port has: a port, and a nodePort that the type makes no use of. */
        put_served(&planning, "zoo", "ClusterIP", "10.96.0.2",
                   "ports: [{name: a, port: 20080, nodePort: 20081}]", "");
        CLEANUP(nat_rows_done) struct sorted rows = { 0 };
        assert_int_equal(plan_nat(&planning.facts, &rows, &planning.faults), 0);
        const struct nat_kernel_ports kernel = {
            .local = cases[i].local,
            .reserved = cases[i].reserved,
            .reserved_count = ARRAY_SIZE(cases[i].reserved),
        };
        nat_port_overlaps(planning.config, &kernel, &rows, &planning.faults);
        assert_faults(&planning.faults, cases[i].faults);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
