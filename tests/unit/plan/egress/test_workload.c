// SPDX-License-Identifier: Apache-2.0
/* What is written next about the objects of Egresses: each rule of Coil's is a test, named after
 * it, and so is each of its defects that is mended. */
#include <stdio.h>

#include "workload_planning.h"

#define LABELS_JSON                                                                \
    "{\"app.kubernetes.io/name\":\"coil\",\"app.kubernetes.io/instance\":\"nat\"," \
    "\"app.kubernetes.io/component\":\"egress\"}"
#define OWNER_JSON                                                                     \
    "\"ownerReferences\":[{\"apiVersion\":\"coil.cybozu.com/v2\",\"kind\":\"Egress\"," \
    "\"name\":\"nat\",\"uid\":\"e1\",\"controller\":true,\"blockOwnerDeletion\":true}]}"

/* The API has what was applied, as it was answered with. */
static void applied(struct workloads *fx, const struct workload_key *key)
{
    const struct object *there = store_get(fx->store, key->kind, key->namespace, key->name);
    assert_step(fx, key, WORKLOAD_APPLY);
    fx->mark.wanted = fx->plan.wanted;
    (void)snprintf(fx->mark.uid, sizeof(fx->mark.uid), "%s", there->uid);
    (void)snprintf(fx->mark.version, sizeof(fx->mark.version), "%s", there->version);
    fx->mark.digest =
        key->kind == KIND_SERVICE ? to_service(there)->digest : to_workload(there)->digest;
    assert_step(fx, key, WORKLOAD_NOTHING);
}

static void the_service_has_the_port_of_fou_and_both_families(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "");
    assert_body(fx, &service,
                "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"namespace\":\"net\","
                "\"name\":\"nat\",\"labels\":" LABELS_JSON "," OWNER_JSON
                ",\"spec\":{\"type\":\"ClusterIP\",\"ipFamilyPolicy\":\"PreferDualStack\","
                "\"selector\":" LABELS_JSON
                ",\"ports\":[{\"protocol\":\"UDP\",\"port\":5555,\"targetPort\":5555}],"
                "\"sessionAffinity\":\"ClientIP\"}}");
    tell_egress(fx, "sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}");
    plan(fx, &service);
    assert_has(fx, "\"sessionAffinityConfig\":{\"clientIP\":{\"timeoutSeconds\":60}}");
    tell_egress(fx, "sessionAffinity: None, sessionAffinityConfig: {clientIP: {}}");
    plan(fx, &service);
    assert_has(fx, "\"sessionAffinity\":\"None\"}");
}

static void the_budget_says_what_the_egress_says(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "podDisruptionBudget: {minAvailable: 1}");
    assert_body(fx, &budget,
                "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":"
                "{\"namespace\":\"net\",\"name\":\"nat\",\"labels\":" LABELS_JSON "," OWNER_JSON
                ",\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":" LABELS_JSON "}}}");
    tell_egress(fx, "podDisruptionBudget: {maxUnavailable: 50%}");
    plan(fx, &budget);
    assert_has(fx, "\"spec\":{\"maxUnavailable\":\"50%\",\"selector\"");
    tell_egress(fx, "podDisruptionBudget: {maxUnavailable: 1, minAvailable: 1}");
    assert_step(fx, &budget, WORKLOAD_WRONG);
    tell_egress(fx, "");
    assert_step(fx, &budget, WORKLOAD_NOTHING);
}

static void the_budget_goes_with_the_field(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "");
    tell(fx, KIND_DISRUPTION_BUDGET, "metadata: {" NAMED ", " OWNED("e1") "}\nspec: {}\n");
    assert_step(fx, &budget, WORKLOAD_DELETE);
    assert_string_equal(fx->plan.there->uid, "d1");
    tell(fx, KIND_DISRUPTION_BUDGET, "metadata: {" NAMED "}\nspec: {}\n");
    assert_step(fx, &budget, WORKLOAD_NOTHING); /* somebody else's */
}

