// SPDX-License-Identifier: Apache-2.0
/* Numbers given out and taken back: against a plain array of who has what. */
#include <errno.h>
#include <string.h>

#include "apply/nat/services/ids.h"
#include "base/macro.h"
#include "cmocka_all.h"

enum { LIMIT = 777, BLOCKS = 64, ROUNDS = 20000 };

struct model {
    bool out[LIMIT];
    uint32_t first[BLOCKS], count[BLOCKS]; /* blocks that are out; count 0: none */
};

static void mark(struct model *model, uint32_t first, uint32_t count, bool out)
{
    for (uint32_t i = first; i < first + count; i++) {
        assert_in_range(i, 0, LIMIT - 1);
        assert_int_equal(model->out[i], !out);
        model->out[i] = out;
    }
}

static bool fits(const struct model *model, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        if (i >= LIMIT || model->out[i])
            return false;
    }
    return true;
}

/* The lowest free place of that size. */
static int place_for(const struct model *model, uint32_t block, uint32_t *ret_first)
{
    for (uint32_t first = 0; first < LIMIT; first += block) {
        if (fits(model, first, block)) {
            *ret_first = first;
            return 0;
        }
    }
    return -ENOSPC;
}

static uint32_t count_out(const struct model *model)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < LIMIT; i++)
        count += model->out[i];
    return count;
}

static void random_blocks(void **state)
{
    (void)state;
    static struct model model;
    struct space space;
    unsigned seed = 4;
    unsigned full = 0;
    assert_int_equal(space_init(&space, LIMIT), 0);
    for (int round = 0; round < ROUNDS; round++) {
        int i = rand_r(&seed) % BLOCKS;
        if (model.count[i]) {
            space_give(&space, model.first[i], model.count[i]);
            mark(&model, model.first[i], model.count[i], false);
            model.count[i] = 0;
        } else {
            uint32_t count = 1 + (uint32_t)rand_r(&seed) % (1u << rand_r(&seed) % 8);
            uint32_t first = 0, wanted = 0, block = space_block(count);
            assert_true(block >= count && (block == 1 || block < 2 * count));
            int r = space_take(&space, count, &first);
            assert_int_equal(r, place_for(&model, block, &wanted));
            full += r < 0;
            if (r < 0)
                continue;
            assert_int_equal(first, wanted);
            mark(&model, first, block, true);
            model.first[i] = first;
            model.count[i] = block;
        }
        assert_int_equal(space.used, count_out(&model));
    }
    assert_true(full > 100);
    space_done(&space);
}

static void claims(void **state)
{
    (void)state;
    struct space space;
    uint32_t first;
    assert_int_equal(space_init(&space, 100), 0);
    assert_true(space_claim(&space, 16, 9)); /* a block of 16 */
    assert_false(space_claim(&space, 16, 1));
    assert_false(space_claim(&space, 31, 1));
    assert_false(space_claim(&space, 0, 64)); /* a part is out */
    assert_false(space_claim(&space, 33, 2)); /* not aligned */
    assert_false(space_claim(&space, 96, 8)); /* ends beyond the limit */
    assert_false(space_claim(&space, 100, 1));
    assert_false(space_claim(&space, UINT32_MAX, 2));
    assert_false(space_claim(&space, 0, 0));
    assert_true(space_claim(&space, 96, 4));
    assert_int_equal(space.used, 20);
    for (uint32_t i = 0; i < 80; i++)
        assert_int_equal(space_take(&space, 1, &first), 0);
    assert_int_equal(space_take(&space, 1, &first), -ENOSPC);
    assert_int_equal(space_take(&space, 0, &first), -ENOSPC);

    /* Whatever was taken how comes back in stretches of any length. */
    space_give(&space, 3, 61);
    space_give(&space, 0, 3);
    space_give(&space, 64, 36);
    assert_int_equal(space.used, 0);
    assert_int_equal(space_take(&space, 64, &first), 0);
    assert_int_equal(first, 0);
    assert_int_equal(space_take(&space, 32, &first), 0);
    assert_int_equal(first, 64);
    space_done(&space);
}

static void what_is_given_back_rests(void **state)
{
    (void)state;
    static const uint32_t limits[NAT_ID_KINDS] = { 4, 3, 3, 8 };
    struct nat_ids ids;
    uint32_t first;
    assert_int_equal(nat_ids_init(&ids, limits), 0);
    for (uint32_t id = 1; id < 4; id++) { /* 0 is nobody's */
        assert_int_equal(nat_ids_take(&ids, NAT_ID_SERVICE, 1, 0, &first), 0);
        assert_int_equal(first, id);
    }
    assert_int_equal(nat_ids_take(&ids, NAT_ID_SERVICE, 1, 0, &first), -ENOSPC);
    assert_int_equal(nat_ids_take(&ids, NAT_ID_SLOT, 8, 0, &first), 0);
    assert_int_equal(first, 0); /* but of slots */

    assert_int_equal(nat_ids_reserve(&ids, 3), 0);
    nat_ids_rest(&ids, NAT_ID_SERVICE, 2, 1, 1000);
    nat_ids_rest(&ids, NAT_ID_SLOT, 0, 8, 1500);
    assert_int_equal(nat_ids_take(&ids, NAT_ID_SERVICE, 1, 999 + NAT_REST_MS, &first), -ENOSPC);
    assert_int_equal(nat_ids_take(&ids, NAT_ID_SERVICE, 1, 1000 + NAT_REST_MS, &first), 0);
    assert_int_equal(first, 2);
    assert_int_equal(nat_ids_take(&ids, NAT_ID_SLOT, 1, 1499 + NAT_REST_MS, &first), -ENOSPC);
    assert_int_equal(nat_ids_take(&ids, NAT_ID_SLOT, 5, 1500 + NAT_REST_MS, &first), 0);
    nat_ids_done(&ids);
}

static void the_queue_does_not_grow(void **state)
{
    (void)state;
    static const uint32_t limits[NAT_ID_KINDS] = { 1000, 2, 2, 2 };
    struct nat_ids ids;
    assert_int_equal(nat_ids_init(&ids, limits), 0);
    for (int64_t now = 0; now < 1000000; now += 10) {
        uint32_t id;
        assert_int_equal(nat_ids_reserve(&ids, 1), 0);
        assert_int_equal(nat_ids_take(&ids, NAT_ID_SERVICE, 1, now, &id), 0);
        nat_ids_rest(&ids, NAT_ID_SERVICE, id, 1, now);
    }
    assert_in_range(ids.resting.capacity, 200, 1000);
    nat_ids_done(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks),
        cmocka_unit_test(claims),
        cmocka_unit_test(what_is_given_back_rests),
        cmocka_unit_test(the_queue_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
