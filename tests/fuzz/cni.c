// SPDX-License-Identifier: Apache-2.0
/*
 * What reaches the CNI plugin from outside: the first byte says whether the rest is a network
 * configuration, agentd's plan, or agentd's reply. Whatever comes is taken, or refused with a code,
 * a reason and a remedy; a plan that is taken is within its bounds.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cni/plan.h"
#include "cni/reply.h"
#include "cni/request.h"
#include "cni/result.h"
#include "fuzz.h"

static void check(int r, const struct cni_error *error)
{
    MUST(r == 0 || (error->code > 0 && error->message[0] && error->remedy[0]));
}

static void read_config(const char *text, size_t size)
{
    static const struct cni_environment environment = {
        .command = "ADD",
        .container = "c1",
        .netns = "/run/netns/x",
        .interface = "eth0",
        .args = "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web",
    };
    CLEANUP(cni_request_done) struct cni_request request = { 0 };
    AUTOVEC ip_list addresses = { 0 };
    AUTOTEXT struct text out = { 0 };
    struct cni_error error = { 0 };
    int r = cni_request_read(&environment, text, size, &request, &error);
    check(r, &error);
    if (r < 0 || !request.egress_only)
        return;
    r = result_addresses(&request, &addresses, &error);
    check(r, &error);
    MUST(r < 0 || addresses.count > 0);
    check(result_pass(&out, &request, &error), &error);
}

static void read_plan(const char *text, size_t size)
{
    struct plan plan = { 0 };
    struct cni_error error = { 0 };
    int r = plan_decode(text, size, &plan, &error);
    check(r, &error);
    MUST(r < 0 || (plan.addresses.count > 0 && plan.addresses.count <= PLAN_LIST_MAX));
    MUST(r < 0 || (strlen(plan.host_interface) < 16 && plan.routes.count <= PLAN_LIST_MAX));
    plan_done(&plan);
}

static void read_reply(const char *text, size_t size)
{
    long status = 0;
    const char *body = NULL;
    int r = reply_parse(text, size, &status, &body);
    MUST(r < 0 || (status >= 100 && status <= 999 && body >= text && body <= text + size));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTOFREE char *text = size > 0 ? malloc(size) : NULL; /* NUL-terminated, as they come */
    if (!text)
        return 0;
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = '\0';
    if (bytes[0] % 3 == 0)
        read_config(text, size - 1);
    else if (bytes[0] % 3 == 1)
        read_plan(text, size - 1);
    else
        read_reply(text, size - 1);
    return 0;
}
