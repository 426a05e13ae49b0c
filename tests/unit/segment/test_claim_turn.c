// SPDX-License-Identifier: Apache-2.0
/*
 * One claim and the store, word by word: what is asked in which state, after which event; and which
 * records are deleted. The store is a list of what it was asked. A claim without addresses needs
 * neither a kernel nor a wire.
 *
 * Words of a script: "?" a turn; "barred", "may", "unwanted"; the answer to what was asked:
 * "absent", "free" (a record of nobody), "other", "done", "conflict", "fail", "own" (what is known
 * already); "heard" another's
 * record by the watch, "gone" that there is none; "+N" N milliseconds later.
 */
#include <errno.h>

#include "claim_world.h"

static int socket_error; /* of each packet socket */

int __wrap_segment_socket_open(uint32_t ifindex, struct segment_socket **ret_socket);
int __wrap_segment_socket_open(uint32_t ifindex, struct segment_socket **ret_socket)
{
    (void)ifindex, (void)ret_socket;
    return socket_error;
}

static void obey(struct world *world, const char *word)
{
    static const struct {
        const char *word;
        enum claim_outcome outcome;
        const char *holder;
    } answers[] = {
        { "absent", CLAIM_ABSENT, NULL },     { "free", CLAIM_DONE, "" },
        { "other", CLAIM_DONE, "node-2" },    { "done", CLAIM_DONE, NULL },
        { "conflict", CLAIM_CONFLICT, NULL }, { "fail", CLAIM_FAILED, NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        if (strcmp(word, answers[i].word) == 0) {
            answer(world, answers[i].outcome, answers[i].holder);
            return;
        }
    }
    if (strcmp(word, "own") == 0) {
        const struct lease *lease = &world->claim.lease;
        const struct claim_answer own = { .outcome = CLAIM_DONE,
                                          .record = &lease->seen,
                                          .version = lease->version,
                                          .since_ms = INT64_MAX };
        world->asked.told(world->asked.context, &own);
    } else if (strcmp(word, "?") == 0) {
        claim_rank(&world->claim, now_of(world));
        claim_ask(&world->claim, now_of(world));
    } else if (strcmp(word, "heard") == 0) {
        hear(world, "node-2");
    } else if (strcmp(word, "gone") == 0) {
        hear(world, NULL);
    } else if (*word == '+') {
        world->later_ms += strtol(word + 1, NULL, 10);
    } else if (strcmp(word, "watched") == 0) {
        world->since_ms = 0;
    } else if (strcmp(word, "unwanted") == 0) {
        world->claim.wanted = false;
    } else {
        world->claim.reason = strcmp(word, "may") == 0 ? PLACEMENT_MAY : PLACEMENT_LINK_DOWN;
    }
}

static void play(struct world *world, const char *script)
{
    char words[256];
    (void)snprintf(words, sizeof(words), "%s", script);
    for (char *rest = words, *word; (word = strsep(&rest, " "));)
        obey(world, word);
}

static const struct row {
    const char *script, *asked;
    bool right, over;
} rows[] = {
    /* Nothing is known. */
    { "?", "read", false, false },
    { "? ?", "read", false, false },
    { "barred ?", "", false, false },
    { "unwanted ?", "", false, true },
    { "? fail ?", "read", false, false },
    { "? fail +260 ?", "read read", false, false },
    /* There is none. */
    { "? absent ?", "read", false, false },
    { "? absent +10300 ?", "read read", false, false },
    { "watched ? absent ?", "read create", false, false },
    { "watched ? absent ? done ?", "read create", true, false },
    { "watched ? absent ? conflict +2 ?", "read create read", false, false },
    /* It names nobody. */
    { "? free ?", "read update", false, false },
    { "? free ? done ?", "read update", true, false },
    { "? free ? conflict +2 ?", "read update read", false, false },
    { "? free ? conflict +2 ? other ?", "read update read", false, false },
    { "? free ? fail +260 ?", "read update read", false, false },
    { "? free barred ?", "read", false, false },
    { "? free unwanted ?", "read", false, true },
    /* A write whose answer was lost may have taken it. */
    { "? free ? fail barred +260 ?", "read update read", false, false },
    { "? free ? fail unwanted +260 ? other ?", "read update read", false, true },
    /* Another has it. */
    { "? other ?", "read", false, false },
    { "? other +10200 ?", "read", false, false },
    { "? other +10300 ?", "read update", false, false },
    { "? other heard +10200 ?", "read", false, false },
    { "? other unwanted ?", "read", false, true },
    /* It is held. */
    { "? free ? done +3000 ?", "read update", true, false },
    { "? free ? done +3400 ?", "read update update", true, false },
    { "? free ? done +3400 ? fail +260 ?", "read update update read", true, false },
    { "? free ? done +3400 ? conflict +2 ? other ?", "read update update read", false, false },
    { "? free ? done heard ?", "read update read", true, false },
    { "? free ? done heard ? other ?", "read update read", false, false },
    { "? free ? done gone ?", "read update read", true, false },
    { "? free ? done gone ? absent ? done ?", "read update read create", true, false },
    { "? free ? done +9100 ?", "read update update", false, false },
    { "? free ? done barred ?", "read update release", false, false },
    { "? free ? done barred ? done ?", "read update release", false, false },
    { "? free ? done barred ? done may ?", "read update release update", false, false },
    { "? free ? done unwanted ?", "read update release", false, false },
    { "? free ? done unwanted ? done ?", "read update release", false, true },
    { "? free ? done unwanted ? fail +260 ?", "read update release read", false, false },
};

static void each_state_meets_each_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world world;
        begin(&world);
        play(&world, rows[i].script);
        if (strcmp(world.log, rows[i].asked) != 0 || world.claim.has_right != rows[i].right ||
            claim_is_over(&world.claim) != rows[i].over)
            fail_msg("\"%s\": asked \"%s\", right %d, over %d", rows[i].script, world.log,
                     world.claim.has_right, claim_is_over(&world.claim));
        end(&world);
    }
}

