// SPDX-License-Identifier: Apache-2.0
/* Prints a packet that a program has noted; see last_packet.h. */
#include "api/nat/last_packet.h"

#include "api/document.h"
#include "base/clock.h"
#include "plan/link_table.h"

void write_last_packet(struct json *json, const struct api_state *state,
                       const struct packet_seen *packet)
{
    const struct link *link =
        state->links && packet->ifindex ? link_find(state->links, packet->ifindex) : NULL;
    const int64_t now_wall_ms = clock_wall_ms();
    json_begin_object(json, "last");
    write_socket(json, "source", &packet->source, packet->source_port);
    write_socket(json, "destination", &packet->destination, packet->destination_port);
    write_protocol(json, "protocol", packet->protocol);
    json_string(json, "interface", link ? link->name : NULL);
    json_time(json, "at", now_wall_ms - (clock_mono_ms() - packet->mono_ms));
    json_end_object(json);
}
