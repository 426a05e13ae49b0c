// SPDX-License-Identifier: Apache-2.0
/* What looks right in controller.yaml, and can't be: refused at its place, by its own name. */
#include "loading.h"

#include "config/controller_config.h"

#define KUBERNETES "source: {kubernetes: {}}\n"

static int load_controllers(const char *path, struct faults *errors)
{
    CLEANUP(controller_config_freep) struct controller_config *config = NULL;
    return controller_config_load(path, &config, errors);
}

static void refuses(const char *text, const char *expected)
{
    AUTOFREE char *errors = NULL;
    assert_int_equal(load_by(load_controllers, text, &errors), *expected ? -EBADMSG : 0);
    assert_string_equal(errors, expected);
}

static void election_says_which_key(void **state)
{
    (void)state;
    refuses(
        KUBERNETES "election: {lease: 1500ms, renew: 1s, retry: 500ms}\n",
        "2:19: election.lease: has to be whole seconds, such as 15s: a Lease counts in these\n");
    refuses(KUBERNETES "election: {renew: 20s}\n",
            "2:19: election.renew: renew (20 s) has to be shorter than lease (15 s)\n");
    refuses(KUBERNETES "election: {lease: 5s}\n",
            "2:19: election.lease: renew (10 s) has to be shorter than lease (5 s)\n");
    refuses(KUBERNETES "election: {retry: 11s}\n",
            "2:19: election.retry: renew (10 s) has to be longer than 1.2 times retry (11 s)\n");
    refuses(KUBERNETES "election: {name: -.-}\n",
            "2:18: election.name: expected the name of a Lease (a-z, 0-9, dots and dashes), found "
            "\"-.-\"\n");
    refuses(KUBERNETES "election: {name: my.lease-1, lease: 6s, renew: 4s, retry: 1s}\n", "");
}

static void knows_names_of_others(void **state)
{
    (void)state;
    refuses(KUBERNETES "election: {leaseDuration: 15s, retryPeriod: 2s}\n",
            "2:12: election: unknown key \"leaseDuration\"; did you mean \"lease\"?\n"
            "2:32: election: unknown key \"retryPeriod\"; did you mean \"retry\"?\n");
    refuses("source: {manifests: /m, kubernetes: {}}\nroutes: {}\n",
            "1:10: source: \"manifests\" is a key of agentd.yaml, not of this file\n"
            "2:1: \"routes\" is a key of agentd.yaml, not of this file\n");
    refuses("source:\n  kubernetes: {}\n  election: {}\n",
            "3:3: source: unknown key \"election\"; its place is the beginning of a line\n");
    assert_errors(SOURCE "election: {}\n",
                  "2:1: \"election\" is a key of controller.yaml, not of this file\n");
}

static void refuses_image(const char *image)
{
    AUTOFREE char *text = text_format(KUBERNETES "egress: {enabled: true, image: '%s'}\n", image);
    AUTOFREE char *expected = text_format(
        "2:32: egress.image: expected an image, such as registry.example.com/fingerpost:1.0 (in "
        "lower case, no URL), found \"%s\"\n",
        image);
    refuses(text, expected);
}

static void images_can_be_pulled(void **state)
{
    (void)state;
    static const char digest[] =
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const char *const bad[] = {
        "",   "a b", "IMAGE",  "https://ghcr.io/x", "ghcr.io/x/Fingerpost:1", "x:", "x:-1",
        "/x", "x/",  "x//y:1", "x@sha256:12",       "ghcr.io:5000/",          "x_", "x:1:2",
    };
    static const char *const good[] = {
        "fingerpost",
        "fingerpost:1",
        "a/b/c:V1.0_x",
        "Registry.example.com:5000/a/b:1",
        "localhost/a",
        "[2001:db8::1]:5000/a:1",
        "10.0.0.1:5000/a__b--c.d",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        refuses_image(bad[i]);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        AUTOFREE char *text = text_format(KUBERNETES "egress: {enabled: true, image: '%s%s%s'}\n",
                                          good[i], i % 2 ? "@" : "", i % 2 ? digest : "");
        refuses(text, "");
    }
}

static void rights_of_templates_have_names(void **state)
{
    (void)state;
    refuses(KUBERNETES "egress: {template: {allow: [hostPath, volumeMounts]}}\n", "");
    refuses(KUBERNETES "egress: {template: {allow: []}}\n", "");
    refuses(KUBERNETES "egress: {template: {allow: [hostpath]}}\n",
            "2:29: egress.template.allow[0]: expected hostPath, hostNetwork, hostPID, hostIPC, "
            "hostPorts, hostProbes, hostProcess, nodeName, privileged, capabilities, procMount, "
            "unconfined, sysctls, image, command or volumeMounts, found \"hostpath\"\n");
    refuses(KUBERNETES "egress: {template: {allow: hostPath}}\n",
            "2:28: egress.template.allow: expected a list, found a plain value\n");
}

static void exports_have_places(void **state)
{
    (void)state;
    refuses(
        KUBERNETES "consul: {clusterID: a/b, kvPrefix: /x}\n",
        "2:21: consul.clusterID: \"a/b\" can't be part of a key; use letters, digits, dots and "
        "dashes\n"
        "2:36: consul.kvPrefix: \"/x\" can't begin a key; use letters, digits, dots, dashes and "
        "single slashes\n");
    refuses(KUBERNETES "consul: {clusterID: a, namespaces: [shop, Shop]}\n",
            "2:43: consul.namespaces[1]: expected a namespace (a-z, 0-9 and dashes), found "
            "\"Shop\"\n");
    refuses(KUBERNETES "consul: {clusterID: a, sessionTTL: 25h, blockingQuery: 11m}\n",
            "2:36: consul.sessionTTL: \"25h\" is longer than 1d 0h\n"
            "2:56: consul.blockingQuery: \"11m\" is longer than 10m\n");
    refuses(KUBERNETES "consul: {clusterID: a, sessionTTL: 24h, blockingQuery: 10m}\n", "");
}

static void listens_near_its_default(void **state)
{
    (void)state;
    refuses(KUBERNETES "api: {listen: '9395'}\n",
            "2:15: api.listen: expected address:port, such as \"127.0.0.1:9395\" or "
            "\"[::1]:9395\", found \"9395\"\n");
    AUTOFREE char *folder = text_format("/%090d", 0);
    AUTOFREE char *text = text_format(KUBERNETES "paths: {run: %s}\n", folder);
    refuses(text, "2:14: paths.run: the path is longer than 90 bytes\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(election_says_which_key),
        cmocka_unit_test(knows_names_of_others),
        cmocka_unit_test(images_can_be_pulled),
        cmocka_unit_test(exports_have_places),
        cmocka_unit_test(listens_near_its_default),
        cmocka_unit_test(rights_of_templates_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
