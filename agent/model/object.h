/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all Kubernetes objects share, and the way from a document to a typed object.
 *
 * Only the fields that some part of the agent uses are kept. An object owns all its memory (one
 * arena) and never changes after decoding: whoever holds a const pointer reads a value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "format/doc.h"

/* Every kind: its constant, and the row that says what it is (kind.h), at the end of its file. */
#define KINDS(KIND)                                      \
    KIND(KIND_SERVICE, service_kind)                     \
    KIND(KIND_ENDPOINT_SLICE, endpoint_slice_kind)       \
    KIND(KIND_NODE, node_kind)                           \
    KIND(KIND_NAMESPACE, namespace_kind)                 \
    KIND(KIND_POD, pod_kind)                             \
    KIND(KIND_ADDRESS_POOL, address_pool_kind)           \
    KIND(KIND_ADDRESS_BLOCK, address_block_kind)         \
    KIND(KIND_BLOCK_REQUEST, block_request_kind)         \
    KIND(KIND_EGRESS, egress_kind)                       \
    KIND(KIND_IP_POOL, ip_pool_kind)                     \
    KIND(KIND_BGP_ADVERTISEMENT, bgp_advertisement_kind) \
    KIND(KIND_L2_ADVERTISEMENT, l2_advertisement_kind)   \
    KIND(KIND_DEPLOYMENT, deployment_kind)               \
    KIND(KIND_DISRUPTION_BUDGET, disruption_budget_kind) \
    KIND(KIND_SERVICE_ACCOUNT, service_account_kind)     \
    KIND(KIND_ROLE_BINDING, role_binding_kind)

#define KIND_CONSTANT(constant, row) constant,
enum kind { KINDS(KIND_CONSTANT) KIND_COUNT };
#undef KIND_CONSTANT

/* "EndpointSlice"; "discovery.k8s.io/v1". */
const char *kind_name(enum kind kind);
const char *kind_api_version(enum kind kind);

/* The kind of an apiVersion and kind, or KIND_COUNT if it is none that manifests are read for. */
enum kind kind_of(const char *api_version, const char *kind);

/* Whether manifests are read for it. The others are what the controller makes. */
bool kind_is_manifest(enum kind kind);

/*
 * The kind of ours that such an object, which is none, may have been meant to be: a name that is
 * misspelt, or another version of its API. KIND_COUNT if none is like it.
 */
enum kind kind_meant(const char *api_version, const char *kind);

/* Whether it may have been meant to be Endpoints of v1, which become EndpointSlices: endpoints.h.
 */
bool kind_meant_endpoints(const char *api_version, const char *kind);

/* Whose an object is: with the last of them it goes. */
struct object_owner {
    const char *kind, *name, *uid;
    bool controller;
};

/*
 * What holds an object. The first few of each, to look at: who is to write a list has the API merge
 * it (server-side apply).
 */
struct object_ties {
    const struct object_owner *owners;
    const char *const *finalizers;
    uint32_t owner_count, finalizer_count;
};

enum { OBJECT_OWNERS_MAX = 8, OBJECT_FINALIZERS_MAX = 16, OBJECT_UID_MAX = 63 };

struct object {
    enum kind kind;
    const char *namespace; /* "" for kinds of cluster scope; "default" where a manifest has none */
    const char *name;
    int64_t created_ms;  /* wall clock of creationTimestamp; 0: none */
    bool deleting;       /* has a deletionTimestamp */
    int64_t deleting_ms; /* its wall clock; 0: none, or none that can be read */
    /* Of kinds that we write to, or about (kind.h); else "" and NULL, as without an API. */
    const char *uid;
    const char *version;            /* resourceVersion: the last one seen */
    const struct object_ties *ties; /* NULL: none */
    const char *file;               /* where it was read, for people; "" from an API */
    uint32_t line;
    struct arena *arena;
};

/*
 * Decodes a document. Returns 1 and an object that the caller owns; 0 if its kind is none of ours
 * (`ret_kind`, if not NULL, is then a borrowed "apiVersion/kind" from the document for counting);
 * -EBADMSG after adding every error to `errors`; -ENOMEM.
 * What is wrong but leaves the object usable (a bad address that is skipped) goes to `warnings`.
 */
int object_decode(const struct document *document, struct object **ret_object,
                  const char **ret_kind, struct faults *errors, struct faults *warnings);

/*
 * Decodes a document of which the kind is known from elsewhere, as elements of a List don't say
 * theirs. Returns as object_decode(), never 0.
 */
int object_decode_as(const struct document *document, enum kind kind, struct object **ret_object,
                     struct faults *errors, struct faults *warnings);

/* Whether an object of a kind can have these names, as Kubernetes checks them: a namespace, not "",
 * where the kind has one, and none where it has none. */
bool object_names_fit(enum kind kind, const char *namespace, const char *name);

/* Whether a resourceVersion is older than another: they are counted up. "" is older than all. */
bool object_version_is_older(const char *version, const char *than);

/* True if two objects of one key say the same; the place they were read from does not count, nor
 * does the version. */
bool object_equal(const struct object *a, const struct object *b);

/* The owner that manages an object; NULL: it has none. */
static inline const struct object_owner *object_controller(const struct object *object)
{
    for (uint32_t i = 0; object->ties && i < object->ties->owner_count; i++) {
        if (object->ties->owners[i].controller)
            return &object->ties->owners[i];
    }
    return NULL;
}

/* Order by kind, namespace, name. */
int object_key_cmp(const struct object *a, const struct object *b);

/* Precedence where two objects claim one thing: older first, without a timestamp last, then name.
 */
int object_precedence_cmp(const struct object *a, const struct object *b);

void object_free(struct object *object);
DEFINE_CLEANUP(struct object *, object_free);
