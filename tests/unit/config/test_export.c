// SPDX-License-Identifier: Apache-2.0
/*
 * kube-service-exporter's environment, variable by variable, and the section consul. The file goes
 * before the environment.
 */
#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "config/controller_config.h"
#include "raised.h"

static const char *const (*environment)[2]; /* name and value each; NULL ends it */

static char *get(const char *name)
{
    for (size_t i = 0; environment[i][0]; i++) {
        if (strcmp(environment[i][0], name) == 0)
            return (char *)environment[i][1];
    }
    return NULL;
}

struct read {
    struct export_config config;
    struct faults errors;
    char *listen;
    int result;
};

static void read_done(struct read *read)
{
    export_config_done(&read->config);
    faults_done(&read->errors);
    free(read->listen);
}

#define AUTOREAD CLEANUP(read_done)

static void read_environment(const char *const (*variables)[2], struct read *ret_read)
{
    *ret_read = (struct read){ 0 };
    environment = variables;
    assert_int_equal(export_config_defaults(&ret_read->config), 0);
    ret_read->result =
        export_environment(&ret_read->config, get, &ret_read->listen, &ret_read->errors);
}

static void has_defaults(void **state)
{
    (void)state;
    static const char *const none[][2] = { { "KSE_CLUSTER_ID", "" }, { NULL } };
    AUTOREAD struct read read;
    read_environment(none, &read);
    assert_int_equal(read.result, 0);
    assert_null(read.config.cluster);
    assert_string_equal(read.config.prefix, "kube-service-exporter");
    assert_string_equal(read.config.consul.address, "http://127.0.0.1:8500");
    assert_int_equal(read.config.min_nodes, 1);
    assert_int_equal(read.config.node_selectors.count, 0);
    assert_false(read.config.services_asked);
    assert_null(read.config.statsd.address);
    assert_null(read.listen);
}

static void takes_every_variable(void **state)
{
    (void)state;
    static const char *const all[][2] = {
        { "KSE_CLUSTER_ID", "c1" },
        { "KSE_POD_NAME", "pod-0" },
        { "KSE_CONSUL_KV_PREFIX", "a/b" },
        { "KSE_CONSUL_HOST", "::1" },
        { "KSE_CONSUL_PORT", "8501" },
        { "KSE_CONSUL_DATACENTER", "dc2" },
        { "KSE_NODE_SELECTOR", " role=node " },
        { "KSE_MIN_SELECTOR_NODES", "3" },
        { "KSE_NAMESPACE_LIST", "a b,c" },
        { "KSE_SERVICES_ENABLED", "T" },
        { "KSE_SERVICES_KEY_TEMPLATE", "{{ id }}" },
        { "KSE_SERVICE_RESYNC_PERIOD", "15" },
        { "KSE_MAX_REQUEUE_COUNT", "5" },
        { "KSE_DOGSTATSD_PORT", "9125" },
        { "KSE_DOGSTATSD_TAGS", "{\"k\":\"v\",\"x\":\"y\"}" },
        { "KSE_HTTP_PORT", "8081" },
        { "CONSUL_HTTP_TOKEN", "secret" },
        { "CONSUL_HTTP_SSL", "true" },
        { "CONSUL_HTTP_SSL_VERIFY", "false" },
        { "CONSUL_NAMESPACE", "ns1" },
        { "CONSUL_PARTITION", "p1" },
        { NULL },
    };
    AUTOREAD struct read read;
    read_environment(all, &read);
    assert_int_equal(read.result, 0);
    assert_string_equal(read.config.cluster, "c1");
    assert_string_equal(read.config.identity, "pod-0");
    assert_string_equal(read.config.prefix, "a/b");
    assert_string_equal(read.config.consul.address, "https://[::1]:8501");
    assert_string_equal(read.config.consul.datacenter, "dc2");
    assert_string_equal(read.config.consul.token, "secret");
    assert_string_equal(read.config.consul.namespace, "ns1");
    assert_string_equal(read.config.consul.partition, "p1");
    assert_true(read.config.consul.insecure);
    assert_int_equal(read.config.node_selectors.count, 1);
    assert_string_equal(read.config.node_selectors.items[0], "role=node");
    assert_int_equal(read.config.min_nodes, 3);
    assert_int_equal(read.config.namespaces.count, 3);
    assert_string_equal(read.config.namespaces.items[2], "c");
    assert_true(read.config.services_asked);
    assert_string_equal(read.config.key_template, "{{ id }}");
    assert_string_equal(read.config.statsd.address, "127.0.0.1:9125");
    assert_int_equal(read.config.statsd.tags.count, 2);
    assert_string_equal(read.config.statsd.tags.items[0], "k:v");
    assert_string_equal(read.listen, "0.0.0.0:8081");
}