static void the_deployment_has_replicas_and_strategy(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "replicas: 3");
    plan(fx, &deployment);
    assert_has(fx, "\"spec\":{\"replicas\":3,\"selector\":{\"matchLabels\":" LABELS_JSON
                   "},\"template\"");
    tell_egress(fx, "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}");
    plan(fx, &deployment);
    assert_has(fx, "\"strategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxSurge\":1}}");
}

static void what_is_so_is_not_written(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "replicas: 3");
    tell(fx, KIND_DEPLOYMENT,
         "metadata: {" NAMED ", " OWNED("e1") "}\nspec: {replicas: 3, defaulted: 1}\n");
    assert_step(fx, &deployment, WORKLOAD_APPLY); /* it is not known what it was made of */
    assert_has(fx, "\"uid\":\"d1\",\"resourceVersion\":\"7\"");
    applied(fx, &deployment);
    /* Its status is another, and nobody's edit. */
    tell(fx, KIND_DEPLOYMENT,
         "metadata: {name: nat, namespace: net, uid: d1, resourceVersion: '8', " OWNED(
             "e1") "}\nspec: {replicas: 3, defaulted: 1}\nstatus: {replicas: 1}\n");
    assert_step(fx, &deployment, WORKLOAD_NOTHING);
    tell(fx, KIND_DEPLOYMENT,
         "metadata: {name: nat, namespace: net, uid: d1, resourceVersion: '9', " OWNED(
             "e1") "}\nspec: {replicas: 5, defaulted: 1}\n");
    assert_step(fx, &deployment, WORKLOAD_APPLY);
    /* Older than what was applied: the source has yet to tell. */
    (void)strcpy(fx->mark.version, "10");
    assert_step(fx, &deployment, WORKLOAD_NOTHING);
    tell_egress(fx, "replicas: 4");
    assert_step(fx, &deployment, WORKLOAD_APPLY);
}

static void what_was_made_is_waited_for(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "");
    plan(fx, &deployment);
    assert_lacks(fx, "\"resourceVersion\"");
    fx->mark.wanted = fx->plan.wanted;
    assert_step(fx, &deployment, WORKLOAD_NOTHING);
}

static void a_foreign_object_is_left_alone(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "");
    tell(fx, KIND_DEPLOYMENT, "metadata: {" NAMED "}\nspec: {}\n");
    assert_step(fx, &deployment, WORKLOAD_WRONG);
    assert_non_null(fx->plan.remedy);
    tell(
        fx, KIND_DEPLOYMENT,
        "metadata: {" NAMED ", " LABELS(
            "nat") ", ownerReferences: [{kind: Gateway, name: g, uid: e1, controller: true}]}\nspec: {}\n");
    assert_step(fx, &deployment, WORKLOAD_WRONG);
    tell(fx, KIND_SERVICE,
         "metadata: {" NAMED "}\nspec: {clusterIP: 10.0.0.1, ports: [{port: 1}]}\n");
    assert_step(fx, &service, WORKLOAD_WRONG);
}

static void an_owner_that_was_taken_away_comes_back(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "");
    tell(fx, KIND_DEPLOYMENT, "metadata: {" NAMED ", " LABELS("nat") "}\nspec: {}\n");
    assert_step(fx, &deployment, WORKLOAD_APPLY);
    tell(fx, KIND_SERVICE,
         "metadata: {" NAMED
         ", " LABELS("nat") "}\nspec: {clusterIP: 10.0.0.1, ports: [{port: 1}]}\n");
    assert_step(fx, &service, WORKLOAD_APPLY);
    tell(fx, KIND_SERVICE,
         "metadata: {" NAMED
         ", " LABELS("other") "}\nspec: {clusterIP: 10.0.0.1, ports: [{port: 1}]}\n");
    assert_step(fx, &service, WORKLOAD_WRONG);
    /* Labels and all: known by the uid that was written to. */
    tell(fx, KIND_SERVICE,
         "metadata: {" NAMED "}\nspec: {clusterIP: 10.0.0.1, ports: [{port: 1}]}\n");
    (void)strcpy(fx->mark.uid, "d1");
    assert_step(fx, &service, WORKLOAD_APPLY);
}

