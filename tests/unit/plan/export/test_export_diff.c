// SPDX-License-Identifier: Apache-2.0
/* What is written, marked, removed and left alone, by what is planned and what is there. */
#include <stdio.h>

#include "exporting.h"
#include "plan/export/export_diff.h"

#define PREFIX "kube-service-exporter/"
#define HTTP   "services/cluster-default-service1-http/clusters/cluster"
#define THING  "services/cluster-default-service1-thing/clusters/cluster"
#define NODES  "nodes/cluster"
#define MARKER "fingerpost/cluster/"

struct diffing {
    struct exports exports;
    export_entries have;
    struct export_hold hold;
    struct export_diff diff;
    struct faults faults;
};

static void diffing_begin(struct diffing *diffing)
{
    *diffing = (struct diffing){ .hold.shrink_percent = 50 };
    exports_begin(&diffing->exports);
}

static void diffing_done(struct diffing *diffing)
{
    exports_done(&diffing->exports);
    vec_done(&diffing->have);
    export_diff_done(&diffing->diff);
    faults_done(&diffing->faults);
}

#define AUTODIFFING CLEANUP(diffing_done)

/* Each key's index is its number, from 1. */
static void have(struct diffing *diffing, const char *key, const char *value)
{
    const struct export_entry entry = { key, value, strlen(value), diffing->have.count + 1 };
    assert_int_equal(vec_push(&diffing->have, entry), 0);
}

static void diff_now(struct diffing *diffing)
{
    export_diff_done(&diffing->diff);
    vec_sort(&diffing->have, export_entry_cmp);
    export_at(&diffing->exports, 0);
    assert_int_equal(export_diff(&diffing->exports.config, &diffing->exports.plan, &diffing->have,
                                 &diffing->hold, &diffing->diff, &diffing->faults),
                     0);
}

/* Each op as "+KEY 0" or "-KEY 3", without the prefix. */
static void assert_ops(const struct diffing *diffing, const char *expected)
{
    AUTOTEXT struct text ops = { 0 };
    vec_each(const struct export_op, op, &diffing->diff.ops)
        text_addf(&ops, "%c%s %d\n", op->remove ? '-' : '+', op->key + strlen(PREFIX),
                  (int)op->index);
    assert_string_equal(text_str(&ops), expected);
}

/* Each as "KEY STATE OWNER", without the prefix. */
static void assert_standings(const struct diffing *diffing, const char *expected)
{
    AUTOTEXT struct text told = { 0 };
    vec_each(const struct export_standing, standing, &diffing->diff.standings)
        text_addf(&told, "%s %s %s\n", standing->key + strlen(PREFIX),
                  export_state_name(standing->state), standing->owner);
    assert_string_equal(text_str(&told), expected);
}

static void writes_all_to_nothing(void **state)
{
    (void)state;
    AUTODIFFING struct diffing diffing;
    diffing_begin(&diffing);
    put_service1(&diffing.exports, "");
    diff_now(&diffing);
    assert_ops(&diffing, "+" NODES " 0\n+" MARKER NODES " 0\n+" HTTP " 0\n+" MARKER HTTP
                         " 0\n+" THING " 0\n+" MARKER THING " 0\n");
    assert_string_equal(diffing.diff.ops.items[3].value, "default/service1");
    assert_true(diffing.diff.ops.items[3].marker);
    assert_standings(&diffing, NODES " pending nodes\n" HTTP " pending default/service1\n" THING
                                     " pending default/service1\n");
}

static const char *planned(struct diffing *diffing, const char *key)
{
    return document_at(&diffing->exports, key);
}

/* What is so already is not written; a document without a marker is only marked. */
static void takes_over_what_says_the_same(void **state)
{
    (void)state;
    AUTODIFFING struct diffing diffing, again;
    diffing_begin(&diffing);
    diffing_begin(&again);
    put_service1(&diffing.exports, "");
    put_service1(&again.exports, "");
    export_at(&diffing.exports, 0);
    have(&again, PREFIX HTTP, planned(&diffing, PREFIX HTTP));
    /* As versions wrote it that did not leave empty members out. */
    have(&again, PREFIX THING,
         "{\"hash\": \"e1f9bf0f5f7eaa9f\", \"ClusterName\": \"cluster\", \"port\": 32124}");
    have(&again, PREFIX NODES, "null");
    have(&again, PREFIX MARKER NODES, "nodes");
    diff_now(&again);
    assert_ops(&again, "+" MARKER HTTP " 0\n+" THING " 2\n+" MARKER THING " 0\n");
    assert_int_equal(again.diff.owned, 3);
}

