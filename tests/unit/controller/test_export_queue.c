// SPDX-License-Identifier: Apache-2.0
/* Which writes go into one transaction. */
#include <setjmp.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "controller/export/export_queue.h"

enum { DOCUMENTS = 100 };

static void fill_with(struct export_queue *queue, const struct export_op *ops, size_t count)
{
    CLEANUP(export_diff_done) struct export_diff diff = { 0 };
    for (size_t i = 0; i < count; i++)
        assert_int_equal(vec_push(&diff.ops, ops[i]), 0);
    assert_int_equal(export_queue_fill(queue, &diff), 0);
}

/* A hundred documents with their markers, removed or written: each transaction has as many. */
static void keeps_a_document_and_its_marker_together(void **state)
{
    (void)state;
    for (int remove = 0; remove < 2; remove++) {
        CLEANUP(export_queue_done) struct export_queue queue = { 0 };
        struct export_op ops[2 * DOCUMENTS];
        size_t transactions = 0, taken = 0;
        for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
            ops[i] = (struct export_op){
                .remove = remove, .marker = i % 2, .key = "k", .value = remove ? NULL : "{}"
            };
        fill_with(&queue, ops, ARRAY_SIZE(ops));
        while (export_queue_waits(&queue)) {
            struct consul_txn txn = { 0 };
            consul_txn_check_session(&txn, "lock", "session");
            const struct export_taken some = export_queue_take(&queue, &txn, false, 0);
            assert_int_equal(queue.next % 2, 0);
            assert_int_equal(some.removals, remove ? some.ops : 0);
            assert_true(some.ops > 0);
            taken += some.ops;
            transactions++;
            consul_txn_done(&txn);
        }
        assert_int_equal(taken, DOCUMENTS);
        assert_true(transactions > 1);
    }
}

/* Documents so long that a transaction has room for one: its marker still goes with it. */
static void keeps_long_ones_together(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    CLEANUP(export_queue_done) struct export_queue queue = { 0 };
    for (int i = 0; i < EXPORT_VALUE_MAX; i++)
        text_add_char(&text, 'x');
    const struct export_op ops[] = {
        { .key = "a", .value = text_str(&text) },
        { .key = "ma", .value = "x/y", .marker = true },
        { .key = "b", .value = text_str(&text) },
        { .key = "mb", .value = "x/y", .marker = true },
        { .key = "mc", .value = "x/y", .marker = true },
    };
    static const size_t ends[] = { 2, 5 };
    fill_with(&queue, ops, ARRAY_SIZE(ops));
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct consul_txn txn = { 0 };
        consul_txn_check_session(&txn, "lock", "session");
        assert_int_equal(export_queue_take(&queue, &txn, false, 0).ops, 1);
        assert_int_equal(queue.next, ends[i]);
        consul_txn_done(&txn);
    }
    assert_false(export_queue_waits(&queue));
    export_queue_clear(&queue);
    assert_int_equal(queue.ops.count, 0);
}

static void takes_one_after_the_other_where_one_is_denied(void **state)
{
    (void)state;
    CLEANUP(export_queue_done) struct export_queue queue = { 0 };
    const struct export_op ops[] = {
        { .key = "a", .value = "{}" },
        { .key = "ma", .value = "x/y", .marker = true },
        { .key = "b", .value = "{}" },
        { .key = "c", .remove = true },
        { .key = "mc", .marker = true, .remove = true },
    };
    static const size_t ends[] = { 2, 3, 5 };
    fill_with(&queue, ops, ARRAY_SIZE(ops));
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        CLEANUP(consul_txn_done) struct consul_txn txn = { 0 };
        assert_int_equal(export_queue_take(&queue, &txn, true, 0).ops, 1);
        assert_int_equal(queue.next, ends[i]);
    }
    assert_false(export_queue_waits(&queue));
}

/* The time is that of the transaction; what others set as flags is none. */
static void says_when_an_entry_was_written(void **state)
{
    (void)state;
    CLEANUP(export_queue_done) struct export_queue queue = { 0 };
    CLEANUP(consul_txn_done) struct consul_txn txn = { 0 };
    const struct export_op op = { .key = "a", .value = "{}" };
    fill_with(&queue, &op, 1);
    assert_int_equal(export_queue_take(&queue, &txn, false, 1795512345678).ops, 1);
    assert_non_null(strstr(consul_txn_end(&txn), "\"Flags\":1795512345,"));
    assert_int_equal(export_written_wall_ms(1795512345), 1795512345000);
    assert_int_equal(export_written_wall_ms(0), 0);
    assert_int_equal(export_written_wall_ms(42), 0);
    assert_int_equal(export_written_wall_ms(0x2ddccbc058a50c18), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_a_document_and_its_marker_together),
        cmocka_unit_test(keeps_long_ones_together),
        cmocka_unit_test(takes_one_after_the_other_where_one_is_denied),
        cmocka_unit_test(says_when_an_entry_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
