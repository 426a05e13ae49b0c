// SPDX-License-Identifier: Apache-2.0
/* The words for a node's standing; see standing_status.h. */
#include "status/standing_status.h"

const char *standing_phase_name(enum standing_phase phase)
{
    switch (phase) {
    case PHASE_SERVING:
        return "serving";
    case PHASE_DRAINING:
        return "draining";
    case PHASE_WITHDRAWING:
        return "withdrawing";
    case PHASE_DRAINED:
        return "drained";
    }
    return "serving";
}
