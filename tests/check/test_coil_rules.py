# SPDX-License-Identifier: Apache-2.0
"""What Coil's controller does, rule by rule, and the test of ours that shows each: of its kinds, of pools and
blocks, of requests, of garbage, and of egress workloads. A rule whose test has another name now is found here."""

import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PLAN, UNIT, TABLE = [f"unit/plan/pods/test_{name}.c" for name in ("block_plan", "pool_blocks", "block_table")]
WORKLOAD, POD = [f"unit/plan/egress/test_{name}.c" for name in ("workload", "workload_pod")]
BODY = "unit/controller/test_block_body.c"
RULES_OF, BLOCKS, EGRESS = [f"kube/test_{name}.py" for name in ("pool_rules", "blocks", "egress_workloads")]
RULES = [
    # The kinds.
    ("a pool's subnets: one family or both, of one size, wide enough", RULES_OF, "test_a_new_pool_is_refused"),
    ("bits below the prefix are tolerated, a block of one address is one", RULES_OF, "test_a_good_pool_is_taken"),
    ("families are alike, subnets do not overlap (Coil lets both pass)", RULES_OF, "test_a_new_pool_is_refused"),
    ("pools overlap neither each other nor nodes", BLOCKS, "test_pools_that_overlap_each_other_or_a_node_are_faults"),
    ("... nor Services", "unit/plan/conflicts/test_pool_conflicts.c", "a_pool_must_not_have_the_address_of_a_service"),
    ("a pool's bits stay, its subnets are only added to", RULES_OF, "test_a_pool_may_only_grow"),
    ("a pool has the finalizer from the beginning", PLAN, "a_pool_is_held_from_first_sight_to_its_last_block"),
    ("a block's name, labels, finalizer, owner", BODY, "a_block_has_labels_a_finalizer_and_its_pool_as_owner"),
    ("a reserved block is neither given nor freed", PLAN, "reserved_blocks_are_neither_given_nor_freed"),
    ("a request names its node and pool", RULES_OF, "test_a_request_is_of_a_node_and_a_pool"),
    ("an Egress: destinations, replicas, strategy, affinity, budget", RULES_OF, "test_an_egress_is_refused"),
    ("all of an Egress may be changed", RULES_OF, "test_a_good_egress_is_taken_and_changed"),
    # Pools and blocks.
    ("indexes run through the subnets in their order", UNIT, "indexes_run_through_the_subnets"),
    ("families advance in step", UNIT, "families_advance_in_step"),
    ("a block may be one address", UNIT, "a_block_may_be_one_address"),
    ("the lowest free index", TABLE, "the_lowest_index_that_no_block_of_the_pool_has_is_free"),
    ("a deleted pool is out of blocks", PLAN, "a_deleted_pool_is_out_of_blocks"),
    # Requests.
    ("what has a condition is left alone", PLAN, "an_answered_request_is_left_alone"),
    ("a request that was served before it was told", PLAN, "a_block_that_was_made_for_the_request_is_its_answer"),
    ("... also after a kill between the two", BLOCKS, "test_the_same_request_gets_the_same_block_after_a_kill"),
    ("a request that is made anew is another", PLAN, "a_request_made_anew_under_the_name_is_another"),
    ("what is said of success and failure", BODY, "an_answer_is_the_condition_that_nodes_wait_for"),
    ("... to a node of Coil's, on a real API", BLOCKS, "test_a_request_is_served_as_coil_serves_it"),
    ("no free block: two conditions", BLOCKS, "test_ten_blocks_and_many_askers"),
    ("an unknown pool: no condition, tried again", PLAN, "an_unknown_pool_leaves_the_request_without_a_condition"),
    ("a taken name is passed over (Coil never is over it)", BLOCKS, "test_taken_names_are_passed_over"),
    ("what was answered stays until its Node goes", BLOCKS, "test_nothing_is_written_where_all_is_so"),
    # Garbage.
    ("blocks of a Node that went (Coil: within the hour)", BLOCKS, "test_a_deleted_node_loses_its_blocks_at_once"),
    ("a Node is its uid", BLOCKS, "test_a_node_of_the_same_name_is_another_node"),
    ("a block whose Node nobody has seen", PLAN, "a_block_whose_node_was_never_there_waits"),
    ("finalizers of others stay", BODY, "finalizers_of_others_stay"),
    ("a deleted pool goes with its last block", BLOCKS, "test_a_deleted_pool_gives_nothing_and_stays_until_it_is_empty"),
    # Egress workloads.
    ("an account in each namespace with an Egress", WORKLOAD, "each_namespace_with_an_egress_has_the_account"),
    ("... that goes with the last (Coil's stays)", WORKLOAD, "the_account_goes_with_the_last_egress"),
    ("the role's subjects, which also become fewer", WORKLOAD, "the_role_is_bound_to_the_accounts_that_are_needed"),
    ("replicas and strategy", WORKLOAD, "the_deployment_has_replicas_and_strategy"),
    ("the container, by its name or in front", POD, "the_container_egress_is_found_by_name_or_put_in_front"),
    ("labels of the template, and the selector's", POD, "labels_of_the_template_stand_but_for_the_selectors"),
    ("annotations of others stay in the template", EGRESS, "test_edits_by_hand_are_undone_and_those_of_others_stay"),
    ("what the template says of the container", POD, "what_the_template_says_of_the_container_stands"),
    ("rights and account are not the template's", POD, "rights_and_account_are_not_the_templates"),
    ("the Service: port, affinity, families", WORKLOAD, "the_service_has_the_port_of_fou_and_both_families"),
    ("the budget", WORKLOAD, "the_budget_says_what_the_egress_says"),
    ("... goes with the field, follows the other number", EGRESS, "test_the_budget_follows_the_field_and_goes_with_it"),
    ("the status counts pods", WORKLOAD, "the_status_counts_pods_and_not_those_that_are_available"),
    ("an autoscaler's number stays", EGRESS, "test_an_egress_scaled_by_an_autoscaler_keeps_its_number"),
    ("children that change come back", EGRESS, "test_edits_by_hand_are_undone_and_those_of_others_stay"),
    ("children go with the Egress", EGRESS, "test_an_egress_that_goes_takes_all_with_it"),
]


@cache
def named_in(file):
    text = (TESTS / file).read_text(encoding="utf-8")
    return set(re.findall(r"^(?:def|static void) (\w+)\(", text, re.MULTILINE))


@pytest.mark.parametrize("rule, file, name", RULES, ids=lambda value: None)
def test_each_rule_has_its_test(rule, file, name):
    assert name in named_in(file), rule
