// SPDX-License-Identifier: Apache-2.0
/* A packet's story on a node of its own: where it comes in, who sees it, what becomes of it. */
#include <bpf/bpf.h>
#include <errno.h>

#include "apply/nat/proof/packet.h"
#include "engine/nat/trace/trace.h"
#include "nat_lab.h"

struct asked {
    struct nl_socket *socket;
    struct trace trace;
    struct text told; /* the steps, a line each */
};

static int setup(void **state)
{
    return nat_lab_open(state);
}

static struct tracer tracer_of(struct nat_lab *lab, struct nl_socket *socket)
{
    return (struct tracer){
        .datapath = lab->datapath,
        .socket = socket,
        .attachments = lab->attachments,
        .attachment_count = ARRAY_SIZE(lab->attachments),
        .svc0_ifindex = if_nametoindex("svc0"),
        .rows = &lab->table,
    };
}

static void asked_done(struct asked *asked)
{
    nl_close(asked->socket);
    trace_done(&asked->trace);
    text_done(&asked->told);
}

/* `in`: "" for none. Source and destination as on the command line. */
static int ask_for(struct nat_lab *lab, const char *in, const char *source, const char *destination,
                   enum protocol protocol, struct asked *asked)
{
    struct trace_question question = { .in = *in ? in : NULL, .protocol = protocol };

    assert_int_equal(ip_port_parse(source, &question.source, &question.source_port), 0);
    assert_int_equal(ip_port_parse(destination, &question.destination, &question.destination_port),
                     0);
    assert_int_equal(nl_open(&asked->socket), 0);
    const struct tracer tracer = tracer_of(lab, asked->socket);
    int r = trace_packet(&tracer, &question, &asked->trace);
    vec_each(const struct trace_step, step, &asked->trace.steps)
        text_addf(&asked->told, "%s: %s\n", step->title, step->text);
    return r;
}

/* What is expected of a trace, in one line: "in hook verdict reason service endpoints masquerade".
 */
static void expect(struct nat_lab *lab, const char *in, const char *source, const char *destination,
                   enum protocol protocol, const char *expected)
{
    static const char *const masquerades[] = { "null", "false", "true", "hairpin" };
    CLEANUP(asked_done) struct asked asked = { 0 };
    AUTOTEXT struct text got = { 0 };

    assert_int_equal(ask_for(lab, in, source, destination, protocol, &asked), 0);
    const struct trace *trace = &asked.trace;
    text_addf(&got, "%s %s %s %s %s ", trace->in, trace->hook ? trace->hook : "null",
              nat_act_name(trace->act), nat_cause_name(trace->cause),
              *trace->service ? trace->service : "null");
    bool is_member = trace->endpoints.count == 0;
    for (size_t i = 0; i < trace->endpoints.count; i++) {
        char address[IP_STRLEN];
        text_addf(&got, "%s%s", i ? "," : "", ip_str(&trace->endpoints.items[i].ip, address));
        assert_int_equal(trace->endpoints.items[i].port, 8080);
        is_member |= nat_endpoint_cmp(&trace->endpoints.items[i], &trace->picked) == 0;
    }
    text_addf(&got, "%s %s", trace->endpoints.count ? "" : "-", masquerades[trace->masquerade]);
    assert_true(is_member);
    assert_string_equal(text_str(&got), expected);
    assert_true(asked.told.length > 0);
}

