/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4 (Aumasson, Bernstein 2012): the keyed hash for keys that others choose. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t siphash(const void *data, size_t length, const uint8_t key[static 16]);
