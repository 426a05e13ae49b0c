// SPDX-License-Identifier: Apache-2.0
/* Everything that can go wrong between the client and BIRD. */
#include <errno.h>
#include <string.h>

#include "bird_fixture.h"
#include "failing_malloc.h"

static void assert_unreachable(struct fixture *fixture, const char *words)
{
    run_until(fixture, fixture->view->error[0] != '\0');
    assert_false(fixture->view->reachable);
    assert_int_equal(fixture->view->facts.sessions.count, 0);
    assert_int_equal(fixture->view->facts.learned[BIRD_IPV4], -1);
    if (!strstr(fixture->view->error, words))
        fail_msg("\"%s\" is not in \"%s\"", words, fixture->view->error);
}

static void it_may_be_absent_and_come(void **state)
{
    struct fixture *fixture = *state;
    start_client(fixture, &patient);
    assert_unreachable(fixture, "there is no socket");
    int64_t since = fixture->view->since_wall_ms;
    assert_true(since > 0);
    bird_client_poll_soon(fixture->client);
    for (int i = 0; i < 20; i++)
        step(fixture);
    assert_int_equal(fixture->changes, 1); /* nothing new to tell */
    assert_int_equal(fixture->view->since_wall_ms, since);

    fake_bird_start(&fixture->bird);
    run_until(fixture, fixture->view->reachable);
    assert_string_equal(fixture->view->error, "");
}

static void it_may_be_killed_and_restarted(void **state)
{
    struct fixture *fixture = *state;
    connected(fixture, &brisk);
    fake_bird_kill(&fixture->bird);
    run_until(fixture, !fixture->view->reachable);
    assert_unreachable(fixture, "");
    run_until(fixture, strstr(fixture->view->error, "nobody listens"));
    fake_bird_start(&fixture->bird);
    run_until(fixture, fixture->view->reachable);
    assert_int_equal(fixture->bird.connections, 2);
}

static void it_may_hang(void **state)
{
    struct fixture *fixture = *state;
    const struct script script[] = { { "show protocols", NULL } };
    use_script(fixture, script);
    fake_bird_start(&fixture->bird);
    start_client(fixture, &quick);
    assert_unreachable(fixture, "does not answer \"show protocols all\" within 30ms");
    run_until(fixture, fixture->bird.connections >= 3);
    fixture->script_length = 0;
    run_until(fixture, fixture->view->reachable);
}

/* It was told as silent, and goes on: on the same connection, from where it was. */
static void it_may_go_on(void **state)
{
    struct fixture *fixture = *state;
    const struct script script[] = { { "show protocols", NULL } };
    use_script(fixture, script);
    fake_bird_start(&fixture->bird);
    start_client(fixture, &late);
    assert_unreachable(fixture, "does not answer \"show protocols all\" within 30ms");
    fixture->script_length = 0;
    fake_bird_say(&fixture->bird, "0000 \n");
    run_until(fixture, fixture->view->reachable);
    assert_string_equal(fixture->view->error, "");
    assert_int_equal(fixture->bird.connections, 1);
}

static void it_may_not_greet(void **state)
{
    struct fixture *fixture = *state;
    fixture->bird.greeting = NULL;
    fake_bird_start(&fixture->bird);
    start_client(fixture, &quick);
    assert_unreachable(fixture, "does not answer the connection");
}

static void half_a_reply_times_out(void **state)
{
    struct fixture *fixture = *state;
    const struct script script[] = { { "show protocols", "2002-Name\n1002-tor4  BGP" } };
    use_script(fixture, script);
    fake_bird_start(&fixture->bird);
    start_client(fixture, &quick);
    assert_unreachable(fixture, "does not answer \"show protocols all\"");
}

static int on_half_said(sd_event_source *source, void *userdata)
{
    (void)source;
    fake_bird_hang_up(userdata);
    return 0;
}

