// SPDX-License-Identifier: Apache-2.0
/*
 * Texts for failed requests; called by kube.c. libcurl gets certificates as blobs only, and OpenSSL
 * does not know the files, so neither names the file that is at fault.
 *
 * If the key of a CA does not match the signature, as after it was replaced under the same name,
 * libcurl reports the innermost reason ("error:0200008A:rsa routines::invalid padding"), and not
 * that a certificate could not be verified. Errors of TLS itself have numbers that begin with 0A.
 *
 * If a connection is closed after the handshake, libcurl 7.88 mostly reports that it failed to get
 * the peer's address, or OpenSSL's error for the repeated write.
 */
#include "client/kube/kube_failure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool has(const char *text, const char *words)
{
    return strstr(text, words) != NULL;
}

/* An OpenSSL error that is not from its TLS part. */
static bool is_of_crypto(const char *error)
{
    return has(error, "error:") && !has(error, "error:0A");
}

/* The origin of a certificate or key, which is inline data or a file. */
static const char *place_of(const char *data, const char *file)
{
    return data || !file ? "the kubeconfig" : file;
}

static const char *tell_of_server(const struct kube_config *config, const char *error,
                                  char why[static KUBE_ERROR_LEN])
{
    if (has(error, "expired") || has(error, "not yet valid")) {
        (void)snprintf(why, KUBE_ERROR_LEN, "%s", error);
        return "renew the API's certificate, or set this node's clock";
    }
    if (has(error, "target host name")) {
        (void)snprintf(why, KUBE_ERROR_LEN, "%s", error);
        return "ask under a name that the API's certificate has: server, or tls-server-name";
    }
    if (!config->ca_data && !config->ca_file) {
        (void)snprintf(why, KUBE_ERROR_LEN,
                       "the API's certificate is not signed by a CA of this system (%s)", error);
        return "name the cluster's CA in the kubeconfig: certificate-authority";
    }
    (void)snprintf(why, KUBE_ERROR_LEN, "the API's certificate is not signed by the CA in %s (%s)",
                   place_of(config->ca_data, config->ca_file), error);
    return config->ca_data
               ? "if the cluster has a new CA, put it there and reload; else ask who it is that answers"
               : "if the cluster has a new CA, put it there; else ask who it is that answers";
}

static bool is_hangup(const char *error)
{
    return has(error, "Broken pipe") || has(error, "getpeername()") ||
           has(error, "bad write retry") || has(error, "certificate required");
}

/*
 * The remedy where no connection was made, or no answer arrived on it; NULL: the failure is another
 * one.
 */
static const char *remedy_of_way(CURLcode code, long os_error)
{
    if (code == CURLE_COULDNT_RESOLVE_HOST)
        return "see: getent hosts NAME; mend /etc/resolv.conf, or give server: of the kubeconfig "
               "another name";
    if (code == CURLE_OPERATION_TIMEDOUT || os_error == EHOSTUNREACH || os_error == ENETUNREACH)
        return "see whether that host is up, ip route get ADDRESS, and that no firewall drops what "
               "goes there";
    if (code == CURLE_COULDNT_CONNECT)
        return "see whether kube-apiserver runs there, and server: of the kubeconfig is right";
    return NULL;
}

/* libcurl 7.88 reports only that it could not connect; errno has the reason. */
static const char *tell_of_way(CURLcode code, long os_error, const char *error,
                               char why[static KUBE_ERROR_LEN])
{
    const char *reason = code == CURLE_COULDNT_CONNECT && os_error ? strerror((int)os_error) : "";
    bool said = !*reason || has(error, reason);
    (void)snprintf(why, KUBE_ERROR_LEN, "%s%s%s%s", error, said ? "" : " (", said ? "" : reason,
                   said ? "" : ")");
    return remedy_of_way(code, os_error);
}

const char *kube_failure_read(CURLcode code, long os_error, const char *error,
                              const struct kube_config *config, char why[static KUBE_ERROR_LEN])
{
    /* Where there are two certificates, the error does not name one. */
    bool proxy_has_one = config->proxy_url && strncmp(config->proxy_url, "https:", 6) == 0;
    if (!proxy_has_one && (code == CURLE_PEER_FAILED_VERIFICATION ||
                           (code == CURLE_SSL_CONNECT_ERROR && is_of_crypto(error))))
        return tell_of_server(config, error, why);
    if (code == CURLE_SSL_CACERT_BADFILE) {
        (void)snprintf(why, KUBE_ERROR_LEN, "there is no certificate in %s, named as the CA",
                       place_of(config->ca_data, config->ca_file));
        return "put the cluster's CA there, in PEM";
    }
    if (code == CURLE_SSL_CERTPROBLEM) {
        (void)snprintf(why, KUBE_ERROR_LEN,
                       "the client certificate in %s and the key in %s can't be used: %s",
                       place_of(config->cert_data, config->cert_file),
                       place_of(config->key_data, config->key_file), error);
        return "give a certificate and the key that belongs to it, in PEM and not encrypted";
    }
    if (is_hangup(error)) {
        (void)snprintf(why, KUBE_ERROR_LEN, "what answers there closes connections at once");
        return "see what it is: it may want a client certificate, or balance load over no servers";
    }
    const char *remedy = tell_of_way(code, os_error, error, why);
    return has(error, "wrong version number") ? "check the server's address: no TLS is spoken there"
                                              : remedy;
}