/* When it is told that nobody has it; -1: it is not. */
static int64_t told_after_ms(struct world *world, enum placement_reason reason)
{
    world->claim.reason = reason;
    claim_rank(&world->claim, 1000);
    int64_t due_ms = claim_nobody_ms(&world->claim);
    return due_ms == INT64_MAX ? -1 : due_ms;
}

static void that_nobody_may_have_it_is_told(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    assert_int_equal(told_after_ms(&world, PLACEMENT_OTHER_LINKS), -1); /* not heard of yet */
    world.claims.hears = true;
    assert_int_equal(told_after_ms(&world, PLACEMENT_OTHER_LINKS), 6000);
    assert_int_equal(told_after_ms(&world, PLACEMENT_NO_ENDPOINT), -1);
    assert_int_equal(told_after_ms(&world, PLACEMENT_UNUSED_LINK), 6000);
    hear(&world, "node-2");
    assert_int_equal(told_after_ms(&world, PLACEMENT_OTHER_LINKS), -1);
    hear(&world, "");
    assert_int_equal(told_after_ms(&world, PLACEMENT_OTHER_NODES), 6000);
    CLEANUP(contenders_dropp) struct contenders *others = contenders_new();
    assert_int_equal(contenders_add(others, "node-2", 0), 0);
    world.claim.others = others;
    assert_int_equal(told_after_ms(&world, PLACEMENT_OTHER_NODES), -1); /* that one is to have it */
    assert_int_equal(told_after_ms(&world, PLACEMENT_OTHER_LINKS), 6000);
    end(&world);
}

/* ---- Records ---- */

static void hear_record(struct world *world, const char *holder, const char *version)
{
    const struct lease_record record = record_of(holder);
    claim_records_note(&world->claims, KEY, &record, version, false);
}

static void records_are_deleted_when_nobody_can_want_them(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    const int64_t now_ms = clock_boot_ms(), duration_ms = lease_rules_default.duration_ms;
    assert_true(claim_records_next_ms(&world.claims) == INT64_MAX);
    hear_record(&world, "node-2", "1");
    int64_t due_ms = claim_records_next_ms(&world.claims);
    assert_in_range(due_ms - now_ms, 2 * duration_ms, 3 * duration_ms + 1000);
    claim_records_tidy(&world.claims, due_ms - 1);
    assert_string_equal(world.log, "");
    /* Told again as it was, it is no younger; renewed, it is. */
    hear_record(&world, "node-2", "1");
    assert_true(claim_records_next_ms(&world.claims) == due_ms);
    hear_record(&world, "", "2");
    assert_in_range(claim_records_next_ms(&world.claims) - now_ms, duration_ms,
                    2 * duration_ms + 1000);
    claim_records_tidy(&world.claims, now_ms + 5 * duration_ms);
    assert_string_equal(world.log, "remove");
    assert_string_equal(world.asked.version, "2");
    assert_true(claim_records_next_ms(&world.claims) == INT64_MAX);
    answer(&world, CLAIM_DONE, NULL);
    claim_records_tidy(&world.claims, now_ms + 9 * duration_ms);
    assert_string_equal(world.log, "remove");
    end(&world);
}

