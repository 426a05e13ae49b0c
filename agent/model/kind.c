// SPDX-License-Identifier: Apache-2.0
/* The table of kinds; see kind.h. The order is that of enum kind, since both are made of KINDS. */
#include "model/kind.h"

#include <string.h>

#include "model/fields/spelling.h"

#define KIND_POINTER(constant, row) [constant] = &row,
static const struct kind_row *const kinds[] = { KINDS(KIND_POINTER) };
#undef KIND_POINTER

const struct kind_row *kind_row(enum kind kind)
{
    return kinds[kind];
}

const char *kind_name(enum kind kind)
{
    return kinds[kind]->name;
}

const char *kind_api_version(enum kind kind)
{
    return kinds[kind]->api_version;
}

bool kind_is_manifest(enum kind kind)
{
    return !kinds[kind]->api_only;
}

enum kind kind_of(const char *api_version, const char *kind)
{
    for (enum kind i = 0; i < KIND_COUNT; i++) {
        if (kind_is_manifest(i) && strcmp(kinds[i]->name, kind) == 0 &&
            strcmp(kinds[i]->api_version, api_version) == 0)
            return i;
    }
    return KIND_COUNT;
}

/* Whether a group is of Kubernetes itself, such as "apps" and "discovery.k8s.io". `length`: its
 * own. */
static bool is_built_in(const char *group, size_t length)
{
    static const char suffix[] = ".k8s.io";
    const size_t tail = sizeof(suffix) - 1;
    return !memchr(group, '.', length) ||
           (length > tail && memcmp(group + length - tail, suffix, tail) == 0);
}

/*
 * The same API in another version, or in none: "v1" where "discovery.k8s.io/v1" was meant; or
 * another one of Kubernetes itself, which has no such kind. Others have: serving.knative.dev has
 * Services.
 */
static bool is_like_api(const char *api_version, const char *ours)
{
    const char *slash = strchr(ours, '/'), *other = strchr(api_version, '/');
    size_t group = slash ? (size_t)(slash - ours) + 1 : 0;
    if (!other || is_built_in(api_version, (size_t)(other - api_version)))
        return true;
    return (group && strncmp(api_version, ours, group) == 0) || spelled_like(api_version, ours);
}

bool kind_meant_endpoints(const char *api_version, const char *kind)
{
    return strcmp(api_version, "v1") == 0 ? spelled_like(kind, "Endpoints")
                                          : strcmp(kind, "Endpoints") == 0;
}

enum kind kind_meant(const char *api_version, const char *kind)
{
    for (enum kind i = 0; i < KIND_COUNT; i++) {
        bool same = strcmp(kinds[i]->api_version, api_version) == 0;
        if (!kind_is_manifest(i))
            continue;
        if (same ? spelled_like(kind, kinds[i]->name)
                 : strcmp(kind, kinds[i]->name) == 0 &&
                       is_like_api(api_version, kinds[i]->api_version))
            return i;
    }
    return KIND_COUNT;
}
