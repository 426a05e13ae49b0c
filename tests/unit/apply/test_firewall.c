// SPDX-License-Identifier: Apache-2.0
/* Our table of nftables against the kernel: what nft shows of it, elements that come and go, a
 * stranger's hand, tables of others. */
#include "apply/firewall/firewall.h"

#include <errno.h>

#include "base/net/protocol.h"
#include "base/text.h"
#include "netns.h"

static const struct firewall_rules marking = { 0x1000 };
static const struct firewall_rules accepting = { 0 };

struct bench {
    struct firewall *firewall;
};

static int open_bench(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    if (!bench || unshare(CLONE_NEWNET) < 0 || firewall_open(&bench->firewall) < 0)
        return -1;
    *state = bench;
    return 0;
}

static int close_bench(void **state)
{
    struct bench *bench = *state;
    firewall_close(bench->firewall);
    free(bench);
    return 0;
}

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static void push(struct firewall_sets *sets, const char *address, uint8_t protocol, uint16_t port)
{
    const struct opening opening = { ip_of(address), protocol, port };
    assert_int_equal(vec_push(&sets->openings, opening), 0);
}

static void close_rest(struct firewall_sets *sets, const char *address)
{
    assert_int_equal(vec_push(&sets->closed, ip_of(address)), 0);
}

/* What a program prints, without its line breaks and indents. */
static char *said(const char *command)
{
    AUTOTEXT struct text out = { 0 };
    char line[512];
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    while (fgets(line, sizeof(line), pipe)) {
        const char *begin = line + strspn(line, " \t");
        text_addf(&out, "%.*s ", (int)strcspn(begin, "\n"), begin);
    }
    assert_int_equal(pclose(pipe), 0);
    return text_take(&out);
}

static void assert_said(const char *command, const char *part)
{
    AUTOFREE char *all = said(command);
    if (!strstr(all, part))
        fail_msg("%s\nlacks: %s", all, part);
}

static void replace(struct bench *bench, const struct firewall_rules *rules,
                    const struct firewall_sets *sets)
{
    struct nl_result result;
    int r = firewall_replace(bench->firewall, rules, sets, &result);
    if (r < 0)
        fail_msg("%d %s", r, result.text);
}

static enum firewall_state read_back(struct bench *bench, const struct firewall_rules *rules,
                                     struct firewall_sets *sets)
{
    enum firewall_state state = FIREWALL_ABSENT;
    assert_int_equal(firewall_read(bench->firewall, rules, &state, sets), 0);
    return state;
}

#define LIST "nft list table inet fingerpost"

static void nft_shows_the_marking_table(void **state)
{
    struct bench *bench = *state;
    AUTOSETS struct firewall_sets sets = { 0 }, got = { 0 };
    push(&sets, "192.0.2.1", PROTOCOL_TCP, 80);
    push(&sets, "192.0.2.1", PROTOCOL_SCTP, 5060);
    push(&sets, "2001:db8::1", PROTOCOL_UDP, 53);
    assert_int_equal(read_back(bench, &marking, &got), FIREWALL_ABSENT);
    replace(bench, &marking, &sets);
    assert_said(LIST, "comment \"what Services have opened on this node, kept by agentd: mark "
                      "0x1000, layout 1\"");
    assert_said(LIST, "set opened-ipv4 { type ipv4_addr . inet_proto . inet_service comment "
                      "\"address, protocol and port that a Service has\" elements = { 192.0.2.1 . "
                      "tcp . 80");
    assert_said(LIST, "192.0.2.1 . sctp . 5060");
    assert_said(LIST, "2001:db8::1 . udp . 53");
    assert_said(LIST, "chain mark-what-services-opened { type filter hook prerouting priority "
                      "mangle; policy accept; ip daddr . meta l4proto . th dport @opened-ipv4 "
                      "counter packets 0 bytes 0 meta mark set meta mark | 0x00001000 comment");
    assert_said(LIST, "ip6 daddr . meta l4proto . th dport @opened-ipv6 counter");
    assert_int_equal(read_back(bench, &marking, &got), FIREWALL_GOOD);
    assert_int_equal(got.openings.count, 3);
    const struct firewall_rules other = { 0x2000 };
    AUTOSETS struct firewall_sets again = { 0 };
    assert_int_equal(read_back(bench, &other, &again), FIREWALL_OTHER);
    assert_int_equal(again.openings.count, 3);
}