static void takes_the_files_of_consuls_clients(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        { "CONSUL_HTTP_TOKEN_FILE", "/etc/token" },
        { "CONSUL_HTTP_AUTH", "user:password" },
        { "CONSUL_CACERT", "/etc/ca.crt" },
        { "CONSUL_CAPATH", "/etc/cas" },
        { "CONSUL_CLIENT_CERT", "/etc/client.crt" },
        { "CONSUL_CLIENT_KEY", "/etc/client.key" },
        { "CONSUL_TLS_SERVER_NAME", "server.dc1.consul" },
        { "KSE_HTTP_IP", "::1" },
        { NULL },
    };
    AUTOREAD struct read read;
    read_environment(files, &read);
    assert_int_equal(read.result, 0);
    const struct consul_where *where = &read.config.consul;
    assert_string_equal(where->token_file, "/etc/token");
    assert_string_equal(where->auth, "user:password");
    assert_string_equal(where->ca_file, "/etc/ca.crt");
    assert_string_equal(where->ca_path, "/etc/cas");
    assert_string_equal(where->cert_file, "/etc/client.crt");
    assert_string_equal(where->key_file, "/etc/client.key");
    assert_string_equal(where->server_name, "server.dc1.consul");
    assert_string_equal(read.listen, "[::1]:8080");
}

static void takes_both_forms_of_lists(void **state)
{
    (void)state;
    static const char *const lists[][2] = {
        { "KSE_NODE_SELECTOR", "[\"role=a\", \"\"]" },
        { "KSE_DOGSTATSD_TAGS", "k:v, x" },
        { "KSE_DOGSTATSD_ENABLED", "0" },
        { NULL },
    };
    AUTOREAD struct read read;
    read_environment(lists, &read);
    assert_int_equal(read.result, 0);
    assert_int_equal(read.config.node_selectors.count, 2);
    assert_string_equal(read.config.node_selectors.items[1], "");
    assert_int_equal(read.config.statsd.tags.count, 2);
    assert_string_equal(read.config.statsd.tags.items[1], "x");
    assert_null(read.config.statsd.address);
}

static void refuses_what_cannot_be_read(void **state)
{
    (void)state;
    static const char *const cases[][2][2] = {
        { { "KSE_CONSUL_PORT", "http" }, { NULL } },
        { { "KSE_CONSUL_PORT", "65536" }, { NULL } },
        { { "KSE_MIN_SELECTOR_NODES", "-1" }, { NULL } },
        { { "KSE_SERVICES_ENABLED", "yes" }, { NULL } },
        { { "KSE_NODE_SELECTOR", "[\"a\"" }, { NULL } },
        { { "KSE_DOGSTATSD_TAGS", "{" }, { NULL } },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOREAD struct read read;
        read_environment(cases[i], &read);
        assert_int_equal(read.result, -EBADMSG);
        AUTOFREE char *expected = text_format("config-variable-wrong at %s\n", cases[i][0][0]);
        assert_raised(&read.errors, expected);
    }
}

static void a_certificate_has_its_key(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    struct export_config config = { .cluster = "c", .prefix = "a" };
    config.consul.cert_file = "/c.pem";
    export_config_check(&config, &faults);
    config.consul.cert_file = NULL;
    config.consul.key_file = "/k.pem";
    export_config_check(&config, &faults);
    config.consul.cert_file = "/c.pem";
    export_config_check(&config, &faults);
    assert_raised(&faults, "config-certificate-unpaired at consul.keyFile\n"
                           "config-certificate-unpaired at consul.certFile\n");
}

static void refuses_names_that_fit_no_key(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *prefix;
        size_t faults;
    } cases[] = {
        { "c1", "a/b", 0 }, { "a/b", "a", 1 },  { "", "a", 1 },      { "c", "/a", 1 },
        { "c", "a/", 1 },   { "c", "a//b", 1 }, { "c d", "a b", 2 }, { NULL, "a", 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFAULTS struct faults faults = { 0 };
        const struct export_config config = { .cluster = (char *)cases[i].cluster,
                                              .prefix = (char *)cases[i].prefix };
        export_config_check(&config, &faults);
        assert_int_equal(faults.list.count, cases[i].faults);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_defaults),
        cmocka_unit_test(takes_every_variable),
        cmocka_unit_test(takes_the_files_of_consuls_clients),
        cmocka_unit_test(takes_both_forms_of_lists),
        cmocka_unit_test(refuses_what_cannot_be_read),
        cmocka_unit_test(refuses_names_that_fit_no_key),
        cmocka_unit_test(a_certificate_has_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
