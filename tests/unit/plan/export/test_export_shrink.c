// SPDX-License-Identifier: Apache-2.0
/* What is held back of lists that shrink in one step or in many, over time. */
#include <stdio.h>

#include "exporting.h"
#include "plan/export/export_diff.h"
#include "plan/export/export_shrink.h"

#define PREFIX "kube-service-exporter/"
#define NODES  "nodes/cluster"
#define MARKER "fingerpost/cluster/"

enum { HOLD_MS = 1000, KEYS_MAX = 64 };

static void remembers_the_longest(void **state)
{
    (void)state;
    static const struct {
        int64_t at_ms;
        size_t length, longest; /* just before it is noted */
    } steps[] = {
        { 1, 10, 0 },   { 100, 8, 10 }, { 200, 9, 10 }, { 300, 3, 10 },  { 1001, 3, 9 },
        { 1200, 3, 3 }, { 1300, 7, 3 }, { 1301, 1, 7 }, { 9000, 40, 0 }, { 9001, 0, 40 },
    };
    struct export_shrink shrink = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        size_t longest = export_shrink_longest(&shrink, HOLD_MS, steps[i].at_ms);
        if (longest != steps[i].longest)
            fail_msg("step %zu: %zu, not %zu", i, longest, steps[i].longest);
        assert_int_equal(export_shrink_note(&shrink, steps[i].length, 0, false, steps[i].at_ms), 0);
    }
    export_shrink_forget(&shrink);
    assert_int_equal(export_shrink_longest(&shrink, HOLD_MS, 9001), 0);
}

static void counts_from_when_it_was_held_first(void **state)
{
    (void)state;
    struct export_shrink shrink = { 0 };
    assert_int_equal(export_shrink_until(&shrink, HOLD_MS), INT64_MAX);
    assert_int_equal(export_shrink_note(&shrink, 4, 3, false, 5), 0);
    assert_int_equal(export_shrink_note(&shrink, 4, 4, false, 500), 0);
    assert_int_equal(export_shrink_until(&shrink, HOLD_MS), 1005);
    assert_false(export_shrink_is_over(&shrink, HOLD_MS, 1004));
    assert_true(export_shrink_is_over(&shrink, HOLD_MS, 1005));
    assert_int_equal(export_shrink_note(&shrink, 4, 0, true, 1005), 0);
    assert_false(export_shrink_is_over(&shrink, HOLD_MS, 1005));
    assert_int_equal(export_shrink_longest(&shrink, HOLD_MS, 1006), 0);
    export_shrink_forget(&shrink);
}

/* ---- With the difference, as the job does it: what is written is there the next time ---- */

struct shrinking {
    struct exports exports;
    struct export_shrink documents, nodes;
    char keys[KEYS_MAX][2][96]; /* of the documents that are there, none of which is planned */
    size_t there;
    char list[1024];
};

static void shrinking_begin(struct shrinking *shrinking)
{
    *shrinking = (struct shrinking){ .list = "[]" };
    exports_begin(&shrinking->exports);
}

static void shrinking_done(struct shrinking *shrinking)
{
    exports_done(&shrinking->exports);
    export_shrink_forget(&shrinking->documents);
    export_shrink_forget(&shrinking->nodes);
}

static void put_node(struct shrinking *shrinking, int number, bool ready)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: v1\nkind: Node\nmetadata: {name: n%d}\nstatus: {addresses: "
                    "[{type: InternalIP, address: 10.0.0.%d}], conditions: [{type: Ready, status: "
                    "'%s'}]}\n",
                    number, number, ready ? "True" : "False");
    put(&shrinking->exports.objects, yaml);
}

static int length_of(const char *list)
{
    int count = 0;
    for (const char *at = strchr(list, '{'); at; at = strchr(at + 1, '{'))
        count++;
    return count;
}

