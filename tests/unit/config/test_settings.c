// SPDX-License-Identifier: Apache-2.0
/* What is in force, with its origin; and that what is shown can be loaded again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "cmocka_all.h"
#include "config/settings.h"

#define SOURCE "source: {manifests: /m}\n"

static int load(const char *text, struct settings *ret_settings)
{
    AUTOFAULTS struct faults errors = { 0 };
    char path[64];
    AUTOCLOSE int fd = memfd_create("config", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

    int r = settings_load(path, ret_settings, &errors);
    assert_int_equal(r == 0, faults_none(&errors));
    return r;
}

static const struct setting *find(const struct settings *settings, const char *key)
{
    vec_each(const struct setting, setting, &settings->list)
        if (strcmp(setting->key, key) == 0)
            return setting;
    fail_msg("no setting %s", key);
    return NULL;
}

static void assert_setting(const struct settings *settings, const char *key, const char *value,
                           uint32_t line)
{
    const struct setting *setting = find(settings, key);
    assert_string_equal(setting->value, value);
    assert_int_equal(setting->line, line);
}

static void defaults_have_no_line(void **state)
{
    CLEANUP(settings_done) struct settings settings = { 0 };

    (void)state;
    assert_int_equal(load(SOURCE, &settings), 0);
    assert_setting(&settings, "source.manifests", "\"/m\"", 1);
    assert_setting(&settings, "source.kubernetes", "null", 0);
    assert_setting(&settings, "source.maxFileSize", "\"256MiB\"", 0);
    assert_setting(&settings, "routes.table", "119", 0);
    assert_setting(&settings, "routes.holdDown.max", "\"1m\"", 0);
    assert_setting(&settings, "routes.deadman", "\"off\"", 0);
    assert_setting(&settings, "services.enabled", "false", 0);
    assert_setting(&settings, "services.podInterfaces", "\"auto\"", 0);
    assert_setting(&settings, "services.clusterCIDRs", "null", 0);
    assert_setting(&settings, "services.serviceCIDRs", "[]", 0);
    assert_setting(&settings, "services.nodePortAddresses", "[\"primary\"]", 0);
    assert_setting(&settings, "services.advertise", "[\"loadBalancer\",\"external\"]", 0);
    assert_setting(&settings, "services.snatPorts", "\"10000-65535\"", 0);
    assert_setting(&settings, "egress.inCluster", "[]", 0);
    assert_setting(&settings, "egress.unknownPods", "\"pass\"", 0);
    assert_setting(&settings, "egress.gateway", "null", 0);
    assert_setting(&settings, "bird.socket", "null", 0);
    assert_setting(&settings, "addresses", "null", 0);
    assert_setting(&settings, "consul", "null", 0);
}

static void what_the_file_says_has_its_line(void **state)
{
    CLEANUP(settings_done) struct settings settings = { 0 };

    (void)state;
    assert_int_equal(load("# a comment\n" SOURCE "routes:\n"
                          "  table: 219\n"
                          "  holdDown:\n"
                          "    initial: 1500ms\n"
                          "    max:\n"
                          "  deadman: 90s\n"
                          "services:\n"
                          "  clusterCIDRs:\n"
                          "  - 10.1.0.0/16\n"
                          "  nodePortAddresses: [10.0.0.0/8]\n"
                          "  advertise: []\n"
                          "node: \"node\\u002d9\"\n"
                          "egress:\n"
                          "  gateway:\n"
                          "    addresses: [192.0.2.1]\n"
                          "consul:\n"
                          "  clusterID: lab\n"
                          "  namespaces: [a]\n",
                          &settings),
                     0);
    assert_setting(&settings, "source.manifests", "\"/m\"", 2);
    assert_setting(&settings, "routes.table", "219", 4);
    assert_setting(&settings, "routes.holdDown.initial", "\"1500ms\"", 6);
    assert_setting(&settings, "routes.holdDown.max", "\"1m\"", 0);
    assert_setting(&settings, "routes.deadman", "\"90s\"", 8);
    assert_setting(&settings, "services.clusterCIDRs", "[\"10.1.0.0/16\"]", 10);
    assert_setting(&settings, "services.nodePortAddresses", "[\"10.0.0.0/8\"]", 12);
    assert_setting(&settings, "services.advertise", "[]", 13);
    assert_setting(&settings, "node", "\"node-9\"", 14);
    assert_setting(&settings, "egress.gateway.addresses", "[\"192.0.2.1\"]", 17);
    assert_setting(&settings, "egress.gateway.timeouts.icmp", "\"30s\"", 0);
    assert_setting(&settings, "consul.clusterID", "\"lab\"", 19);
    assert_setting(&settings, "consul.namespaces", "[\"a\"]", 20);
    assert_setting(&settings, "consul.address", "\"http://127.0.0.1:8500\"", 0);
    assert_setting(&settings, "consul.checkTTL", "\"60m\"", 0);
}

/* Writes the names of the sections that `key` is in and `last` was not; returns its indent. */
static int add_sections(struct text *out, const char *key, const char *last)
{
    const char *end = strchr(key, '.');
    int indent = 0;

    for (; end; end = strchr(end + 1, '.'), indent += 2) {
        const char *begin = end;
        while (begin > key && begin[-1] != '.')
            begin--;
        if (strncmp(key, last, (size_t)(end + 1 - key)) != 0)
            text_addf(out, "%*s%.*s:\n", indent, "", (int)(end - begin), begin);
    }
    return indent;
}

