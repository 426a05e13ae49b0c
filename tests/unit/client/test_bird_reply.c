// SPDX-License-Identifier: Apache-2.0
/*
 * The framing of BIRD's replies: recorded ones in every two pieces, limits, and what is not the
 * protocol.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "client/bird/bird_reply.h"
#include "cmocka_all.h"
#include "failing_malloc.h"
#include "recording.h"

#define AUTOREPLY CLEANUP(bird_reply_clear)

static void note(const char *line, void *context)
{
    text_addf(context, "[%s]", line);
}

/* All lines as "CODE text|". */
static char *dump(const struct bird_reply *reply)
{
    AUTOTEXT struct text out = { 0 };
    vec_each(const struct bird_line, line, &reply->lines)
        text_addf(&out, "%04u %s|", line->code, bird_reply_text(reply, line));
    text_add(&out, reply->complete ? "end" : "more");
    return text_take(&out);
}

static int feed(struct bird_reply *reply, const char *bytes, size_t size, size_t *ret_used)
{
    *ret_used = 0;
    return bird_reply_feed(reply, bytes, size, ret_used);
}

static void assert_reply(const char *bytes, const char *expected)
{
    AUTOREPLY struct bird_reply reply = { 0 };
    size_t used;
    assert_int_equal(feed(&reply, bytes, strlen(bytes), &used), 0);
    assert_int_equal(used, strlen(bytes));
    AUTOFREE char *got = dump(&reply);
    assert_string_equal(got, expected);
}

static void assert_refused(const char *bytes, size_t size, int error)
{
    AUTOREPLY struct bird_reply reply = { 0 };
    size_t used;
    assert_int_equal(feed(&reply, bytes, size, &used), error);
}

static void lines_carry_codes(void **state)
{
    (void)state;
    assert_reply("0001 BIRD 2.0.12 ready.\n", "0001 BIRD 2.0.12 ready.|end");
    assert_reply("0000 \n", "0000 |end");
    assert_reply("1002-a\n b\n  c\n1006-\n \n0000 \n",
                 "1002 a|1002 b|1002  c|1006 |1006 |0000 |end");
    assert_reply("9001 syntax error\n", "9001 syntax error|end");
    assert_reply("1002-a\n b", "1002 a|more");
    assert_reply("", "more");
}

static void codes_tell_whether_it_was_done(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned code;
        bool ok;
    } cases[] = {
        { "restrict", 16, true }, { "denied", 8007, false },    { "status", 13, true },
        { "protocols", 0, true }, { "down", 9001, false },      { "syntax", 9001, false },
        { "filtered", 0, true },  { "not_found", 8001, false }, { "plain_greeting", 1, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOREPLY struct bird_reply reply = { 0 };
        recording_feed(cases[i].name, &reply);
        assert_int_equal(bird_reply_code(&reply), cases[i].code);
        assert_int_equal(bird_reply_ok(&reply), cases[i].ok);
    }
}

static void pieces_do_not_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < recording_count; i++) {
        AUTOREPLY struct bird_reply whole = { 0 };
        recording_feed(recording_names[i], &whole);
        AUTOFREE char *expected = dump(&whole);
        size_t size, used;
        AUTOFREE char *bytes = recording_read(recording_names[i], &size);
        for (size_t cut = 0; cut <= size; cut++) {
            AUTOREPLY struct bird_reply reply = { 0 };
            assert_int_equal(feed(&reply, bytes, cut, &used), 0);
            assert_int_equal(used, cut);
            assert_int_equal(reply.complete, cut == size);
            assert_int_equal(feed(&reply, bytes + cut, size - cut, &used), 0);
            assert_int_equal(used, size - cut);
            AUTOFREE char *got = dump(&reply);
            assert_string_equal(got, expected);
        }
    }
}