static void nft_shows_the_accepting_table(void **state)
{
    struct bench *bench = *state;
    AUTOSETS struct firewall_sets sets = { 0 }, got = { 0 };
    push(&sets, "192.0.2.1", PROTOCOL_TCP, 80);
    push(&sets, "2001:db8::1", PROTOCOL_TCP, 80);
    close_rest(&sets, "192.0.2.1");
    close_rest(&sets, "2001:db8::1");
    replace(bench, &accepting, &sets);
    assert_said(LIST, "chain input-of-service-addresses { type filter hook input priority filter; "
                      "policy accept; iif \"lo\" accept");
    assert_said(LIST, "ct state established,related accept");
    assert_said(LIST, "meta l4proto icmp accept");
    assert_said(LIST, "th dport @opened-ipv4 counter packets 0 bytes 0 accept");
    assert_said(LIST, "ip daddr @closed-ipv4 counter packets 0 bytes 0 drop");
    assert_said(LIST, "ip6 daddr @closed-ipv6 counter packets 0 bytes 0 drop");
    assert_int_equal(read_back(bench, &accepting, &got), FIREWALL_GOOD);
    assert_int_equal(got.openings.count, 2);
    assert_int_equal(got.closed.count, 2);
    assert_true(ip_equal(&got.closed.items[1], &sets.closed.items[1]));
}

/* What nft printed, nft reads: the table can be saved and loaded by the host's own means. */
static void nft_reads_what_it_shows(void **state)
{
    struct bench *bench = *state;
    AUTOSETS struct firewall_sets sets = { 0 };
    push(&sets, "192.0.2.1", PROTOCOL_TCP, 80);
    push(&sets, "2001:db8::1", PROTOCOL_TCP, 80);
    replace(bench, &accepting, &sets);
    run(LIST " > /tmp/fingerpost-table.$PPID && nft delete table inet fingerpost && "
             "nft -f /tmp/fingerpost-table.$PPID && rm /tmp/fingerpost-table.$PPID");
    AUTOSETS struct firewall_sets got = { 0 };
    assert_int_equal(read_back(bench, &accepting, &got), FIREWALL_GOOD);
    assert_int_equal(got.openings.count, 2);
}

static void elements_come_and_go(void **state)
{
    struct bench *bench = *state;
    struct nl_result result;
    AUTOSETS struct firewall_sets none = { 0 }, first = { 0 }, second = { 0 }, got = { 0 };
    push(&first, "192.0.2.1", PROTOCOL_TCP, 80);
    push(&second, "2001:db8::1", PROTOCOL_TCP, 80);
    replace(bench, &marking, &none);
    assert_int_equal(firewall_change(bench->firewall, &first, &none, &result), 0);
    assert_int_equal(firewall_change(bench->firewall, &second, &first, &result), 0);
    assert_int_equal(firewall_change(bench->firewall, &none, &none, &result), 0);
    assert_int_equal(read_back(bench, &marking, &got), FIREWALL_GOOD);
    assert_int_equal(got.openings.count, 1);
    assert_int_equal(opening_cmp(got.openings.items, second.openings.items), 0);
    /* One that can't be done changes nothing of the transaction. */
    assert_int_equal(firewall_change(bench->firewall, &first, &first, &result), -ENOENT);
    AUTOSETS struct firewall_sets after = { 0 };
    assert_int_equal(read_back(bench, &marking, &after), FIREWALL_GOOD);
    assert_int_equal(after.openings.count, 1);
}

