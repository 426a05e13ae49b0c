/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log: one line for one change of state, on stderr, with the syslog priority in
 * front ("<4>") when the journal listens, so that it keeps the level.
 *
 * Only the programs and rooms with side effects log (source, apply, api, agentd); base, format,
 * model, store and plan return faults instead.
 */
#pragma once

#include "base/macro.h"

enum log_level {
    LOG_LEVEL_ERROR = 3, /* the numbers of syslog */
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7,
};

/* Lines less important than this are dropped; the default is INFO. */
void log_set_level(enum log_level level);

void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
