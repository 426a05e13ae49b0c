// SPDX-License-Identifier: Apache-2.0
/* One exchange over HTTP: whole, too long, with a certificate, and without an answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/http.h"
#include "cmocka_all.h"
#include "tls_fixture.h"

enum { DEADLINE_MS = 60000 };

struct asked {
    struct http_exchange exchange;
    bool ended;
    CURLcode code;
    char got[64]; /* what was handed on as it came */
};

static void on_done(struct curl_transfer *transfer, CURLcode code)
{
    struct asked *asked = CONTAINER_OF(transfer, struct asked, exchange.transfer);
    asked->code = code;
    asked->ended = true;
}

static int on_data(void *context, const char *bytes, size_t size)
{
    struct asked *asked = context;
    strncat(asked->got, bytes, size);
    return 0;
}

static int refuse(void *context, const char *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return -1;
}

/* Asks that port for "/", and waits for the end. */
static void ask(struct asked *asked, unsigned port, size_t answer_bytes,
                const struct http_files *files)
{
    const struct http_limits limits = {
        .connect_ms = 5000, .keepalive_s = 5, .total_ms = 5000, .answer_bytes = answer_bytes
    };
    AUTOFREE char *url = text_format("https://127.0.0.1:%u/", port);
    CLEANUP(curl_loop_freep) struct curl_loop *loop = NULL;
    sd_event *event = NULL;
    assert_int_equal(sd_event_new(&event), 0);
    assert_int_equal(curl_loop_new(event, &loop), 0);
    assert_int_equal(http_prepare(&asked->exchange, &limits, on_done), 0);
    assert_true(http_set_files(&asked->exchange, files));
    assert_true(http_add_header(&asked->exchange, "Host", "asked.example"));
    assert_true(HTTP_SET(&asked->exchange, CURLOPT_HTTPHEADER, asked->exchange.headers));
    assert_true(HTTP_SET(&asked->exchange, CURLOPT_URL, url));
    assert_int_equal(curl_loop_start(loop, &asked->exchange.transfer), 0);
    for (int64_t end_ms = clock_mono_ms() + DEADLINE_MS; !asked->ended;) {
        assert_true(clock_mono_ms() < end_ms);
        assert_true(sd_event_run(event, 5000) >= 0);
    }
    sd_event_unref(event);
}

/* What it says of an exchange that has no whole answer. */
static void assert_told(struct asked *asked, const char *words)
{
    AUTOTEXT struct text why = { 0 };
    http_tell(&asked->exchange, asked->code, &why);
    if (!strstr(text_str(&why), words))
        fail_msg("'%s' is not in '%s'", words, text_str(&why));
    http_done(&asked->exchange);
}

static void a_whole_answer_is_collected(void **state)
{
    (void)state;
    AUTOFREE char *ca = tls_servers_path("ca-1.crt");
    const struct http_files files = { .ca_file = ca };
    struct asked asked = { 0 };
    ask(&asked, tls_servers.here, 64, &files);
    assert_int_equal(http_status(&asked.exchange), 200);
    assert_string_equal(text_str(&asked.exchange.body), "asked.example ");
    assert_int_equal(asked.exchange.size, strlen("asked.example "));
    AUTOTEXT struct text why = { 0 };
    http_tell(&asked.exchange, asked.code, &why);
    assert_int_equal(why.length, 0);
    http_done(&asked.exchange);
}

static void an_answer_is_handed_on_as_it_comes(void **state)
{
    (void)state;
    const struct http_files files = { .insecure = true };
    struct asked asked = { .exchange = { .data = on_data, .context = &asked } };
    ask(&asked, tls_servers.other, 64, &files);
    assert_string_equal(asked.got, "asked.example ");
    assert_int_equal(asked.exchange.body.length, 0);
    http_done(&asked.exchange);
    struct asked stopped = { .exchange = { .data = refuse } };
    ask(&stopped, tls_servers.here, 0, &files);
    assert_told(&stopped, "");
    assert_int_not_equal(stopped.code, CURLE_OK);
}

static void an_answer_has_a_limit(void **state)
{
    (void)state;
    const struct http_files files = { .insecure = true };
    struct asked asked = { 0 };
    ask(&asked, tls_servers.here, 13, &files);
    assert_told(&asked, "the answer is longer than 13 bytes");
}

static void a_stranger_is_not_believed(void **state)
{
    (void)state;
    AUTOFREE char *ca = tls_servers_path("ca-1.crt");
    const struct http_files files = { .ca_file = ca };
    struct asked asked = { 0 };
    ask(&asked, tls_servers.other, 64, &files);
    assert_int_equal(http_status(&asked.exchange), 0);
    assert_int_equal(http_failure(&asked.exchange, asked.code), HTTP_UNTRUSTED);
    assert_told(&asked, "its certificate is not to be trusted: ");
}

