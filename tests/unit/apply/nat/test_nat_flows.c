// SPDX-License-Identifier: Apache-2.0
/* Flows in live maps: as they are listed, counted and swept. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "apply/nat/flows/room.h"
#include "base/clock.h"
#include "nat_flow_lab.h"

static void what_is_over_goes(void **state)
{
    (void)state;
    enum { SENT = NAT_FLOW_CONFIRMED, FIN = NAT_FLOW_FIN, RST = NAT_FLOW_RST };
    static const struct {
        struct flow flow;
        bool goes;
    } cases[] = {
        { { 1, PROTOCOL_TCP, 7440, 9000, SENT }, false },
        { { 2, PROTOCOL_TCP, 9000, 7440, SENT }, false },
        { { 3, PROTOCOL_TCP, 7441, 7441, SENT }, true },
        { { 4, PROTOCOL_TCP, 3600, 5000, SENT | FIN, 0 }, false },
        { { 5, PROTOCOL_TCP, 3601, 3601, SENT | FIN, 0 }, true },
        { { 6, PROTOCOL_TCP, 3601, 3601, SENT, FIN }, true },
        { { 7, PROTOCOL_TCP, 3600, 3601, SENT | FIN, FIN, .unacknowledged = true }, false },
        { { 8, PROTOCOL_TCP, 11, 12, SENT | FIN, FIN }, true },
        { { 9, PROTOCOL_TCP, 9, 9, SENT | RST, RST }, false },
        { { 10, PROTOCOL_TCP, 11, 11, SENT | RST, RST }, true },
        { { 11, PROTOCOL_TCP, 60, 60 }, false },
        { { 12, PROTOCOL_UDP, 120, 300, SENT }, false },
        { { 13, PROTOCOL_UDP, 300, 120, SENT }, false },
        { { 14, PROTOCOL_UDP, 121, 121, SENT }, true },
        { { 21, PROTOCOL_TCP, 61, 61 }, true },
        { { 22, PROTOCOL_TCP, 60, 60, .half_open = true }, false },
        { { 23, PROTOCOL_TCP, 61, 61, .half_open = true }, true },
        { { 24, PROTOCOL_UDP, 30, 30 }, false },
        { { 25, PROTOCOL_UDP, 31, 31 }, true },
        { { 26, PROTOCOL_UDP, 31, 31, .half_open = true }, true },
        { { 15, PROTOCOL_TCP, 59, .alone = true }, false },
        { { 16, PROTOCOL_TCP, 61, .alone = true }, true },
        { { 17, PROTOCOL_UDP, 30, 120, SENT, .endpoint = 5, .generation = 77 }, false },
        { { 27, PROTOCOL_UDP, 120, 30, SENT, .endpoint = 5, .generation = 77 }, false },
        { { 28, PROTOCOL_UDP, 31, 31, SENT, .endpoint = 5, .generation = 77 }, true },
        { { 29, PROTOCOL_UDP, 31, .alone = true, .endpoint = 5, .generation = 77 }, true },
        { { 18, PROTOCOL_TCP, 0, 0, .endpoint = 5, .generation = 77 }, false },
        { { 19, PROTOCOL_UDP, 0, 0, .endpoint = 5, .generation = 78 }, false },
        { { 20, PROTOCOL_UDP, 31, 31, SENT, .endpoint = 1 << 30, .generation = 1 }, true },
    };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    datapath->endpoints[5].state = 78 | NAT_ENDPOINT_ON_NODE;
    int going = 0;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        put_flow(datapath, &cases[i].flow, NOW_S);
        going += cases[i].goes;
    }
    int64_t next_ms;
    assert_int_equal(sweep(datapath, NOW_S * SECOND_MS, &next_ms), going);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct nat_tuple forward = forward_key(&cases[i].flow), reply = reply_key(&cases[i].flow);
        bool wrong = has(datapath, &forward) == cases[i].goes ||
                     (!cases[i].flow.alone && has(datapath, &reply) == cases[i].goes);
        if (wrong)
            print_message("# case %u\n", cases[i].flow.client_port);
        assert_false(wrong);
    }
    assert_int_equal(sweep(datapath, NOW_S * SECOND_MS, &next_ms), 0);
}

static void reply_halves_alone_and_direct_ones(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    struct nat_tuple young = tuple_of("10.0.0.1", 80, "10.9.9.9", 1, PROTOCOL_TCP);
    struct nat_tuple old = tuple_of("10.0.0.1", 80, "10.9.9.9", 2, PROTOCOL_TCP);
    struct nat_tuple direct = tuple_of("10.0.0.1", 80, "10.9.9.9", 3, PROTOCOL_TCP);
    struct nat_tuple closed = tuple_of("10.0.0.1", 80, "10.9.9.9", 4, PROTOCOL_TCP);
    put_half(datapath, &young, (struct nat_flow){ .half = NAT_HALF_REPLY, .seen_s = NOW_S - 59 });
    put_half(datapath, &old, (struct nat_flow){ .half = NAT_HALF_REPLY, .seen_s = NOW_S - 61 });
    put_half(datapath, &direct,
             (struct nat_flow){ .half = NAT_HALF_DIRECT,
                                .seen_s = NOW_S - 4000,
                                .flags = NAT_FLOW_ANSWERED | NAT_FLOW_CONFIRMED });
    put_half(datapath, &closed,
             (struct nat_flow){ .half = NAT_HALF_DIRECT,
                                .seen_s = NOW_S - 11,
                                .flags = NAT_FLOW_ANSWERED | NAT_FLOW_FIN });
    int64_t next_ms;
    assert_int_equal(sweep(datapath, NOW_S * SECOND_MS, &next_ms), 2);
    assert_true(has(datapath, &young) && has(datapath, &direct));
    assert_false(has(datapath, &old) || has(datapath, &closed));
}

enum { RACES = 300, RACE_FLOWS = 40 };

/* What the program makes of a flow that is over and has this port. */
typedef void use_fn(const struct nat_datapath *datapath, uint16_t port);

