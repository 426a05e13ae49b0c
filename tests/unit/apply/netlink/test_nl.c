// SPDX-License-Identifier: Apache-2.0
/* The netlink layer: building, parsing, batches, and dumps that the kernel interrupts. */
#include <errno.h>
#include <linux/if_addr.h>
#include <net/if.h>

#include "netns.h"

static void overflow_is_remembered(void **state)
{
    struct lab *lab = *state;
    struct nl_request requests[2];
    struct nl_result results[2];
    struct rtmsg fixed = { .rtm_family = AF_INET };
    char text[200];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';

    nl_begin(&requests[0], RTM_NEWROUTE, 0, &fixed, sizeof(fixed));
    for (int i = 0; i < 3; i++)
        nl_put_string(&requests[0], RTA_DST, text);
    nl_put_u8(&requests[0], RTA_DST, 1);
    assert_int_equal(requests[0].error, -EMSGSIZE);
    assert_true(requests[0].header->nlmsg_len <= sizeof(requests[0].buffer));

    /* The other of the batch is sent all the same; the kernel answers it. */
    fixed.rtm_table = 119;
    nl_begin(&requests[1], RTM_DELROUTE, 0, &fixed, sizeof(fixed));
    assert_int_equal(nl_batch(lab->other, requests, 2, results), 0);
    assert_int_equal(results[0].error, -EMSGSIZE);
    assert_int_equal(results[1].error, -ESRCH);
    assert_int_equal(nl_dump(lab->other, &requests[0], NULL, NULL, NULL), -EMSGSIZE);
}

static void lengths_are_not_signed(void **state)
{
    (void)state;
    struct nlmsghdr message = { .nlmsg_len = sizeof(message) };
    assert_true(nl_message_ok(&message, sizeof(message)));
    assert_false(nl_message_ok(&message, sizeof(message) - 1));
    message.nlmsg_len = UINT32_C(0xff000000);
    assert_false(nl_message_ok(&message, sizeof(message)));
    message.nlmsg_len = 0;
    assert_false(nl_message_ok(&message, sizeof(message)));
}

static void parse_takes_exact_sizes_only(void **state)
{
    (void)state;
    struct nl_request request;
    struct rtmsg fixed = { .rtm_family = AF_INET };
    nl_begin(&request, RTM_NEWROUTE, 0, &fixed, sizeof(fixed));
    nl_put_u32(&request, RTA_TABLE, 7);
    nl_put_u8(&request, RTA_PRIORITY, 7);
    nl_put_string(&request, RTA_SRC, "lo");
    nl_put_u32(&request, RTA_GATEWAY, UINT32_MAX); /* as a string: without its end */
    nl_put_u32(&request, RTA_EXPIRES, 9);

    const struct nl_wanted wanted[] = {
        { RTA_TABLE, 4 }, { RTA_PRIORITY, 4 }, { RTA_SRC, 0 }, { RTA_GATEWAY, 0 }
    };
    const struct nlattr *attributes[RTA_TABLE + 1];
    nl_parse(request.header, sizeof(fixed), wanted, ARRAY_SIZE(wanted), attributes, RTA_TABLE);
    assert_int_equal(mnl_attr_get_u32(attributes[RTA_TABLE]), 7);
    assert_null(attributes[RTA_PRIORITY]);
    assert_string_equal(mnl_attr_get_str(attributes[RTA_SRC]), "lo");
    assert_null(attributes[RTA_GATEWAY]);

    /* A message that ends before its fixed part does has no attributes. */
    request.header->nlmsg_len = NLMSG_HDRLEN;
    nl_parse(request.header, sizeof(fixed), wanted, ARRAY_SIZE(wanted), attributes, RTA_TABLE);
    assert_null(attributes[RTA_TABLE]);
}

/* Adds 10.x.y.z/32 to the loopback, or takes it off. */
static void build_address(struct nl_request *request, uint16_t type, uint32_t number)
{
    struct ifaddrmsg fixed = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1 };
    struct ip ip = { IP_V4,
                     { 10, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number } };
    nl_begin(request, type, type == RTM_NEWADDR ? NLM_F_CREATE | NLM_F_EXCL : 0, &fixed,
             sizeof(fixed));
    nl_put_ip(request, IFA_LOCAL, &ip);
}

enum { ADDRESSES = 1500 }; /* more than one datagram of a dump */