static void what_a_claim_wants_or_another_took_stays(void **state)
{
    (void)state;
    struct world world;
    struct own_claim *list[] = { &world.claim };
    begin(&world);
    const int64_t late_ms = clock_boot_ms() + 10 * lease_rules_default.duration_ms;
    hear_record(&world, "", "1");
    world.claims.list.items = list;
    world.claims.list.count = 1;
    claim_records_tidy(&world.claims, late_ms);
    assert_true(claim_records_next_ms(&world.claims) == INT64_MAX);
    assert_string_equal(world.log, "");
    world.claims.list.count = 0;
    claim_records_tidy(&world.claims, late_ms);
    answer(&world, CLAIM_CONFLICT, NULL);
    assert_true(claim_records_next_ms(&world.claims) == INT64_MAX);
    hear_record(&world, "node-3", "2");
    assert_true(claim_records_next_ms(&world.claims) != INT64_MAX);
    claim_records_note(&world.claims, KEY, NULL, "", false);
    assert_true(claim_records_next_ms(&world.claims) == INT64_MAX);
    end(&world);
}

static void a_deletion_that_fails_is_told_and_tried_again_with_pauses(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    int64_t late_ms = clock_boot_ms() + 10 * lease_rules_default.duration_ms, pause_ms = 0;
    hear_record(&world, "", "1");
    claim_records_tidy(&world.claims, late_ms);
    for (int i = 0; i < 4; i++) {
        int64_t before_ms = clock_boot_ms();
        answer(&world, CLAIM_FAILED, NULL);
        assert_string_equal(world.claims.removal.trouble, "refused");
        claims_tell(&world.claims);
        const struct known_fault *fault = fault_book_at(world.claims.options.faults, 0);
        assert_non_null(fault);
        assert_string_equal(known_fault_code(fault), "claim-delete-failed");
        assert_string_equal(fault->place, "Lease " KEY);
        int64_t again_ms = world.claims.removal.not_before_ms;
        assert_true(claim_records_next_ms(&world.claims) >= again_ms);
        assert_true(again_ms - before_ms > pause_ms);
        pause_ms = again_ms - before_ms;
        claim_records_tidy(&world.claims, again_ms - 1);
        assert_null(world.claims.removal.request);
        claim_records_tidy(&world.claims, MAX(again_ms, late_ms));
        assert_non_null(world.claims.removal.request);
    }
    answer(&world, CLAIM_ABSENT, NULL);
    assert_string_equal(world.claims.removal.trouble, "");
    claims_tell(&world.claims);
    assert_int_equal(fault_book_count(world.claims.options.faults), 0);
    assert_true(claim_records_next_ms(&world.claims) == INT64_MAX);
    end(&world);
}

/* Of a record of an hour: at once if its holder is no node, else when he should have renewed it. */
static void who_does_not_renew_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *holder;
        int64_t duration_s, stuck_ms; /* since it changed; 0: never */
        bool barred;
    } cases[] = {
        { "by-hand", 3600, 10250 },   { "node-2", 3600, 2400000 },
        { "by-hand", 10, 0 },         { "", 3600, 0 },
        { "by-hand", 3600, 0, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world world;
        begin(&world);
        CLEANUP(contenders_dropp) struct contenders *others = contenders_new();
        assert_int_equal(contenders_add(others, "node-2", 0), 0);
        world.claim.others = others;
        play(&world, cases[i].barred ? "barred ?" : "?");
        struct lease_record record = record_of(cases[i].holder);
        record.duration_s = cases[i].duration_s;
        if (world.claim.lease.asked == LEASE_READ)
            lease_saw(&world.claim.lease, &record, "1", 5000);
        else
            lease_heard(&world.claim.lease, &record, "1", 5000);
        int64_t expected = cases[i].stuck_ms ? 5000 + cases[i].stuck_ms : INT64_MAX;
        assert_true(claim_stuck_ms(&world.claim) == expected);
        end(&world);
    }
}

/* The first fault that is told, or NULL. */
static const struct known_fault *fault_told(struct world *world)
{
    struct own_claim *list[] = { &world->claim };
    world->claims.list.items = list;
    world->claims.list.count = 1;
    claims_tell(&world->claims);
    world->claims.list.items = NULL;
    world->claims.list.count = 0;
    struct fault_book *book = world->claims.options.faults;
    return fault_book_count(book) ? fault_book_at(book, 0) : NULL;
}

/* What is told of the store: the message, or "" for nothing. */
static const char *told(struct world *world)
{
    claim_rank(&world->claim, now_of(world));
    const struct known_fault *fault = fault_told(world);
    return fault ? fault->message : "";
}

