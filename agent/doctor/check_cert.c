// SPDX-License-Identifier: Apache-2.0
/*
 * Certificates and CAs that the configuration names: whether they are valid now, and will be for a
 * while. That one was signed by another CA, or is not of its key, is told where it is used:
 * kube.api, store.etcd and store.consul ask with it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files/certificate.h"
#include "base/files/file.h"
#include "base/text.h"
#include "client/kube/kubeconfig.h"
#include "doctor/visit.h"

enum { FILE_MAX = 4 * 1024 * 1024 };
static const int64_t soon_ms = 14 * 24 * 60 * MINUTE_MS;

static void judge(struct visit *visit, const char *what, const char *remedy,
                  const struct certificate_time *time)
{
    const int64_t now_ms = clock_wall_ms();
    char day[CLOCK_STRLEN], left[CLOCK_STRLEN];
    if (now_ms > time->until_ms)
        visit_fail(visit, remedy, "%s expired at %s, %s ago", what,
                   clock_rfc3339(time->until_ms, day), clock_ago(now_ms - time->until_ms, left));
    else if (now_ms < time->from_ms)
        visit_fail(visit, "see whether this machine's clock is right: timedatectl; else renew it",
                   "%s is not valid before %s", what, clock_rfc3339(time->from_ms, day));
    else if (time->until_ms - now_ms < soon_ms)
        visit_warn(visit, remedy, "%s expires at %s, in %s", what,
                   clock_rfc3339(time->until_ms, day), clock_ago(time->until_ms - now_ms, left));
}

/* Of several only the first counts of a client; each does of CAs. */
static void judge_text(struct visit *visit, const char *what, const char *remedy, const char *pem,
                       bool all)
{
    struct certificate_time time;
    const char *next = certificate_next(pem, &time);
    if (!next) {
        visit_fail(visit, remedy, "%s has no certificate that can be read", what);
        return;
    }
    judge(visit, what, remedy, &time);
    while (all && (next = certificate_next(next, &time)))
        judge(visit, what, remedy, &time);
}

static void judge_file(struct visit *visit, const char *what, const char *remedy, const char *path,
                       bool all)
{
    AUTOFREE char *content = NULL;
    size_t size;
    if (!path)
        return;
    AUTOFREE char *named = text_format("%s %s", what, path);
    int r = file_read(path, FILE_MAX, &content, &size);
    if (r == 0)
        judge_text(visit, named ? named : what, remedy, content, all);
    else
        visit_fail(visit, "put it there, for agentd to read, or name where it is", "%s: %s",
                   named ? named : what, strerror(-r));
}

static void check_kube(struct visit *visit)
{
    static const char of_client[] =
        "have the cluster issue a new one, as docs/install.md shows, and put it there";
    static const char of_ca[] = "put the cluster's CA of now there: kubectl config view --raw";
    CLEANUP(kube_config_freep) struct kube_config *config = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    if (!visit->config || !visit->config->source.kubernetes) {
        visit_skip(visit, "Kubernetes is not the source");
        return;
    }
    const char *path = visit->config->source.kubeconfig;
    if (!path || kube_config_load(path, &config, &faults) < 0) {
        visit_skip(visit, path ? "see config.kubeconfig" : "the account of the pod has a token");
        return;
    }
    if (config->cert_data)
        judge_text(visit, "the client's certificate of the kubeconfig", of_client,
                   config->cert_data, false);
    else
        judge_file(visit, "the client's certificate", of_client, config->cert_file, false);
    if (config->ca_data)
        judge_text(visit, "the CA of the kubeconfig", of_ca, config->ca_data, true);
    else
        judge_file(visit, "the CA", of_ca, config->ca_file, true);
}

static void check_etcd(struct visit *visit)
{
    if (!visit->config || visit->config->addresses.etcd.endpoints.count == 0) {
        visit_skip(visit, "no claims are kept in etcd");
        return;
    }
    judge_file(visit, "addresses.etcd.certFile", "have etcd's CA issue a new one, and put it there",
               visit->config->addresses.etcd.cert_file, false);
    judge_file(visit, "addresses.etcd.caFile", "put etcd's CA of now there",
               visit->config->addresses.etcd.ca_file, true);
}

static void check_consul(struct visit *visit)
{
    if (!visit->config || !visit->config->consul.enabled) {
        visit_skip(visit, "consul is not configured");
        return;
    }
    const struct consul_where *consul = &visit->config->exports.consul;
    judge_file(visit, "consul.certFile", "have Consul's CA issue a new one, and put it there",
               consul->cert_file, false);
    judge_file(visit, "consul.caFile", "put Consul's CA of now there", consul->ca_file, true);
}

const struct check cert_checks[] = {
    { "cert.kube", "certificates of the API", "valid, and for 14 days more", check_kube },
    { "cert.etcd", "certificates of etcd", "valid, and for 14 days more", check_etcd },
    { "cert.consul", "certificates of Consul", "valid, and for 14 days more", check_consul },
    { NULL },
};
