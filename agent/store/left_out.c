// SPDX-License-Identifier: Apache-2.0
/* Endpoints that are left out, as faults; see left_out.h. */
#include "store/left_out.h"

#include "base/text.h"
#include "base/vec.h"
#include "faults/manifests.h"
#include "faults/raise.h"
#include "model/services/endpoint_slice.h"

/* The slice that takes precedence, if this is the first slice of its Service that is left out. */
static const struct endpoint_slice *rival_of(const struct store *store,
                                             const struct endpoint_slice *slice)
{
    size_t count, left_out;
    const struct endpoint_slice *const *slices =
        store_slices_among(store, slice->object.namespace, slice->service, &count, &left_out);
    if (slice->source != SLICE_ENDPOINTS || left_out == 0 || slices[count] != slice)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (slices[i]->source == SLICE_OWN)
            return slices[i];
    }
    return NULL;
}

static void add_fault(const struct endpoint_slice *slice, const struct endpoint_slice *rival,
                      struct faults *faults)
{
    const struct object *object = &slice->object;
    AUTOTEXT struct text place = { 0 }, name = { 0 };
    if (*object->file)
        text_addf(&place, "%s:%u", object->file, object->line);
    else
        text_addf(&place, "Endpoints %s/%s", object->namespace, slice->service);
    text_addf(&name, "%s/%s", object->namespace, slice->service);
    fault_raise(faults, text_str(&place), endpoints_ignored, .endpoints = text_str(&name),
                .slice = rival->object.name);
}

static int key_cmp(const void *a, const void *b)
{
    return object_key_cmp(*(const struct object *const *)a, *(const struct object *const *)b);
}

void store_left_out_faults(const struct store *store, struct faults *faults)
{
    AUTOVEC VEC(const struct object *) list = { 0 };
    const struct object *object;
    size_t cursor = 0;
    if (!store_endpoints_count(store))
        return;
    while ((object = store_next(store, KIND_ENDPOINT_SLICE, &cursor))) {
        if (!rival_of(store, to_endpoint_slice(object)))
            continue;
        if (vec_push(&list, object) < 0) {
            faults->incomplete = true;
            return;
        }
    }
    vec_sort(&list, key_cmp);
    vec_each(const struct object *const, it, &list)
        add_fault(to_endpoint_slice(*it), rival_of(store, to_endpoint_slice(*it)), faults);
}