static void what_the_last_egress_of_the_name_had_goes_first(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "");
    tell(fx, KIND_DEPLOYMENT, "metadata: {" NAMED ", " OWNED("e0") "}\nspec: {}\n");
    assert_step(fx, &deployment, WORKLOAD_NOTHING);
    tell(fx, KIND_DEPLOYMENT,
         "metadata: {" NAMED
         ", " OWNED("e1") ", deletionTimestamp: '2026-11-24T00:00:00Z'}\nspec: {}\n");
    assert_step(fx, &deployment, WORKLOAD_NOTHING);
}

static void an_egress_that_goes_leaves_all_to_the_api(void **state)
{
    struct workloads *fx = *state;
    tell(fx, KIND_DEPLOYMENT, "metadata: {" NAMED ", " OWNED("e1") "}\nspec: {}\n");
    assert_step(fx, &deployment, WORKLOAD_NOTHING);
    tell(fx, KIND_EGRESS,
         "metadata: {name: nat, namespace: net, uid: e1, deletionTimestamp: "
         "'2026-11-24T00:00:00Z'}\nspec: {destinations: [0.0.0.0/0]}\n");
    assert_step(fx, &deployment, WORKLOAD_NOTHING);
    assert_step(fx, &service, WORKLOAD_NOTHING);
}

static void gateways_that_are_nodes_need_no_pods(void **state)
{
    struct workloads *fx = *state;
    tell(fx, KIND_EGRESS,
         "metadata: {name: nat, namespace: net, uid: e1, annotations: "
         "{fingerpost.io/gateway-nodes: role=gw}}\nspec: {destinations: [0.0.0.0/0]}\n");
    assert_step(fx, &deployment, WORKLOAD_NOTHING);
    assert_step(fx, &account, WORKLOAD_NOTHING);
    tell(fx, KIND_DEPLOYMENT, "metadata: {" NAMED ", " OWNED("e1") "}\nspec: {}\n");
    assert_step(fx, &deployment, WORKLOAD_DELETE);
}

static void each_namespace_with_an_egress_has_the_account(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "");
    assert_body(fx, &account,
                "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"namespace\":"
                "\"net\",\"name\":\"fingerpost-egress\",\"labels\":"
                "{\"app.kubernetes.io/managed-by\":\"fingerpost\"}}}");
    const struct workload_key elsewhere = { KIND_SERVICE_ACCOUNT, "shop", WORKLOAD_ACCOUNT };
    assert_step(fx, &elsewhere, WORKLOAD_NOTHING);
    tell(fx, KIND_SERVICE_ACCOUNT,
         "metadata: {name: fingerpost-egress, namespace: net, uid: d1, resourceVersion: '7'}\n");
    assert_step(fx, &account, WORKLOAD_WRONG);
}

static void the_account_goes_with_the_last_egress(void **state)
{
    struct workloads *fx = *state;
    tell(fx, KIND_SERVICE_ACCOUNT,
         "metadata: {name: fingerpost-egress, namespace: net, uid: d1, resourceVersion: '7', "
         "labels: {app.kubernetes.io/managed-by: fingerpost}}\n");
    assert_step(fx, &account, WORKLOAD_DELETE);
    /* Gateways that run need it. */
    tell(fx, KIND_DEPLOYMENT, "metadata: {" NAMED ", " OWNED("e1") "}\nspec: {}\n");
    assert_step(fx, &account, WORKLOAD_APPLY);
    assert_int_equal(store_remove(fx->store, "t", KIND_DEPLOYMENT, "net", "nat"), 1);
    tell(fx, KIND_SERVICE_ACCOUNT,
         "metadata: {name: fingerpost-egress, namespace: net, uid: d1, resourceVersion: '7'}\n");
    assert_step(fx, &account, WORKLOAD_NOTHING); /* somebody else's */
}

