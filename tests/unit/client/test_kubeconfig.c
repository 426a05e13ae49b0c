// SPDX-License-Identifier: Apache-2.0
/* Kubeconfigs: what is taken from them, and what is refused with its place. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/macro.h"
#include "base/text.h"
#include "client/kube/kubeconfig.h"
#include "cmocka_all.h"
#include "raised.h"

/* "-----BEGIN X-----\n" */
#define PEM_BASE64 "LS0tLS1CRUdJTiBYLS0tLS0K"
#define PEM        "-----BEGIN X-----\n"

#define FRAME                                      \
    "apiVersion: v1\n"                             \
    "kind: Config\n"                               \
    "current-context: here\n"                      \
    "contexts:\n"                                  \
    "- name: there\n"                              \
    "  context: { cluster: other, user: other }\n" \
    "- name: here\n"                               \
    "  context: { cluster: main, user: node, namespace: x }\n"

struct fixture {
    char directory[40];
    char path[64];
    struct kube_config *config;
    struct faults errors;
};

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    strcpy(fx->directory, "/tmp/test_kubeconfig.XXXXXX");
    assert_non_null(mkdtemp(fx->directory));
    (void)snprintf(fx->path, sizeof(fx->path), "%s/config", fx->directory);
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    kube_config_free(fx->config);
    faults_done(&fx->errors);
    (void)unlink(fx->path);
    assert_int_equal(rmdir(fx->directory), 0);
    free(fx);
    return 0;
}

static int load(struct fixture *fx, const char *content)
{
    kube_config_free(fx->config);
    faults_done(&fx->errors);
    fx->config = NULL;
    assert_int_equal(file_write_atomic(fx->path, content, strlen(content)), 0);
    return kube_config_load(fx->path, &fx->config, &fx->errors);
}

/* Loads the frame with a cluster and a user, given as YAML maps. */
static int load_parts(struct fixture *fx, const char *cluster, const char *user)
{
    AUTOFREE char *content =
        text_format("%sclusters:\n- { name: main, cluster: %s }\nusers:\n- { name: node, user: "
                    "%s }\n",
                    FRAME, cluster, user);
    return load(fx, content);
}

static void assert_error(struct fixture *fx, const char *place, const char *message)
{
    AUTOFREE char *expected = text_format("%s%s", fx->path, place);
    vec_each(const struct fault, fault, &fx->errors.list) {
        if (strcmp(fault->place, expected) == 0 && strcmp(fault->message, message) == 0)
            return;
    }
    vec_each(const struct fault, fault, &fx->errors.list)
        print_message("%s: %s\n", fault->place, fault->message);
    fail_msg("not among the errors: %s: %s", expected, message);
}

/* The file has this fault, and no other. */
static void assert_only_code(struct fixture *fx, const char *cluster, const char *user,
                             const char *code)
{
    assert_int_equal(load_parts(fx, cluster, user), -EBADMSG);
    (void)raised(&fx->errors, code);
    assert_int_equal(fx->errors.list.count, 1);
}