static void begin_anew(const struct nat_datapath *datapath, uint16_t port)
{
    put_flow(datapath, &(struct flow){ port, PROTOCOL_TCP, 0, 0 }, NOW_S);
}

static void send_more(const struct nat_datapath *datapath, uint16_t port)
{
    struct nat_tuple forward = forward_key(&(struct flow){ port, PROTOCOL_UDP });
    struct nat_flow half;
    if (nat_table_get(datapath, NAT_MAP_FLOWS, &forward, &half) < 0)
        return;
    half.seen_s = NOW_S;
    half.packets++;
    (void)nat_table_put(datapath, NAT_MAP_FLOWS, &forward, &half, BPF_EXIST);
}

/* What another thread does meanwhile. A process would copy ASan's shadow memory each time. */
struct user {
    const struct nat_datapath *datapath;
    use_fn *use;
    uint16_t ports[RACE_FLOWS];
    atomic_bool is_done;
};

static void *use_all(void *context)
{
    struct user *user = context;
    for (int i = 0; i < RACE_FLOWS; i++)
        user->use(user->datapath, user->ports[i]);
    user->is_done = true;
    return NULL;
}

/* Flows that are over are swept while another thread uses them in the order of `ports`. */
static void sweep_and_use(struct nat_datapath *datapath, const struct flow *over, int race,
                          use_fn *use)
{
    struct user user = { datapath, use };
    for (int i = 0; i < RACE_FLOWS; i++) {
        struct flow flow = *over;
        flow.client_port = user.ports[i] = (uint16_t)(1000 + (i * 7 + race) % RACE_FLOWS);
        put_flow(datapath, &flow, NOW_S);
    }
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, use_all, &user), 0);
    int64_t next_ms;
    do
        (void)sweep(datapath, NOW_S * SECOND_MS, &next_ms);
    while (!user.is_done);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The program takes the tuples of flows that are over for new ones while they are swept. */
static void flows_made_anew_meanwhile_stay(void **state)
{
    (void)state;
    static const struct flow over = { 0, PROTOCOL_TCP, 300, 300, NAT_FLOW_RST, NAT_FLOW_RST };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    for (int race = 0; race < RACES; race++) {
        sweep_and_use(datapath, &over, race, begin_anew);
        for (int i = 0; i < RACE_FLOWS; i++) {
            const struct flow flow = { (uint16_t)(1000 + i), PROTOCOL_TCP };
            struct nat_tuple forward = forward_key(&flow), reply = reply_key(&flow);
            assert_true(has(datapath, &forward) && has(datapath, &reply));
        }
    }
}

