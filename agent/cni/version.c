// SPDX-License-Identifier: Apache-2.0
/* The table of versions; see version.h. */
#include "cni/version.h"

#include <string.h>

#include "format/json.h"

const struct cni_version cni_versions[CNI_VERSIONS] = {
    { .name = "0.3.1", .ip_versions = true },
    { .name = "0.4.0", .ip_versions = true, .check = true },
    { .name = "1.0.0", .check = true },
    { .name = "1.1.0", .check = true, .gc = true, .mtu = true },
};

const struct cni_version *cni_version_find(const char *name)
{
    for (size_t i = 0; i < CNI_VERSIONS; i++)
        if (strcmp(cni_versions[i].name, name) == 0)
            return &cni_versions[i];
    return NULL;
}

const struct cni_version *cni_version_newest(void)
{
    return &cni_versions[CNI_VERSIONS - 1];
}

void cni_version_write(struct text *out, const char *asked)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "cniVersion", asked);
    json_begin_array(&json, "supportedVersions");
    for (size_t i = 0; i < CNI_VERSIONS; i++)
        json_string(&json, NULL, cni_versions[i].name);
    json_end_array(&json);
    json_end_object(&json);
}
