/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator may alert on: each has a MESSAGE_ID, by which the journal finds it whatever the
 * words and the version (`journalctl MESSAGE_ID=...`), and an entry in the catalog, which
 * `journalctl -x` shows. tests/check/test_units.py holds this table and
 * deploy/catalog/fingerpost.catalog together. An id keeps its meaning for ever.
 *
 * Fields, where they apply: PREFIX (an address or block), OBJECT (where: a file and line, a
 * Service, a route), SUBSYSTEM, FAULT and REMEDY (in words), SEVERITY and FAULT_CODE, ROUTES and
 * WRITER (a count, a netlink port), PHASE (of a drain); of an egress gateway's ports CLIENT,
 * ADDRESS (as which it leaves), PORTS and SINCE.
 */
#pragma once

#include "base/log.h"

#define EVENT(name, importance, id)                                  \
    static const struct log_event event_##name = { .message_id = id, \
                                                   .level = LOG_LEVEL_##importance }

EVENT(ready, NOTICE, "6b6bdea227cd48aeb722f5aabbacedda");
EVENT(stopped, NOTICE, "da229709f7b44924a39a1728276a71bc");
EVENT(fault_raised, WARNING, "e5bfcbcbaa444a3f80ae8b9ac9abcf1a");
EVENT(fault_cleared, NOTICE, "2c7940a6296f4d90bf80b7f94b2bc999");
EVENT(fault_changed, INFO, "9f0b4a3d5f8e4d0c9d0b6e1f2a7c5d38");
EVENT(announced, NOTICE, "9edbd497b0944bac84a2a73bdacf41ea");
EVENT(withdrawn, NOTICE, "cb8de019ad66474e9fd9051999082ab1");
EVENT(routes_repaired, WARNING, "84a46c5922bd444288c837e3839a0068");
EVENT(config_refused, WARNING, "ee6302283cf740e4ace183268394b511");
EVENT(config_reloaded, NOTICE, "357ac6385f7241a5acabc6f67765c24c");
EVENT(standing, NOTICE, "997495741b1842dbabe3978fdc0c6d70");
EVENT(deadman, WARNING, "6fbf662c3bbe468e9a6fe2a72e8614b2");
EVENT(ports_given, INFO, "a17e868721db4be1adcc2eecc367f8f5");
EVENT(ports_taken_back, INFO, "68f9cda88a2e4b33af3fb6f64d1d9c37");