static void each_fault_has_a_code_of_its_own(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        const char *cluster, *user, *code;
    } cases[] = {
        { "{}", "{}", "kubeconfig-server-missing" },
        { "{ server: a }", "{}", "kubeconfig-server-malformed" },
        { "{ server: 'https://a', proxy-url: 'a:1' }", "{}", "kubeconfig-proxy-malformed" },
        { "{ server: 'https://a', tls-server-name: 'a:b' }", "{}",
          "kubeconfig-tls-name-malformed" },
        { "{ server: 'https://a', certificate-authority: x, insecure-skip-tls-verify: true }", "{}",
          "kubeconfig-verification-conflicting" },
        { "{ server: 'https://a', colour: red }", "{}", "kubeconfig-key-unsupported" },
        { "{ server: 'https://a' }", "{ exec: {} }", "kubeconfig-credential-unsupported" },
        { "{ server: 'https://a' }", "{ token: \"a\\tb\" }", "kubeconfig-token-malformed" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_only_code(fx, cases[i].cluster, cases[i].user, cases[i].code);
    assert_int_equal(load(fx, "current-context: a\ncontexts: [{ name: a, context: {} }]\n"),
                     -EBADMSG);
    (void)raised(&fx->errors, "kubeconfig-cluster-missing");
}

/* An agent that runs in no pod. */
/* What can be read and is of no use: kube_config_try() looks as the client will. */
static void what_tls_does_not_take_is_told_before_the_start(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        const char *cluster, *user, *code, *words;
    } cases[] = {
        { "{ server: 'https://a', certificate-authority-data: " PEM_BASE64 " }", "{}",
          "kubeconfig-tls-refused", "CA" },
        { "{ server: 'https://a', certificate-authority: /nowhere/ca.crt }", "{}",
          "kubeconfig-setup-failed", "cannot read the CA /nowhere/ca.crt: No such file" },
        { "{ server: 'http://a' }", "{ tokenFile: /dev/null }", "kubeconfig-setup-failed",
          "/dev/null holds no token" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(load_parts(fx, cases[i].cluster, cases[i].user), 0);
        assert_true(kube_config_try(fx->path, &fx->errors) < 0);
        const struct fault *fault = raised(&fx->errors, cases[i].code);
        assert_int_equal(fx->errors.list.count, 1);
        if (!strstr(fault->message, cases[i].words) || !fault->remedy)
            fail_msg("%s: %s", fault->message, fault->remedy);
    }
    assert_int_equal(load_parts(fx, "{ server: 'https://a' }", "{ token: x }"), 0);
    assert_int_equal(kube_config_try(fx->path, &fx->errors), 0);
}

static void without_a_pod_a_kubeconfig_is_needed(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
    assert_int_equal(kube_config_in_cluster(fx->directory, &fx->config, &fx->errors), -EBADMSG);
    assert_raised(&fx->errors, "kubeconfig-needed at source.kubernetes\n");
}

static void everything_is_taken(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(load_parts(fx,
                                "{ server: 'https://api.example:6443/x/', tls-server-name: "
                                "kube.example, proxy-url: 'socks5://u:p@proxy.example:1080', "
                                "certificate-authority-data: " PEM_BASE64
                                ", disable-compression: true, extensions: [] }",
                                "{ token: abc, tokenFile: secrets/token, client-certificate-data: "
                                "" PEM_BASE64 ", client-key: /etc/key.pem }"),
                     0);
    const struct kube_config *config = fx->config;
    AUTOFREE char *token_file = text_format("%s/secrets/token", fx->directory);
    assert_string_equal(config->server, "https://api.example:6443/x");
    assert_string_equal(config->tls_server_name, "kube.example");
    assert_string_equal(config->proxy_url, "socks5://u:p@proxy.example:1080");
    assert_string_equal(config->ca_data, PEM);
    assert_null(config->ca_file);
    assert_string_equal(config->token, "abc");
    assert_string_equal(config->token_file, token_file);
    assert_string_equal(config->cert_data, PEM);
    assert_null(config->cert_file);
    assert_string_equal(config->key_file, "/etc/key.pem");
    assert_false(config->insecure);
}

static void little_is_enough(void **state)
{
    struct fixture *fx = *state;
    static const char json[] =
        "{\"current-context\":\"a\",\"contexts\":[{\"name\":\"a\",\"context\":{\"cluster\":\"b\"}}],"
        "\"clusters\":[{\"name\":\"b\",\"cluster\":{\"server\":\"http://[::1]:8001\"}}]}";
    assert_int_equal(load(fx, json), 0);
    assert_string_equal(fx->config->server, "http://[::1]:8001");
    assert_null(fx->config->token);
}

static void turning_verification_off_is_seen(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(
        load_parts(fx, "{ server: 'https://a', insecure-skip-tls-verify: true }", "{}"), 0);
    assert_true(fx->config->insecure);
}

static void what_is_not_supported_is_named(void **state)
{
    struct fixture *fx = *state;
    static const char *const keys[] = { "exec", "auth-provider", "username", "password",
                                        "as",   "as-uid",        "as-groups" };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        AUTOFREE char *user = text_format("{ %s: { hidden: secret } }", keys[i]);
        const bool proves = i < 4; /* who one is, which is said another way */
        AUTOFREE char *message = text_format(
            "users[0].user: %s is not supported%s", keys[i],
            proves ? ": write token, tokenFile or client-certificate and client-key in its place"
                   : "");
        assert_int_equal(load_parts(fx, "{ server: 'https://a' }", user), -EBADMSG);
        assert_error(fx, ":12:25", message);
    }
    assert_int_equal(load_parts(fx, "{ server: 'https://a', api-version: v1 }", "{ foo: 1 }"),
                     -EBADMSG);
    assert_int_equal(fx->errors.list.count, 2); /* all at once */
}