static void many_elements(void **state)
{
    enum { MANY = 20000 };
    struct bench *bench = *state;
    struct nl_result result;
    AUTOSETS struct firewall_sets sets = { 0 }, none = { 0 }, got = { 0 }, left = { 0 };
    for (uint32_t i = 0; i < MANY; i++) {
        const struct opening opening = {
            { .family = IP_V6, .bytes = { 0x20, 1, [14] = (uint8_t)(i >> 8), (uint8_t)i } },
            PROTOCOL_TCP,
            80
        };
        assert_int_equal(vec_push(&sets.openings, opening), 0);
    }
    replace(bench, &marking, &sets);
    assert_int_equal(read_back(bench, &marking, &got), FIREWALL_GOOD);
    assert_int_equal(got.openings.count, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(opening_cmp(&got.openings.items[i], &sets.openings.items[i]), 0);
    assert_int_equal(firewall_change(bench->firewall, &none, &sets, &result), 0);
    assert_int_equal(read_back(bench, &marking, &left), FIREWALL_GOOD);
    assert_int_equal(left.openings.count, 0);
}

static void await_news_of(struct bench *bench)
{
    struct pollfd waited = { .fd = firewall_fd(bench->firewall), .events = POLLIN };
    assert_int_equal(poll(&waited, 1, 60000), 1);
}

static void a_strangers_hand_is_heard(void **state)
{
    static const char *const hands[] = {
        "nft flush chain inet fingerpost mark-what-services-opened",
        "nft add element inet fingerpost opened-ipv4 '{ 192.0.2.9 . tcp . 1 }'",
        "nft delete element inet fingerpost opened-ipv4 '{ 192.0.2.1 . tcp . 80 }'",
        "nft delete table inet fingerpost",
        "nft flush ruleset",
    };
    struct bench *bench = *state;
    AUTOSETS struct firewall_sets sets = { 0 };
    push(&sets, "192.0.2.1", PROTOCOL_TCP, 80);
    for (size_t i = 0; i < ARRAY_SIZE(hands); i++) {
        replace(bench, &marking, &sets);
        await_news_of(bench);
        assert_int_equal(firewall_hear(bench->firewall), 0); /* our own */
        run("nft add table ip theirs && nft delete table ip theirs");
        await_news_of(bench);
        assert_int_equal(firewall_hear(bench->firewall), 0);
        run(hands[i]);
        await_news_of(bench);
        assert_int_equal(firewall_hear(bench->firewall), 1);
        assert_int_equal(firewall_hear(bench->firewall), 0);
    }
}

static void a_rule_too_few_is_seen(void **state)
{
    struct bench *bench = *state;
    AUTOSETS struct firewall_sets none = { 0 }, got = { 0 };
    replace(bench, &marking, &none);
    run("nft flush chain inet fingerpost mark-what-services-opened");
    assert_int_equal(read_back(bench, &marking, &got), FIREWALL_OTHER);
}

static void tables_of_others_stay(void **state)
{
    struct bench *bench = *state;
    AUTOSETS struct firewall_sets sets = { 0 };
    push(&sets, "192.0.2.1", PROTOCOL_TCP, 80);
    run("nft -f - <<END\ntable ip fingerpost {\nchain input {\n"
        "type filter hook input priority 0; policy drop;\n}\n}\n"
        "table inet other {\nset opened-ipv4 {\ntype ipv4_addr\nelements = { 10.0.0.1 }\n}\n}\nEND");
    AUTOFREE char *before = said("nft list ruleset");
    replace(bench, &marking, &sets);
    replace(bench, &accepting, &sets);
    assert_int_equal(firewall_remove(bench->firewall), 1);
    assert_int_equal(firewall_remove(bench->firewall), 0);
    AUTOFREE char *after = said("nft list ruleset");
    assert_string_equal(after, before);
}

static void a_dropping_policy_is_found(void **state)
{
    struct bench *bench = *state;
    char name[96];
    run("nft -f - <<END\ntable inet a {\n"
        "chain out {\ntype filter hook output priority 0; policy drop;\n}\n"
        "chain in {\ntype filter hook input priority 0; policy accept;\n}\n}\nEND");
    assert_int_equal(firewall_find_drop(bench->firewall, name, sizeof(name)), 0);
    run("nft -f - <<END\ntable ip filter {\nchain INPUT {\n"
        "type filter hook input priority 0; policy drop;\n}\n}\nEND");
    assert_int_equal(firewall_find_drop(bench->firewall, name, sizeof(name)), 1);
    assert_string_equal(name, "ip filter INPUT");
}

static void packets_are_counted(void **state)
{
    struct bench *bench = *state;
    AUTOSETS struct firewall_sets sets = { 0 };
    struct firewall_counts counts = { 0 };
    push(&sets, "127.0.0.1", PROTOCOL_UDP, 9);
    run("ip link set lo up");
    replace(bench, &marking, &sets);
    run("bash -c 'echo x > /dev/udp/127.0.0.1/9'");
    assert_int_equal(firewall_count(bench->firewall, &counts), 0);
    assert_int_equal(counts.opened, 1);
    assert_int_equal(counts.closed, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(nft_shows_the_marking_table),
        T(nft_shows_the_accepting_table),
        T(nft_reads_what_it_shows),
        T(elements_come_and_go),
        T(many_elements),
        T(a_strangers_hand_is_heard),
        T(a_rule_too_few_is_seen),
        T(tables_of_others_stay),
        T(a_dropping_policy_is_found),
        T(packets_are_counted),
    };
    if (lab_missing())
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
