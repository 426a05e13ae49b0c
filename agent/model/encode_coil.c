// SPDX-License-Identifier: Apache-2.0
/* Coil's AddressPools, AddressBlocks and Egresses as JSON; see encode.c. */
#include "model/encode_coil.h"

#include "model/address_block.h"
#include "model/egress.h"
#include "model/encode_member.h"

void encode_pool_rest(const struct object *object, struct json *json)
{
    const struct address_pool *pool = to_address_pool(object);
    json_begin_object(json, "spec");
    json_int(json, "blockSizeBits", pool->block_size_bits);
    json_begin_array(json, "subnets");
    for (uint32_t i = 0; i < pool->subnet_count; i++) {
        json_begin_object(json, NULL);
        encode_prefix(json, "ipv4", &pool->subnets[i].ipv4);
        encode_prefix(json, "ipv6", &pool->subnets[i].ipv6);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void encode_block_metadata(const struct object *object, struct json *json)
{
    const struct address_block *block = to_address_block(object);
    json_begin_object(json, "labels");
    encode_text(json, "coil.cybozu.com/pool", block->pool);
    encode_text(json, "coil.cybozu.com/node", block->node);
    if (block->reserved)
        json_string(json, "coil.cybozu.com/reserved", "true");
    json_end_object(json);
}

void encode_block_rest(const struct object *object, struct json *json)
{
    const struct address_block *block = to_address_block(object);
    json_int(json, "index", block->index);
    encode_prefix(json, "ipv4", &block->ipv4);
    encode_prefix(json, "ipv6", &block->ipv6);
}

void encode_egress_rest(const struct object *object, struct json *json)
{
    const struct egress *egress = to_egress(object);
    json_begin_object(json, "spec");
    encode_prefixes(json, "destinations", egress->destinations, egress->destination_count);
    json_int(json, "replicas", egress->replicas);
    encode_flag(json, "fouSourcePortAuto", egress->fou_source_port_auto);
    json_end_object(json);
}
