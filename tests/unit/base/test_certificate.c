// SPDX-License-Identifier: Apache-2.0
/* The times of certificates: both forms of years, several in a text, and what is cut off. */
#include <string.h>

#include "base/clock.h"
#include "base/files/certificate.h"
#include "cmocka_all.h"

/* Of 2026-11-01T12:30:05Z to 2027-11-01, and of 1999-01-02 to 2056-02-29T23:59:59Z. */
static const char two[] = "-----BEGIN CERTIFICATE-----\n"
                          "MIIBEDCBt6ADAgECAgEHMAoGCCqGSM49BAMCMBIxEDAOBgNVBAMMB2xhYiBvbmUw\n"
                          "HhcNMjYxMTAxMTIzMDA1WhcNMjcxMTAxMDAwMDAwWjASMRAwDgYDVQQDDAdsYWIg\n"
                          "b25lMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEJ8VFoGZQRuAqJ75f552sPVJO\n"
                          "LJEeNUID9GMML/KuYb+OxdhKK8KHL4T3GAE+eYUkZqdz8o4J38VcCpV6gSeutTAK\n"
                          "BggqhkjOPQQDAgNIADBFAiEAgLDrft191u/Sc3G4hQX1OKumWEvYuA/Hp2CElSgH\n"
                          "eZsCIA4e9rpcnyyGsyo0E0lp3lfJ8DWXDTBJNzRmW5vYRFsz\n"
                          "-----END CERTIFICATE-----\n"
                          "between\n"
                          "-----BEGIN CERTIFICATE-----\n"
                          "MIIBEjCBuaADAgECAgEHMAoGCCqGSM49BAMCMBIxEDAOBgNVBAMMB2xhYiB0d28w\n"
                          "IBcNOTkwMTAyMDAwMDAwWhgPMjA1NjAyMjkyMzU5NTlaMBIxEDAOBgNVBAMMB2xh\n"
                          "YiB0d28wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATOtIjFSB5FPZC1qS0O252D\n"
                          "M6MyrBBj4XSnnOskhfbPilJlevKPY67/3qvqXpeJCkAGv6i6P9NPaG3Gu+RINvfc\n"
                          "MAoGCCqGSM49BAMCA0gAMEUCIDDe5wNUUCeDFbTebsSgOZkpByXWyQAwFkQ4k3IN\n"
                          "vEqbAiEAzRcaoVFAddEvBrXEvTDE9NCApTJuq3EuZsfuU8mClkA=\n"
                          "-----END CERTIFICATE-----\n";

static void check(const struct certificate_time *time, const char *from, const char *until)
{
    char text[CLOCK_STRLEN];
    assert_string_equal(clock_rfc3339(time->from_ms, text), from);
    assert_string_equal(clock_rfc3339(time->until_ms, text), until);
}

static void both_are_read(void **state)
{
    struct certificate_time time;
    (void)state;
    const char *next = certificate_next(two, &time);
    assert_non_null(next);
    check(&time, "2026-11-01T12:30:05Z", "2027-11-01T00:00:00Z");
    next = certificate_next(next, &time);
    assert_non_null(next);
    check(&time, "1999-01-02T00:00:00Z", "2056-02-29T23:59:59Z");
    assert_null(certificate_next(next, &time));
}

/* Wherever it ends: nothing is read behind it. */
static void what_is_cut_off_is_none(void **state)
{
    struct certificate_time time;
    static char text[sizeof(two)];
    const char *end = strstr(two, "-----END");
    (void)state;
    for (size_t length = 0; length < (size_t)(end - two); length++) {
        memcpy(text, two, length);
        strcpy(text + length, "\n-----END CERTIFICATE-----\n");
        (void)certificate_next(text, &time);
        text[length] = '\0';
        assert_null(certificate_next(text, &time));
    }
}

static void what_is_no_certificate_is_none(void **state)
{
    struct certificate_time time;
    (void)state;
    assert_null(certificate_next("", &time));
    assert_null(
        certificate_next("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n", &time));
    assert_null(
        certificate_next("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", &time));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_read),
        cmocka_unit_test(what_is_cut_off_is_none),
        cmocka_unit_test(what_is_no_certificate_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