/* The settings as a file. */
static void add_file(struct text *out, const struct settings *settings)
{
    const char *last = "";

    vec_each(const struct setting, setting, &settings->list) {
        const char *dot = strrchr(setting->key, '.');
        int indent = add_sections(out, setting->key, last);
        text_addf(out, "%*s%s: %s\n", indent, "", dot ? dot + 1 : setting->key, setting->value);
        last = setting->key;
    }
}

static void what_is_shown_can_be_loaded(void **state)
{
    static const char *const files[] = {
        SOURCE,
        SOURCE "routes: {deadman: 1h, drain: {shutdown: 0s, withdraw: 61s}}\n"
               "services: {uplinks: [eth0, 'eth*'], proxyName: a_b, clusterCIDRs: [],\n"
               "  nodePortAddresses: [primary, 'fd00::/8'], externalIPs: [192.0.2.0/24]}\n"
               "bird: {socket: /run/bird/bird.ctl}\n",
        SOURCE "egress: {enabled: true, unknownPods: hold, gateway: {serves: [a/b],\n"
               "  addresses: [192.0.2.1], timeouts: {icmp: 2s}}}\n",
        "source: {kubernetes: {}}\n",
        "source: {kubernetes: {kubeconfig: /etc/kubeconfig}}\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        CLEANUP(settings_done) struct settings first = { 0 }, second = { 0 };
        AUTOTEXT struct text file = { 0 };
        assert_int_equal(load(files[i], &first), 0);
        add_file(&file, &first);
        if (load(text_str(&file), &second) < 0)
            fail_msg("not to be loaded:\n%s", text_str(&file));
        assert_int_equal(first.list.count, second.list.count);
        for (size_t j = 0; j < first.list.count; j++) {
            assert_string_equal(first.list.items[j].key, second.list.items[j].key);
            assert_string_equal(first.list.items[j].value, second.list.items[j].value);
        }
    }
}

static void a_broken_file_has_no_settings(void **state)
{
    struct settings settings = { 0 };

    (void)state;
    assert_int_equal(load(SOURCE "tabel: 1\n", &settings), -EBADMSG);
    assert_int_equal(load("", &settings), -EBADMSG);
    assert_int_equal(settings.list.count, 0);
}

