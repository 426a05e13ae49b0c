// SPDX-License-Identifier: Apache-2.0
/*
 * What documents share; see document.h. Each member is written in one form everywhere, so that who
 * has read one document can read the next.
 */
#include "api/document.h"

#include "base/net/protocol.h"

struct json view_begin(struct text *out, const char *kind)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", kind);
    return json;
}

void view_end(struct json *json)
{
    json_end_object(json);
}

void write_reading_place(struct json *json, const struct object *object)
{
    bool read_from_file = object && *object->file;
    const char *source = read_from_file ? "manifests" : "kubernetes";
    json_string(json, "source", object ? source : NULL);
    json_string(json, "file", read_from_file ? object->file : NULL);
    if (read_from_file)
        json_int(json, "line", object->line);
    else
        json_null(json, "line");
}

/* Of a fault of the catalogue, or none. */
static void write_cause(struct json *json, const struct known_fault *cause)
{
    if (!cause) {
        json_null(json, "follows");
        return;
    }
    json_begin_object(json, "follows");
    json_string(json, "code", known_fault_code(cause));
    json_string(json, "place", cause->place);
    json_end_object(json);
}

void write_fault(struct json *json, const char *subsystem, const char *group,
                 const struct fault *fault, int64_t since_wall_ms, const struct known_fault *cause)
{
    json_begin_object(json, NULL);
    json_string(json, "subsystem", subsystem);
    json_string(json, "group", group);
    json_string(json, "code", fault->type ? fault->type->code : NULL);
    json_string(json, "severity",
                fault_severity_name(fault->type ? fault->type->severity : FAULT_DEGRADED));
    json_string(json, "place", fault->place);
    json_string(json, "message", fault->message);
    json_string(json, "remedy", fault->remedy);
    json_time(json, "since", since_wall_ms);
    write_cause(json, cause);
    json_end_object(json);
}

void write_known_fault(struct json *json, const struct fault_book *book,
                       const struct known_fault *known)
{
    const struct fault fault = {
        .type = known->type,
        .place = (char *)known->place,
        .message = (char *)known->message,
        .remedy = (char *)known->remedy,
    };
    write_fault(json, known->subsystem, known->group, &fault, known->since_wall_ms,
                fault_book_cause(book, known));
}

void write_known_faults(struct json *json, const char *key, const struct fault_book *book)
{
    json_begin_array(json, key);
    for (size_t i = 0; i < fault_book_count(book); i++)
        write_known_fault(json, book, fault_book_at(book, i));
    json_end_array(json);
}

void write_socket(struct json *json, const char *key, const struct ip *ip, uint16_t port)
{
    const char *format = ip->family == IP_V6 ? "[%s]:%u" : "%s:%u";
    char address[IP_STRLEN];
    json_stringf(json, key, format, ip_str(ip, address), port);
}

void write_protocol(struct json *json, const char *key, uint8_t number)
{
    if (number == PROTOCOL_TCP || number == PROTOCOL_UDP || number == PROTOCOL_SCTP)
        json_string(json, key, protocol_name((enum protocol)number));
    else
        json_stringf(json, key, "%u", number);
}
