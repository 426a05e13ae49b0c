/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints of v1, as somebody writes them by hand for a Service without a selector. In a cluster
 * the API mirrors them as EndpointSlices; of manifests this is done here.
 */
#pragma once

#include "model/object.h"

/* Takes an object over. Returns 0 or -ENOMEM. */
typedef int (*endpoints_give_fn)(void *context, struct object *slice);

/*
 * Gives an EndpointSlice (SLICE_ENDPOINTS) for each subset and address family. Returns 1; 0: it is
 * no document of Endpoints, or one of those that the API does not mirror either: a controller
 * wrote them, an election keeps its leader there, or their label says so; -EBADMSG after adding
 * every error; -ENOMEM. After an error some slices may have been given.
 */
int endpoints_decode(const struct document *document, endpoints_give_fn give, void *context,
                     struct faults *errors, struct faults *warnings);
