// SPDX-License-Identifier: Apache-2.0
/* SipHash-2-4; see siphash.h. The unit test holds it against the authors' vectors. */
#include "base/siphash.h"

#include <endian.h>
#include <string.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t load(const void *bytes, size_t count)
{
    uint64_t word = 0;
    memcpy(&word, bytes, count);
    return le64toh(word);
}

static void rounds(struct state *s, int count)
{
    while (count--) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

static void absorb(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    rounds(s, 2);
    s->v0 ^= word;
}

uint64_t siphash(const void *data, size_t length, const uint8_t key[static 16])
{
    const uint8_t *bytes = data;
    uint64_t k0 = load(key, 8), k1 = load(key + 8, 8);
    struct state s = {
        .v0 = k0 ^ UINT64_C(0x736f6d6570736575),
        .v1 = k1 ^ UINT64_C(0x646f72616e646f6d),
        .v2 = k0 ^ UINT64_C(0x6c7967656e657261),
        .v3 = k1 ^ UINT64_C(0x7465646279746573),
    };

    size_t whole = length & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        absorb(&s, load(bytes + i, 8));
    absorb(&s, (uint64_t)length << 56 | load(bytes + whole, length - whole));
    s.v2 ^= 0xff;
    rounds(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
