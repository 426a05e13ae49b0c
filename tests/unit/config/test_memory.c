// SPDX-License-Identifier: Apache-2.0
/* The configuration when memory runs out: whole, or -ENOMEM and none at all. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "cmocka_all.h"
#include "config/config.h"
#include "failing_heap.h"

static const char good_text[] =
    "node: node-1\nsource: {manifests: /m, maxFileSize: 1MiB}\n"
    "routes: {table: 119, holdDown: {initial: 1s, max: 60s}, deadman: 1m}\n"
    "services:\n  enabled: true\n  uplinks: [eth0, \"eth*\"]\n  podInterfaces: [veth0]\n"
    "  clusterCIDRs: [10.244.0.0/16, \"fd00::/64\"]\n  serviceCIDRs: [10.96.0.0/12]\n"
    "  nodePortAddresses: [primary, 10.0.0.0/8]\n  externalIPs: [192.0.2.0/24]\n"
    "  loadBalancerIPs: [198.51.100.0/24]\n  loadBalancerClass: example.com/a\n"
    "  proxyName: x\n  advertise: [cluster]\n  snatPorts: 1-2\n  healthz: \"1.2.3.4:5\"\n"
    "egress: {inCluster: [10.0.0.0/8], gateway: {serves: [a/b], addresses: [192.0.2.1]}}\n"
    "bird: {socket: /b}\napi: {listen: \"[::1]:9\"}\npaths: {run: /r, state: /s, bpf: /f}\n";

static const char bad_text[] = "node: [a]\nrouts: {}\nservices: {uplinks: [\"\"], snatPorts: x,\n"
                               "  clusterCIDRs: [10.0.0.0/33]}\n";

static int load(const char *path, struct config **ret_config, struct faults *errors)
{
    return config_load(path, ret_config, errors);
}

static void write_file(const char *text, char path[static 40], int *ret_fd)
{
    int fd = memfd_create("config", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, 40, "/proc/self/fd/%d", fd);
    *ret_fd = fd;
}

static void a_good_file(void **state)
{
    (void)state;
    AUTOCLOSE int fd = -1;
    char path[40];
    write_file(good_text, path, &fd);
    int failures = 0;
    for (int n = 0;; n++) {
        CLEANUP(config_freep) struct config *config = NULL;
        AUTOFAULTS struct faults errors = { 0 };
        int r = with_heap(n, load(path, &config, &errors));
        if (r == 0) { /* each field as if nothing had been missing */
            assert_true(faults_none(&errors));
            assert_string_equal(config->node, "node-1");
            assert_int_equal(config->services.uplinks.count, 2);
            assert_int_equal(config->services.cluster_cidrs.count, 2);
            assert_string_equal(config->services.load_balancer_class, "example.com/a");
            assert_string_equal(config->paths.bpf, "/f");
            assert_string_equal(config->egress.gateway.serves.items[0], "a/b");
            assert_int_equal(config->egress.gateway.addresses.count, 1);
        }
        if (!heap_missed) {
            assert_int_equal(r, 0);
            break;
        }
        failures++;
        assert_true(r == 0 || r == -ENOMEM);
        assert_int_equal(r == 0, config != NULL);
    }
    assert_true(failures > 40);
}

static void a_bad_file(void **state)
{
    (void)state;
    AUTOCLOSE int fd = -1;
    char path[40];
    write_file(bad_text, path, &fd);
    for (int n = 0;; n++) {
        CLEANUP(config_freep) struct config *config = NULL;
        AUTOFAULTS struct faults errors = { 0 };
        int r = with_heap(n, load(path, &config, &errors));
        assert_null(config);
        assert_true(r == -ENOMEM || (r == -EBADMSG && !faults_none(&errors)));
        if (!heap_missed) {
            assert_int_equal(r, -EBADMSG);
            assert_false(errors.incomplete);
            break;
        }
    }
}

static void the_default(void **state)
{
    (void)state;
    int failures = 0;
    for (int n = 0;; n++) {
        CLEANUP(config_freep) struct config *config = NULL;
        int r = with_heap(n, config_default("/m", &config));
        assert_int_equal(r, heap_missed ? -ENOMEM : 0);
        assert_int_equal(r == 0, config != NULL);
        if (!heap_missed)
            break;
        failures++;
    }
    assert_true(failures > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file),
        cmocka_unit_test(a_bad_file),
        cmocka_unit_test(the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
