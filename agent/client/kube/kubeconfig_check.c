// SPDX-License-Identifier: Apache-2.0
/*
 * Checks the values of a kubeconfig, each and in combination, so that requests can be made; called
 * by kubeconfig.c. Kubernetes' own clients accept more: a server without a scheme, for example,
 * means http to them.
 */
#include "client/kube/kubeconfig_check.h"
#include "faults/kubeconfig.h"
#include "faults/raise.h"

#include <string.h>

#include <curl/curl.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

DEFINE_CLEANUP(CURLU *, curl_url_cleanup);

static bool has_part(CURLU *url, CURLUPart part)
{
    char *value = NULL;
    bool has = curl_url_get(url, part, &value, 0) == CURLUE_OK;
    curl_free(value);
    return has;
}

/* libcurl would also accept "https:/host" and "https:///host". */
static bool has_prefix(const char *text, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        size_t length = strlen(*prefixes);
        if (strncmp(text, *prefixes, length) == 0)
            return text[length] != '/';
    }
    return false;
}

/* True for a URL with one of these prefixes, and without a query or a fragment. */
static bool is_plain_url(const char *text, const char *const *prefixes, bool user_allowed)
{
    CLEANUP(curl_url_cleanupp) CURLU *url = curl_url();
    return url && has_prefix(text, prefixes) &&
           curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
           !has_part(url, CURLUPART_QUERY) && !has_part(url, CURLUPART_FRAGMENT) &&
           (user_allowed || (!has_part(url, CURLUPART_USER) && !has_part(url, CURLUPART_PASSWORD)));
}

static void strip_slashes(char *url)
{
    for (char *end = url + strlen(url); end[-1] == '/'; end--)
        end[-1] = '\0';
}

/* A header value must not contain a line end. */
static bool is_visible(const char *text)
{
    for (; *text > ' ' && *text < 0x7f; text++)
        ;
    return *text == '\0';
}

static bool is_host_name(const char *text)
{
    return text[strspn(text, LETTERS "0123456789.-")] == '\0';
}

static void check_urls(struct kube_config *config, const char *place, struct faults *errors)
{
    static const char *const servers[] = { "http://", "https://", NULL };
    static const char *const proxies[] = { "http://", "https://", "socks5://", NULL };
    if (!config->server)
        fault_raise(errors, place, kubeconfig_server_missing);
    else if (!is_plain_url(config->server, servers, false))
        fault_raise(errors, place, kubeconfig_server_malformed);
    else
        strip_slashes(config->server);
    if (config->proxy_url && !is_plain_url(config->proxy_url, proxies, true))
        fault_raise(errors, place, kubeconfig_proxy_malformed);
}

static void check_credentials(const struct kube_config *config, const char *place,
                              struct faults *errors)
{
    bool cert = config->cert_data || config->cert_file, key = config->key_data || config->key_file;
    if (cert && !key)
        fault_raise(errors, place, kubeconfig_client_key_missing);
    if (key && !cert)
        fault_raise(errors, place, kubeconfig_client_certificate_missing);
    if (config->token && !is_visible(config->token))
        fault_raise(errors, place, kubeconfig_token_malformed);
}

bool kube_config_check(struct kube_config *config, const char *place, struct faults *errors)
{
    size_t before = errors->list.count;
    check_urls(config, place, errors);
    check_credentials(config, place, errors);
    if (config->insecure && (config->ca_data || config->ca_file))
        fault_raise(errors, place, kubeconfig_verification_conflicting);
    if (config->tls_server_name && !is_host_name(config->tls_server_name))
        fault_raise(errors, place, kubeconfig_tls_name_malformed);
    return errors->list.count == before && !errors->incomplete;
}