/* One round. Returns how many documents of `there` it lets go. */
static size_t round_at(struct shrinking *shrinking, size_t there, int64_t now_ms)
{
    AUTOVEC export_entries have = { 0 };
    CLEANUP(export_diff_done) struct export_diff diff = { 0 };
    const struct export_hold hold = {
        .shrink_percent = 50,
        .most_documents = export_shrink_longest(&shrinking->documents, HOLD_MS, now_ms),
        .most_nodes = export_shrink_longest(&shrinking->nodes, HOLD_MS, now_ms),
        .documents = export_shrink_is_over(&shrinking->documents, HOLD_MS, now_ms),
        .nodes = export_shrink_is_over(&shrinking->nodes, HOLD_MS, now_ms),
    };
    size_t gone = 0;
    const struct export_entry nodes = { PREFIX NODES, shrinking->list, strlen(shrinking->list), 1 };
    const struct export_entry marker = { PREFIX MARKER NODES, "nodes", 5, 1 };
    assert_int_equal(vec_push(&have, nodes) | vec_push(&have, marker), 0);
    for (size_t i = 0; i < there; i++) {
        char(*keys)[96] = shrinking->keys[i];
        snprintf(keys[0], sizeof(keys[0]), PREFIX "services/%03zu/clusters/cluster", i);
        snprintf(keys[1], sizeof(keys[1]), PREFIX MARKER "services/%03zu/clusters/cluster", i);
        const struct export_entry pair[] = { { keys[0], "{}", 2, 1 }, { keys[1], "x/y", 3, 1 } };
        assert_int_equal(vec_push(&have, pair[0]) | vec_push(&have, pair[1]), 0);
    }
    vec_sort(&have, export_entry_cmp);
    export_at(&shrinking->exports, 0);
    struct faults *faults = &shrinking->exports.faults;
    assert_int_equal(export_diff(&shrinking->exports.config, &shrinking->exports.plan, &have, &hold,
                                 &diff, faults),
                     0);
    vec_each(const struct export_op, op, &diff.ops) {
        gone += op->remove && !op->marker;
        if (!op->remove && !op->marker)
            snprintf(shrinking->list, sizeof(shrinking->list), "%s", op->value);
    }
    assert_int_equal(export_shrink_note(&shrinking->documents, diff.owned, diff.held_documents,
                                        hold.documents, now_ms),
                     0);
    assert_int_equal(
        export_shrink_note(&shrinking->nodes, diff.nodes, diff.held_nodes, hold.nodes, now_ms), 0);
    return gone;
}

/* Four nodes become unready one by one, each in a round of its own: two of them stay in the list.
 */
static void holds_nodes_that_go_one_by_one(void **state)
{
    (void)state;
    static const int lengths[] = { 4, 3, 2, 2, 2 };
    CLEANUP(shrinking_done) struct shrinking shrinking;
    shrinking_begin(&shrinking);
    for (int i = 1; i <= 4; i++)
        put_node(&shrinking, i, true);
    (void)round_at(&shrinking, 0, 1);
    for (int i = 0; i <= 4; i++) {
        if (i > 0)
            put_node(&shrinking, i, false);
        (void)round_at(&shrinking, 0, 2 + i);
        assert_int_equal(length_of(shrinking.list), lengths[i]);
    }
    assert_int_equal(shrinking.nodes.held, 1);
    (void)round_at(&shrinking, 0, 5 + HOLD_MS - 1);
    assert_int_equal(length_of(shrinking.list), 2);
    (void)round_at(&shrinking, 0, 5 + HOLD_MS);
    assert_int_equal(length_of(shrinking.list), 0);
    put_node(&shrinking, 1, true);
    (void)round_at(&shrinking, 0, 6 + HOLD_MS);
    assert_int_equal(length_of(shrinking.list), 1);
}

/* One node in each hold-down is no reason to hold anything back, be it half of the list at last. */
static void lets_nodes_go_slowly(void **state)
{
    (void)state;
    CLEANUP(shrinking_done) struct shrinking shrinking;
    shrinking_begin(&shrinking);
    for (int i = 1; i <= 4; i++)
        put_node(&shrinking, i, true);
    (void)round_at(&shrinking, 0, 1);
    for (int i = 1; i <= 3; i++) {
        put_node(&shrinking, i, false);
        (void)round_at(&shrinking, 0, 1 + (int64_t)i * 2 * HOLD_MS);
        assert_int_equal(length_of(shrinking.list), 4 - i);
    }
}

/* Forty documents, of which two more in each round are planned no longer. */
static void holds_documents_that_go_piece_by_piece(void **state)
{
    (void)state;
    CLEANUP(shrinking_done) struct shrinking shrinking;
    shrinking_begin(&shrinking);
    assert_int_equal(export_shrink_note(&shrinking.documents, 41, 0, false, 1), 0);
    assert_int_equal(round_at(&shrinking, 2, 2), 0);
    assert_int_equal(shrinking.documents.held, 2);
    assert_int_equal(round_at(&shrinking, 2, 2 + HOLD_MS), 2);
    assert_int_equal(round_at(&shrinking, 3, 3 + HOLD_MS), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembers_the_longest),
        cmocka_unit_test(counts_from_when_it_was_held_first),
        cmocka_unit_test(holds_nodes_that_go_one_by_one),
        cmocka_unit_test(lets_nodes_go_slowly),
        cmocka_unit_test(holds_documents_that_go_piece_by_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
