// SPDX-License-Identifier: Apache-2.0
/* Blocks of pools: where each lies, and which is the lowest that is free. */
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "plan/pods/pool_blocks.h"

static struct pool_subnet subnet(const char *ipv4, const char *ipv6)
{
    struct pool_subnet subnet = { 0 };
    if (ipv4)
        assert_int_equal(prefix_parse(ipv4, &subnet.ipv4), 0);
    if (ipv6)
        assert_int_equal(prefix_parse(ipv6, &subnet.ipv6), 0);
    return subnet;
}

static void assert_block(const struct address_pool *pool, uint32_t index, const char *expected)
{
    struct pool_block block;
    char v4[PREFIX_STRLEN], v6[PREFIX_STRLEN];
    if (!pool_block_at(pool, index, &block)) {
        assert_null(expected);
        return;
    }
    AUTOFREE char *got =
        text_format("%s %s", prefix_str(&block.ipv4, v4), prefix_str(&block.ipv6, v6));
    assert_string_equal(got, expected);
    assert_int_equal(block.index, index);
    for (int i = 0; i < 2; i++) { /* and back */
        const struct ip *ip = i ? &block.ipv6.ip : &block.ipv4.ip;
        struct pool_block back;
        if (ip->family == IP_NONE)
            continue;
        assert_true(pool_block_of(pool, ip, &back));
        assert_int_equal(back.index, index);
    }
}

static void indexes_run_through_the_subnets(void **state)
{
    (void)state;
    const struct pool_subnet subnets[] = { subnet("10.2.0.0/26", NULL),
                                           subnet("10.9.0.0/27", NULL) };
    const struct address_pool pool = { .block_size_bits = 5,
                                       .subnets = subnets,
                                       .subnet_count = 2 };
    assert_int_equal(pool_block_count(&pool), 3);
    assert_block(&pool, 0, "10.2.0.0/27 -");
    assert_block(&pool, 1, "10.2.0.32/27 -");
    assert_block(&pool, 2, "10.9.0.0/27 -");
    assert_block(&pool, 3, NULL);
}

static void families_advance_in_step(void **state)
{
    (void)state;
    const struct pool_subnet subnets[] = { subnet("10.2.0.0/16", "fd01:203:405:607::/112") };
    const struct address_pool pool = { .block_size_bits = 5,
                                       .subnets = subnets,
                                       .subnet_count = 1 };
    assert_int_equal(pool_block_count(&pool), 2048);
    assert_block(&pool, 16, "10.2.2.0/27 fd01:203:405:607::200/123");
    assert_block(&pool, 2047, "10.2.255.224/27 fd01:203:405:607::ffe0/123");
}

static void a_block_may_be_one_address(void **state)
{
    (void)state;
    const struct pool_subnet subnets[] = { subnet("198.51.100.254/31", NULL) };
    const struct address_pool pool = { .subnets = subnets, .subnet_count = 1 };
    assert_block(&pool, 0, "198.51.100.254/32 -");
    assert_block(&pool, 1, "198.51.100.255/32 -");
    assert_block(&pool, 2, NULL);
}

/* More blocks than an index can name, and blocks that are larger than 64 bits. */
static void large_pools_are_cut_off(void **state)
{
    (void)state;
    const struct pool_subnet wide[] = { subnet(NULL, "fd00::/8"), subnet("10.0.0.0/8", NULL) };
    struct address_pool pool = { .block_size_bits = 0, .subnets = wide, .subnet_count = 2 };
    assert_int_equal(pool_block_count(&pool), POOL_BLOCKS_MAX);
    assert_block(&pool, POOL_BLOCKS_MAX - 1, "- fd00::7fff:fffe/128");
    assert_block(&pool, POOL_BLOCKS_MAX, NULL);
    pool.block_size_bits = 100;
    assert_int_equal(pool_block_count(&pool), 1 << 20);
    assert_block(&pool, 0x12345, "- fd12:3450::/28");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indexes_run_through_the_subnets),
        cmocka_unit_test(families_advance_in_step),
        cmocka_unit_test(a_block_may_be_one_address),
        cmocka_unit_test(large_pools_are_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