static void knows_the_same_in_other_words(void **state)
{
    (void)state;
    static const struct {
        const char *wanted, *have;
        int same;
    } cases[] = {
        { "{\"a\":1}", "{\"a\":1}", 1 },
        { "{\"a\":1}", "{ \"a\" : 1.0, \"b\": false, \"c\": 0, \"d\": \"\" }", 1 },
        { "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", 1 },
        { "{\"a\":1}", "{\"a\":2}", 0 },
        { "{\"a\":1}", "{\"a\":\"1\"}", 0 },
        { "{\"a\":1}", "{\"a\":1,\"b\":[]}", 0 },
        { "[]", "null", 1 },
        { "[{\"x\":1}]", "null", 0 },
        { "[1,2]", "[2,1]", 0 },
        { "{}", "{", -EBADMSG },
        { "{}", "", -EBADMSG },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (export_same(cases[i].wanted, cases[i].have, strlen(cases[i].have)) != cases[i].same)
            fail_msg("case %zu", i);
    }
}

/* Edited by others: written again. What is no JSON and not ours is left alone. */
static void puts_right_what_is_ours(void **state)
{
    (void)state;
    AUTODIFFING struct diffing diffing;
    diffing_begin(&diffing);
    put_service1(&diffing.exports, "");
    have(&diffing, PREFIX NODES, "[]");
    have(&diffing, PREFIX MARKER NODES, "nodes");
    have(&diffing, PREFIX HTTP, "garbage");
    have(&diffing, PREFIX MARKER HTTP, "default/service1");
    have(&diffing, PREFIX THING, "garbage");
    diff_now(&diffing);
    assert_ops(&diffing, "+" HTTP " 3\n");
    assert_raised(&diffing.faults, "export-key-foreign at key " PREFIX THING "\n");
    assert_standings(&diffing, NODES " current nodes\n" HTTP " pending default/service1\n" THING
                                     " blocked default/service1\n");
}

/* Exactly the key, whatever begins like it; nothing without a marker of this cluster. */
static void removes_only_what_is_marked(void **state)
{
    (void)state;
    AUTODIFFING struct diffing diffing;
    diffing_begin(&diffing);
    have(&diffing, PREFIX NODES, "[]");
    have(&diffing, PREFIX MARKER NODES, "nodes");
    have(&diffing, PREFIX HTTP, "{}");
    have(&diffing, PREFIX MARKER HTTP, "default/service1");
    have(&diffing, PREFIX HTTP "2", "{}");
    have(&diffing, PREFIX THING, "{}");
    have(&diffing, PREFIX "fingerpost/cluster2/" THING, "default/service1");
    have(&diffing, PREFIX MARKER "services/gone/clusters/cluster", "default/gone");
    have(&diffing, PREFIX "leadership/cluster-leader", "pod");
    diff_now(&diffing);
    assert_ops(&diffing,
               "-" MARKER "services/gone/clusters/cluster 8\n-" HTTP " 3\n-" MARKER HTTP " 4\n");
}

/* A Service that is refused keeps what it had. */
static void keeps_what_a_refused_service_had(void **state)
{
    (void)state;
    AUTODIFFING struct diffing diffing;
    diffing_begin(&diffing);
    put_service1(&diffing.exports, ", " KSE "load-balancer-listen-port: no");
    have(&diffing, PREFIX NODES, "[]");
    have(&diffing, PREFIX MARKER NODES, "nodes");
    have(&diffing, PREFIX HTTP, "{}");
    have(&diffing, PREFIX MARKER HTTP, "default/service1");
    diff_now(&diffing);
    assert_ops(&diffing, "");
    assert_int_equal(diffing.diff.kept_documents, 1);
    assert_standings(&diffing, NODES " current nodes\n" HTTP " kept default/service1\n");
}