static void test_where_it_comes_in(void **state)
{
    struct nat_lab *lab = *state;

    expect(lab, "", "198.51.100.9", "10.96.0.10:80", PROTOCOL_TCP,
           "u0 uplink-in forward none default/web:http 10.244.0.5,10.244.1.5,10.244.1.6 true");
    expect(lab, "", "10.244.0.5", "10.96.0.10:80", PROTOCOL_TCP,
           "pod0 pod-in forward none default/web:http 10.244.0.5,10.244.1.5,10.244.1.6 hairpin");
    expect(lab, "pod0", "10.244.0.7", "10.96.0.10:80", PROTOCOL_TCP,
           "pod0 pod-in forward none default/web:http 10.244.0.5,10.244.1.5,10.244.1.6 false");
    expect(lab, "", "10.244.1.9", "10.96.0.10:80", PROTOCOL_TCP, /* a pod elsewhere */
           "u0 uplink-in forward none default/web:http 10.244.0.5,10.244.1.5,10.244.1.6 false");
    expect(lab, "", "192.0.2.1", "10.96.0.10:80", PROTOCOL_TCP,
           "host svc-out forward none default/web:http 10.244.0.5,10.244.1.5,10.244.1.6 true");
    expect(lab, "", "2001:db8::1", "[fd96::10]:80", PROTOCOL_TCP,
           "host svc-out forward none default/web:http fd44::5,fd44:0:0:1::5,fd44:0:0:1::6 true");
    expect(lab, "", "fd44::5", "[fd00::1]:80", PROTOCOL_TCP,
           "pod0 pod-in forward none default/web:http fd44::5,fd44:0:0:1::5,fd44:0:0:1::6 hairpin");
    expect(lab, "u0", "192.0.2.1", "10.0.0.1:80", PROTOCOL_TCP,
           "u0 uplink-in forward none default/web:http 10.244.0.5 false");
}

static void test_the_node_itself(void **state)
{
    struct nat_lab *lab = *state;

    expect(lab, "", "192.0.2.1", "192.0.2.1:30080", PROTOCOL_TCP,
           "host lo-out forward none default/web:http 10.244.0.5,10.244.1.5,10.244.1.6 true");
    expect(lab, "", "2001:db8::1", "[2001:db8::1]:30080", PROTOCOL_TCP,
           "host lo-out forward none default/web:http fd44::5,fd44:0:0:1::5,fd44:0:0:1::6 true");
    expect(lab, "", "192.0.2.1", "192.0.2.1:22", PROTOCOL_TCP, "host lo-out pass none null - null");
    expect(lab, "", "127.0.0.1", "127.0.0.1:80", PROTOCOL_TCP, "host lo-out pass none null - null");
    expect(lab, "", "192.0.2.1", "198.51.100.9:80", PROTOCOL_TCP,
           "host null pass none null - null");
    /* The source may be the served address itself. */
    expect(lab, "host", "10.0.0.1", "10.0.0.1:80", PROTOCOL_TCP,
           "host svc-out forward none default/web:http 10.244.0.5,10.244.1.5,10.244.1.6 true");
    expect(lab, "host", "10.0.0.4", "10.0.0.4:80", PROTOCOL_TCP,
           "host svc-out forward none default/fenced:http 10.244.0.5,10.244.1.5 true");
    expect(lab, "host", "192.0.2.1", "10.0.0.4:80", PROTOCOL_TCP,
           "host svc-out drop source-range default/fenced:http - null");
}

/* Served here for others, but the node's own way to it is the neighbour's: a limit, told as such.
 */
static void test_an_address_that_is_not_led(void **state)
{
    struct nat_lab *lab = *state;
    static const struct {
        const char *in, *destination, *told;
    } cases[] = {
        { "host", "198.51.100.77:80",
          "limit: Service default/fenced has this address, port and "
          "protocol, but the node's own packets go to the host that has "
          "the address" },
        { "u0p", "198.51.100.77:80",
          "limit: Service default/fenced has this address, port and "
          "protocol, but what comes in by u0p goes to the host that "
          "has the address" },
        { "host", "198.51.100.77:81", "verdict: pass: it concerns no Service" },
        { "host", "198.51.100.78:80", "verdict: pass: it concerns no Service" },
    };

    struct nat_family *family = &lab->rows[ROW_FENCED]->families[0];
    lab_frontend(family, "198.51.100.77", 80, NAT_FRONTEND_EXTERNAL_IP, false);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(asked_done) struct asked asked = { 0 };
        const char *source = i == 1 ? "203.0.113.7" : "192.0.2.1";
        assert_int_equal(
            ask_for(lab, cases[i].in, source, cases[i].destination, PROTOCOL_TCP, &asked), 0);
        assert_null(asked.trace.hook);
        assert_int_equal(asked.trace.act, NAT_ACT_PASS);
        assert_non_null(strstr(text_str(&asked.told), cases[i].told));
        assert_int_equal(strstr(text_str(&asked.told), "limit: ") != NULL, i < 2);
        assert_int_equal(strstr(text_str(&asked.told), "concerns no Service") != NULL, i >= 2);
    }
    family->frontends.count--;
}

