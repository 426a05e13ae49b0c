// SPDX-License-Identifier: Apache-2.0
/* Requests to the API over TLS: whom the client believes, and how it proves who it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "base/text.h"
#include "client/kube/kube.h"
#include "cmocka_all.h"
#include "tls_fixture.h"

enum { DEADLINE_MS = 60000, FILE_MAX = 1 << 20 };

struct answer {
    int status;
    struct text body;
    bool ended;
    char error[KUBE_ERROR_LEN];
    const char *remedy;
};

static void on_started(void *context, int status, int64_t retry_after_ms)
{
    (void)retry_after_ms;
    ((struct answer *)context)->status = status;
}

static int on_data(void *context, const char *bytes, size_t size)
{
    text_add_bytes(&((struct answer *)context)->body, bytes, size);
    return 0;
}

static void on_ended(void *context, const char *error, const char *remedy)
{
    struct answer *answer = context;
    answer->ended = true;
    answer->remedy = remedy;
    (void)snprintf(answer->error, sizeof(answer->error), "%s", error ? error : "");
}

static char *content_of(const char *name)
{
    AUTOFREE char *path = tls_servers_path(name);
    char *content = NULL;
    size_t size;
    assert_int_equal(file_read(path, FILE_MAX, &content, &size), 0);
    return content;
}

static struct kube_config *config_for(unsigned port, const char *ca)
{
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    config->server = text_format("https://127.0.0.1:%u", port);
    config->ca_data = ca ? content_of(ca) : NULL;
    return config;
}

/* One request of a client. */
static void ask(sd_event *event, struct kube_client *client, struct answer *answer)
{
    static const struct kube_handler handler = { on_started, on_data, on_ended };
    struct kube_request *request = NULL;
    *answer = (struct answer){ 0 };
    if (kube_client_get(client, "/", &handler, answer, &request, answer->error) < 0)
        return;
    for (int64_t end_ms = clock_mono_ms() + DEADLINE_MS; !answer->ended;) {
        assert_true(clock_mono_ms() < end_ms);
        assert_true(sd_event_run(event, 5000) >= 0);
    }
}

/* Asks once with this configuration, which is taken over: what the body or the error must have. */
static void assert_answer(struct kube_config *config, int status, const char *words)
{
    sd_event *event = NULL;
    struct kube_client *client = NULL;
    struct answer answer;
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(kube_client_new(event, config, &client), 0);
    ask(event, client, &answer);
    assert_int_equal(answer.status, status);
    AUTOFREE char *failure =
        text_format("%s: %s", answer.error, answer.remedy ? answer.remedy : "");
    const char *said = status ? text_str(&answer.body) : failure;
    if (!strstr(said, words))
        fail_msg("\"%s\" is not in \"%s\"", words, said);
    text_done(&answer.body);
    kube_client_free(client);
    sd_event_unref(event);
}

static void a_server_of_the_ca_is_believed(void **state)
{
    (void)state;
    assert_answer(config_for(tls_servers.here, "ca-1.crt"), 200, "127.0.0.1:");
    struct kube_config *config = config_for(tls_servers.here, NULL);
    config->ca_file = tls_servers_path("ca-1.crt");
    assert_answer(config, 200, "127.0.0.1:");
}

static void others_are_not(void **state)
{
    (void)state;
    assert_answer(config_for(tls_servers.other, "ca-1.crt"), 0, "certificate");
    assert_answer(config_for(tls_servers.here, NULL), 0, "certificate"); /* no CA of the system's */
    struct kube_config *config = config_for(tls_servers.other, NULL);
    config->insecure = true;
    assert_answer(config, 200, "127.0.0.1:");
}

static void the_name_must_be_right(void **state)
{
    (void)state;
    assert_answer(config_for(tls_servers.named, "ca-1.crt"), 0, "127.0.0.1");
    struct kube_config *config = config_for(tls_servers.named, "ca-1.crt");
    config->tls_server_name = strdup("kube.example");
    AUTOFREE char *host = text_format("127.0.0.1:%u ", tls_servers.named);
    assert_answer(config, 200, host); /* the header still says who is asked */
    config = config_for(tls_servers.here, "ca-1.crt");
    config->tls_server_name = strdup("kube.example");
    assert_answer(config, 0, "kube.example");
}

