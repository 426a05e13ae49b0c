# SPDX-License-Identifier: Apache-2.0
"""Where each row of what kube-service-exporter does is tested: its settings, annotations, documents,
hash, ingresses, writes, services, nodes, lock, queues and metrics. tests/check/test_export_rows.py
says whether the tests are there, and whether the rows are complete."""

SERVICES = "unit/plan/export/test_export.c::"
NODES = "unit/plan/export/test_export_nodes.c::"
DIFF = "unit/plan/export/test_export_diff.c::"
SHRINK = "unit/plan/export/test_export_shrink.c::"
CONFIG = "unit/config/test_export.c::"
STATSD = "unit/controller/test_export_statsd.c::"
EXPORT = "consul/test_export.py::"
ADDRESSES = "consul/test_addresses.py::"
TROUBLE = "consul/test_trouble.py::"
WAY = "consul/test_way.py::"
AGENT = "consul/test_services.py::"
NAME = "consul/test_statsd.py::test_a_name"

ALL = CONFIG + "takes_every_variable"
LISTS = CONFIG + "takes_both_forms_of_lists"
WRONG = CONFIG + "refuses_what_cannot_be_read"
LIVE = EXPORT + "test_environment_of_kube_service_exporter"
TAKEN = SERVICES + "takes_annotations"
REFUSED = SERVICES + "refuses_what_cannot_be_read"
INGRESS = SERVICES + "goes_behind_an_ingress"
DEFAULTS = SERVICES + "has_defaults"
COME_AND_GO = EXPORT + "test_services_come_change_and_go"
REGISTERED = AGENT + "test_a_service_is_registered_checked_and_taken_out"