static void claims_have_all_their_settings(void **state)
{
    CLEANUP(settings_done) struct settings settings = { 0 };

    (void)state;
    assert_int_equal(load("source: {kubernetes: {}}\naddresses: {}\n", &settings), 0);
    assert_setting(&settings, "addresses.claim", "[]", 0);
    assert_setting(&settings, "addresses.interfaces", "\"auto\"", 0);
    assert_setting(&settings, "addresses.group", "\"address\"", 0);
    assert_setting(&settings, "addresses.duration", "\"10s\"", 0);
    assert_setting(&settings, "addresses.failback", "\"5m\"", 0);
    assert_setting(&settings, "addresses.leaseNamespace", "\"kube-system\"", 0);
    settings_done(&settings);
    assert_int_equal(load("source: {kubernetes: {}}\n"
                          "addresses:\n"
                          "  claim: [192.0.2.0/24, \"2001:db8::/64\"]\n"
                          "  own: [192.0.2.1]\n"
                          "  interfaces: [eth1]\n"
                          "  group: service\n"
                          "  failback: never\n",
                          &settings),
                     0);
    assert_setting(&settings, "addresses.claim", "[\"192.0.2.0/24\",\"2001:db8::/64\"]", 3);
    assert_setting(&settings, "addresses.own", "[\"192.0.2.1\"]", 4);
    assert_setting(&settings, "addresses.interfaces", "[\"eth1\"]", 5);
    assert_setting(&settings, "addresses.group", "\"service\"", 6);
    assert_setting(&settings, "addresses.failback", "\"never\"", 7);
    settings_done(&settings);
    assert_int_equal(load(SOURCE "addresses: {}\n", &settings), -EBADMSG);
    assert_int_equal(load("source: {kubernetes: {}}\naddresses: {duration: 4500ms}\n", &settings),
                     -EBADMSG);
    assert_int_equal(load("source: {kubernetes: {}}\naddresses: {duration: 6m}\n", &settings),
                     -EBADMSG);
    assert_int_equal(load("source: {kubernetes: {}}\naddresses: {group: some}\n", &settings),
                     -EBADMSG);
}

static void claims_may_be_kept_in_etcd(void **state)
{
    CLEANUP(settings_done) struct settings settings = { 0 };

    (void)state;
    assert_int_equal(load(SOURCE "addresses:\n"
                                 "  etcd:\n"
                                 "    endpoints: [\"https://192.0.2.1:2379\"]\n"
                                 "    caFile: /etc/ca.crt\n",
                          &settings),
                     0);
    assert_setting(&settings, "addresses.etcd.endpoints", "[\"https://192.0.2.1:2379\"]", 4);
    assert_setting(&settings, "addresses.etcd.prefix", "\"/fingerpost/addresses/\"", 0);
    assert_setting(&settings, "addresses.etcd.caFile", "\"/etc/ca.crt\"", 5);
    static const char *const bad[] = {
        "{}",
        "{endpoints: []}",
        "{endpoints: [192.0.2.1]}",
        "{endpoints: [\"https://192.0.2.1:2379/v3\"]}",
        "{endpoints: [\"http://a:1\"], user: a}",
        "{endpoints: [\"http://a:1\"], passwordFile: /a}",
        "{endpoints: [\"https://a:1\", \"http://a:1\"], user: a, passwordFile: /a}",
        "{endpoints: [\"http://a:1\"], prefix: /a}",
        "{endpoints: [\"http://a:1\"], certFile: /a}",
        "{endpoints: [\"http://a:1\"], keyFile: /a}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTOFREE char *text = text_format(SOURCE "addresses: {etcd: %s}\n", bad[i]);
        assert_int_equal(load(text, &settings), -EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_have_all_their_settings),
        cmocka_unit_test(claims_may_be_kept_in_etcd),
        cmocka_unit_test(defaults_have_no_line),
        cmocka_unit_test(what_the_file_says_has_its_line),
        cmocka_unit_test(what_is_shown_can_be_loaded),
        cmocka_unit_test(a_broken_file_has_no_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
