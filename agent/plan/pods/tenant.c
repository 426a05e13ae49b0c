// SPDX-License-Identifier: Apache-2.0
/*
 * Names of tenants; see tenant.h. Called by whoever reads the alias of a link, and by the planner
 * that gives addresses.
 *
 * Coil gives the host's end a random name. Here the name follows from the tenant, so that an ADD
 * that is made twice means the same link. The digits are of a hash without a secret: who makes two
 * containers' names that collide has the second one's ADD refused, since the link is another's.
 */
#include "plan/pods/tenant.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/siphash.h"

static const char alias_mark[] = "COIL:";

int tenant_cmp(const void *a, const void *b)
{
    const struct tenant *left = a, *right = b;
    int r = strcmp(left->container, right->container);
    return r ? r : strcmp(left->interface, right->interface);
}

static bool is_name(const char *text, size_t max, const char *also)
{
    size_t length = strnlen(text, max + 1);
    if (length < 1 || length > max)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr(also, text[i]))
            return false;
    }
    return true;
}

/* As dev_valid_name() of the kernel, less what the alias and a path of sysctls are parted by. */
static bool is_interface(const char *text)
{
    size_t length = strnlen(text, TENANT_INTERFACE_MAX + 1);
    if (length < 1 || length > TENANT_INTERFACE_MAX || strcmp(text, ".") == 0 ||
        strcmp(text, "..") == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '/' || text[i] == ':' || !isgraph((unsigned char)text[i]))
            return false;
    }
    return true;
}

int tenant_name(const char *container, const char *interface, const char *pool,
                struct tenant *ret_tenant)
{
    if (!is_name(container, TENANT_NAME_MAX, "._-") || !is_interface(interface) ||
        !is_name(pool, TENANT_NAME_MAX, ".-"))
        return -EINVAL;
    *ret_tenant = (struct tenant){ 0 };
    snprintf(ret_tenant->container, sizeof(ret_tenant->container), "%s", container);
    snprintf(ret_tenant->interface, sizeof(ret_tenant->interface), "%s", interface);
    snprintf(ret_tenant->pool, sizeof(ret_tenant->pool), "%s", pool);
    return 0;
}

int tenant_alias(const struct tenant *tenant, char alias[static TENANT_ALIAS_LEN])
{
    int length = snprintf(alias, TENANT_ALIAS_LEN, "%s%s:%s:%s", alias_mark, tenant->pool,
                          tenant->container, tenant->interface);
    return length < TENANT_ALIAS_LEN ? 0 : -ENAMETOOLONG;
}

bool tenant_of_alias(const char *alias, struct tenant *ret_tenant)
{
    char copy[TENANT_ALIAS_LEN];
    size_t length = strnlen(alias, sizeof(copy));
    if (length == sizeof(copy) || strncmp(alias, alias_mark, strlen(alias_mark)) != 0)
        return false;
    memcpy(copy, alias, length + 1);
    char *pool = copy + strlen(alias_mark), *container = strchr(pool, ':');
    char *interface = container ? strchr(container + 1, ':') : NULL;
    if (!interface)
        return false;
    *container++ = '\0';
    *interface++ = '\0';
    return tenant_name(container, interface, pool, ret_tenant) == 0;
}

void tenant_host_name(const struct tenant *tenant, char name[static TENANT_INTERFACE_MAX + 1])
{
    static const uint8_t no_key[16];
    char text[TENANT_STRLEN];
    tenant_str(tenant, text);
    snprintf(name, TENANT_INTERFACE_MAX + 1, "veth%08x",
             (unsigned)(siphash(text, strlen(text), no_key) & UINT32_MAX));
}

const char *tenant_str(const struct tenant *tenant, char buffer[static TENANT_STRLEN])
{
    snprintf(buffer, TENANT_STRLEN, "%s/%s", tenant->container, tenant->interface);
    return buffer;
}
