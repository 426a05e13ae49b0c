// SPDX-License-Identifier: Apache-2.0
/* Clocks, durations and RFC 3339, without the locale's help; see clock.h. */
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The years that RFC 3339 can write begin and end with these. */
#define YEAR_0_SECONDS     INT64_C(-62167219200)
#define YEAR_10000_SECONDS INT64_C(253402300800)

static int64_t clock_us(clockid_t clock)
{
    struct timespec ts;
    (void)clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_mono_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

int64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

int64_t clock_thread_us(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_boot_ms(void)
{
    return clock_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_wall_ms(void)
{
    return clock_us(CLOCK_REALTIME) / 1000;
}

const char *clock_rfc3339(int64_t wall_ms, char buffer[static CLOCK_STRLEN])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) ||
        strftime(buffer, CLOCK_STRLEN, "%04Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        strcpy(buffer, "-");
    return buffer;
}

const char *clock_rfc3339_ms(int64_t wall_ms, char buffer[static CLOCK_STRLEN])
{
    char *end = strchr(clock_rfc3339(wall_ms, buffer), 'Z');
    if (end)
        (void)snprintf(end, sizeof(".250Z"), ".%03uZ", (unsigned)(llabs(wall_ms) % 1000));
    return buffer;
}

int clock_parse_rfc3339(const char *string, int64_t *ret_wall_ms)
{
    struct tm tm = { 0 };
    const char *rest = strptime(string, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!rest)
        return -EINVAL;

    int64_t fraction_ms = 0;
    if (*rest == '.') {
        int64_t unit = 100;
        for (rest++; isdigit((unsigned char)*rest); rest++, unit /= 10)
            fraction_ms += (*rest - '0') * unit;
    }
    int64_t offset_s = 0;
    if (*rest == '+' || *rest == '-') {
        unsigned hours, minutes;
        int used = 0;
        if (sscanf(rest + 1, "%2u:%2u%n", &hours, &minutes, &used) != 2 || rest[1 + used] != '\0')
            return -EINVAL;
        offset_s = (int64_t)(hours * 3600 + minutes * 60) * (*rest == '+' ? 1 : -1);
    } else if (strcmp(rest, "Z") != 0 && strcmp(rest, "z") != 0) {
        return -EINVAL;
    }
    int64_t seconds = (int64_t)timegm(&tm) - offset_s;
    if (seconds < YEAR_0_SECONDS || seconds >= YEAR_10000_SECONDS)
        return -EINVAL;
    *ret_wall_ms = seconds * 1000 + fraction_ms;
    return 0;
}

const char *clock_ago(int64_t ms, char buffer[static CLOCK_STRLEN])
{
    int64_t s = ms / 1000, m = s / 60, h = m / 60, d = h / 24;
    if (ms < 1000)
        snprintf(buffer, CLOCK_STRLEN, "%" PRId64 "ms", ms < 0 ? 0 : ms);
    else if (m == 0)
        snprintf(buffer, CLOCK_STRLEN, "%" PRId64 "s", s);
    else if (h == 0)
        snprintf(buffer, CLOCK_STRLEN, "%" PRId64 "m", m);
    else if (d == 0)
        snprintf(buffer, CLOCK_STRLEN, "%" PRId64 "h %" PRId64 "m", h, m % 60);
    else
        snprintf(buffer, CLOCK_STRLEN, "%" PRId64 "d %" PRId64 "h", d, h % 24);
    return buffer;
}

static int64_t unit_ms(const char **string)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t length = strlen(units[i].name);
        if (strncmp(*string, units[i].name, length) == 0) {
            *string += length;
            return units[i].ms;
        }
    }
    return 0;
}

int clock_parse_duration(const char *string, int64_t *ret_ms)
{
    const int64_t year_ms = INT64_C(365) * 24 * 3600000;
    int64_t total = 0;

    if (strcmp(string, "0") == 0) {
        *ret_ms = 0;
        return 0;
    }
    if (*string == '\0')
        return -EINVAL;
    while (*string) {
        if (!isdigit((unsigned char)*string))
            return -EINVAL;
        int64_t value = 0;
        for (; isdigit((unsigned char)*string); string++) {
            value = value * 10 + (*string - '0');
            if (value > year_ms)
                return -ERANGE;
        }
        int64_t unit = unit_ms(&string);
        if (unit == 0)
            return -EINVAL;
        total += value * unit;
        if (value > year_ms / unit || total > year_ms)
            return -ERANGE;
    }
    *ret_ms = total;
    return 0;
}