static void a_flow_goes_or_stays_as_a_whole(void **state)
{
    (void)state;
    static const struct flow over = { 0, PROTOCOL_UDP, 300, 300 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    for (int race = 0; race < RACES; race++) {
        sweep_and_use(datapath, &over, race, send_more);
        for (int i = 0; i < RACE_FLOWS; i++) {
            const struct flow flow = { (uint16_t)(1000 + i), PROTOCOL_UDP };
            struct nat_tuple forward = forward_key(&flow), reply = reply_key(&flow);
            assert_int_equal(has(datapath, &forward), has(datapath, &reply));
        }
    }
}

/* Only where it is: in "flows" nothing else would ever take it away. */
static void what_is_unmade_goes(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    const struct flow flow = { 1, PROTOCOL_TCP };
    struct nat_tuple forward = forward_key(&flow), reply = reply_key(&flow);
    struct nat_flow half;
    int64_t next_ms;
    put_flow(datapath, &flow, NOW_S);
    assert_int_equal(nat_table_get(datapath, NAT_MAP_FLOWS, &reply, &half), 0);
    half.seen_s = ~half.seen_s;
    half.check = ~half.check;
    assert_int_equal(nat_table_put(datapath, NAT_MAP_FLOWS, &reply, &half, BPF_EXIST), 0);
    (void)sweep(datapath, NOW_S * SECOND_MS, &next_ms);
    assert_false(has(datapath, &reply));
    assert_true(has(datapath, &forward));
}

static void slices(void **state)
{
    (void)state;
    enum { FLOWS = 4000 };
    static const struct nat_datapath_options options = { NULL, 8192, 64, 64 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&options, false);
    int64_t next_ms;
    assert_int_equal(nat_datapath_sweep(datapath, 0, &next_ms), 0);
    assert_int_equal(nat_datapath_sweep(datapath, 0, &next_ms), 0);
    assert_true(next_ms >= 10000); /* nothing to do */
    for (uint16_t i = 0; i < FLOWS; i++) {
        struct flow flow = { (uint16_t)(i + 1), PROTOCOL_UDP, i % 2 * 1000, i % 2 * 1000 };
        put_flow(datapath, &flow, NOW_S);
    }
    int slices = 0, ended = 0;
    do {
        int r = nat_datapath_sweep(datapath, NOW_S * SECOND_MS, &next_ms);
        assert_in_range(r, 0, 4096);
        ended += r;
        slices++;
        assert_true(!datapath->sweep.under_way || next_ms <= 100);
    } while (datapath->sweep.under_way);
    assert_int_equal(ended, FLOWS / 2);
    assert_in_range(slices, 2, 40);
    assert_in_range(next_ms, 1000, 10000);
}

struct seen {
    struct nat_flow_view views[8];
    size_t count, stop_at;
};

static int see(const struct nat_flow_view *view, void *context)
{
    struct seen *seen = context;
    assert_in_range(seen->count, 0, 7);
    seen->views[seen->count++] = *view;
    return seen->count == seen->stop_at;
}

static void views_of_flows(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    uint32_t now_s = (uint32_t)(clock_mono_ms() / SECOND_MS);
    struct flow flow = { 1000, PROTOCOL_TCP, 50, 20, 0, NAT_FLOW_FIN, false, 5, 78, false, true };
    put_flow(datapath, &flow, now_s);
    struct nat_tuple direct = tuple_of("10.0.0.2", 8080, "10.9.9.9", 1001, PROTOCOL_TCP);
    put_half(datapath, &direct, (struct nat_flow){ .half = NAT_HALF_DIRECT, .seen_s = now_s + 1 });
    struct nat_tuple torn = tuple_of("10.0.0.2", 8080, "10.9.9.9", 1002, PROTOCOL_TCP);
    struct nat_flow half = { .half = NAT_HALF_FORWARD, .check = nat_tuple_check(&torn) + 1 };
    assert_int_equal(nat_table_put(datapath, NAT_MAP_FLOWS, &torn, &half, BPF_ANY), 0);

    struct seen seen = { 0 };
    assert_int_equal(nat_datapath_each_flow(datapath, 100, see, &seen), 0);
    assert_int_equal(seen.count, 2);
    const struct nat_flow_view *view = &seen.views[seen.views[0].direct ? 1 : 0];
    struct ip client = ip("10.9.9.9"), address = ip("10.96.0.1"), endpoint = ip("10.0.0.1"),
              source = ip("192.0.2.100");
    assert_true(ip_equal(&view->client, &client) && ip_equal(&view->address, &address));
    assert_true(ip_equal(&view->endpoint, &endpoint) && ip_equal(&view->source, &source));
    assert_int_equal(view->client_port, 1000);
    assert_int_equal(view->address_port, 80);
    assert_int_equal(view->endpoint_port, 8080);
    assert_int_equal(view->source_port, 1000);
    assert_int_equal(view->state, NAT_STATE_HALF_CLOSED);
    assert_true(view->masqueraded && view->stale);
    assert_false(view->direct || view->hairpin);
    assert_in_range(view->idle_s, 20, 22);
    assert_int_equal(view->packets[0], 3);
    assert_int_equal(view->bytes[1], 2000);

    view = &seen.views[seen.views[0].direct ? 0 : 1];
    address = ip("10.0.0.2");
    assert_int_equal(view->state, NAT_STATE_HALF_OPEN);
    assert_true(view->direct && !view->stale);
    assert_true(ip_equal(&view->client, &client) && ip_equal(&view->address, &address));
    assert_int_equal(view->client_port, 1001);
    assert_int_equal(view->idle_s, 0);

    seen = (struct seen){ .stop_at = 1 };
    assert_int_equal(nat_datapath_each_flow(datapath, 100, see, &seen), 0);
    assert_int_equal(seen.count, 1);
    seen = (struct seen){ 0 };
    assert_int_equal(nat_datapath_each_flow(datapath, 1, see, &seen), 0);
    assert_int_equal(seen.count, 1);
}

static void connections_that_hold_a_drain(void **state)
{
    (void)state;
    static const struct nat_datapath_options options = { NULL, 8192, 64, 64 };
    static const struct flow flows[] = {
        { 1, PROTOCOL_TCP },
        { 2, PROTOCOL_TCP },
        { 3, PROTOCOL_TCP, .flags = NAT_FLOW_FIN },
        { 4, PROTOCOL_TCP, .flags = NAT_FLOW_RST },
        { 5, PROTOCOL_UDP },
    };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&options, false);
    assert_int_equal(nat_datapath_established(datapath, false), 0);
    for (size_t i = 0; i < ARRAY_SIZE(flows); i++)
        put_flow(datapath, &flows[i], NOW_S);
    struct flow unanswered = { 6, PROTOCOL_TCP, .half_open = true };
    put_flow(datapath, &unanswered, NOW_S);
    assert_int_equal(nat_datapath_established(datapath, false), 2);
    int64_t next_ms;
    (void)sweep(datapath, NOW_S * SECOND_MS, &next_ms);
    assert_int_equal(nat_datapath_established(datapath, false), 2);

    /* Of many flows the sweep's count is told. */
    for (uint16_t i = 0; i < 3000; i++) {
        struct flow flow = { (uint16_t)(100 + i), PROTOCOL_TCP };
        put_flow(datapath, &flow, NOW_S);
    }
    assert_int_equal(nat_datapath_established(datapath, false), 3002);
    (void)sweep(datapath, NOW_S * SECOND_MS, &next_ms);
    assert_int_equal(nat_datapath_established(datapath, false), 3002);
    struct flow one = { 50, PROTOCOL_TCP };
    put_flow(datapath, &one, NOW_S);
    assert_int_equal(nat_datapath_established(datapath, false), 3002);
    (void)sweep(datapath, NOW_S * SECOND_MS, &next_ms);
    assert_int_equal(nat_datapath_established(datapath, false), 3003);
}

