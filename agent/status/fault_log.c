// SPDX-License-Identifier: Apache-2.0
/* Log lines of faults that are raised, changed or cleared; see fault_log.h. */
#include "status/fault_log.h"

#include "base/event.h"

static const enum log_level levels[FAULT_SEVERITIES] = {
    [FAULT_NOTICE] = LOG_LEVEL_NOTICE,
    [FAULT_DEGRADED] = LOG_LEVEL_WARNING,
    [FAULT_FAILED] = LOG_LEVEL_ERROR,
};

/* A journal entry may have a field twice: `journalctl MESSAGE_ID=` finds it by either id. */
static void log_raised(const struct known_fault *fault)
{
    const struct log_event *all = &event_fault_raised;
    const struct log_event event = {
        .message_id = fault->type ? fault->type->message_id : all->message_id,
        .level = levels[known_fault_severity(fault)],
    };
    log_event(&event,
              LOG_FIELDS({ "SUBSYSTEM", fault->subsystem }, { "OBJECT", fault->place },
                         { "FAULT", fault->message }, { "REMEDY", fault->remedy },
                         { "SEVERITY", fault_severity_name(known_fault_severity(fault)) },
                         { "FAULT_CODE", fault->type ? fault->type->code : NULL },
                         { "MESSAGE_ID", fault->type ? all->message_id : NULL }),
              "%s: %s: %s", fault->subsystem, fault->place, fault->message);
}

static void log_changed(const struct known_fault *fault)
{
    log_event(&event_fault_changed,
              LOG_FIELDS({ "SUBSYSTEM", fault->subsystem }, { "OBJECT", fault->place },
                         { "FAULT", fault->message }, { "REMEDY", fault->remedy },
                         { "FAULT_CODE", fault->type ? fault->type->code : NULL }),
              "%s: %s: now: %s", fault->subsystem, fault->place, fault->message);
}

static void log_cleared(const struct known_fault *fault)
{
    log_event(&event_fault_cleared,
              LOG_FIELDS({ "SUBSYSTEM", fault->subsystem }, { "OBJECT", fault->place },
                         { "FAULT", fault->message }, { "REMEDY", fault->remedy },
                         { "FAULT_CODE", fault->type ? fault->type->code : NULL }),
              "%s: %s: no longer: %s", fault->subsystem, fault->place, fault->message);
}

void fault_log(enum fault_change change, const struct known_fault *fault, void *context)
{
    (void)context;
    switch (change) {
    case FAULT_RAISED:
        log_raised(fault);
        break;
    case FAULT_CHANGED:
        log_changed(fault);
        break;
    case FAULT_CLEARED:
        log_cleared(fault);
        break;
    }
}