static void assert_told(struct world *world, const char *code, const char *place,
                        const char *remedy)
{
    const struct known_fault *fault = fault_told(world);
    assert_non_null(fault);
    assert_int_equal(fault_book_count(world->claims.options.faults), 1);
    assert_string_equal(known_fault_code(fault), code);
    assert_string_equal(fault->place, place);
    if (!strstr(fault->remedy, remedy))
        fail_msg("%s: \"%s\" lacks \"%s\"", code, fault->remedy, remedy);
}

static void an_interface_without_a_packet_socket_is_told(void **state)
{
    (void)state;
    uint32_t ifindexes[] = { 7 };
    const wire_list list = { .items = ifindexes, .count = 1 };
    struct claim_address address = { .ifindex = 7, .interface = "eth7" };
    static const struct {
        int error;
        const char *remedy;
    } cases[] = { { -EPERM, "CAP_NET_RAW" }, { -ENODEV, "ip link" } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world world;
        begin(&world);
        world.claim.addresses.items = &address;
        world.claim.addresses.count = 1;
        assert_int_equal(wires_new(world.event, NULL, NULL, &world.claims.wires), 0);
        socket_error = cases[i].error;
        wires_set(world.claims.wires, &list);
        assert_told(&world, "claim-no-packet-socket", "eth7", cases[i].remedy);
        wires_free(world.claims.wires);
        end(&world);
    }
}

/* Only of what is there already is the remedy to take it away. */
static void an_address_that_the_kernel_refuses_is_told(void **state)
{
    (void)state;
    struct claim_address address = { .interface = "eth7" };
    assert_int_equal(ip_parse("192.0.2.1", &address.ip), 0);
    static const struct {
        int error;
        const char *remedy;
    } cases[] = {
        { -EEXIST, "ip addr del" },
        { -EACCES, "disable_ipv6" },
        { -EPERM, "CAP_NET_ADMIN" },
        { -ENODEV, "ip link" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world world;
        begin(&world);
        world.claim.addresses.items = &address;
        world.claim.addresses.count = 1;
        address.error = cases[i].error;
        world.claim.has_right = true;
        assert_told(&world, "claim-address-refused", "192.0.2.1", cases[i].remedy);
        world.claim.has_right = false;
        assert_null(fault_told(&world));
        end(&world);
    }
}

/* A good reading between two refused writes is no comfort. */
static void writes_that_are_refused_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        bool told;
    } cases[] = {
        { "? free ? fail +260 ?", false },
        { "? free ? fail +260 ? free ? fail", true },
        { "? free ? fail +260 ? free ? fail +510 ? free", true },
        { "watched ? absent ? fail +260 ? absent ? fail", true },
        { "? free ? fail +260 ? free ? fail +510 ? free ? done", false },
        { "? free ? fail +260 ? free ? fail +510 ? other", false },
        { "? free ? done +3400 ? fail +260 ? own ? fail", true },
        { "? other +10300 ? fail +260 ? own ? fail", true }, /* its time is over */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world world;
        begin(&world);
        play(&world, cases[i].script);
        const char *message = told(&world);
        if (cases[i].told != (strcmp(message, "a claim can't be asked for: refused") == 0))
            fail_msg("\"%s\": told \"%s\"", cases[i].script, message);
        end(&world);
    }
}

/* The figure is of the write that took longest, and goes with the first that is quick enough. */
static void writes_that_take_too_long_are_told(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    play(&world, "? free ?");
    world.claim.lease.asked_ms -= 4700; /* so long ago */
    play(&world, "done ?");
    assert_string_equal(world.log, "read update release"); /* it can't be kept */
    assert_string_equal(told(&world),
                        "a write took 4.7 s; a claim of 10 s can't be kept above 3.2 s");
    play(&world, "done ?");
    assert_string_equal(told(&world), "");
    assert_string_equal(world.log, "read update release update");
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_meets_each_event),
        cmocka_unit_test(who_does_not_renew_is_told),
        cmocka_unit_test(that_nobody_may_have_it_is_told),
        cmocka_unit_test(writes_that_are_refused_are_told),
        cmocka_unit_test(writes_that_take_too_long_are_told),
        cmocka_unit_test(records_are_deleted_when_nobody_can_want_them),
        cmocka_unit_test(what_a_claim_wants_or_another_took_stays),
        cmocka_unit_test(an_interface_without_a_packet_socket_is_told),
        cmocka_unit_test(an_address_that_the_kernel_refuses_is_told),
        cmocka_unit_test(a_deletion_that_fails_is_told_and_tried_again_with_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
