// SPDX-License-Identifier: Apache-2.0
/* What is told of Egresses whose gateways can't be made: Events on them, and the list of all. */
#include <stdio.h>

#include "../plan/egress/workload_planning.h"
#include "api/egress/view_egress_workloads.h"
#include "client/kube/kube_event.h"
#include "controller/egress/egress_inside.h"
#include "format/reader.h"

struct told {
    struct workloads *fx;
    struct controller_status status;
    struct board board;
    struct egress_job job;
    struct kube_write write;
    struct text out;
};

static void begin(struct told *told, struct workloads *fx)
{
    *told = (struct told){ .fx = fx, .status.election.identity = "cp-1" };
    told->board = (struct board){ .store = fx->store, .status = &told->status };
    told->job.job.board = &told->board;
    refusals_init(&told->job.refusals);
    tell_egress(fx, "replicas: 2");
}

static void end(struct told *told)
{
    refusals_done(&told->job.refusals);
    text_done(&told->out);
}

static int make_event(struct told *told, const char *key)
{
    text_truncate(&told->out, 0);
    return egress_event_make(&told->job, key, &told->write, &told->out);
}

static void an_event_says_what_is_refused_of_which_object(void **state)
{
    CLEANUP(end) struct told told;
    char name[KUBE_EVENT_NAME_MAX + 1];
    begin(&told, *state);
    assert_int_equal(make_event(&told, "Deployment/net/nat"), 0);
    assert_true(refusals_note(&told.job.refusals, "Deployment net/nat", "no", "mend it"));
    assert_int_equal(make_event(&told, "Deployment/net/nat"), 1);
    assert_int_equal(told.write.verb, KUBE_CREATE);
    assert_string_equal(told.write.target.namespace, "net");
    (void)snprintf(name, sizeof(name), "%s", told.write.target.name);
    assert_non_null(strstr(text_str(&told.out), "\"note\":\"Deployment net/nat: no: mend it\""));
    assert_non_null(strstr(text_str(&told.out),
                           "\"regarding\":{\"apiVersion\":\"coil.cybozu.com/v2\",\"kind\":"
                           "\"Egress\",\"namespace\":\"net\",\"name\":\"nat\",\"uid\":\"e1\"}"));

    /* The same cause has the same name, another one has another. */
    assert_int_equal(make_event(&told, "Deployment/net/nat"), 1);
    assert_string_equal(told.write.target.name, name);
    assert_true(refusals_note(&told.job.refusals, "Deployment net/nat", "never", NULL));
    assert_int_equal(make_event(&told, "Deployment/net/nat"), 1);
    assert_string_not_equal(told.write.target.name, name);
}

static void what_several_egresses_share_has_no_event(void **state)
{
    CLEANUP(end) struct told told;
    begin(&told, *state);
    assert_true(refusals_note(&told.job.refusals, "ClusterRoleBinding fingerpost-egress-reads",
                              "no", NULL));
    assert_int_equal(make_event(&told, "ClusterRoleBinding//fingerpost-egress-reads"), 0);
}

static void expect_list(struct told *told, bool leads, const char *rest)
{
    const struct controller_state state = { .store = told->fx->store,
                                            .egress_refusals = leads ? &told->job.refusals : NULL };
    AUTOFREE char *expected =
        text_format("{\"apiVersion\":\"v1\",\"kind\":\"EgressWorkloadList\",\"items\":["
                    "{\"namespace\":\"net\",\"name\":\"nat\",%s}]}",
                    rest);
    text_truncate(&told->out, 0);
    view_egress_workloads(&state, &told->out);
    while (told->out.length && text_str(&told->out)[told->out.length - 1] == '\n')
        text_truncate(&told->out, told->out.length - 1);
    assert_string_equal(text_str(&told->out), expected);
}

static void the_list_says_how_many_there_are_and_what_is_refused(void **state)
{
    CLEANUP(end) struct told told;
    begin(&told, *state);
    expect_list(&told, true,
                "\"gateways\":\"pods\",\"wanted\":2,\"pods\":0,\"available\":0,\"refused\":[],"
                "\"state\":\"starting\"");
    tell(told.fx, KIND_DEPLOYMENT,
         "metadata: {" NAMED
         ", " OWNED("e1") ", " LABELS("nat") "}\n"
                                             "status: {replicas: 2, availableReplicas: 2}\n");
    expect_list(&told, true,
                "\"gateways\":\"pods\",\"wanted\":2,\"pods\":2,\"available\":2,\"refused\":[],"
                "\"state\":\"ready\"");
    assert_true(
        refusals_note(&told.job.refusals, "ServiceAccount net/fingerpost-egress", "no", "ask"));
    expect_list(&told, true,
                "\"gateways\":\"pods\",\"wanted\":2,\"pods\":2,\"available\":2,\"refused\":["
                "{\"object\":\"ServiceAccount net/fingerpost-egress\",\"message\":\"no\","
                "\"remedy\":\"ask\"}],\"state\":\"refused\"");
    expect_list(&told, false,
                "\"gateways\":\"pods\",\"wanted\":2,\"pods\":2,\"available\":2,\"refused\":[],"
                "\"state\":\"ready\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_says_what_is_refused_of_which_object,
                                        workloads_begin, workloads_end),
        cmocka_unit_test_setup_teardown(what_several_egresses_share_has_no_event, workloads_begin,
                                        workloads_end),
        cmocka_unit_test_setup_teardown(the_list_says_how_many_there_are_and_what_is_refused,
                                        workloads_begin, workloads_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
