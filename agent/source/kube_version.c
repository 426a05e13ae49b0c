// SPDX-License-Identifier: Apache-2.0
/* Reads and compares versions; called by the reflector's files. */
#include "source/kube_version.h"

#include <string.h>

bool kube_version_read(const struct doc *object, char version[static KUBE_VERSION_MAX])
{
    const struct doc *node = doc_get(doc_get(object, "metadata"), "resourceVersion");
    if (!node || node->type != DOC_SCALAR || !node->quoted)
        return false;
    size_t length = strlen(node->text);
    if (length == 0 || length >= KUBE_VERSION_MAX ||
        strspn(node->text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") !=
            length)
        return false;
    memcpy(version, node->text, length + 1);
    return true;
}

/* As the API writes one: without zeros in front. */
static bool is_number(const char *version)
{
    return *version && version[strspn(version, "0123456789")] == '\0' &&
           (*version != '0' || version[1] == '\0');
}

bool kube_version_is_older(const char *version, const char *than)
{
    if (!is_number(version) || !is_number(than))
        return false;
    size_t length = strlen(version), other = strlen(than);
    return length != other ? length < other : strcmp(version, than) < 0;
}

bool kube_version_goes_back(const char *version, const char *known)
{
    return is_number(known) && (!is_number(version) || kube_version_is_older(version, known));
}