# "section: row": tests, below tests/.
ROWS = {
    "2: KSE_CLUSTER_ID": [ALL, LIVE],
    "2: KSE_CLUSTER_ID is not there: nothing is exported": [CONFIG + "has_defaults"],
    "2: KSE_POD_NAME": [ALL, LIVE, NAME],
    "2: KSE_CONSUL_KV_PREFIX": [ALL, LIVE],
    "2: KSE_CONSUL_HOST": [ALL, LIVE],
    "2: KSE_CONSUL_PORT": [ALL, WRONG, LIVE],
    "2: KSE_CONSUL_DATACENTER": [ALL, AGENT + "test_a_token_of_the_environment"],
    "2: KSE_NODE_SELECTOR": [ALL, LISTS, WRONG, LIVE],
    "2: KSE_MIN_SELECTOR_NODES": [ALL, WRONG, NODES + "takes_the_first_selector_with_enough"],
    "2: KSE_MAX_REQUEUE_COUNT": [ALL],
    "2: KSE_NAMESPACE_LIST": [ALL, SERVICES + "takes_only_its_namespaces", LIVE],
    "2: KSE_SERVICES_ENABLED": [ALL, WRONG],
    "2: KSE_SERVICES_KEY_TEMPLATE": [ALL, SERVICES + "makes_keys_by_template", LIVE],
    "2: KSE_SERVICE_RESYNC_PERIOD": [ALL],
    "2: KSE_DOGSTATSD_ENABLED": [LISTS, NAME],
    "2: KSE_DOGSTATSD_HOST": [NAME],
    "2: KSE_DOGSTATSD_PORT": [ALL, NAME],
    "2: KSE_DOGSTATSD_TAGS": [ALL, LISTS, WRONG, NAME],
    "2: KSE_HTTP_IP": [LIVE],
    "2: KSE_HTTP_PORT": [ALL, LIVE],
    "2: CONSUL_HTTP_TOKEN": [ALL, LIVE],
    "2: CONSUL_HTTP_TOKEN_FILE": [CONFIG + "takes_the_files_of_consuls_clients"],
    "2: CONSUL_HTTP_AUTH": [WAY + "test_a_proxy_before_consul_asks_for_a_password"],
    "2: CONSUL_HTTP_SSL": [ALL, LIVE],
    "2: CONSUL_HTTP_SSL_VERIFY": [ALL],
    "2: CONSUL_CACERT": [CONFIG + "takes_the_files_of_consuls_clients", LIVE],
    "2: CONSUL_CAPATH": [WAY + "test_every_file_of_a_folder_is_an_authority"],
    "2: CONSUL_CLIENT_CERT": [CONFIG + "takes_the_files_of_consuls_clients", LIVE],
    "2: CONSUL_CLIENT_KEY": [CONFIG + "takes_the_files_of_consuls_clients", LIVE],
    "2: CONSUL_TLS_SERVER_NAME": [CONFIG + "takes_the_files_of_consuls_clients"],
    "2: CONSUL_NAMESPACE": [ALL],
    "2: CONSUL_PARTITION": [ALL],

    "3: which Services": [SERVICES + "is_exported_if_it_asks_and_can_be",
                          SERVICES + "is_not_exported_without_annotation"],
    "3: one document for each port, whatever its protocol": [DEFAULTS, SERVICES + "names_a_port_by_its_number"],
    "3: the port's name, or its number": [SERVICES + "names_a_port_by_its_number"],
    "3: the id, and two Services of one": [SERVICES + "makes_ids", SERVICES + "gives_a_key_to_the_older"],
    "3: exported": [SERVICES + "is_exported_if_it_asks_and_can_be"],
    "3: load-balancer-dns-name": [TAKEN, EXPORT + "test_the_documented_example"],
    "3: load-balancer-proxy-protocol": [TAKEN, SERVICES + "doubts_unknown_words"],
    "3: load-balancer-class": [TAKEN, EXPORT + "test_the_documented_example"],
    "3: load-balancer-backend-protocol": [TAKEN, SERVICES + "doubts_unknown_words"],
    "3: load-balancer-listen-port": [TAKEN, REFUSED],
    "3: load-balancer-health-check-path": [TAKEN],
    "3: load-balancer-health-check-port": [TAKEN, DEFAULTS, REFUSED],
    "3: load-balancer-service-per-cluster": [SERVICES + "makes_ids", REFUSED, COME_AND_GO],
    "3: custom-attrs": [TAKEN, DEFAULTS, SERVICES + "refuses_broken_attributes", SERVICES + "writes_attributes_as_go"],
    "3: id-prefix": [SERVICES + "makes_ids"],
    "3: ingress-service-namespace": [INGRESS, REFUSED],
    "3: ingress-service-name": [INGRESS, REFUSED],
    "3: ingress-service-port-name": [INGRESS, REFUSED],
    "3: a refused Service keeps what it has, of every port": [
        EXPORT + "test_a_refused_service_keeps_its_documents", DIFF + "keeps_what_a_refused_service_had"],

    "4: the key of a Service": [SERVICES + "makes_ids", EXPORT + "test_the_documented_example"],
    "4: the key by a template": [SERVICES + "makes_keys_by_template", SERVICES + "refuses_templates"],
    "4: the key of nodes": [NODES + "lists_usable_nodes", LIVE],
    "4: the key of the lock": [LIVE],
    "4: members, their order, and which are left out": [DEFAULTS, TAKEN, EXPORT + "test_the_documented_example"],
    "4: zero and absent are the same to who reads": [DIFF + "knows_the_same_in_other_words"],
    "4: custom_attrs by Go's rules": [SERVICES + "writes_attributes_as_go"],
    "4: the list of nodes": [NODES + "lists_usable_nodes", NODES + "lists_all_by_an_empty_selector",
                             ADDRESSES + "test_nodes_of_both_families_are_listed_by_address"],

    "5: both values of upstream": [SERVICES + "hashes_as_upstream", DEFAULTS],
    "5: each kind of attribute, by another reckoning": ["consul/test_hash.py::test_it_is_reckoned_alike"],
    "5: every attribute counts": [SERVICES + "hashes_attributes"],
    "5: what says the same is not written": [DIFF + "takes_over_what_says_the_same",
                                             EXPORT + "test_what_another_exporter_wrote_is_taken_over"],

    "6: port, health port and name behind an ingress": [INGRESS, TAKEN],
    "6: `default` where the port begins with a digit": [SERVICES + "names_a_port_by_its_number"],
    "6: a name that is no domain": [SERVICES + "refuses_a_name_that_is_no_domain"],
    "6: an ingress that is not there": [REFUSED],
    "6: a port that the ingress does not have": [INGRESS],
    "6: a change of the ingress": [EXPORT + "test_dependants_of_an_ingress_follow_at_once"],

    "7: nothing is written before the lock is held": [TROUBLE + "test_another_exporter_holds_the_lock"],
    "7: what is no JSON is left alone": [DIFF + "puts_right_what_is_ours",
                                         "consul/test_shown.py::test_documents_with_place_age_and_state"],
    "7: create, update, delete, rename": [COME_AND_GO],
    "7: another key for the same id": [ADDRESSES + "test_a_key_that_changes_with_the_class_leaves_nothing_behind"],
    "7: exactly one key is removed": [EXPORT + "test_nothing_of_others_is_touched", DIFF + "removes_only_what_is_marked"],
    "7: orphans of ours": [EXPORT + "test_orphans_of_ours_go_at_the_start"],
    "7: a new leader": [TROUBLE + "test_another_leads_after_the_first"],
    "7: failures are tried again": [WAY + "test_a_bad_answer_is_tried_again"],

    "8: id, name, tags, port, address, check": [REGISTERED],
    "8: registered again where it differs": [AGENT + "test_what_others_change_is_put_right",
                                             AGENT + "test_nothing_of_others_is_touched"],
    "8: deregistered": [REGISTERED],
    "8: no TCP check of UDP": [REGISTERED],

    "9: one selector, several, none, one that is empty": [
        NODES + "takes_the_first_selector_with_enough", NODES + "lists_all_by_an_empty_selector", LISTS],
    "9: a minimum that is met exactly": [NODES + "takes_the_first_selector_with_enough"],
    "9: ready and not cordoned": [NODES + "lists_usable_nodes"],
    "9: pretend-ready-until": [NODES + "pretends_to_be_ready", NODES + "ignores_a_time_that_is_none",
                               EXPORT + "test_a_node_that_pretends_to_be_ready"],
    "9: only the leader writes, and only a difference": [TROUBLE + "test_another_leads_after_the_first",
                                                         WAY + "test_no_change_is_no_request"],

    "10: value, flags and session of the lock": [LIVE],
    "10: the session is lost": [TROUBLE + "test_a_frozen_leader_writes_nothing"],
    "10: it is given back at the end": [LIVE, WAY + "test_the_end_waits_until_the_lock_is_given_back"],
    "11: what failed is tried again": [WAY + "test_a_bad_answer_is_tried_again"],
    "12: /healthz": [LIVE],
    "12: metrics by DogStatsD": [NAME, AGENT + "test_requests_are_told_by_dogstatsd",
                                 STATSD + "tells_of_consul", STATSD + "tells_counts_of_handlers"],
    "13: Consul's services and documents stay at the end": [AGENT + "test_it_begins_and_ends_by_reload",
                                                            TROUBLE + "test_another_leads_after_the_first"],
    "15: a list that empties at once": [EXPORT + "test_a_list_of_nodes_that_shrinks_is_held_back",
                                        SHRINK + "holds_nodes_that_go_one_by_one"],
    "15: writes are fenced by the session": [TROUBLE + "test_a_frozen_leader_writes_nothing"],
    "16: owners are told": [EXPORT + "test_the_owner_of_a_refused_service_is_told_once",
                            EXPORT + "test_a_refused_service_has_a_condition_until_it_is_mended"],
}
