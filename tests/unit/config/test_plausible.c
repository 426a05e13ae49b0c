// SPDX-License-Identifier: Apache-2.0
/* What looks right in a configuration, and can't be: refused with what was probably meant. */
#include "loading.h"

static void keys_have_their_place(void **state)
{
    (void)state;
    assert_errors(SOURCE "clustercidrs: []\n",
                  "2:1: unknown key \"clustercidrs\"; its place is services.clusterCIDRs\n");
    assert_errors(SOURCE "egress: {serves: [a/b]}\n",
                  "2:10: egress: unknown key \"serves\"; its place is egress.gateway.serves\n");
    assert_errors(SOURCE "enabled: true\n", "2:1: unknown key \"enabled\"\n"); /* of several */
    assert_errors(SOURCE "addresses:\negress:\n  gateway:\n",
                  "2:1: addresses has nothing below it: write {} to have it by its defaults, or "
                  "null\n"
                  "4:3: egress: gateway has nothing below it: write {} to have it by its defaults, "
                  "or null\n");
}

static void names_are_possible(void **state)
{
    (void)state;
    assert_errors(SOURCE "services: {uplinks: [auto], proxyName: a b, loadBalancerClass: A/b}\n",
                  "2:22: services.uplinks[0]: auto stands alone, and not in a list: without "
                  "brackets or dash\n"
                  "2:40: services.proxyName: expected a label's value (letters, digits, dots, "
                  "dashes and underscores), found \"a b\"\n"
                  "2:64: services.loadBalancerClass: expected the class of load balancers, such as "
                  "example.com/lb, found \"A/b\"\n");
    assert_errors(SOURCE "consul: {clusterID: a, datacenter: x y, partition: a/b}\n",
                  "2:36: consul.datacenter: expected a name of Consul's (letters, digits, dashes "
                  "and underscores), found \"x y\"\n"
                  "2:52: consul.partition: expected a name of Consul's (letters, digits, dashes "
                  "and underscores), found \"a/b\"\n");
    static const char *const good[] = { "http://127.0.0.1", "https://[::1]:8501", "unix:///run/x" };
    static const char *const bad[] = { "127.0.0.1:8500", "http://:8500",       "http://a:85000",
                                       "http://a:http",  "http://a:8500/ui",   "http://[::1:8500",
                                       "http://a b:80",  "http://[::1]8500:1", "unix://run/x" };
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        AUTOFREE char *text =
            text_format(SOURCE "consul: {clusterID: a, address: '%s'}\n", good[i]);
        config_free(load_good(text));
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTOFREE char *text = text_format(SOURCE "consul: {clusterID: a, address: '%s'}\n", bad[i]);
        AUTOFREE char *expected = text_format("2:33: consul.address: expected http://HOST:PORT, "
                                              "https://HOST:PORT or unix:///PATH, found \"%s\"\n",
                                              bad[i]);
        assert_errors(text, expected);
    }
}

static void sockets_have_short_names(void **state)
{
    (void)state;
    char folder[92] = "/";
    memset(folder + 1, 'r', sizeof(folder) - 2);
    AUTOFREE char *text = text_format(SOURCE "paths: {run: %s}\n", folder);
    assert_errors(text, "2:14: paths.run: the path is longer than 90 bytes\n");
    folder[90] = '\0';
    AUTOFREE char *fits = text_format(SOURCE "paths: {run: %s}\n", folder);
    config_free(load_good(fits));
}

static void sections_fit_each_other(void **state)
{
    (void)state;
    assert_errors(SOURCE "bird: {expectPeers: 2}\n",
                  "2:21: bird.expectPeers: needs bird.socket: without it BIRD is not asked for its "
                  "sessions\n");
    assert_errors(SOURCE "services: {enabled: true, healthz: '0.0.0.0:9394'}\n",
                  "2:36: services.healthz: api.listen (127.0.0.1:9394) and services.healthz "
                  "(0.0.0.0:9394) can't listen on one port\n");
    config_free(load_good(SOURCE "services: {healthz: '127.0.0.1:9394'}\n"));
    config_free(load_good(SOURCE "services: {enabled: true, healthz: '127.0.0.2:9394'}\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_their_place),
        cmocka_unit_test(names_are_possible),
        cmocka_unit_test(sockets_have_short_names),
        cmocka_unit_test(sections_fit_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
