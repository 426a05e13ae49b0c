/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading and writing of data that other CPUs or the agent access at the same time. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/*
 * A word that the agent or another CPU may write meanwhile, read or written once as a whole: the
 * compiler neither tears nor repeats the access. Values in the maps that belong together share one
 * such word.
 */
#define READ_ONCE(word)         (*(const volatile __typeof__(word) *)&(word))
#define WRITE_ONCE(word, value) (*(volatile __typeof__(word) *)&(word) = (value))

/*
 * bpf_map_update_elem(), which here returns 0 or a negative error. Before Linux 6.4 (d7ba4cc900bf)
 * the kernel's functions return an int, which is not sign-extended to the 64-bit register: taken
 * for the long that the helper is declared to return, an error is a positive number.
 */
static __always_inline int map_put(void *map, const void *key, const void *value, __u64 flags)
{
    return (int)bpf_map_update_elem(map, key, value, flags);
}