/* Flows that nobody has answered yet keep their addresses as well; node ports keep no address. */
static void flows_not_yet_answered(void **state)
{
    (void)state;
    AUTOROW struct nat_row *web = row_simple("web", "10.96.0.1", ENDPOINTS("10.0.0.1"));
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    struct ip local = ip("10.96.0.1");
    int64_t next_ms;
    expect_write(datapath, web, 1);
    assert_int_equal(nat_datapath_remove(datapath, "d", "web"), 1);
    assert_int_equal(nat_datapath_set_local(datapath, &local, 1), 0);
    struct flow flow = { 1000, PROTOCOL_TCP, .half_open = true };
    put_flow(datapath, &flow, NOW_S);
    (void)sweep(datapath, NOW_S * SECOND_MS, &next_ms);
    assert_true(filtered(datapath, "10.96.0.1", 80) && filtered(datapath, "10.0.0.1", 8080));
    assert_false(filtered(datapath, "10.96.0.1", 0));
}

static void flows_of_egress_have_their_own_time(void **state)
{
    (void)state;
    static const struct {
        uint8_t protocol;
        uint32_t idle_s;
        bool goes;
    } cases[] = {
        { PROTOCOL_UDP, 99, false }, { PROTOCOL_UDP, 101, true }, { NAT_ICMP, 19, false },
        { NAT_ICMP, 21, true },      { NAT_ICMPV6, 21, true },
    };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    datapath->control->egress_timeouts_s[NAT_STATE_UNANSWERED] = 100;
    datapath->control->egress_icmp_s = 20;
    struct nat_tuple keys[ARRAY_SIZE(cases)];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        keys[i] = tuple_of("10.0.0.1", 80, "10.9.9.9", (uint16_t)(2000 + i), cases[i].protocol);
        put_half(datapath, &keys[i],
                 (struct nat_flow){ .half = NAT_HALF_DIRECT,
                                    .delivery = NAT_DELIVER_EGRESS,
                                    .seen_s = NOW_S - cases[i].idle_s });
    }
    int64_t next_ms;
    assert_int_equal(sweep(datapath, NOW_S * SECOND_MS, &next_ms), 3);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(has(datapath, &keys[i]), !cases[i].goes);
    assert_int_equal(datapath->sweep.last.egress, 2);
}