static void an_address_may_be_of_either_family(void **state)
{
    (void)state;
    struct kube_config *config = config_for(tls_servers.v6, "ca-1.crt");
    free(config->server);
    config->server = text_format("https://[::1]:%u", tls_servers.v6);
    config->tls_server_name = strdup("kube.example");
    AUTOFREE char *host = text_format("[::1]:%u ", tls_servers.v6);
    assert_answer(config, 200, host);
}

/* The contents of two files, one behind the other. */
static char *both(const char *first, const char *second)
{
    AUTOFREE char *one = content_of(first);
    AUTOFREE char *two = content_of(second);
    return text_format("# %s\n%s\n# %s\n%s", first, one, second, two);
}

/* CAs while one follows another; a kubelet's certificate and key; a certificate and its CA's. */
static void files_may_hold_more_than_one_thing(void **state)
{
    (void)state;
    struct kube_config *config = config_for(tls_servers.here, NULL);
    config->ca_data = both("ca-2.crt", "ca-1.crt");
    assert_answer(config, 200, "127.0.0.1:");
    config = config_for(tls_servers.other, NULL);
    config->ca_data = both("ca-2.crt", "ca-1.crt");
    assert_answer(config, 200, "127.0.0.1:");
    config = config_for(tls_servers.clients, "ca-1.crt");
    config->cert_data = both("client.crt", "client.key");
    config->key_data = both("client.crt", "client.key");
    assert_answer(config, 200, " node-1");
    config = config_for(tls_servers.clients, "ca-1.crt");
    config->cert_data = both("client.crt", "ca-1.crt");
    config->key_data = content_of("client.key");
    assert_answer(config, 200, " node-1");
}

static void a_client_proves_who_it_is(void **state)
{
    (void)state;
    assert_answer(config_for(tls_servers.clients, "ca-1.crt"), 0, "");
    struct kube_config *config = config_for(tls_servers.clients, "ca-1.crt");
    config->cert_data = content_of("client.crt");
    config->key_data = content_of("client.key");
    assert_answer(config, 200, " node-1");
    config = config_for(tls_servers.clients, "ca-1.crt");
    config->cert_file = tls_servers_path("client.crt");
    config->key_file = tls_servers_path("client.key");
    assert_answer(config, 200, " node-1");
    config = config_for(tls_servers.clients, "ca-1.crt");
    config->cert_file = tls_servers_path("client.crt");
    config->key_file = tls_servers_path("ca-1.key");
    AUTOFREE char *words = text_format("the client certificate in %s and the key in %s can't be "
                                       "used",
                                       config->cert_file, config->key_file);
    assert_answer(config, 0, words);
}

/* Nobody is asked for the words, and nothing else happens either. */
static void an_encrypted_key_is_refused(void **state)
{
    (void)state;
    static const char *const keys[] = { "encrypted.key", "encrypted-ec.key" };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        struct kube_config *config = config_for(tls_servers.clients, "ca-1.crt");
        config->cert_file = tls_servers_path("client.crt");
        config->key_file = tls_servers_path(keys[i]);
        assert_answer(config, 0, "not encrypted");
    }
}

/* The name in the certificate concerns neither the proxy nor whom it leads to. */
static void a_proxy_leads_to_the_server(void **state)
{
    (void)state;
    AUTOFREE char *proxy = text_format("http://127.0.0.1:%u", tls_servers.proxy);
    struct kube_config *config = config_for(tls_servers.here, "ca-1.crt");
    config->proxy_url = strdup(proxy);
    config->token = strdup("secret");
    assert_answer(config, 200, "127.0.0.1:");
    config = config_for(tls_servers.other, "ca-1.crt");
    config->proxy_url = strdup(proxy);
    assert_answer(config, 0, "certificate");
    config = config_for(tls_servers.named, "ca-1.crt");
    config->proxy_url = strdup(proxy);
    config->tls_server_name = strdup("kube.example");
    assert_answer(config, 200, "127.0.0.1:");
}

