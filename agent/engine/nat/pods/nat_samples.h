/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples: a few pods of this node and a few clients. nat_firewall.h and nat_answers.h test what
 * the stack does with packets between them; a test of all would cost too much.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/net/protocol.h"

struct nat_endpoint;
struct nat_engine;

enum { NAT_SAMPLE_PODS = 3, NAT_SAMPLE_CLIENTS = 2 };

/*
 * Pods of this node to which Services forward a protocol of a family from outside, each of a
 * different Service. Returns their number; they are borrowed from the engine's rows.
 */
size_t nat_sample_pods(const struct nat_engine *engine, uint8_t family, enum protocol protocol,
                       const struct nat_endpoint *ret_pods[static NAT_SAMPLE_PODS]);

/*
 * The clients of a family: a neighbour in the cluster, if the node has any, then an outside
 * address. Returns their number.
 */
size_t nat_sample_clients(const struct nat_engine *engine, uint8_t family,
                          struct ip ret_clients[static NAT_SAMPLE_CLIENTS]);