static void test_refusals(void **state)
{
    struct nat_lab *lab = *state;

    expect(lab, "", "198.51.100.9", "10.96.0.30:81", PROTOCOL_TCP,
           "u0 uplink-in reject no-endpoints default/away:none - null");
    expect(lab, "", "198.51.100.9", "10.0.0.3:80", PROTOCOL_TCP,
           "u0 uplink-in drop no-local-endpoints default/away:http - null");
    expect(lab, "", "198.51.100.9", "10.0.0.4:80", PROTOCOL_TCP,
           "u0 uplink-in drop source-range default/fenced:http - null");
    expect(lab, "", "203.0.113.9", "10.0.0.4:80", PROTOCOL_TCP,
           "u0 uplink-in forward none default/fenced:http 10.244.0.5,10.244.1.5 true");
    expect(lab, "", "10.244.0.5", "10.96.0.10:81", PROTOCOL_TCP,
           "pod0 pod-in reject undefined-port null - null");
    expect(lab, "", "10.244.0.5", "10.96.0.10:80", PROTOCOL_UDP,
           "pod0 pod-in reject undefined-port null - null");
    expect(lab, "", "10.244.0.5", "10.96.7.7:80", PROTOCOL_TCP,
           "pod0 pod-in drop unallocated null - null");
    expect(lab, "", "192.0.2.1", "10.96.7.7:80", PROTOCOL_TCP,
           "host svc-out drop unallocated null - null");
    expect(lab, "", "10.244.0.5", "10.96.0.99:80", PROTOCOL_TCP,
           "pod0 pod-in pass other-proxy null - null");
    expect(lab, "", "10.244.0.5", "198.51.100.9:80", PROTOCOL_TCP,
           "pod0 pod-in pass none null - null");
}

/* The program forwards it; the kernel takes in nothing for 127.0.0.1, or from its own addresses,
 * unless it is told to. */
static void test_an_answer_that_is_lost(void **state)
{
    struct nat_lab *lab = *state;
    static const char lost[] = "answer: comes in by lo, where the kernel drops what is from "
                               "192.0.2.1 for 127.0.0.1: it is lost\n";

    for (int told = 1; told >= 0; told--) {
        CLEANUP(asked_done) struct asked asked = { 0 };
        assert_int_equal(ask_for(lab, "", "127.0.0.1", "192.0.2.1:30080", PROTOCOL_TCP, &asked), 0);
        assert_int_equal(asked.trace.act, NAT_ACT_FORWARD);
        assert_int_equal(strstr(text_str(&asked.told), lost) != NULL, told);
        run("sysctl -qw net.ipv4.conf.lo.route_localnet=1 net.ipv4.conf.lo.accept_local=1");
    }
}

/* A free port of an address that is guarded: svc0 refuses it, whoever it comes from. */
static void test_a_guarded_address(void **state)
{
    struct nat_lab *lab = *state;
    CLEANUP(asked_done) struct asked asked = { 0 };

    expect(lab, "", "192.0.2.1", "10.0.0.1:81", PROTOCOL_TCP,
           "host svc-out reject unmapped-port null - null");
    assert_int_equal(ask_for(lab, "", "192.0.2.7", "10.0.0.1:81", PROTOCOL_TCP, &asked), 0);
    assert_string_equal(asked.trace.hook, "uplink-in");
    assert_int_equal(asked.trace.act, NAT_ACT_PASS);
    assert_non_null(strstr(text_str(&asked.told), "then: the kernel refuses it: unreachable\n"));
}

static void test_a_port_without_a_name(void **state)
{
    struct nat_lab *lab = *state;

    /* Its only endpoint is the sender. */
    expect(lab, "", "10.244.0.5", "10.96.0.20:53", PROTOCOL_UDP,
           "pod0 pod-in forward none default/one:53 10.244.0.5 hairpin");
    expect(lab, "", "10.244.0.7", "10.96.0.20:53", PROTOCOL_UDP,
           "u0 uplink-in forward none default/one:53 10.244.0.5 false");
    /* The Service is not planned any more, but still in the maps: its number is left. */
    sorted_remove(&lab->table, &lab->rows[ROW_WEB]);
    expect(lab, "pod0", "10.244.0.7", "192.0.2.1:30080", PROTOCOL_TCP,
           "pod0 pod-in forward none default/web:80 10.244.0.5,10.244.1.5,10.244.1.6 false");
}