static void no_error_shows_a_secret(void **state)
{
    struct fixture *fx = *state;
    static const char *const users[] = {
        "{ token: \"hidden words\" }",
        "{ token: [hidden] }",
        "{ password: hidden }",
        "{ client-key-data: hidden, client-certificate-data: hidden }",
    };
    for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
        assert_int_equal(load_parts(fx, "{ server: 'https://a' }", users[i]), -EBADMSG);
        assert_true(fx->errors.list.count > 0);
        vec_each(const struct fault, fault, &fx->errors.list)
            assert_null(strstr(fault->message, "hidden"));
    }
}

static void data_must_be_pem_in_base64(void **state)
{
    struct fixture *fx = *state;
    static const char *const bad[] = { "'%%%'", "aGVsbG8=", "LS0tLS1CRUdJTiBYLS0tLS0KAA==" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTOFREE char *cluster =
            text_format("{ server: 'https://a', certificate-authority-data: %s }", bad[i]);
        assert_int_equal(load_parts(fx, cluster, "{}"), -EBADMSG);
        assert_error(fx, ":10:77",
                     "clusters[0].cluster.certificate-authority-data: is not PEM in base64");
    }
}

static void servers_are_checked(void **state)
{
    struct fixture *fx = *state;
    static const char *const bad[] = {
        "api.example",
        "api.example:6443",
        "ftp://api.example",
        "https://",
        "https://u@a.example",
        "https://a/?x=1",
        "https://a.example/#part",
        "https://a b/",
        "unix:///run/x",
        "https:/a",
        "https:///a",
        "HTTPS://a",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTOFREE char *cluster = text_format("{ server: '%s' }", bad[i]);
        if (load_parts(fx, cluster, "{}") != -EBADMSG)
            fail_msg("%s was taken", bad[i]);
        assert_error(fx, "", "server is not of the form https://HOST[:PORT][/PATH]");
    }
    assert_int_equal(load_parts(fx, "{}", "{}"), -EBADMSG);
    assert_error(fx, "", "the cluster has no server");
    assert_int_equal(load_parts(fx, "{ server: 'https://a', proxy-url: 'a:1' }", "{}"), -EBADMSG);
}

static void pairs_are_checked(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(load_parts(fx, "{ server: 'https://a' }", "{ client-key: x }"), -EBADMSG);
    assert_error(fx, "", "client-key needs a client-certificate");
    assert_int_equal(load_parts(fx, "{ server: 'https://a' }", "{ client-certificate: x }"),
                     -EBADMSG);
    assert_error(fx, "", "client-certificate needs a client-key");
    assert_int_equal(load_parts(fx,
                                "{ server: 'https://a', certificate-authority: x, "
                                "insecure-skip-tls-verify: true }",
                                "{}"),
                     -EBADMSG);
    assert_int_equal(load_parts(fx, "{ server: 'https://a', tls-server-name: 'a:b' }", "{}"),
                     -EBADMSG);
}

