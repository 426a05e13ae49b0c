/* SPDX-License-Identifier: Apache-2.0 */
/* How long flows live, for tests that open a datapath. */
#pragma once

#include "bpf/abi.h"

/* The default settings of services.timeouts. */
#define NAT_TIMEOUTS                                                                        \
    {                                                                                       \
        [NAT_STATE_HALF_OPEN] = 60, [NAT_STATE_UNANSWERED] = 30, [NAT_STATE_EXCHANGE] = 30, \
        [NAT_STATE_ANSWERED] = 60, [NAT_STATE_CLOSED] = 10, [NAT_STATE_HALF_CLOSED] = 3600, \
        [NAT_STATE_STREAM] = 120, [NAT_STATE_ESTABLISHED] = 7440,                           \
    }
