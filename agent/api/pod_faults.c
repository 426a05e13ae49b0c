// SPDX-License-Identifier: Apache-2.0
/*
 * Faults of a pod; see pod_faults.h. Three say so: a place that names the pod, a key argument
 * "pod", and an Egress that the pod's annotation names and that does nothing for it.
 */
#include "api/pod_faults.h"

#include <string.h>

#include "base/text.h"
#include "faults/egress.h"

/* Whether `place` is an Egress that the pod names. */
static bool is_asked_for(const struct pod *pod, const char *place)
{
    for (uint32_t i = 0; i < pod->egress_count; i++) {
        const struct egress_ref *ref = &pod->egresses[i];
        AUTOFREE char *egress = text_format("Egress %s/%s", ref->namespace, ref->name);
        if (egress && strcmp(egress, place) == 0)
            return true;
    }
    return false;
}

/* Whether its only key argument is "pod", with this value. */
static bool has_key(const struct known_fault *fault, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; fault->type && fault->type->arguments[i].name; i++) {
        const struct fault_argument *argument = &fault->type->arguments[i];
        if (argument->is_key)
            return strcmp(argument->name, "pod") == 0 && strncmp(fault->key, name, length) == 0 &&
                   strcmp(fault->key + length, "\n") == 0;
    }
    return false;
}

static bool concerns(const struct known_fault *fault, const struct pod *pod, const char *name)
{
    if (strncmp(fault->place, "Pod ", strlen("Pod ")) == 0)
        return strcmp(fault->place + strlen("Pod "), name) == 0;
    if (fault->type == &fault_type_egress_unknown ||
        fault->type == &fault_type_egress_without_family)
        return is_asked_for(pod, fault->place);
    return has_key(fault, name);
}

void write_pod_faults(struct json *json, const struct api_state *state, const struct pod *pod)
{
    const struct fault_book *book = state->status->faults;
    AUTOFREE char *name = text_format("%s/%s", pod->object.namespace, pod->object.name);
    json_begin_array(json, "faults");
    for (size_t i = 0; name && book && i < fault_book_count(book); i++) {
        if (concerns(fault_book_at(book, i), pod, name))
            write_known_fault(json, book, fault_book_at(book, i));
    }
    json_end_array(json);
}
