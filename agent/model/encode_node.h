/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes, Namespaces and Pods as JSON: what is in `metadata` of each kind, and what stands beside
 * it. Listed in the table of encode.c. Private to model/.
 */
#pragma once

#include "format/json.h"
#include "model/object.h"

void encode_node_metadata(const struct object *object, struct json *json);
void encode_node_rest(const struct object *object, struct json *json);
void encode_namespace_metadata(const struct object *object, struct json *json);
void encode_pod_rest(const struct object *object, struct json *json);
