"""Failures of tools that run agents in containers, and the tests that show that they are none of ours: of a run at
work. By what broke: life and names (A), PID 1 and kills (B), ends (C), streams (D), the engine (E). Data, no tests."""

from __future__ import annotations

from row_cases import BROKEN, CLAIM, CONTRACT

__all__ = ["ROWS"]

A = {
    "N1 a killed client leaves its containers": (
        "docker/test_pod_life.py::test_everything_stops_with_its_owner_and_the_next_sweep_takes_that_run_alone",
        "docker/test_e2e_life.py::test_what_a_killed_run_started_stops_and_the_next_one_removes_it",
    ),
    "N2 Ctrl-C, twice, from a wrapper": (
        "docker/test_e2e_life.py::test_a_stopped_run_leaves_nothing_and_knows_what_it_interrupted",
        "docker/test_lifecycle_docker.py::test_a_second_interrupt_ends_at_once_and_says_what_removes_the_rest",
        "docker/test_pod_life.py::test_an_owner_that_is_interrupted_removes_everything",
    ),
    "N3 volumes that images declare, and the disk they fill": (
        "docker/test_pod_shape.py::test_volumes_that_an_image_declares_are_masked_and_none_is_made",
        "docker/test_pod_shape.py::test_nothing_is_left_of_the_run",
        "docker/test_broken_machines_docker.py::"
        "test_what_breaks_for_good_stops_the_run_with_cause_and_remedy_and_is_resumed",
    ),
    "N4 a stream that never yields": (
        "docker/test_fake_streams.py::"
        "test_a_stream_that_never_yields_nor_closes_meets_our_deadline_while_another_trial_goes_on",
    ),
    "N5 a container that cannot be killed": (
        "docker/test_fake_removal.py::test_a_container_that_will_not_go_is_given_up_and_named_while_the_run_goes_on",
        "docker/test_fake_slots.py::test_what_a_dead_run_left_and_will_not_go_refuses_no_other_run",
    ),
    "N6 one network for each sample": ("docker/test_pod_shape.py::test_no_network_is_made",),
    "N7 subnets that overlap": (
        "docker/test_rows_fake.py::test_nothing_is_executed_in_or_put_into_a_container_and_no_network_is_made",
    ),
    "N8 names that collide, failed steps that are kept": (
        "docker/test_pod_life.py::test_two_arms_at_once_have_nothing_in_common",
        "docker/test_images_runtime.py::test_a_filling_that_fails_is_not_remembered",
        "engines/test_full_disk_engines.py::test_images_that_have_no_room_are_refused_and_none_is_left_half_loaded",
    ),
    "N9 starts that take their time": (
        "docker/test_fake_calls.py::test_a_start_that_the_engine_delays_is_over_when_the_process_runs",
        "docker/test_broken_machines_docker.py::test_what_an_engine_takes_its_time_for_changes_no_trial",
        "unit/test_run_trial.py::test_a_slow_start_is_not_charged_to_the_agent",
    ),
    "N10 a reaper that takes living work": (
        "docker/test_lifecycle_docker.py::test_two_runs_on_one_engine_do_not_meet",
        "docker/test_e2e_life.py::test_cleaning_leaves_a_living_run_alone",
        "docker/test_lifecycle_fake.py::test_a_run_between_two_trials_is_alive_to_the_sweep_of_another",
    ),
}
B = {
    "N11 a PID 1 that ignores TERM": (
        "docker/test_pod_ends.py::test_our_kill_is_told_as_ours",
        f"{CONTRACT}[grace_ends]",
        f"{CONTRACT}[kill_is_not_oom]",
    ),
    "N12 zombies": (
        "docker/test_pod_ends.py::test_processes_are_limited_and_dead_ones_do_not_count",
        "docker/test_native_init_container.py::test_more_double_forks_than_the_process_limit_are_all_reaped",
    ),
    "N13 a grader's child that outlives its deadline": (
        "unit/test_run_trial.py::test_a_grade_printed_before_a_deadline_that_passes_does_not_count",
        f"{CONTRACT}[silence_after_stop]",
        f"{BROKEN}[the-oracle-never-ends]",
    ),
    "N14 a background child that holds stdout": (
        "docker/test_pod_ends.py::test_a_background_child_that_holds_the_streams_does_not_hold_up_the_end",
        "docker/test_rows_fake.py::test_nothing_is_executed_in_or_put_into_a_container_and_no_network_is_made",
    ),
}
C = {
    "N15 the engine's flag for memory": (
        "docker/test_pod_ends.py::test_a_child_that_is_killed_for_memory_is_told_and_the_agent_goes_on",
        f"{CLAIM}[memory-of-child]",
    ),
    "N16 137 without the flag": (
        "docker/test_fake_streams.py::test_a_guest_that_something_else_killed_is_data_and_not_our_kill",
        "unit/test_run_classify.py::test_a_trial_counts_as_the_table_says",
        "unit/test_run_classify.py::test_an_unknown_cause_is_said",
        "docker/test_pod_ends.py::test_137_by_choice_is_told_from_a_kill",
    ),
    "N17 a wait before the start": (
        "docker/test_fake_streams.py::test_every_container_is_created_attached_and_started_in_this_order",
        "docker/test_fake_streams.py::test_a_container_that_was_never_started_never_ends_with_0",
    ),
    "N18 a fast container that removes itself": (
        "docker/test_pod_ends.py::test_output_of_a_guest_that_ends_at_once_is_never_lost",
        "docker/test_pod_shape.py::test_every_container_is_hardened",
    ),
    "N19 a socket's timeout for a deadline": (
        "docker/test_fake_calls.py::test_a_call_without_an_end_meets_our_own_deadline",
        "docker/test_fake_calls.py::test_the_clients_two_kinds_of_timeout_are_one_kind_of_error",
        "unit/test_images_endpoint.py::test_every_kind_of_timeout_is_one_kind_of_error",
    ),
    "N20 a full disk that is shown as passed": (
        "unit/test_store_writer.py::test_no_space_at_any_write_of_an_append_names_the_file_and_leaves_a_readable_store",
        "unit/test_store_machine.py::test_a_full_disk_stops_the_run_with_the_remedy_and_it_resumes_where_there_is_room",
        "unit/test_bundle_load.py::test_a_load_that_fails_leaves_nothing",
    ),
}
D = {
    "N21 frame headers in the text": (
        "unit/test_docker_demux.py::test_any_piece_size_gives_the_same_streams",
        "unit/test_docker_demux.py::test_a_cut_at_any_offset_loses_nothing",
    ),
    "N22 a character over two frames": (
        "unit/test_docker_demux.py::test_a_character_split_over_two_frames_is_not_finished_by_the_other_stream",
    ),
    "N23 output that is cut": (
        "docker/test_pod_ends.py::test_output_of_a_guest_that_ends_at_once_is_never_lost",
        "docker/test_fake_streams.py::test_a_late_reader_gets_everything_of_a_guest_that_has_ended",
    ),
    "N24 output before the attach": (
        "docker/test_pod_ends.py::test_output_of_a_guest_that_ends_at_once_is_never_lost",
        "docker/test_fake_streams.py::test_every_container_is_created_attached_and_started_in_this_order",
    ),
    "N25 lines cut at 16 KiB": (
        f"{CONTRACT}[long_line_whole]",
        "docker/test_pod_shape.py::test_every_container_is_hardened",
    ),
    "N26 a stream that stays open": (
        "docker/test_fake_streams.py::test_a_stream_that_stays_open_after_the_end_is_closed_by_us",
        "docker/test_fake_removal.py::test_an_engine_that_never_closes_a_stream_does_not_keep_us_in_the_run",
    ),
    "N27 a verdict beyond the cap": (
        "unit/test_run_trial.py::test_a_grade_beyond_the_cap_is_refused_and_not_read_from_the_tail",
    ),
    "N28 a stdin without an end": (
        "docker/test_pod_ends.py::test_a_grader_reads_its_stdin_to_the_end",
        f"{CONTRACT}[agent_stdin_is_empty]",
    ),
    "N29 a stderr that nobody reads": (
        "boundary/test_server_log.py::test_a_server_that_logs_a_megabyte_and_its_arguments_in_each_call_answers_each",
        "boundary/test_recorder_environment.py::test_a_megabyte_of_log_per_call_is_drained_and_capped",
    ),
    "N30 a log that cannot be joined": (
        "unit/test_run_trial.py::test_logs_are_kept_with_exact_counts_and_a_log_that_breaks_harms_nothing",
        "unit/test_store_writer.py::test_a_log_that_was_lost_is_marked_and_harms_nothing",
    ),
}
E = {
    "N31 a versioned ping": ("docker/test_fake_calls.py::test_an_engine_that_answers_no_versioned_ping_is_found",),
    "N32 the active context": (
        "docker/test_fake_calls.py::test_the_engine_of_the_active_context_is_used_unless_docker_host_is_set",
        "engines/test_experiments_engines.py::test_the_active_context_is_where_a_run_goes",
    ),
    "N33 the engine's socket in a container": (
        "docker/test_pod_shape.py::test_nothing_of_the_host_is_mounted",
        f"{CLAIM}[engine-socket]",
    ),
    "N34 a credential helper that is not there": (
        "docker/test_pod_life.py::test_a_credential_helper_that_is_not_there_breaks_no_run",
        "docker/test_images_project.py::test_a_credential_helper_that_is_absent_breaks_no_build_from_local_images",
    ),
    "N35 a slow step that is done twice": (
        "docker/test_rows_fake.py::test_a_start_that_was_never_answered_is_not_asked_for_again",
        "unit/test_run_trial.py::test_what_breaks_before_the_agent_is_made_again_in_fresh_pods_at_most_twice",
        "unit/test_run_trial.py::test_a_trial_whose_agent_ran_is_never_made_again",
    ),
    "N36 an engine that dies": (
        "docker/test_fake_calls.py::test_an_engine_that_dies_in_mid_run_is_an_error_of_every_pending_guest",
        "engines/test_lifecycle_engines.py::test_a_run_whose_engine_was_killed_is_resumed_to_its_end",
        "unit/test_run_runner.py::test_an_engine_that_dies_under_running_agents_gives_errors_and_then_stops",
    ),
    "N37 limits that are accepted and ignored": (
        "docker/test_fake_limits.py::test_an_engine_that_ignores_limits_is_refused_by_name",
        "engines/test_experiments_engines.py::test_an_engine_that_ignores_limits_is_refused_and_named",
    ),
    "N38 no open files left": (
        "docker/test_fake_limits.py::test_more_workers_than_open_files_allow_are_refused_with_both_numbers",
        "docker/test_broken_machines_docker.py::test_a_run_that_has_no_open_files_left_stops_and_is_resumed",
        "unit/test_store_machine.py::test_a_store_that_finds_no_descriptor_says_so_and_is_not_torn",
    ),
}
ROWS = (A, B, C, D, E)