/* No program stands on it: the kernel's route decides. */
static void test_an_interface_without_programs(void **state)
{
    struct nat_lab *lab = *state;

    run("ip link add x0 type veth peer name x0p && ip link set x0 up && ip link set x0p up && "
        "ip route add 198.51.100.0/24 dev x0 && ip route add 10.96.0.10 dev svc0");
    expect(lab, "x0", "198.51.100.9", "10.96.0.10:80", PROTOCOL_TCP,
           "x0 svc-out forward none default/web:http 10.244.0.5,10.244.1.5,10.244.1.6 true");
    expect(lab, "x0", "198.51.100.9", "192.0.2.1:30080", PROTOCOL_TCP,
           "x0 null pass none null - null");
    expect(lab, "x0", "198.51.100.9", "10.0.0.1:80", PROTOCOL_TCP, "x0 null pass none null - null");
}

static void test_what_cannot_be_asked(void **state)
{
    struct nat_lab *lab = *state;
    const struct {
        const char *in;
        int error;
    } cases[] = { { "eth9", -ENODEV }, { "", -EADDRNOTAVAIL } };

    lab->attachments[0].hook = NAT_HOOK_UPLINK_OUT; /* there is no uplink */
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(asked_done) struct asked asked = { 0 };
        assert_int_equal(
            ask_for(lab, cases[i].in, "198.51.100.9", "10.0.0.1:80", PROTOCOL_TCP, &asked),
            cases[i].error);
    }

    CLEANUP(asked_done) struct asked asked = { 0 };
    struct nat_datapath *datapath = TAKE_PTR(lab->datapath);
    assert_int_equal(ask_for(lab, "host", "192.0.2.1", "10.0.0.1:80", PROTOCOL_TCP, &asked),
                     -EOPNOTSUPP);
    lab->datapath = datapath;
}

static void test_the_story(void **state)
{
    struct nat_lab *lab = *state;
    CLEANUP(asked_done) struct asked asked = { 0 };

    assert_int_equal(ask_for(lab, "", "198.51.100.9", "10.0.0.1:80", PROTOCOL_TCP, &asked), 0);
    assert_string_equal(
        text_str(&asked.told),
        "in: u0: the first uplink, since 198.51.100.9 is neither this node nor a pod on it\n"
        "program: uplink-in: ingress of u0\n"
        "service: default/web:http has this address, port and protocol\n"
        "verdict: forward\n"
        "endpoints: one of the local set of 1: 10.244.0.5:8080\n"
        "picked: 10.244.0.5:8080, this time; the kernel has a way there, by pod0\n"
        "source: 198.51.100.9, as it came\n");
}

/* Shows a packet to the program itself, which makes a flow of it. The kernel sends nothing. */
static void show(struct nat_lab *lab, const char *source, const char *destination,
                 enum protocol protocol)
{
    struct nat_packet packet = { .protocol = protocol };
    struct __sk_buff context = { .ifindex = lab->origins.of[NAT_ORIGIN_OUTSIDE].ifindex };
    uint8_t data[NAT_PACKET_MAX], out[256];

    context.ingress_ifindex = context.ifindex;
    assert_int_equal(ip_port_parse(source, &packet.source, &packet.source_port), 0);
    assert_int_equal(ip_port_parse(destination, &packet.destination, &packet.destination_port), 0);
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = data, .data_out = out,
                .data_size_out = sizeof(out), .ctx_in = &context, .ctx_size_in = sizeof(context));
    options.data_size_in = (uint32_t)nat_packet_build(&packet, data);
    const int program = nat_datapath_program(lab->datapath, NAT_HOOK_UPLINK_IN, false);
    assert_int_equal(bpf_prog_test_run_opts(program, &options), 0);
}

static void no_endpoints(struct nat_family *family)
{
    struct nat_port *port = &family->ports.items[0];
    vec_clear(&port->sets[NAT_SET_CLUSTER]);
    vec_clear(&port->sets[NAT_SET_LOCAL]);
    vec_clear(&port->serving);
    vec_each(struct nat_frontend, frontend, &family->frontends) {
        for (enum nat_origin i = 0; i < NAT_ORIGINS; i++)
            frontend->from[i] =
                (struct nat_outcome){ NAT_ACT_REJECT, NAT_CAUSE_NO_ENDPOINTS, 0, false };
    }
}