/* The same name of a CA, and another key. */
static void a_replaced_authority_is_not_believed(void **state)
{
    (void)state;
    AUTOFREE char *ca = tls_servers_path("ca-1.crt");
    const struct http_files files = { .ca_file = ca };
    struct asked asked = { 0 };
    ask(&asked, tls_servers.replaced, 64, &files);
    assert_int_equal(http_failure(&asked.exchange, asked.code), HTTP_UNTRUSTED);
    assert_told(&asked, "its certificate is not to be trusted: ");
}

/* How soon behind the handshake the connection ends decides whether libcurl has seen the alert. */
static void who_is_refused_is_told_so(void **state)
{
    (void)state;
    struct http_exchange exchange = { 0 };
    snprintf(exchange.error, sizeof(exchange.error),
             "OpenSSL SSL_read: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno 0");
    assert_int_equal(http_failure(&exchange, CURLE_RECV_ERROR), HTTP_UNWELCOME);
    snprintf(exchange.error, sizeof(exchange.error),
             "error:0A000412:SSL routines::sslv3 alert bad certificate");
    assert_int_equal(http_failure(&exchange, CURLE_SSL_CONNECT_ERROR), HTTP_UNWELCOME);
    snprintf(exchange.error, sizeof(exchange.error),
             "error:0A000438:SSL routines::tlsv1 alert internal error");
    assert_int_equal(http_failure(&exchange, CURLE_SSL_CONNECT_ERROR), HTTP_FAILED);
}

static void what_keeps_an_answer_away_is_told_apart(void **state)
{
    (void)state;
    struct http_exchange exchange = { .error = "certificate has expired" };
    assert_int_equal(http_failure(&exchange, CURLE_PEER_FAILED_VERIFICATION), HTTP_EXPIRED);
    snprintf(exchange.error, sizeof(exchange.error),
             "SSL: no alternative certificate subject name matches target host name '127.0.0.1'");
    assert_int_equal(http_failure(&exchange, CURLE_PEER_FAILED_VERIFICATION), HTTP_MISNAMED);
    assert_int_equal(http_failure(&exchange, CURLE_COULDNT_RESOLVE_HOST), HTTP_UNNAMED);
    assert_int_equal(http_failure(&exchange, CURLE_OPERATION_TIMEDOUT), HTTP_SHADOWED);
    assert_non_null(strstr(http_way_remedy(HTTP_UNNAMED), "getent hosts"));
    assert_non_null(strstr(http_way_remedy(HTTP_SHADOWED), "ip route get"));
    assert_null(http_way_remedy(HTTP_SILENT));
}

static void nobody_is_there(void **state)
{
    (void)state;
    const struct http_files files = { .insecure = true };
    struct asked asked = { 0 };
    ask(&asked, 1, 64, &files);
    assert_int_equal(http_failure(&asked.exchange, asked.code), HTTP_UNREACHED);
    assert_told(&asked, "Failed to connect");
}

static void a_client_proves_who_it_is(void **state)
{
    (void)state;
    AUTOFREE char *cert = tls_servers_path("client.crt");
    AUTOFREE char *key = tls_servers_path("client.key");
    const struct http_files files = { .insecure = true, .cert_file = cert, .key_file = key };
    struct asked asked = { 0 };
    ask(&asked, tls_servers.clients, 64, &files);
    assert_string_equal(text_str(&asked.exchange.body), "asked.example node-1");
    http_done(&asked.exchange);
}

/* Standard input gives the words, should anybody ask there for them. */
static void say_the_words(void)
{
    int words[2];
    assert_int_equal(pipe(words), 0);
    assert_int_equal(write(words[1], "x\n", 2), 2);
    assert_int_equal(dup2(words[0], 0), 0);
    (void)close(words[0]);
    (void)close(words[1]);
}

/* A certificate's file may hold its key, too. Nobody is asked for the words of one that is
 * encrypted. */
static void an_encrypted_key_is_refused_wherever_it_is(void **state)
{
    (void)state;
    AUTOFREE char *both = tls_servers_path("both.pem");
    AUTOFREE char *command =
        text_format("cd '%s' && cat client.crt encrypted.key > both.pem", tls_servers.folder);
    const struct http_files files = { .insecure = true, .cert_file = both };
    struct asked asked = { 0 };
    assert_int_equal(system(command), 0);
    say_the_words();
    ask(&asked, tls_servers.clients, 64, &files);
    assert_int_equal(http_status(&asked.exchange), 0);
    assert_told(&asked, "both.pem");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_answer_is_collected),
        cmocka_unit_test(an_answer_is_handed_on_as_it_comes),
        cmocka_unit_test(an_answer_has_a_limit),
        cmocka_unit_test(a_stranger_is_not_believed),
        cmocka_unit_test(a_replaced_authority_is_not_believed),
        cmocka_unit_test(who_is_refused_is_told_so),
        cmocka_unit_test(what_keeps_an_answer_away_is_told_apart),
        cmocka_unit_test(nobody_is_there),
        cmocka_unit_test(a_client_proves_who_it_is),
        cmocka_unit_test(an_encrypted_key_is_refused_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, tls_servers_start, tls_servers_stop);
}
