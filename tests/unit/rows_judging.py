"""The same of what a run stands on and leaves: images (F), users and disks (G), the network (H), the grader (I),
records and replay (L), and faults that were found by reading (R). Data, no tests."""

from __future__ import annotations

from row_cases import CLAIM, CONTRACT, LEFT

__all__ = ["ROWS"]

F = {
    "N39 a digest that a save loses": (
        "docker/test_bundle_images.py::test_layers_are_carried_once_and_images_found_by_identity_alone",
        "docker/test_images_project.py::test_an_identity_survives_save_and_load",
    ),
    "N40 two kinds of store, two ids": (
        "unit/test_bundle_load.py::test_images_are_found_by_identity_whatever_the_store_calls_them",
        "unit/test_images_identity.py::test_both_kinds_of_store_give_the_same_identity_under_different_ids",
    ),
    "N41 a load that moves a tag": (
        "docker/test_bundle_images.py::test_a_name_of_this_engine_stays_with_what_it_names",
        "docker/test_images_project.py::test_loading_does_not_move_a_name_unasked",
    ),
    "N42 what an engine says of a load": (
        "unit/test_bundle_load.py::test_what_an_engine_says_of_a_load_is_not_believed",
    ),
    "N43 a link, and a file through it": (
        "unit/test_bundle_tar.py::test_nothing_but_a_plain_file_of_a_known_name_is_a_member",
        "unit/test_bundle_source.py::test_a_hostile_tree_writes_nothing_outside",
        "unit/test_run_evidence.py::test_a_file_below_a_link_is_the_archives_own_bytes",
        "docker/test_pod_files.py::test_files_are_fetched_and_no_link_is_followed_on_the_way",
    ),
    "N44 an archive that a sandbox made": (
        "unit/test_run_evidence.py::test_links_and_special_files_are_left_out_and_said",
        "unit/test_run_evidence.py::test_an_archive_that_no_honest_agent_makes_is_refused",
        "unit/test_run_evidence.py::test_caps_hold_before_anything_is_read",
    ),
    "N45 a file swapped between write and use": (
        "docker/test_rows_fake.py::test_nothing_is_executed_in_or_put_into_a_container_and_no_network_is_made",
        "docker/test_images_runtime.py::test_guests_cannot_write_the_volume",
        f"{CLAIM}[write-system]",
        f"{CONTRACT}[files_are_given]",
    ),
    "N46 an image of another architecture": (
        "docker/test_images_project.py::test_an_image_for_another_platform_is_refused",
        "unit/test_bundle_load.py::test_a_foreign_platform_is_refused_before_anything_is_loaded",
    ),
}
G = {
    "N47 a user that may not write": (
        "docker/test_pod_files.py::test_an_image_with_a_user_of_its_own_writes_its_workdir",
    ),
    "N48 a read-only root": (
        "docker/test_pod_files.py::test_writable_places_are_limited",
        "docker/test_e2e_inside.py::test_the_root_cannot_be_written_and_its_own_places_can",
        "docker/test_examples_run.py::test_an_example_ends_as_it_says",
    ),
    "N49 a disk that fills up": (
        "docker/test_fake_limits.py::test_an_engine_that_ignores_limits_is_refused_by_name",
        "docker/test_broken_machines_docker.py::"
        "test_what_breaks_for_good_stops_the_run_with_cause_and_remedy_and_is_resumed",
    ),
    "N50 secrets in an argv or a log": (
        "unit/test_e2e_process_argv.py::test_no_process_of_a_run_has_a_secret_in_its_argv",
        "docker/test_rows_fake.py::test_a_value_of_the_agents_environment_is_nowhere_but_there",
        "docker/test_e2e_secrets.py::test_a_secret_reaches_the_agent_and_nothing_that_is_kept",
        "unit/test_bundle_secret.py::test_no_member_of_a_bundle_has_it",
        "unit/test_bundle_source.py::test_what_never_travels_is_not_in_a_bundle",
    ),
}
H = {
    "N51 names through the engine's resolver": (
        "docker/test_pod_agent.py::test_there_is_no_way_out",
        f"{CLAIM}[resolve-names]",
    ),
    "N52 proxy variables for a wall": (
        "docker/test_pod_agent.py::test_there_is_no_way_out",
        "docker/test_pod_agent.py::test_the_boundary_is_reached_through_the_relay",
        f"{CLAIM}[reach-ip]",
        f"{CLAIM}[reach-ipv6]",
        f"{CLAIM}[reach-gateway]",
    ),
}
I = {  # noqa: E741  # the part's own letter
    "N53 a verdict that the agent writes": (
        f"{CLAIM}[verdict-files]",
        f"{LEFT}[writes-verdicts-everywhere]",
        f"{LEFT}[leaves-programs-and-the-answer]",
    ),
    "N54 what is planted for the grader": (
        f"{CLAIM}[plant-code]",
        f"{CLAIM}[plant-links]",
        f"{CLAIM}[plant-specials]",
        f"{LEFT}[leaves-a-pipe-for-the-answer]",
    ),
    "N55 evidence that is executed": (
        f"{CLAIM}[plant-code]",
        f"{LEFT}[leaves-programs]",
    ),
}
L = {
    "N73 a torn last line": (
        "unit/test_store_files.py::test_a_torn_line_is_cut_at_every_byte_and_never_fused_with_the_next_record",
        "unit/test_store_machine.py::test_a_file_torn_at_any_byte_of_its_last_line_resumes",
    ),
    "N74 a history that was cut": (
        "unit/test_store_reader.py::test_history_cut_at_a_record_boundary_does_not_verify",
        "unit/test_gate_tampering.py::test_a_dropped_trial_is_named_even_if_all_is_sealed_again",
    ),
    "N75 an older run in its place": (
        "unit/test_run_again.py::test_a_run_that_failed_at_once_is_not_decided_by_what_lay_in_its_place",
        "unit/test_store_writer.py::test_an_existing_run_is_refused_with_the_choices_and_nothing_changes",
        "unit/test_store_writer.py::test_force_keeps_every_older_run_and_starts_from_nothing",
    ),
    "N76 a resume of something else": (
        "unit/test_run_again.py::test_a_run_of_something_else_is_not_resumed_and_stays_as_it_is",
        "unit/test_run_resume.py::test_a_killed_run_resumes_with_the_missing_trials_and_the_same_decision",
        "docker/test_sealed_manifest.py::test_an_image_that_is_not_there_is_refused_with_the_command_that_brings_it",
        "unit/test_merge_store.py::test_other_manifests_and_other_images_are_named",
    ),
    "N77 an answer to another question": (
        "boundary/test_replay.py::test_one_argument_changed_is_a_miss_that_names_the_nearest_call",
        "boundary/test_replay.py::test_two_independent_calls_in_the_other_order_are_hits",
    ),
    "N78 the first answer again and again": (
        "boundary/test_replay.py::test_the_same_call_gets_its_answers_in_their_order_and_once_more_is_a_miss",
    ),
}
R = {
    "R1 a kill by the number of another namespace": (
        "docker/test_rows_fake.py::test_a_process_that_has_the_agents_number_in_another_namespace_lives_on",
    ),
    "R2 containers without limits": (
        "docker/test_pod_shape.py::test_every_container_is_hardened",
        "docker/test_pod_shape.py::test_every_container_has_the_limits_of_the_manifest",
        "docker/test_pod_shape.py::test_no_network_is_made",
    ),
    "R3 trouble of the machine, told by what an agent prints": (
        "unit/test_run_classify.py::test_what_an_agent_prints_decides_nothing",
        f"{CLAIM}[infrastructure-messages]",
        f"{CLAIM}[sh-infrastructure]",
    ),
    "R4 an execution that is tried again": (
        "docker/test_rows_fake.py::test_a_start_that_was_never_answered_is_not_asked_for_again",
        "unit/test_run_trial.py::test_a_trial_whose_agent_ran_is_never_made_again",
    ),
}
ROWS = (F, G, H, I, L, R)
