/* SPDX-License-Identifier: Apache-2.0 */
/* The versions of the CNI specification that the plugin speaks, and where they differ for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct cni_version {
    const char *name;
    bool ip_versions; /* each address of a result says "4" or "6" */
    bool check;       /* has CHECK */
    bool gc;          /* has GC and STATUS */
    bool mtu;         /* interfaces of a result tell their MTU */
};

enum { CNI_VERSIONS = 4 };
extern const struct cni_version cni_versions[CNI_VERSIONS]; /* oldest first */

/* The row of a version; NULL if the plugin does not speak it. */
const struct cni_version *cni_version_find(const char *name);

/* The newest: what answers are in before the caller's version is known. */
const struct cni_version *cni_version_newest(void);

/* The document that answers VERSION; `asked` is repeated in it, as the specification wants. */
void cni_version_write(struct text *out, const char *asked);