static void a_reply_ends_where_the_next_begins(void **state)
{
    (void)state;
    static const char two[] = "1002-a\n0000 \n0013 b\n";
    AUTOREPLY struct bird_reply reply = { 0 };
    size_t used;
    assert_int_equal(feed(&reply, two, strlen(two), &used), 0);
    assert_int_equal(used, strlen("1002-a\n0000 \n"));
    assert_true(reply.complete);
    bird_reply_clear(&reply);
    assert_false(reply.complete);
    size_t rest = used;
    assert_int_equal(feed(&reply, two + rest, strlen(two) - rest, &used), 0);
    AUTOFREE char *got = dump(&reply);
    assert_string_equal(got, "0013 b|end");
    assert_string_equal(bird_reply_last(&reply), "b");
}

static void log_lines_come_between(void **state)
{
    (void)state;
    static const char bytes[] = "+one\n1002-a\n+two\n b\n+\n0000 \n";
    AUTOTEXT struct text heard = { 0 };
    AUTOREPLY struct bird_reply reply = { .unasked = note, .context = &heard };
    size_t used;
    assert_int_equal(feed(&reply, bytes, strlen(bytes), &used), 0);
    AUTOFREE char *got = dump(&reply);
    assert_string_equal(got, "1002 a|1002 b|0000 |end");
    assert_string_equal(text_str(&heard), "[one][two][]");
    assert_reply("+nobody listens\n0000 \n", "0000 |end");
}

static void what_is_not_the_protocol_is_refused(void **state)
{
    (void)state;
    static const char *const nonsense[] = {
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200 OK\r\n",
        "\n",
        " a\n",
        "000\n",
        "0000\n",
        "00a0 \n",
        "-001 a\n",
        "0000=\n",
        "1002-a\n\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++)
        assert_refused(nonsense[i], strlen(nonsense[i]), -EPROTO);
    assert_refused("0000 a\0b\n", 9, -EPROTO);
    assert_refused("+a\0b\n", 5, -EPROTO);
}

static void lines_have_a_limit(void **state)
{
    (void)state;
    AUTOTEXT struct text line = { 0 };
    text_addf(&line, "0000 %0*d\n", BIRD_LINE_MAX - 5, 0);
    AUTOREPLY struct bird_reply reply = { 0 };
    size_t used;
    assert_int_equal(feed(&reply, line.data, line.length, &used), 0);
    assert_true(reply.complete);
    assert_int_equal(strlen(bird_reply_last(&reply)), BIRD_LINE_MAX - 5);

    text_truncate(&line, line.length - 1);
    text_add(&line, "0\n");
    assert_refused(line.data, line.length, -EFBIG);

    /* Also without an end, and in small pieces. */
    bird_reply_clear(&reply);
    int r = 0;
    for (int i = 0; i < BIRD_LINE_MAX + 1 && r == 0; i++)
        r = feed(&reply, "x", 1, &used);
    assert_int_equal(r, -EFBIG);
}

static void replies_have_a_limit(void **state)
{
    (void)state;
    AUTOREPLY struct bird_reply reply = { 0 };
    AUTOTEXT struct text line = { 0 };
    text_addf(&line, "1007-%01000d\n", 0);
    size_t used, fed = 0;
    int r = 0;
    while (r == 0 && fed < 2 * (size_t)BIRD_REPLY_MAX) {
        r = feed(&reply, line.data, line.length, &used);
        fed += 1001;
    }
    assert_int_equal(r, -EFBIG);
    assert_true(fed > BIRD_REPLY_MAX - 1001 && fed <= BIRD_REPLY_MAX + 1001);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    size_t size, used;
    AUTOFREE char *bytes = recording_read("protocols", &size);
    int r = -ENOMEM;
    for (int left = 0; r == -ENOMEM; left++) {
        AUTOREPLY struct bird_reply reply = { 0 };
        allocations_left = left;
        r = feed(&reply, bytes, size, &used);
        allocations_left = -1;
        assert_true(left > 0 || r == -ENOMEM);
    }
    assert_int_equal(r, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_carry_codes),
        cmocka_unit_test(codes_tell_whether_it_was_done),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(a_reply_ends_where_the_next_begins),
        cmocka_unit_test(log_lines_come_between),
        cmocka_unit_test(what_is_not_the_protocol_is_refused),
        cmocka_unit_test(lines_have_a_limit),
        cmocka_unit_test(replies_have_a_limit),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