/* Asks, and expects the flow's new destination, or none at all. */
static void expect_flow(struct nat_lab *lab, const char *source, const char *destination,
                        enum protocol protocol, enum nat_act act, const char *to, bool masqueraded)
{
    CLEANUP(asked_done) struct asked asked = { 0 };
    assert_int_equal(ask_for(lab, "u0", source, destination, protocol, &asked), 0);
    const struct trace_flow *flow = &asked.trace.flow;
    char address[IP_STRLEN];

    assert_int_equal(asked.trace.act, act);
    assert_int_equal(flow->found, to != NULL);
    assert_int_equal(to != NULL, strstr(text_str(&asked.told), "flow: ") != NULL);
    if (!to)
        return;
    assert_string_equal(ip_str(&flow->destination.ip, address), to);
    assert_int_equal(flow->masqueraded, masqueraded);
    assert_false(flow->established);
    if (act != NAT_ACT_PASS)
        assert_string_equal(ip_str(&flow->source.ip, address),
                            masqueraded ? "192.0.2.1" : "198.51.100.9");
    else
        assert_string_equal(ip_str(&flow->source.ip, address), "10.0.0.1");
}

static void test_a_flow_that_exists(void **state)
{
    static const char udp[] = "10.96.0.20:53", tcp[] = "10.0.0.1:80";
    struct nat_lab *lab = *state;
    AUTOFAULTS struct faults faults = { 0 };

    expect_flow(lab, "198.51.100.9:5000", tcp, PROTOCOL_TCP, NAT_ACT_FORWARD, NULL, false);
    show(lab, "198.51.100.9:5000", tcp, PROTOCOL_TCP);
    show(lab, "198.51.100.9:5000", udp, PROTOCOL_UDP);
    expect_flow(lab, "198.51.100.9:5000", tcp, PROTOCOL_TCP, NAT_ACT_FORWARD, "10.244.0.5", false);
    expect_flow(lab, "198.51.100.9:5000", udp, PROTOCOL_UDP, NAT_ACT_FORWARD, "10.244.0.5", true);
    expect_flow(lab, "198.51.100.9:5001", udp, PROTOCOL_UDP, NAT_ACT_FORWARD, NULL, false);
    expect_flow(lab, "198.51.100.9", udp, PROTOCOL_UDP, NAT_ACT_FORWARD, NULL, false);
    /* What would answer is known, too: it is translated where it leaves. */
    expect_flow(lab, "10.244.0.5:8080", "198.51.100.9:5000", PROTOCOL_TCP, NAT_ACT_PASS,
                "198.51.100.9", false);

    /* The endpoint still serves, but gets no new flows: those that exist go on. */
    struct nat_family *family = &lab->rows[ROW_ONE]->families[0];
    no_endpoints(family);
    lab_endpoint(&family->ports.items[0].serving, "10.244.0.5");
    assert_int_equal(nat_datapath_write(lab->datapath, lab->rows[ROW_ONE], &faults), 1);
    expect_flow(lab, "198.51.100.9:5000", udp, PROTOCOL_UDP, NAT_ACT_REJECT, "10.244.0.5", true);
    /* It does no longer: UDP flows to it are dead. */
    no_endpoints(family);
    assert_int_equal(nat_datapath_write(lab->datapath, lab->rows[ROW_ONE], &faults), 1);
    expect_flow(lab, "198.51.100.9:5000", udp, PROTOCOL_UDP, NAT_ACT_REJECT, NULL, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, nat_lab_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_where_it_comes_in),          TEST(test_the_node_itself),
        TEST(test_an_address_that_is_not_led), TEST(test_refusals),
        TEST(test_an_answer_that_is_lost),     TEST(test_a_guarded_address),
        TEST(test_a_port_without_a_name),      TEST(test_an_interface_without_programs),
        TEST(test_what_cannot_be_asked),       TEST(test_the_story),
        TEST(test_a_flow_that_exists),
    };
    if (nat_lab_missing())
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
