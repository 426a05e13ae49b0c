// SPDX-License-Identifier: Apache-2.0
/* Each allocation of ours fails once: what was asked is refused with a reason, and nothing is lost.
 */
#include <string.h>

#include "cmocka_all.h"
#include "cni/plan.h"
#include "cni/request.h"
#include "cni/result.h"
#include "failing_malloc.h"

static const char config[] =
    "{\"cniVersion\":\"1.0.0\",\"name\":\"pods\",\"socket\":\"/s\",\"egressOnly\":true,"
    "\"prevResult\":{\"ips\":[{\"address\":\"10.0.0.1/24\"},{\"address\":\"fd00::1/64\"}]}}";
static const struct cni_environment environment = {
    .command = "ADD",
    .container = "c1",
    .netns = "/run/netns/x",
    .interface = "eth0",
    .args = "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web;K8S_POD_UID=u",
};
static const char plan_text[] =
    "{\"interface\":\"eth0\",\"hostInterface\":\"veth1\",\"alias\":\"a\","
    "\"addresses\":[\"10.1.2.3/32\"],\"gateways\":[\"192.0.2.7\"],"
    "\"routes\":[{\"to\":\"0.0.0.0/0\",\"via\":\"192.0.2.7\"}],"
    "\"sysctls\":{\"net.ipv6.conf.veth1.accept_ra\":\"0\"}}";

static void check_error(const struct cni_error *error)
{
    assert_true(error->code > 0 && error->message[0] && error->remedy[0]);
}

static int read_and_repeat(struct cni_error *error)
{
    CLEANUP(cni_request_done) struct cni_request request = { 0 };
    AUTOVEC ip_list addresses = { 0 };
    AUTOTEXT struct text out = { 0 };
    int r = cni_request_read(&environment, config, strlen(config), &request, error);
    if (r == 0)
        r = result_addresses(&request, &addresses, error);
    if (r == 0)
        r = result_pass(&out, &request, error);
    assert_true(r < 0 || (addresses.count == 2 && strcmp(request.pod_name, "web") == 0));
    return r;
}

static int decode_plan(struct cni_error *error)
{
    struct plan plan = { 0 };
    int r = plan_decode(plan_text, strlen(plan_text), &plan, error);
    plan_done(&plan);
    return r;
}

static void without_memory(int (*step)(struct cni_error *error))
{
    struct cni_error error = { 0 };
    int failures = 0;
    for (int n = 0;; n++) {
        error = (struct cni_error){ 0 };
        allocations = 0;
        allocations_left = n;
        int r = step(&error);
        allocations_left = -1;
        if (allocations <= (unsigned)n) {
            assert_int_equal(r, 0);
            break;
        }
        if (r < 0)
            check_error(&error);
        failures += r < 0;
    }
    assert_true(failures > 3);
}

static void requests(void **state)
{
    (void)state;
    without_memory(read_and_repeat);
}

static void plans(void **state)
{
    (void)state;
    without_memory(decode_plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(requests), cmocka_unit_test(plans) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