static const char *say_half_and_hang_up(const char *command, void *context)
{
    struct fixture *fixture = context;
    if (strncmp(command, "show protocols", 14) != 0)
        return "0000 \n";
    sd_event_source *source = NULL;
    assert_true(sd_event_add_defer(fixture->event, &source, on_half_said, &fixture->bird) >= 0);
    assert_true(sd_event_source_set_floating(source, 1) >= 0);
    sd_event_source_unref(source);
    return "2002-Name\n1002-tor4  BGP";
}

static void it_may_close_in_the_middle(void **state)
{
    struct fixture *fixture = *state;
    fake_bird_start(&fixture->bird);
    start_client(fixture, &patient);
    fixture->bird.answer = say_half_and_hang_up;
    assert_unreachable(fixture, "closed the connection");
    run_until(fixture, fixture->bird.connections >= 2);
}

static void a_hang_up_instead_of_an_answer(void **state)
{
    struct fixture *fixture = *state;
    const struct script script[] = { { "restrict", "" } };
    use_script(fixture, script);
    fake_bird_start(&fixture->bird);
    start_client(fixture, &patient);
    assert_unreachable(fixture, "closed the connection");
}

static void nonsense_is_not_believed(void **state)
{
    struct fixture *fixture = *state;
    static const char *const greetings[] = { "SSH-2.0-OpenSSH_9.2\r\n", "0001 FRR ready.\n",
                                             "0000 \n", "1002-a\nno code\n" };
    fake_bird_start(&fixture->bird);
    for (size_t i = 0; i < ARRAY_SIZE(greetings); i++) {
        fixture->bird.greeting = greetings[i];
        start_client(fixture, &patient);
        assert_unreachable(fixture, "does not speak BIRD's protocol");
        bird_client_free(fixture->client);
        fixture->client = NULL;
    }
}

static void talk_unasked_is_not_believed(void **state)
{
    struct fixture *fixture = *state;
    connected(fixture, &patient);
    fake_bird_say(&fixture->bird, "0000 hello\n");
    run_until(fixture, !fixture->view->reachable);
    assert_unreachable(fixture, "does not speak BIRD's protocol");
}

static void a_flood_is_cut_off(void **state)
{
    struct fixture *fixture = *state;
    AUTOTEXT struct text line = { 0 };
    text_addf(&line, "0001 %05000d\n", 0);
    fixture->bird.greeting = text_str(&line);
    fake_bird_start(&fixture->bird);
    start_client(fixture, &patient);
    assert_unreachable(fixture, "more than is believable");
}

static void memory_may_run_out(void **state)
{
    struct fixture *fixture = *state;
    connected(fixture, &brisk);
    allocations_left = 0;
    run_until(fixture, !fixture->view->reachable);
    allocations_left = -1;
    assert_unreachable(fixture, "no memory");
    run_until(fixture, fixture->view->reachable);
}

static void a_path_may_be_too_long(void **state)
{
    struct fixture *fixture = *state;
    AUTOFREE char *longer = text_format("/%0200d", 0);
    start_client_at(fixture, &patient, longer);
    assert_unreachable(fixture, "name too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_may_be_absent_and_come, setup, teardown),
        cmocka_unit_test_setup_teardown(it_may_be_killed_and_restarted, setup, teardown),
        cmocka_unit_test_setup_teardown(it_may_hang, setup, teardown),
        cmocka_unit_test_setup_teardown(it_may_go_on, setup, teardown),
        cmocka_unit_test_setup_teardown(it_may_not_greet, setup, teardown),
        cmocka_unit_test_setup_teardown(half_a_reply_times_out, setup, teardown),
        cmocka_unit_test_setup_teardown(it_may_close_in_the_middle, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hang_up_instead_of_an_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(nonsense_is_not_believed, setup, teardown),
        cmocka_unit_test_setup_teardown(talk_unasked_is_not_believed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_flood_is_cut_off, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_path_may_be_too_long, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
