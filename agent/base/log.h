/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log: one line for one change of state. Under systemd it goes to the journal with
 * fields; elsewhere to stderr, with the time but without fields, so the line has to say everything.
 *
 *     log_event(&event_address_withdrawn, LOG_FIELDS({ "PREFIX", prefix }),
 *               "%s: no longer announced", prefix);
 *
 * Only the programs and rooms with side effects log (source, apply, api, agentd); base, format,
 * model, store and plan return faults instead.
 */
#pragma once

#include <stdarg.h>

#include "base/macro.h"

enum log_level {
    LOG_LEVEL_ERROR = 3, /* the numbers of syslog */
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
};

/*
 * Sends lines to the journal if that is where stderr ends. Without this call, and wherever the
 * journal's socket can't be used, they go to stderr. Lines before it have no time.
 */
void log_open(void);

void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)

/* Something that an operator may alert on; see base/event.h. */
struct log_event {
    const char *message_id; /* 32 hexadecimal digits, explained in the catalog */
    enum log_level level;
};

struct log_field {
    const char *key;   /* capitals, digits and "_", which does not come first */
    const char *value; /* NULL: the field is left out */
};

#define LOG_FIELDS(...) ((const struct log_field[]){ __VA_ARGS__, { NULL, NULL } })

/* `fields` ends with a key of NULL, and may be NULL itself. */
void log_event(const struct log_event *event, const struct log_field *fields, const char *format,
               ...) PRINTF_LIKE(3, 4);
