/* SPDX-License-Identifier: Apache-2.0 */
/* Objects given as YAML, and what is exported of them from the cluster "cluster". */
#pragma once

#include "config/export_config.h"
#include "plan/export/export.h"
#include "planning.h"
#include "raised.h"

struct exports {
    struct planning objects;
    struct export_config config;
    struct export_plan plan;
    struct faults faults;
};

#define SERVICE1                                                                                \
    "apiVersion: v1\nkind: Service\nmetadata: {name: service1, namespace: default, uid: u1, "   \
    "annotations: {kube-service-exporter.github.com/exported: 'true'%s}}\n"                     \
    "spec: {type: LoadBalancer, clusterIP: 10.0.0.1, ports: [{name: http, port: 80, nodePort: " \
    "32123}, {name: thing, port: 1234, nodePort: 32124}]}\n"
#define INGRESS                                                                                  \
    "apiVersion: v1\nkind: Service\nmetadata: {name: ingress-svc, namespace: "                   \
    "ingress-namespace}\nspec: {clusterIP: 10.0.0.2, ports: [{name: ingress-port, port: 12345, " \
    "nodePort: 33333}]}\n"
#define KSE "kube-service-exporter.github.com/"

static inline void exports_begin(struct exports *exports)
{
    *exports = (struct exports){ 0 };
    planning_begin(&exports->objects);
    assert_int_equal(export_config_defaults(&exports->config), 0);
    exports->config.cluster = strdup("cluster");
}

static inline void exports_done(struct exports *exports)
{
    planning_done(&exports->objects);
    export_config_done(&exports->config);
    export_plan_done(&exports->plan);
    faults_done(&exports->faults);
}

#define AUTOEXPORTS CLEANUP(exports_done)

/* service1 with more annotations: ", NAME: 'VALUE'". */
static inline void put_service1(struct exports *exports, const char *annotations)
{
    AUTOFREE char *yaml = text_format(SERVICE1, annotations);
    put(&exports->objects, yaml);
}

static inline void put_text(char **field, const char *text)
{
    free(*field);
    *field = strdup(text);
}

static inline void export_at(struct exports *exports, int64_t now_wall_ms)
{
    export_plan_done(&exports->plan);
    faults_done(&exports->faults);
    exports->faults = (struct faults){ 0 };
    assert_int_equal(plan_export(&exports->config, exports->objects.store, now_wall_ms,
                                 &exports->plan, &exports->faults),
                     0);
}

/* The document under a key, or NULL. */
static inline const char *document_at(const struct exports *exports, const char *key)
{
    vec_each(const struct export_document, document, &exports->plan.documents) {
        if (strcmp(document->key, key) == 0)
            return document->value;
    }
    return NULL;
}

/* The document of service1's first port, with those annotations. */
static inline const char *http_of(struct exports *exports, const char *annotations)
{
    put_service1(exports, annotations);
    export_at(exports, 0);
    return document_at(exports, "kube-service-exporter/services/cluster-default-service1-http/"
                                "clusters/cluster");
}

static inline void assert_refused(struct exports *exports, const char *annotations,
                                  const char *message)
{
    put_service1(exports, annotations);
    export_at(exports, 0);
    assert_int_equal(exports->plan.refusals.count, 1);
    assert_string_equal(exports->plan.refusals.items[0].message, message);
    assert_string_equal(exports->plan.refusals.items[0].owner, "default/service1");
    assert_string_not_equal(exports->plan.refusals.items[0].remedy, "");
    assert_string_equal(exports->faults.list.items[exports->faults.list.count - 1].place,
                        "Service default/service1");
    assert_int_equal(exports->plan.documents.count, 1); /* the list of nodes */
}
