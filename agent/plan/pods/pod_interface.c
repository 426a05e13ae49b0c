// SPDX-License-Identifier: Apache-2.0
/*
 * Names of pod interfaces; see pod_interface.h. Called by readers of links' aliases, and by the
 * planner that allocates addresses.
 *
 * Coil assigns a random name to the host's end. Here the name is derived from the pod interface, so
 * that a repeated ADD refers to the same link. The digits are of a hash without a secret: if the
 * names of two containers collide, the ADD of the second one is refused, since the link belongs to
 * the first.
 */
#include "plan/pods/pod_interface.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/siphash.h"

static const char alias_mark[] = "COIL:";

int pod_interface_cmp(const void *a, const void *b)
{
    const struct pod_interface *left = a, *right = b;
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

/* As dev_valid_name() of the kernel, without the separators of the alias and of sysctl paths. */
static bool is_interface(const char *text)
{
    size_t length = strnlen(text, POD_INTERFACE_INTERFACE_MAX + 1);
    if (length < 1 || length > POD_INTERFACE_INTERFACE_MAX || strcmp(text, ".") == 0 ||
        strcmp(text, "..") == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '/' || text[i] == ':' || !isgraph((unsigned char)text[i]))
            return false;
    }
    return true;
}

int pod_interface_name(const char *container, const char *interface, const char *pool,
                       struct pod_interface *ret_pod_interface)
{
    if (!is_name(container, POD_INTERFACE_NAME_MAX, "._-") || !is_interface(interface) ||
        !is_name(pool, POD_INTERFACE_NAME_MAX, ".-"))
        return -EINVAL;
    *ret_pod_interface = (struct pod_interface){ 0 };
    snprintf(ret_pod_interface->container, sizeof(ret_pod_interface->container), "%s", container);
    snprintf(ret_pod_interface->interface, sizeof(ret_pod_interface->interface), "%s", interface);
    snprintf(ret_pod_interface->pool, sizeof(ret_pod_interface->pool), "%s", pool);
    return 0;
}

int pod_interface_alias(const struct pod_interface *pod_interface,
                        char alias[static POD_INTERFACE_ALIAS_LEN])
{
    int length = snprintf(alias, POD_INTERFACE_ALIAS_LEN, "%s%s:%s:%s", alias_mark,
                          pod_interface->pool, pod_interface->container, pod_interface->interface);
    return length < POD_INTERFACE_ALIAS_LEN ? 0 : -ENAMETOOLONG;
}

bool pod_interface_of_alias(const char *alias, struct pod_interface *ret_pod_interface)
{
    char copy[POD_INTERFACE_ALIAS_LEN];
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
    return pod_interface_name(container, interface, pool, ret_pod_interface) == 0;
}

void pod_interface_host_name(const struct pod_interface *pod_interface,
                             char name[static POD_INTERFACE_INTERFACE_MAX + 1])
{
    static const uint8_t no_key[16];
    char text[POD_INTERFACE_STRLEN];
    pod_interface_str(pod_interface, text);
    snprintf(name, POD_INTERFACE_INTERFACE_MAX + 1, "veth%08x",
             (unsigned)(siphash(text, strlen(text), no_key) & UINT32_MAX));
}

const char *pod_interface_str(const struct pod_interface *pod_interface,
                              char buffer[static POD_INTERFACE_STRLEN])
{
    snprintf(buffer, POD_INTERFACE_STRLEN, "%s/%s", pod_interface->container,
             pod_interface->interface);
    return buffer;
}