static void what_is_no_pem_is_refused(void **state)
{
    (void)state;
    struct kube_config *config = config_for(tls_servers.here, NULL);
    config->ca_data = strdup("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n");
    assert_answer(config, 0, "certificate");
}

/* With the file or value that is at fault, and what to do. */
static void what_is_wrong_is_named(void **state)
{
    (void)state;
    struct kube_config *config = config_for(tls_servers.other, NULL);
    config->ca_file = tls_servers_path("ca-1.crt");
    AUTOFREE char *words = text_format("not signed by the CA in %s (", config->ca_file);
    assert_answer(config, 0, words);
    assert_answer(config_for(tls_servers.other, "ca-1.crt"), 0, "by the CA in the kubeconfig (");
    assert_answer(config_for(tls_servers.other, "ca-1.crt"), 0, "put it there and reload");
    assert_answer(config_for(tls_servers.replaced, "new.crt"), 0, "by the CA in the kubeconfig (");
    assert_answer(config_for(tls_servers.replaced, "old.crt"), 200, "127.0.0.1:");
    assert_answer(config_for(tls_servers.here, NULL), 0, "by a CA of this system (");
    assert_answer(config_for(tls_servers.named, "ca-1.crt"), 0, "tls-server-name");
    assert_answer(config_for(tls_servers.proxy, "ca-1.crt"), 0, "no TLS is spoken there");
    assert_answer(config_for(tls_servers.here, "client.key"), 0,
                  "there is no certificate in the kubeconfig, named as the CA");
}

/* A server that wants a certificate does so: libcurl has many ways to tell of it. */
static void who_hangs_up_is_told_of(void **state)
{
    (void)state;
    sd_event *event = NULL;
    struct kube_client *client = NULL;
    struct answer answer;
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(kube_client_new(event, config_for(tls_servers.clients, "ca-1.crt"), &client),
                     0);
    for (int i = 0; i < 20; i++) {
        ask(event, client, &answer);
        assert_int_equal(answer.status, 0);
        if (strstr(answer.error, "onnection reset by peer"))
            continue; /* clear enough */
        assert_string_equal(answer.error, "what answers there closes connections at once");
        assert_non_null(strstr(answer.remedy, "client certificate"));
    }
    kube_client_free(client);
    sd_event_unref(event);
}

static void copy(const char *from, const char *to)
{
    AUTOFREE char *content = content_of(from);
    AUTOFREE char *path = tls_servers_path(to);
    assert_int_equal(file_write_atomic(path, content, strlen(content)), 0);
}

static void a_rotated_ca_counts_at_once(void **state)
{
    (void)state;
    sd_event *event = NULL;
    struct kube_client *client = NULL;
    struct answer answer;
    struct kube_config *config = config_for(tls_servers.here, NULL);
    config->ca_file = tls_servers_path("rotated.crt");
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(kube_client_new(event, config, &client), 0);
    /* Good, then not: neither the connection nor its TLS session is taken up again. */
    static const char *const files[] = { "ca-1.crt", "ca-2.crt", "ca-1.crt" };
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        copy(files[i], "rotated.crt");
        ask(event, client, &answer);
        assert_int_equal(answer.status, strcmp(files[i], "ca-1.crt") == 0 ? 200 : 0);
        text_done(&answer.body);
    }
    kube_client_free(client);
    sd_event_unref(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_of_the_ca_is_believed),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(the_name_must_be_right),
        cmocka_unit_test(an_address_may_be_of_either_family),
        cmocka_unit_test(files_may_hold_more_than_one_thing),
        cmocka_unit_test(a_client_proves_who_it_is),
        cmocka_unit_test(an_encrypted_key_is_refused),
        cmocka_unit_test(a_proxy_leads_to_the_server),
        cmocka_unit_test(what_is_no_pem_is_refused),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(who_hangs_up_is_told_of),
        cmocka_unit_test(a_rotated_ca_counts_at_once),
    };
    return cmocka_run_group_tests(tests, tls_servers_start, tls_servers_stop);
}
