// SPDX-License-Identifier: Apache-2.0
/* Which Events the owners of Services are to get, under which name, and what these say. */
#include <stdio.h>

#include "planning.h"

#include "plan/nat/service_event.h"

static void put_with_uid(struct planning *planning, const char *name, const char *uid,
                         const char *spec)
{
    AUTOFREE char *metadata = text_format("uid: %s", uid);
    put_service(planning, name, metadata, spec, "");
}

static void plan_of(struct planning *planning, const char *address, service_event_list *list)
{
    struct ip ip;
    assert_int_equal(ip_parse(address, &ip), 0);
    assert_int_equal(plan_service_events(&planning->facts, &ip, list), 0);
}

/* "REASON note" of the only event of an address; "" if there is none. */
static const char *said(struct planning *planning, const char *address)
{
    static char text[512];
    AUTOEVENTS service_event_list list = { 0 };
    AUTOTEXT struct text note = { 0 };
    plan_of(planning, address, &list);
    assert_true(list.count <= 1);
    if (list.count == 0)
        return "";
    service_event_note(list.items[0], "node-1", &note);
    (void)snprintf(text, sizeof(text), "%s %s", service_event_reason(list.items[0]),
                   text_str(&note));
    return text;
}

static void a_refused_external_ip(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    planning.config->services.enabled = true;
    add_range(&planning.config->services.external_ips, "192.0.2.0/24");
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/16");
    put_with_uid(&planning, "web", "u1", "externalIPs: [192.0.2.1, 8.8.8.8, 10.96.0.7]");
    assert_string_equal(said(&planning, "192.0.2.1"), "");
    assert_string_equal(said(&planning, "8.8.8.8"),
                        "ExternalIPRefused external IP 8.8.8.8 is not served: it is outside "
                        "services.externalIPs; choose another, or have the range allowed on the "
                        "nodes");
    assert_string_equal(said(&planning, "10.96.0.7"),
                        "ExternalIPRefused external IP 10.96.0.7 is refused: it is a ClusterIP or "
                        "lies in a network of ClusterIPs; choose another");
    /* Another proxy may serve it. */
    planning.config->services.enabled = false;
    assert_string_equal(said(&planning, "8.8.8.8"), "");
    assert_string_not_equal(said(&planning, "10.96.0.7"), "");
}

static void a_port_that_an_older_service_has(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    add_range(&planning.config->services.external_ips, "192.0.2.0/24");
    put_service(&planning, "old", "uid: u1, creationTimestamp: \"2026-01-01T00:00:00Z\"",
                "externalIPs: [192.0.2.1]", "");
    put_service(&planning, "new", "uid: u2, creationTimestamp: \"2026-02-01T00:00:00Z\"",
                "externalIPs: [192.0.2.1]", "");
    assert_string_equal(said(&planning, "192.0.2.1"),
                        "PortTaken 192.0.2.1 port 80/TCP belongs to the older Service d/old; give "
                        "one of the two another port or address");
    AUTOEVENTS service_event_list list = { 0 };
    plan_of(&planning, "192.0.2.1", &list);
    assert_string_equal(list.items[0]->service, "new");
    assert_string_equal(list.items[0]->uid, "u2");
}

static void who_is_in_no_api_is_not_told(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    planning.config->services.enabled = true;
    put_service(&planning, "web", "", "externalIPs: [8.8.8.8]", "");
    assert_string_equal(said(&planning, "8.8.8.8"), "");
}

/* The name of the only event of 8.8.8.8 for a Service of this uid, on a node of this name. */
static uint64_t id_of(const char *node, const char *uid)
{
    AUTOPLANNING struct planning planning;
    AUTOEVENTS service_event_list list = { 0 };
    planning_begin(&planning);
    planning.config->services.enabled = true;
    free(planning.config->node);
    planning.config->node = strdup(node);
    put_with_uid(&planning, "web", uid, "externalIPs: [8.8.8.8]");
    plan_of(&planning, "8.8.8.8", &list);
    assert_int_equal(list.count, 1);
    return list.items[0]->id;
}

static void the_name_is_that_of_the_cause(void **state)
{
    (void)state;
    assert_true(id_of("node-1", "u1") == id_of("node-2", "u1"));
    assert_true(id_of("node-1", "u1") != id_of("node-1", "u2"));
    /* It is part of what clusters know: nodes of several versions have to agree. */
    AUTOPLANNING struct planning planning;
    AUTOEVENTS service_event_list list = { 0 };
    char name[SERVICE_EVENT_NAME_MAX];
    planning_begin(&planning);
    planning.config->services.enabled = true;
    put_with_uid(&planning, "web", "0d3c", "externalIPs: [8.8.8.8]");
    plan_of(&planning, "8.8.8.8", &list);
    assert_string_equal(service_event_name(list.items[0], name), "web.df0523ea0ae8d39c");
}

static void a_health_port(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    AUTOTEXT struct text note = { 0 };
    AUTOFREE struct service_event *event = NULL, *other = NULL, *copy = NULL;
    planning_begin(&planning);
    put_with_uid(&planning, "web", "u1", "");
    const struct service *service = to_service(store_get(planning.store, KIND_SERVICE, "d", "web"));
    assert_int_equal(plan_health_event(service, 32000, &event), 0);
    assert_int_equal(plan_health_event(service, 32001, &other), 0);
    assert_true(event->id != other->id);
    assert_int_equal(service_event_copy(event, &copy), 0);
    assert_true(copy->id == event->id && copy->service != event->service);
    service_event_note(event, "node-1", &note);
    assert_string_equal(text_str(&note), "node node-1 can't serve healthCheckNodePort 32000: free "
                                         "the port there, or give the Service another");
}

/* A thousand Services on one address: there is an end to what is said of it. */
static void an_address_has_few(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    AUTOEVENTS service_event_list list = { 0 };
    planning_begin(&planning);
    planning.config->services.enabled = true;
    for (int i = 0; i < 1000; i++) {
        AUTOFREE char *name = text_format("s%d", i);
        put_with_uid(&planning, name, name, "externalIPs: [8.8.8.8]");
    }
    plan_of(&planning, "8.8.8.8", &list);
    assert_int_equal(list.count, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_external_ip),
        cmocka_unit_test(a_port_that_an_older_service_has),
        cmocka_unit_test(who_is_in_no_api_is_not_told),
        cmocka_unit_test(the_name_is_that_of_the_cause),
        cmocka_unit_test(a_health_port),
        cmocka_unit_test(an_address_has_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
