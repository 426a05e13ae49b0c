/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. Timers and hold-down use the monotonic one; only what people read uses wall time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)

/* Milliseconds of CLOCK_MONOTONIC: unaffected by clock jumps. */
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);

/* Microseconds of processor time that this thread has used. */
int64_t clock_thread_us(void);

/* Milliseconds of CLOCK_BOOTTIME: since the boot, suspended or not. */
int64_t clock_boot_ms(void);

/* Milliseconds since the epoch. */
int64_t clock_wall_ms(void);

enum { CLOCK_STRLEN = 25 };

/* RFC 3339 in UTC with seconds, as "2026-11-20T07:33:00Z". Returns `buffer`. */
const char *clock_rfc3339(int64_t wall_ms, char buffer[static CLOCK_STRLEN]);

/* As that with milliseconds: "2026-11-20T07:33:00.250Z". Returns `buffer`. */
const char *clock_rfc3339_ms(int64_t wall_ms, char buffer[static CLOCK_STRLEN]);

/* Parses RFC 3339 ("2026-11-20T07:33:00Z", fractions and offsets allowed). Returns 0 or -EINVAL. */
int clock_parse_rfc3339(const char *string, int64_t *ret_wall_ms);

/* A duration for people: "850ms", "41s", "4m", "3h 12m", "3d 4h". Returns `buffer`. */
const char *clock_ago(int64_t ms, char buffer[static CLOCK_STRLEN]);

/*
 * Parses a duration with a unit: "250ms", "10s", "2m", "1h", "1m30s"; "0" needs none.
 * Returns 0, -EINVAL or -ERANGE (above a year).
 */
int clock_parse_duration(const char *string, int64_t *ret_ms);
