// SPDX-License-Identifier: Apache-2.0
/* SipHash-2-4 against vectors of the reference implementation: message 00 01 02 ..., key 00..0f. */
#include "base/macro.h"
#include "base/siphash.h"
#include "cmocka_all.h"

static void reference_vectors(void **state)
{
    (void)state;
    static const struct {
        size_t length;
        uint64_t hash;
    } vectors[] = {
        { 0, UINT64_C(0x726fdb47dd0e0e31) },  { 1, UINT64_C(0x74f839c593dc67fd) },
        { 7, UINT64_C(0xab0200f58b01d137) },  { 8, UINT64_C(0x93f5f5799a932462) },
        { 15, UINT64_C(0xa129ca6149be45e5) }, { 63, UINT64_C(0x958a324ceb064572) },
    };
    uint8_t message[64], key[16];
    for (size_t i = 0; i < sizeof(message); i++)
        message[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)i;
    for (size_t i = 0; i < ARRAY_SIZE(vectors); i++)
        assert_true(siphash(message, vectors[i].length, key) == vectors[i].hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reference_vectors) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
