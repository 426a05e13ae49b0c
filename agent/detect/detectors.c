// SPDX-License-Identifier: Apache-2.0
/* The list of the tables of detectors; see detector.h. */
#include "detect/detector.h"

#include <string.h>

const struct detector *const detector_tables[] = { host_detectors, bgp_detectors, object_detectors,
                                                   service_detectors, NULL };

const struct detector *detector_find(const char *name)
{
    for (const struct detector *const *table = detector_tables; *table; table++)
        for (const struct detector *detector = *table; detector->name; detector++)
            if (strcmp(detector->name, name) == 0)
                return detector;
    return NULL;
}
