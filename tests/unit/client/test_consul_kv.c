// SPDX-License-Identifier: Apache-2.0
/* Entries out of answers that come in pieces of any size, and the bodies of transactions. */
#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "client/consul/consul_kv.h"
#include "cmocka_all.h"

/* What was told, as "KEY=VALUE@INDEX/FLAGS SESSION\n". */
static int note(void *context, const struct consul_entry *entry)
{
    struct text *told = context;
    text_addf(told, "%s=%.*s@%d/%d %s\n", entry->key, (int)entry->length, entry->value,
              (int)entry->index, (int)entry->flags, entry->session);
    return 0;
}

/* The result of reading a text in pieces of `step` bytes; `*ret_complete`: the list has ended. */
static int read_in_steps(const char *answer, size_t step, struct text *told, bool *ret_complete)
{
    CLEANUP(consul_reader_freep) struct consul_reader *reader = consul_reader_new(note, told);
    size_t length = strlen(answer);
    int r = 0;
    assert_non_null(reader);
    for (size_t at = 0; at < length && r == 0; at += step)
        r = consul_reader_push(reader, answer + at, MIN(step, length - at));
    *ret_complete = consul_reader_is_complete(reader);
    return r;
}

static void reads_entries_in_any_pieces(void **state)
{
    (void)state;
    static const char answer[] =
        "[{\"LockIndex\":0,\"Key\":\"a/b\",\"Flags\":3,\"Value\":\"eyJ4IjoxfQ==\","
        "\"CreateIndex\":6,\"ModifyIndex\":6},\n {\"Key\":\"q\\\"]}\",\"Value\":null,"
        "\"ModifyIndex\":7,\"Session\":\"s-1\"} ]\n";
    for (size_t step = 1; step <= sizeof(answer); step++) {
        AUTOTEXT struct text told = { 0 };
        bool complete;
        assert_int_equal(read_in_steps(answer, step, &told, &complete), 0);
        assert_true(complete);
        assert_string_equal(text_str(&told), "a/b={\"x\":1}@6/3 \nq\"]}=@7/0 s-1\n");
    }
}

static void knows_where_a_list_ends(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        int result;
        bool complete;
    } cases[] = {
        { "[]", 0, true },
        { " [ ] ", 0, true },
        { "", 0, false },
        { "[{\"Key\":\"a\"}", 0, false },
        { "[{\"Key\":\"a", 0, false },
        { "{\"Key\":\"a\"}", -EBADMSG, false },
        { "<html>", -EBADMSG, false },
        { "[]x", -EBADMSG, true },
        { "[1]", -EBADMSG, false },
        { "[{\"Key\":\"\"}]", -EBADMSG, true },
        { "[{\"Value\":\"YQ==\"}]", -EBADMSG, true },
        { "[{\"Key\":\"a\",\"Value\":\"*\"}]", -EBADMSG, true },
        { "[{\"Key\":\"a\",\"Key\":\"b\"}]", -EBADMSG, true },
        { "[{\"Key\":[[[[[[[[[1]]]]]]]]]}]", -EBADMSG, false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOTEXT struct text told = { 0 };
        bool complete;
        int r = read_in_steps(cases[i].answer, 1, &told, &complete);
        if (r != cases[i].result || (r == 0 && complete != cases[i].complete))
            fail_msg("%s gives %d", cases[i].answer, r);
    }
}

static int refuse(void *context, const struct consul_entry *entry)
{
    (void)context, (void)entry;
    return -ENOMEM;
}

static void ends_where_the_caller_says(void **state)
{
    (void)state;
    static const char answer[] = "[{\"Key\":\"a\"},{\"Key\":\"b\"}]";
    CLEANUP(consul_reader_freep) struct consul_reader *reader = consul_reader_new(refuse, NULL);
    assert_int_equal(consul_reader_push(reader, answer, strlen(answer)), -ENOMEM);
}

static void makes_transactions(void **state)
{
    (void)state;
    CLEANUP(consul_txn_done) struct consul_txn txn = { 0 };
    consul_txn_check_session(&txn, "lock", "s-1");
    consul_txn_put(&txn, "a\"b", "{\"x\":1}", 7, 0, 1795512345);
    consul_txn_remove(&txn, "c", 9);
    assert_int_equal(txn.ops, 3);
    assert_string_equal(
        consul_txn_end(&txn),
        "[{\"KV\":{\"Verb\":\"check-session\",\"Key\":\"lock\",\"Session\":\"s-1\"}},"
        "{\"KV\":{\"Verb\":\"cas\",\"Key\":\"a\\\"b\",\"Index\":0,"
        "\"Flags\":1795512345,\"Value\":\"eyJ4IjoxfQ==\"}},"
        "{\"KV\":{\"Verb\":\"delete-cas\",\"Key\":\"c\",\"Index\":9}}]");
}

static void knows_when_a_transaction_is_full(void **state)
{
    (void)state;
    CLEANUP(consul_txn_done) struct consul_txn txn = { 0 };
    consul_txn_check_session(&txn, "lock", "s-1");
    assert_true(consul_txn_has_room(&txn, 1, CONSUL_TXN_BYTES)); /* alone it goes in any case */
    for (int i = 1; i < CONSUL_TXN_OPS; i++) {
        assert_true(consul_txn_has_room(&txn, 1, 1));
        consul_txn_put(&txn, "a", "b", 1, 0, 0);
    }
    assert_false(consul_txn_has_room(&txn, 1, 1));
    CLEANUP(consul_txn_done) struct consul_txn other = { 0 };
    consul_txn_check_session(&other, "lock", "s-1");
    consul_txn_put(&other, "a", "b", 1, 0, 0);
    assert_false(consul_txn_has_room(&other, 1, CONSUL_TXN_BYTES));
}

static void tells_why_a_transaction_was_refused(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *reason;
    } cases[] = {
        { "{\"Results\":null,\"Errors\":[{\"OpIndex\":0,\"What\":\"lock is gone\"}]}",
          "lock is gone" },
        { "{\"Errors\":[]}", "refused without a reason" },
        { "{\"Errors\":7}", "refused without a reason" },
        { "x", "refused without a reason" },
        { "", "refused without a reason" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOTEXT struct text reason = { 0 };
        consul_txn_reason(cases[i].answer, strlen(cases[i].answer), &reason);
        assert_string_equal(text_str(&reason), cases[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_entries_in_any_pieces),
        cmocka_unit_test(knows_where_a_list_ends),
        cmocka_unit_test(ends_where_the_caller_says),
        cmocka_unit_test(makes_transactions),
        cmocka_unit_test(knows_when_a_transaction_is_full),
        cmocka_unit_test(tells_why_a_transaction_was_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