static void contexts_must_lead_somewhere(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(load(fx, "kind: Config\n"), -EBADMSG);
    assert_error(fx, ":1:1", "current-context is missing: which of the contexts to use");
    assert_int_equal(load(fx, "current-context: a\ncontexts:\n- name: b\n"), -EBADMSG);
    assert_error(fx, ":3:1", "contexts: no entry has the name \"a\", which current-context gives");
    assert_int_equal(load(fx, FRAME "clusters: []\nusers: []\n"), -EBADMSG);
    assert_int_equal(fx->errors.list.count, 2);
    assert_int_equal(load(fx, "current-context: a\ncontexts: 5\n"), -EBADMSG);
    assert_int_equal(load(fx, "current-context: a\ncontexts: [{ name: a }]\n"), -EBADMSG);
    assert_int_equal(load_parts(fx, "{ server: 'https://a' }", "[1]"), -EBADMSG);
    assert_error(fx, ":12:23", "users[0].user: expected a map, found a list");
    assert_int_equal(load(fx, ""), -EBADMSG);
    assert_error(fx, "", "is not a kubeconfig");
    assert_int_equal(load(fx, "[]"), -EBADMSG);
}

/* Contexts, clusters and users as the tools of the field write them. */
static void what_tools_write_is_taken(void **state)
{
    struct fixture *fx = *state;
    /* kubeadm's kubelet.conf: the certificate and its key are one file, which is rotated. */
    assert_int_equal(
        load(fx,
             "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: " PEM_BASE64
             "\n    server: https://cp.example:6443\n  name: kubernetes\ncontexts:\n- context:\n"
             "    cluster: kubernetes\n    user: system:node:node-1\n  name: "
             "system:node:node-1@kubernetes\ncurrent-context: system:node:node-1@kubernetes\n"
             "kind: Config\npreferences: {}\nusers:\n- name: system:node:node-1\n  user:\n"
             "    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem\n"
             "    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem\n"),
        0);
    assert_string_equal(fx->config->key_file, fx->config->cert_file);
    /* minikube: extensions, files; and names that YAML would take for numbers. */
    assert_int_equal(
        load(fx,
             "apiVersion: v1\nkind: Config\ncurrent-context: 1\nclusters:\n- name: 1\n"
             "  cluster:\n    certificate-authority: ca.crt\n    server: "
             "https://192.168.49.2:8443\n    extensions:\n    - name: cluster_info\n"
             "      extension: { provider: minikube.sigs.k8s.io, version: v1.34.0 }\n"
             "contexts:\n- name: 1\n  context: { cluster: 1, namespace: default, user: no, "
             "extensions: [{ name: context_info, extension: {} }] }\npreferences: {}\nusers:\n"
             "- name: no\n  user: { client-certificate: ./client.crt, client-key: ../client.key "
             "}\n"),
        0);
    AUTOFREE char *key = text_format("%s/../client.key", fx->directory);
    assert_string_equal(fx->config->key_file, key);
    /* microk8s: a token. Data may be wrapped, as a block or by hand. */
    assert_int_equal(load_parts(fx, "{ server: 'https://127.0.0.1:16443' }", "{ token: 'UHZ=' }"),
                     0);
    assert_string_equal(fx->config->token, "UHZ=");
    assert_int_equal(
        load(fx, FRAME "clusters:\n- name: main\n  cluster:\n    server: https://a\n"
                       "    certificate-authority-data: |\n      LS0tLS1CRUdJ\n      TiBYLS0tLS0K\n"
                       "users:\n- { name: node, user: {} }\n"),
        0);
    assert_string_equal(fx->config->ca_data, PEM);
    /* EKS and GKE: a program that is run for each token. */
    assert_int_equal(
        load(fx,
             "apiVersion: v1\nkind: Config\ncurrent-context: arn:aws:eks:eu-1:1:cluster/x\n"
             "clusters: [{ name: c, cluster: { server: 'https://X.eks.amazonaws.com' } }]\n"
             "contexts: [{ name: 'arn:aws:eks:eu-1:1:cluster/x', context: { cluster: c, user: u "
             "} }]\nusers:\n- name: u\n  user:\n    exec:\n      apiVersion: "
             "client.authentication.k8s.io/v1beta1\n      args: [eks, get-token]\n      command: "
             "aws\n      env: null\n      interactiveMode: IfAvailable\n"),
        -EBADMSG);
    assert_error(fx, ":9:5",
                 "users[0].user: exec is not supported: write token, tokenFile or "
                 "client-certificate and client-key in its place");
    assert_int_equal(fx->errors.list.count, 1);
}