/* A port is taken by what lives and is worth more than a new flow, wherever it stands in the range,
 * and is looked for in parts. */
static void ports_are_looked_for_as_the_programs_do(void **state)
{
    (void)state;
    enum { FIRST = 20000, PORTS = 2500, OPEN = NAT_FLOW_CONFIRMED, FIN = NAT_FLOW_FIN };
    static const struct flow freed[] = {
        { FIRST, PROTOCOL_TCP, 7441, 7441, OPEN, OPEN },
        { FIRST + 2499, PROTOCOL_TCP, 0, 0, OPEN | FIN, OPEN },
        { FIRST + 2048, PROTOCOL_TCP, .half_open = true },
    };
    const struct packet_seen refused = { .source = ip("192.0.2.100"),
                                         .destination = ip("10.0.0.1"),
                                         .destination_port = 8080,
                                         .protocol = PROTOCOL_TCP };
    static const struct nat_datapath_options many = { .max_flows = PORTS,
                                                      .max_services = 64,
                                                      .max_endpoints = 64 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&many, false);
    datapath->control->snat_first = FIRST;
    datapath->control->snat_count = PORTS;
    const uint32_t now_s = (uint32_t)(clock_mono_ms() / SECOND_MS);
    uint32_t at = 0;
    assert_int_equal(nat_datapath_find_port(datapath, &refused, &at), NAT_ROOM_SOME);
    for (uint16_t port = FIRST; port < FIRST + PORTS; port++)
        put_flow(datapath, &(struct flow){ port, PROTOCOL_TCP, 60, 60, OPEN, OPEN }, now_s);
    for (int calls = 0; calls < 1; calls++)
        assert_int_equal(nat_datapath_find_port(datapath, &refused, &at), NAT_ROOM_NOT_KNOWN);
    assert_int_equal(nat_datapath_find_port(datapath, &refused, &at), NAT_ROOM_NONE);
    for (size_t i = 0; i < ARRAY_SIZE(freed); i++) {
        const struct flow again = { freed[i].client_port, PROTOCOL_TCP, 60, 60, OPEN, OPEN };
        put_flow(datapath, &freed[i], now_s);
        enum nat_room room = NAT_ROOM_NOT_KNOWN;
        for (at = 0; room == NAT_ROOM_NOT_KNOWN;)
            room = nat_datapath_find_port(datapath, &refused, &at);
        assert_int_equal(room, NAT_ROOM_SOME);
        put_flow(datapath, &again, now_s);
    }
}

static void a_table_is_full_of_what_stays(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    const uint32_t slots = datapath->maps[NAT_MAP_RING].entries;
    uint64_t *states = datapath->sweep.last.states;
    states[NAT_STATE_CLOSED] = slots;
    assert_true(nat_datapath_flows_fit(datapath));
    states[NAT_STATE_ESTABLISHED] = slots - 1;
    states[NAT_STATE_STREAM] = 1;
    assert_false(nat_datapath_flows_fit(datapath));
    states[NAT_STATE_ESTABLISHED] = slots - slots / 16;
    assert_true(nat_datapath_flows_fit(datapath));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_over_goes),
        cmocka_unit_test(flows_of_egress_have_their_own_time),
        cmocka_unit_test(reply_halves_alone_and_direct_ones),
        cmocka_unit_test(flows_made_anew_meanwhile_stay),
        cmocka_unit_test(a_flow_goes_or_stays_as_a_whole),
        cmocka_unit_test(what_is_unmade_goes),
        cmocka_unit_test(slices),
        cmocka_unit_test(views_of_flows),
        cmocka_unit_test(connections_that_hold_a_drain),
        cmocka_unit_test(flows_not_yet_answered),
        cmocka_unit_test(ports_are_looked_for_as_the_programs_do),
        cmocka_unit_test(a_table_is_full_of_what_stays),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
