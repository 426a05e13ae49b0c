// SPDX-License-Identifier: Apache-2.0
/* Base64: the vectors of RFC 4648, line breaks, and what is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "cmocka_all.h"

static void assert_decodes(const char *string, const char *expected, size_t expected_size)
{
    size_t size = 0;
    AUTOFREE char *bytes = NULL;
    assert_int_equal(base64_decode(string, &bytes, &size), 0);
    assert_int_equal(size, expected_size);
    assert_memory_equal(bytes, expected, expected_size + 1);
}

static void vectors(void **state)
{
    (void)state;
    assert_decodes("", "", 0);
    assert_decodes("Zg==", "f", 1);
    assert_decodes("Zm8=", "fo", 2);
    assert_decodes("Zm9v", "foo", 3);
    assert_decodes("Zm9vYg==", "foob", 4);
    assert_decodes("Zm9vYmE=", "fooba", 5);
    assert_decodes("Zm9vYmFy", "foobar", 6);
}

static void every_digit(void **state)
{
    (void)state;
    assert_decodes("+/+/", "\xfb\xff\xbf", 3);
    assert_decodes("AAAA", "\0\0\0", 3);
    assert_decodes("az09", "k=\x3d", 3);
}

static void line_breaks_are_passed_over(void **state)
{
    (void)state;
    assert_decodes("\nZm9v\r\nYg=\n=\n", "foob", 4);
}

static void refusals(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "Z",     "Zg",       "Zg=",   "Zm8",  "Zg===", "=",    "====", "Zm9v=",
        "Zm9vY", "Zg==Zg==", "Zm 9v", "Zm-v", "Zm_v",  "Zh==", "Zm9=", "Zg==x",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        size_t size;
        char *bytes = NULL;
        if (base64_decode(bad[i], &bytes, &size) != -EINVAL)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_null(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(every_digit),
        cmocka_unit_test(line_breaks_are_passed_over),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