static void servers_may_have_any_address(void **state)
{
    struct fixture *fx = *state;
    static const char *const servers[][2] = {
        { "https://[fd00::1]:6443", "https://[fd00::1]:6443" },
        { "https://rancher.example/k8s/clusters/c-1/", "https://rancher.example/k8s/clusters/c-1" },
        { "https://a.example:6443//", "https://a.example:6443" },
        { "https://a", "https://a" },
        { "http://127.0.0.1:8080", "http://127.0.0.1:8080" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
        AUTOFREE char *cluster = text_format("{ server: '%s' }", servers[i][0]);
        assert_int_equal(load_parts(fx, cluster, "{}"), 0);
        assert_string_equal(fx->config->server, servers[i][1]);
    }
    static const char *const bad[] = { "https://[fd00::1:6443", "https://fd00::1:6443",
                                       "https://a:99999", "https://a:0x1", "https://a:b" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTOFREE char *cluster = text_format("{ server: '%s' }", bad[i]);
        if (load_parts(fx, cluster, "{}") != -EBADMSG)
            fail_msg("%s was taken", bad[i]);
    }
}

/* Who reads the one and edits the other would not see which counts. */
static void names_must_be_unique(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(load(fx,
                          FRAME "clusters:\n- { name: main, cluster: { server: 'https://a' } }\n"
                                "- { name: main, cluster: { server: 'https://b' } }\nusers:\n"
                                "- { name: node, user: {} }\n"),
                     -EBADMSG);
    assert_error(fx, ":11:3", "clusters[1]: two entries have the name \"main\"");
    assert_int_equal(
        load(fx,
             FRAME "- { name: there, context: {} }\nclusters: [{ name: main, cluster: { server: "
                   "'https://a' } }]\nusers: [{ name: node, user: {} }]\n"),
        0); /* of no concern */
}

static void a_file_that_is_not_there(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(kube_config_load(fx->path, &fx->config, &fx->errors), -ENOENT);
    assert_error(fx, "", "can't be opened: No such file or directory");
}

static void a_pod_finds_its_api(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
    assert_int_equal(kube_config_in_cluster("/secrets", &fx->config, &fx->errors), -EBADMSG);
    assert_int_equal(fx->errors.list.count, 1);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1), 0);
    assert_int_equal(kube_config_in_cluster("/secrets", &fx->config, &fx->errors), 0);
    assert_string_equal(fx->config->server, "https://10.96.0.1:443");
    assert_string_equal(fx->config->token_file, "/secrets/token");
    assert_string_equal(fx->config->ca_file, "/secrets/ca.crt");
    kube_config_free(fx->config);
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
    assert_int_equal(kube_config_in_cluster("/secrets", &fx->config, &fx->errors), 0);
    assert_string_equal(fx->config->server, "https://[fd00::1]:443");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(everything_is_taken),
        TEST(each_fault_has_a_code_of_its_own),
        TEST(without_a_pod_a_kubeconfig_is_needed),
        TEST(little_is_enough),
        TEST(turning_verification_off_is_seen),
        TEST(what_is_not_supported_is_named),
        TEST(no_error_shows_a_secret),
        TEST(data_must_be_pem_in_base64),
        TEST(servers_are_checked),
        TEST(pairs_are_checked),
        TEST(contexts_must_lead_somewhere),
        TEST(what_tools_write_is_taken),
        TEST(servers_may_have_any_address),
        TEST(names_must_be_unique),
        TEST(a_file_that_is_not_there),
        TEST(a_pod_finds_its_api),
        TEST(what_tls_does_not_take_is_told_before_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