/* Another Service has taken over the key: the marker follows. */
static void follows_the_owner(void **state)
{
    (void)state;
    AUTODIFFING struct diffing diffing, plan;
    diffing_begin(&diffing);
    diffing_begin(&plan);
    put_service1(&diffing.exports, "");
    put_service1(&plan.exports, "");
    export_at(&plan.exports, 0);
    have(&diffing, PREFIX NODES, "[]");
    have(&diffing, PREFIX MARKER NODES, "nodes");
    have(&diffing, PREFIX HTTP, planned(&plan, PREFIX HTTP));
    have(&diffing, PREFIX MARKER HTTP, "other/service1");
    have(&diffing, PREFIX THING, planned(&plan, PREFIX THING));
    have(&diffing, PREFIX MARKER THING, "default/service1");
    diff_now(&diffing);
    assert_ops(&diffing, "+" MARKER HTTP " 4\n");
}

/* A list of nodes that loses more than half, or all, is held back until it is let go. */
static void holds_a_list_that_shrinks(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        bool held;
    } cases[] = {
        { "[{\"Name\":\"a\"},{\"Name\":\"b\"},{\"Name\":\"c\"}]", true },
        { "[{\"Name\":\"z\",\"Address\":\"1\"},{\"Name\":\"b\"}]", false },
        { "[]", false },
        { "garbage", false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTODIFFING struct diffing diffing;
        diffing_begin(&diffing);
        put(&diffing.exports.objects,
            "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {addresses: [{type: "
            "InternalIP, address: 10.0.0.1}], conditions: [{type: Ready, status: 'True'}]}\n");
        have(&diffing, PREFIX NODES, cases[i].before);
        have(&diffing, PREFIX MARKER NODES, "nodes");
        diff_now(&diffing);
        assert_int_equal(diffing.diff.held_nodes, cases[i].held);
        assert_int_equal(diffing.diff.standings.items[0].state,
                         cases[i].held ? EXPORT_HELD : EXPORT_PENDING);
        assert_ops(&diffing, cases[i].held ? "" : "+" NODES " 1\n");
        diffing.hold.nodes = true;
        diff_now(&diffing);
        assert_false(diffing.diff.held_nodes);
        assert_ops(&diffing, "+" NODES " 1\n");
    }
}

/* Ten documents of which all would go; nine go at once. */
static void holds_many_removals(void **state)
{
    (void)state;
    for (int count = EXPORT_HOLD_MIN - 1; count <= EXPORT_HOLD_MIN; count++) {
        char keys[2 * EXPORT_HOLD_MIN][128];
        AUTODIFFING struct diffing diffing;
        diffing_begin(&diffing);
        have(&diffing, PREFIX NODES, "[]");
        have(&diffing, PREFIX MARKER NODES, "nodes");
        for (int i = 0; i < count; i++) {
            snprintf(keys[2 * i], sizeof(keys[0]), PREFIX "services/%d/clusters/cluster", i);
            snprintf(keys[2 * i + 1], sizeof(keys[0]), PREFIX MARKER "services/%d/clusters/cluster",
                     i);
            have(&diffing, keys[2 * i], "{}");
            have(&diffing, keys[2 * i + 1], "default/gone");
        }
        diff_now(&diffing);
        bool held = count >= EXPORT_HOLD_MIN;
        assert_int_equal(diffing.diff.held_documents, held ? count : 0);
        assert_int_equal(diffing.diff.ops.count, held ? 0 : 2 * count);
        assert_int_equal(export_standings_count(&diffing.diff.standings, EXPORT_HELD),
                         held ? count : 0);
        assert_int_equal(export_standings_count(&diffing.diff.standings, EXPORT_GOING),
                         held ? 0 : count);
        diffing.hold.documents = true;
        diff_now(&diffing);
        assert_int_equal(diffing.diff.ops.count, 2 * count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_all_to_nothing),
        cmocka_unit_test(takes_over_what_says_the_same),
        cmocka_unit_test(knows_the_same_in_other_words),
        cmocka_unit_test(puts_right_what_is_ours),
        cmocka_unit_test(removes_only_what_is_marked),
        cmocka_unit_test(keeps_what_a_refused_service_had),
        cmocka_unit_test(follows_the_owner),
        cmocka_unit_test(holds_a_list_that_shrinks),
        cmocka_unit_test(holds_many_removals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