static void the_role_is_bound_to_the_accounts_that_are_needed(void **state)
{
    struct workloads *fx = *state;
    assert_step(fx, &binding, WORKLOAD_NOTHING);
    tell_egress(fx, "");
    tell(fx, KIND_EGRESS,
         "metadata: {name: b, namespace: admin, uid: e2}\nspec: {destinations: ['::/0']}\n");
    tell(fx, KIND_EGRESS,
         "metadata: {name: c, namespace: net, uid: e3}\nspec: {destinations: ['::/0']}\n");
    plan(fx, &binding);
    assert_has(fx,
               "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
               "\"name\":\"fingerpost-egress\"},\"subjects\":[{\"kind\":\"ServiceAccount\","
               "\"name\":\"fingerpost-egress\",\"namespace\":\"admin\"},{\"kind\":"
               "\"ServiceAccount\",\"name\":\"fingerpost-egress\",\"namespace\":\"net\"}]}");
    assert_int_equal(store_remove(fx->store, "t", KIND_EGRESS, "admin", "b"), 1);
    plan(fx, &binding);
    assert_lacks(fx, "admin");
    tell(fx, KIND_ROLE_BINDING,
         "metadata: {name: fingerpost-egress-reads, uid: d1, resourceVersion: '7', labels: "
         "{app.kubernetes.io/managed-by: fingerpost}}\nsubjects: [{name: x}]\n");
    applied(fx, &binding);
    assert_int_equal(store_remove(fx->store, "t", KIND_EGRESS, "net", "nat"), 1);
    assert_int_equal(store_remove(fx->store, "t", KIND_EGRESS, "net", "c"), 1);
    assert_step(fx, &binding, WORKLOAD_DELETE);
}

static void assert_status(struct workloads *fx, int r, const char *part)
{
    const struct object *object = store_get(fx->store, KIND_EGRESS, "net", "nat");
    text_truncate(&fx->body, 0);
    assert_int_equal(plan_workload_status(fx->store, to_egress(object), &fx->body), r);
    assert_has(fx, part);
}

#define SELECTOR                                                                           \
    "app.kubernetes.io/component=egress,app.kubernetes.io/instance=nat,app.kubernetes.io/" \
    "name=coil"

/* The scale subresource: an autoscaler divides its metrics by the pods that there are. */
static void the_status_counts_pods_and_not_those_that_are_available(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "");
    assert_status(fx, 1, "\"status\":{\"replicas\":0,\"selector\":\"" SELECTOR "\"}}");
    tell(fx, KIND_DEPLOYMENT,
         "metadata: {" NAMED
         ", " OWNED("e1") "}\nspec: {}\nstatus: {replicas: 2, availableReplicas: 1}\n");
    assert_status(fx, 1, "\"status\":{\"replicas\":2,");
    tell(fx, KIND_EGRESS,
         "metadata: {name: nat, namespace: net, uid: e1}\nspec: {destinations: [0.0.0.0/0]}\n"
         "status: {replicas: 2, selector: '" SELECTOR "'}\n");
    assert_status(fx, 0, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workloads_begin, workloads_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_service_has_the_port_of_fou_and_both_families),
        TEST(the_budget_says_what_the_egress_says),
        TEST(the_budget_goes_with_the_field),
        TEST(the_deployment_has_replicas_and_strategy),
        TEST(what_is_so_is_not_written),
        TEST(what_was_made_is_waited_for),
        TEST(a_foreign_object_is_left_alone),
        TEST(an_owner_that_was_taken_away_comes_back),
        TEST(what_the_last_egress_of_the_name_had_goes_first),
        TEST(an_egress_that_goes_leaves_all_to_the_api),
        TEST(gateways_that_are_nodes_need_no_pods),
        TEST(each_namespace_with_an_egress_has_the_account),
        TEST(the_account_goes_with_the_last_egress),
        TEST(the_role_is_bound_to_the_accounts_that_are_needed),
        TEST(the_status_counts_pods_and_not_those_that_are_available),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