static void add_addresses(struct lab *lab)
{
    static struct nl_request requests[ADDRESSES];
    static struct nl_result results[ADDRESSES];
    for (uint32_t i = 0; i < ADDRESSES; i++)
        build_address(&requests[i], RTM_NEWADDR, i);
    assert_int_equal(nl_batch(lab->other, requests, ADDRESSES, results), 0);
    for (size_t i = 0; i < ADDRESSES; i++)
        assert_int_equal(results[i].error, 0);
}

static void results_belong_to_their_requests(void **state)
{
    struct lab *lab = *state;
    static struct nl_request requests[300];
    static struct nl_result results[300];
    for (uint32_t i = 0; i < 300; i++)
        build_address(&requests[i], RTM_NEWADDR, i % 7 == 3 ? i - 1 : i);
    assert_int_equal(nl_batch(lab->other, requests, 300, results), 0);
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(results[i].error, i % 7 == 3 ? -EEXIST : 0);
}

struct reading {
    struct nl_socket *writer;
    uint32_t next; /* the address with which the table is changed meanwhile */
    int changes;   /* how many attempts are disturbed */
    size_t rows, restarts;
    int fail_at; /* the row that fails; 0: none */
};

static int on_row(const struct nlmsghdr *row, void *context)
{
    struct reading *reading = context;
    assert_int_equal(row->nlmsg_type, RTM_NEWADDR);
    reading->rows++;
    if (reading->fail_at && (int)reading->rows >= reading->fail_at)
        return -ENOTTY;
    if (reading->rows == 1 && reading->changes > 0) {
        struct nl_request request;
        struct nl_result result;
        build_address(&request, RTM_NEWADDR, reading->next++);
        assert_int_equal(nl_batch(reading->writer, &request, 1, &result), 0);
        assert_int_equal(result.error, 0);
        reading->changes--;
    }
    return 0;
}

static void on_restart(void *context)
{
    struct reading *reading = context;
    reading->rows = 0;
    reading->restarts++;
}

static int read_addresses(struct lab *lab, struct reading *reading)
{
    struct nl_socket *reader;
    struct nl_request request;
    struct ifaddrmsg fixed = { .ifa_family = AF_INET };
    assert_int_equal(nl_open(&reader), 0);
    nl_begin(&request, RTM_GETADDR, 0, &fixed, sizeof(fixed));
    reading->writer = lab->other;
    int r = nl_dump(reader, &request, on_row, on_restart, reading);
    nl_close(reader);
    return r;
}

static void interrupted_dump_starts_over(void **state)
{
    struct lab *lab = *state;
    add_addresses(lab);
    struct reading reading = { .next = ADDRESSES, .changes = 2 };
    assert_int_equal(read_addresses(lab, &reading), 0);
    assert_int_equal(reading.restarts, 2);
    assert_int_equal(reading.rows, ADDRESSES + 2 + 1); /* and 127.0.0.1 */
}

static void ever_interrupted_dump_gives_up(void **state)
{
    struct lab *lab = *state;
    add_addresses(lab);
    struct reading reading = { .next = ADDRESSES, .changes = 100 };
    assert_int_equal(read_addresses(lab, &reading), -EAGAIN);
    assert_int_equal(reading.restarts, 9);
}

static void failed_row_leaves_the_socket_usable(void **state)
{
    struct lab *lab = *state;
    add_addresses(lab);
    struct nl_request request;
    struct ifaddrmsg fixed = { .ifa_family = AF_INET };
    struct reading reading = { .fail_at = 5 };
    nl_begin(&request, RTM_GETADDR, 0, &fixed, sizeof(fixed));
    assert_int_equal(nl_dump(lab->other, &request, on_row, NULL, &reading), -ENOTTY);
    assert_int_equal(reading.rows, 5);
    reading = (struct reading){ 0 };
    assert_int_equal(nl_dump(lab->other, &request, on_row, NULL, &reading), 0);
    assert_int_equal(reading.rows, ADDRESSES + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(overflow_is_remembered, lab_open, lab_close),
        cmocka_unit_test(lengths_are_not_signed),
        cmocka_unit_test(parse_takes_exact_sizes_only),
        cmocka_unit_test_setup_teardown(results_belong_to_their_requests, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(interrupted_dump_starts_over, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(ever_interrupted_dump_gives_up, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(failed_row_leaves_the_socket_usable, lab_open, lab_close),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
