// SPDX-License-Identifier: Apache-2.0
/* Which faults concern a pod: by place, by key, or at an Egress that it names, be it the first that
 * does or one of "and 3 more". */
#include <stdlib.h>
#include <string.h>

#include "api/pod_faults.h"
#include "cmocka_all.h"
#include "faults/egress.h"
#include "faults/pods.h"
#include "faults/raise.h"
#include "status/fault_book.h"

static struct fault_book *make_book(void)
{
    struct fault_book *book = fault_book_new();
    AUTOFAULTS struct faults faults = { 0 };
    fault_raise(&faults, "Pod shop/web-2", pod_end_down, .interface = "veth2");
    fault_raise(&faults, "Pod shop/web-20", pod_end_down, .interface = "veth20");
    fault_raise(&faults, "Egress net/nat", egress_unknown, .namespace = "net", .pod = "shop/web-1",
                .more = 1);
    fault_raise(&faults, "Egress net/other", egress_unknown, .namespace = "net",
                .pod = "shop/web-1");
    fault_raise(&faults, "net.ipv6.conf.veth2.accept_ra", pod_end_accepts_ra, .value = 2,
                .pod = "shop/web-2", .setting = "net.ipv6.conf.veth2.accept_ra");
    fault_raise(&faults, "net.ipv6.conf.veth20.accept_ra", pod_end_accepts_ra, .value = 2,
                .pod = "shop/web-20", .setting = "net.ipv6.conf.veth20.accept_ra");
    faults_add(&faults, "egress", "none", "Pod shop/web-2 is in these words only");
    assert_true(fault_book_replace(book, "t", "t", &faults, 0) > 0);
    return book;
}

static void test_faults_of_a_pod(void **state)
{
    (void)state;
    struct status status = { .faults = make_book() };
    const struct egress_ref names[] = { { "net", "nat" } };
    const struct api_state api = { .status = &status };
    struct pod *pod = calloc(1, sizeof(*pod));
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };
    assert_non_null(pod);
    pod->object.namespace = "shop";
    pod->object.name = "web-2";
    pod->egresses = names;
    pod->egress_count = 1;
    write_pod_faults(&json, &api, pod);
    const char *const wanted[] = { "\"Pod shop/web-2\"", "\"Egress net/nat\"",
                                   "\"net.ipv6.conf.veth2.accept_ra\"" };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_non_null(strstr(text_str(&out), wanted[i]));
    size_t count = 0;
    for (const char *at = text_str(&out); (at = strstr(at, "\"place\":")); at++)
        count++;
    assert_int_equal(count, 3);
    fault_book_free(status.faults);
    free(pod);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_of_a_pod),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
