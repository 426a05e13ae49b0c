// SPDX-License-Identifier: Apache-2.0
/* Addresses that the kernel keeps for a while: written, read back, and gone by themselves. */
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <sys/wait.h>

#include "apply/netlink/address.h"
#include "apply/segment/kept.h"
#include "base/clock.h"
#include "base/ours.h"
#include "netns.h"

static const char *const texts[] = { "192.0.2.9", "198.51.100.9", "2001:db8::9" };

static int open_links(void **state)
{
    return lab_open(state) || system("ip link add d0 type veth peer name d1 && "
                                     "echo 1 > /proc/sys/net/ipv6/conf/d0/addr_gen_mode && "
                                     "ip link set d0 up && ip link set d1 up && "
                                     "ip addr add 192.0.2.1/24 dev d0 && "
                                     "ip addr add 2001:db8::1/64 dev d0 nodad");
}

static struct kept_op op_of(enum kept_op_kind kind, const char *ip, uint32_t lifetime_s)
{
    struct kept_op op = { kind, { .ifindex = if_nametoindex("d0") }, lifetime_s };
    assert_int_equal(ip_parse(ip, &op.address.ip), 0);
    return op;
}

static int write_one(struct nl_socket *socket, struct kept_op op)
{
    struct op_result result;
    assert_int_equal(kept_apply(socket, &op, 1, &result), 0);
    return result.error;
}

static void read_kept(struct lab *lab, struct sorted *kept)
{
    sorted_done(kept);
    assert_int_equal(kept_read(lab->other, clock_boot_ms(), kept), 0);
}

static void written_and_read_back(void **state)
{
    struct lab *lab = *state;
    AUTOSORTED struct sorted kept = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        int64_t begin = clock_boot_ms();
        assert_int_equal(write_one(lab->other, op_of(KEPT_ADD, texts[i], 3000)), 0);
        read_kept(lab, &kept);
        assert_int_equal(kept.count, 1);
        const struct kept_address *address = sorted_at(&kept, 0);
        assert_int_equal(address->ifindex, if_nametoindex("d0"));
        assert_in_range(address->until_ms - begin, 2000000, 3000000);
        assert_int_equal(write_one(lab->other, op_of(KEPT_RENEW, texts[i], 9000)), 0);
        read_kept(lab, &kept);
        address = sorted_at(&kept, 0);
        assert_in_range(address->until_ms - begin, 8000000, 9000000);
        assert_int_equal(write_one(lab->other, op_of(KEPT_REMOVE, texts[i], 0)), 0);
        assert_int_equal(write_one(lab->other, op_of(KEPT_REMOVE, texts[i], 0)), 0);
        read_kept(lab, &kept);
        assert_int_equal(kept.count, 0);
    }
}

/* The node's own connections begin from its own address still, and no route came with it. */
static void nobody_takes_it_for_the_nodes(void **state)
{
    struct lab *lab = *state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(write_one(lab->other, op_of(KEPT_ADD, texts[i], 3000)), 0);
    run("! (ip route show; ip -6 route show) | grep -E '192.0.2.9|198.51.100|2001:db8::9'");
    run("ip route get 192.0.2.8 | grep -q 'src 192.0.2.1 '");
    run("ip -6 route get 2001:db8::8 | grep -q 'src 2001:db8::1 '");
    run("test -z \"$(ip -6 addr show dev d0 tentative)\"");
    run("ip addr show dev d0 | grep -q 'inet 192.0.2.9/32 .*deprecated'");
}

static void foreign_ones_are_left_alone(void **state)
{
    struct lab *lab = *state;
    AUTOSORTED struct sorted kept = { 0 };
    run("ip addr add 192.0.2.9/32 dev d0; ip addr add 2001:db8::9/128 dev d0 nodad");
    read_kept(lab, &kept);
    assert_int_equal(kept.count, 0);
    assert_int_equal(write_one(lab->other, op_of(KEPT_ADD, "192.0.2.9", 3000)), -EEXIST);
    assert_int_equal(write_one(lab->other, op_of(KEPT_ADD, "2001:db8::9", 3000)), -EEXIST);
    run("test \"$(ip addr show dev d0 | grep -c 'valid_lft forever')\" -ge 4");
}

static void interface_may_be_gone(void **state)
{
    struct lab *lab = *state;
    struct kept_op add = op_of(KEPT_ADD, "192.0.2.9", 5), removal = op_of(KEPT_REMOVE, texts[0], 0);
    run("ip link del d0");
    assert_int_equal(write_one(lab->other, removal), 0);
    assert_int_equal(write_one(lab->other, add), -ENODEV);
}

/* Holds addresses for as long as it runs, and tells when it has them. */
static void hold(int told)
{
    struct nl_socket *socket;
    if (nl_open(&socket) < 0)
        _exit(1);
    for (bool first = true;; first = false) {
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
            if (write_one(socket, op_of(first ? KEPT_ADD : KEPT_RENEW, texts[i], 2)) < 0)
                _exit(1);
        }
        if (first && write(told, "", 1) != 1)
            _exit(1);
        (void)poll(NULL, 0, 300);
    }
}

/* Until they are there after longer than a lifetime. */
static void await_renewals(struct lab *lab)
{
    AUTOSORTED struct sorted kept = { 0 };
    int64_t begin = clock_boot_ms();
    do {
        await_news(lab->kernel);
        read_kept(lab, &kept);
    } while (clock_boot_ms() - begin < 3000 || kept.count < ARRAY_SIZE(texts));
}

/* How long the kernel still has them once the holder does nothing any more. */
static int64_t outlived_ms(struct lab *lab, int signal)
{
    int pipes[2];
    char byte;
    AUTOSORTED struct sorted kept = { 0 };
    assert_int_equal(pipe(pipes), 0);
    pid_t holder = fork();
    assert_true(holder >= 0);
    if (holder == 0)
        hold(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    await_renewals(lab);
    assert_int_equal(kill(holder, signal), 0);
    int64_t begin = clock_boot_ms();
    assert_int_equal(kernel_read(lab->kernel), 0);
    for (read_kept(lab, &kept); kept.count > 0; read_kept(lab, &kept))
        await_news(lab->kernel);
    int64_t took_ms = clock_boot_ms() - begin;
    assert_int_equal(kill(holder, SIGKILL), 0);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    close(pipes[0]);
    close(pipes[1]);
    return took_ms;
}

static void kernel_takes_it_from_who_is_stopped_or_killed(void **state)
{
    struct lab *lab = *state;
    print_message("# stopped: gone after %lld ms\n", (long long)outlived_ms(lab, SIGSTOP));
    print_message("# killed: gone after %lld ms\n", (long long)outlived_ms(lab, SIGKILL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(written_and_read_back, open_links, lab_close),
        cmocka_unit_test_setup_teardown(nobody_takes_it_for_the_nodes, open_links, lab_close),
        cmocka_unit_test_setup_teardown(foreign_ones_are_left_alone, open_links, lab_close),
        cmocka_unit_test_setup_teardown(interface_may_be_gone, open_links, lab_close),
        cmocka_unit_test_setup_teardown(kernel_takes_it_from_who_is_stopped_or_killed, open_links,
                                        lab_close),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
