// SPDX-License-Identifier: Apache-2.0
/* What the documents say of BIRD and its peers. */
#include <string.h>

#include "cmocka_all.h"
#include "state.h"

static int setup(void **state)
{
    *state = made_state_new();
    return 0;
}

static int teardown(void **state)
{
    made_state_free(*state);
    return 0;
}

static bool explain(const struct made_state *made, const char *address, struct text *out)
{
    struct ip ip;
    assert_int_equal(ip_parse(address, &ip), 0);
    return view_explain(&made->api, &(struct explain_query){ .address = ip }, out);
}

static void expect_peer_list(const struct made_state *made, const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    view_peers(&made->api, &out);
    assert_document(&out, expected);
}

/* BIRD as it answers: one peer of each family, one that is down, all of IPv4 learned. */
static void add_bird(struct made_state *made)
{
    struct bird_status *bird = &made->status.bird;
    const struct bgp_peer peers[] = {
        { .name = "tor4",
          .address = "10.0.1.1",
          .asn = 64600,
          .state = "Established",
          .established = true,
          .since_wall_ms = WALL_MS,
          .bfd = "Up",
          .received = 0,
          .announced = 3,
          .exports = { true, false },
          .exported = 2,
          .filtered = 0,
          .listed = true },
        { .name = "tor6",
          .address = "fd00::1",
          .state = "Connect",
          .last_error = "Hold timer expired",
          .received = -1,
          .announced = -1,
          .exports = { false, true },
          .filtered = -1 },
    };
    *bird = (struct bird_status){
        .socket = "/run/bird/bird.ctl",
        .reachable = true,
        .since_wall_ms = WALL_MS,
        .version = "2.0.12",
        .learned = { 2, 1 },
        .expected = { 2, 4 },
        .log_heard = true,
        .overflows = 1,
    };
    for (size_t i = 0; i < ARRAY_SIZE(peers); i++)
        assert_int_equal(vec_push(&bird->peers, peers[i]), 0);
}

static void test_peers(void **state)
{
    struct made_state *made = *state;

    expect_peer_list(made, "{'apiVersion':'v1','kind':'PeerList','enabled':false,"
                           "'reachable':false,'error':null,'items':[]}");
    add_bird(made);
    expect_peer_list(
        made, "{'apiVersion':'v1','kind':'PeerList','enabled':true,'reachable':true,"
              "'error':null,'items':["
              "{'name':'tor4','address':'10.0.1.1','asn':64600,'state':'Established',"
              "'since':'2026-11-20T07:33:20Z','bfd':'Up','received':0,'announced':3,'filtered':0,"
              "'lastError':null},"
              "{'name':'tor6','address':'fd00::1','asn':null,'state':'Connect','since':null,"
              "'bfd':null,'received':null,'announced':null,'filtered':null,"
              "'lastError':'Hold timer expired'}]}");
}

static void test_status_of_bird(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 }, bgp = { 0 };

    add_bird(made);
    view_status(&made->api, &out);
    const char *begin = strstr(text_str(&out), "\"bgp\":");
    const char *end = begin ? strstr(begin, ",\"consul\":") : NULL;
    assert_non_null(end);
    text_add_bytes(&bgp, begin, (size_t)(end - begin));
    assert_document(&bgp,
                    "'bgp':{'enabled':true,'socket':'/run/bird/bird.ctl','reachable':true,"
                    "'error':null,'since':'2026-11-20T07:33:20Z','version':'2.0.12',"
                    "'peers':2,'established':1,'announced':3,"
                    "'learned':{'ipv4':2,'ipv6':1},'expected':{'ipv4':2,'ipv6':4},"
                    "'expectsNone':false,'unheard':true,'overflowsHeard':true,'overflows':1}");
}

static void expect_peers(const struct made_state *made, const char *address, const char *expected)
{
    AUTOTEXT struct text out = { 0 }, peers = { 0 };

    assert_true(explain(made, address, &out));
    const char *begin = strstr(text_str(&out), "\"peers\":");
    const char *end = begin ? strstr(begin, ",\"kernel\":") : NULL;
    assert_non_null(end);
    text_add_bytes(&peers, begin, (size_t)(end - begin));
    assert_document(&peers, expected);
}

static void test_explain_peers(void **state)
{
    static const char other[] = ",{'name':'tor6','address':'fd00::1','exported':false,"
                                "'reason':'not-meant','reasonText':'BIRD exports nothing of this "
                                "family to this peer'}]";
    struct made_state *made = *state;
    struct prefix address;

    add_bird(made);
    AUTOFREE char *sent =
        text_format("'peers':[{'name':'tor4','address':'10.0.1.1','exported':true,"
                    "'reason':'exported','reasonText':'exported'}%s",
                    other);
    expect_peers(made, "10.0.0.1", sent);

    struct bgp_peer *tor4 = &made->status.bird.peers.items[0];
    assert_int_equal(prefix_parse("10.0.0.1/32", &address), 0);
    assert_int_equal(vec_push(&tor4->networks, address), 0);
    AUTOTEXT struct text out = { 0 };
    assert_true(explain(made, "10.0.0.1", &out));
    assert_non_null(strstr(text_str(&out), "\"exported\":false,\"reason\":\"filtered\""));

    /* A block that does not stand in the kernel goes nowhere. */
    text_truncate(&out, 0);
    assert_true(explain(made, "10.224.0.31", &out));
    assert_non_null(strstr(text_str(&out), "\"exported\":false,\"reason\":\"not-installed\""));
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_peers),
        WITH_STATE(test_status_of_bird),
        WITH_STATE(test_explain_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
