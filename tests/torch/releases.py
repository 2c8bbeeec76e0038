"""Tests of what only a later torch does, says or records. An earlier one skips them, with the
reason that stands here; on the torch that the project is pinned to all of them run.

What a program's results are, what is proven and what a program can tell is asked of every torch.
"""

import pytest
import torch

TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])

#: (the first torch that a test is for, reason, files, or tests with or without their parameters)
LATER = (
    (
        (2, 4),
        "it has no structured trace: nothing tells of frames that it gives up, of limits, or when a"
        " compile began",
        "advice::test_a_run_in_which_nothing_was_compiled_says_so"
        " callers::test_each_compile_stands_below_the_entry_whose_code_called_it"
        " callers::test_what_a_function_without_code_calls_stands_below_it_at_each_call"
        " failures::test_a_block_inside_another_one_in_the_same_folder"
        " failures::test_a_block_that_ends_after_one_in_whose_middle_it_began"
        " first_read::test_a_readme_lists_the_compiles_of_a_function_without_a_break"
        " first_read::test_the_page_has_the_order_and_the_figures_of_readme"
        " given_up::test_a_function_at_its_limit_keeps_what_it_has"
        " given_up::test_a_function_with_nothing_to_compile"
        " given_up::test_a_side_that_ran_as_plain_python_has_one_name_in_all_files"
        " given_up::test_each_name_of_a_resume_function_is_told_where_it_is_read"
        " given_up::test_the_code_that_calls_a_resume_function_says_what_became_of_it"
        " given_up::test_the_files_of_many_compiles_are_told_in_one_line"
        " given_up::test_the_page_of_calls_beyond_the_limit_says_what_is_so"
        " given_up::test_two_rests_behind_one_line_are_two_functions"
        " handed::test_a_break_below_a_method_of_that_name_is_told_with_the_line_that_led_there"
        " interrupts::test_at_whatever_depyf_does[depyf.torch.capture.hub:Session.on_trace]"
        " interrupts::test_at_whatever_depyf_does[depyf.torch.compat.frames:_text_of_one]"
        " run_command::test_a_long_compile_is_told_on_a_terminal_alone"
        " run_command::test_blocks_of_the_program_have_their_record_and_ours_has_all"
        " run_command::test_without_a_compiler_it_says_what_to_install_or_to_give"
        " session::test_a_failure_names_the_operation_of_the_graph_and_its_line"
        " toy_dump::test_captured_graphs_are_tables_in_one_file"
        " unfinished::test_a_killed_program_leaves_a_report"
        " words_of_a_dump::test_a_backward_pass_is_called_so"
        " words_of_a_dump::test_breaks_are_told_in_plain_words_and_never_cut"
        " words_of_a_dump::test_code_that_torch_threw_away_is_said_to_run_nowhere"
        " words_of_a_dump::test_it_is_drawn_below_its_tracing_after_the_forward",
    ),
    (
        (2, 4),
        "the text of its graphs has no shapes, so there is no table of them",
        "session::test_a_dump_of_a_captured_run_raises_where_it_is_not_whole"
        "[Captured_Graph.tables.txt-Captured_Graph.tables.txt]",
    ),
    (
        (2, 4),
        "it raises IndexError itself for a step of SGD with momentum",
        "callers::test_a_call_at_a_break_is_told_at_its_own_line",
    ),
    (
        (2, 4),
        "its guards are in Python, and others",
        "advice::test_sizes_that_change_together_are_marked_together"
        " given_up::test_what_a_guard_of_an_object_holds_is_not_the_object"
        " shared_wrapper::test_a_recompile_because_another_function_takes_more_arguments_is"
        "_told_as_that"
        " shared_wrapper::test_a_recompile_for_another_function_of_the_wrapper_has_no_advice"
        " shared_wrapper::test_a_wrapper_that_breaks_first_and_has_the_name_of_the_method"
        " shared_wrapper::test_no_function_is_joined_to_the_wrapper_of_another"
        " unnoticed_objects::test_a_guard_tree_is_the_text_of_torch"
        " words_of_a_dump::test_a_number_that_differs_beside_a_size_is_told_with_it",
    ),
    (
        (2, 4),
        "its CPython is 3.8, which lacks what the test uses",
        "callers::test_resume_functions_of_a_branch_say_where_they_go_on"
        " interrupts::test_each_place_that_catches_all_passes_these_on"
        " run_command::test_what_python_does_not_find_is_told_with_its_words"
        " run_command::test_workers_are_followed",
    ),
    (
        (2, 4),
        "it goes on counting after torch._dynamo.reset()",
        "first_read::test_a_file_says_which_compile_it_is_and_where_it_ends"
        " reset::test_a_reset_before_numbers_that_come_once"
        " reset::test_full_code_counts_the_entries_that_torch_has"
        " reset::test_readme_tells_the_compiles_of_one_number_apart"
        " reset::test_the_page_says_what_its_key_means"
        " words_of_a_dump::test_a_reason_that_all_earlier_compiles_have_is_told_once",
    ),
    (
        (2, 4),
        "its graphs and code are others",
        "first_read::test_a_graph_that_works_in_place_is_said_to_do_so"
        " first_read::test_a_graph_that_writes_to_many_inputs_names_some_as_examples"
        " from_the_original::test_files_have_the_names_of_the_original"
        " graph_writes::test_the_file_of_a_graph_says_what_it_updates"
        " interrupts::test_no_function_formats_exceptions_that_may_lose_one",
    ),
    (
        (2, 4),
        "its pool of compilers prints at the end of a forked process",
        "run_command::test_a_module_and_only_the_recompiles"
        " run_command::test_numbers_of_compiles_are_explained"
        " run_command::test_numbers_of_numpy_that_torch_draws_with_its_own_generator_are_told",
    ),
    (
        (2, 6),
        "its trace has no graph breaks, of a compile at the limit nothing, and its figures do"
        " not tell of the settings",
        "given_up::test_a_function_at_its_limit_keeps_what_it_has"
        " given_up::test_the_page_of_calls_beyond_the_limit_says_what_is_so"
        " given_up::test_a_function_with_nothing_to_compile"
        " given_up::test_what_the_exception_of_a_compile_ended_is_compiled_again"
        " given_up::test_the_code_that_calls_a_resume_function_says_what_became_of_it"
        " given_up::test_what_a_guard_of_an_object_holds_is_not_the_object"
        " given_up::test_two_rests_behind_one_line_are_two_functions"
        " handed::test_a_break_below_a_method_of_that_name_is_told_with_the_line_that_led_there"
        " interrupts::test_at_whatever_depyf_does[depyf.torch.compat.frames:_text_of_one]"
        " interrupts::test_no_function_formats_exceptions_that_may_lose_one"
        " advice::test_a_run_in_which_nothing_was_compiled_says_so"
        " session::test_a_failure_names_the_operation_of_the_graph_and_its_line",
    ),
    (
        (2, 6),
        "it has no torch.compiler.set_stance, which depyf run --backend needs",
        "run_command::test_without_a_compiler_it_says_what_to_install_or_to_give",
    ),
    (
        (2, 6),
        "it breaks its graph at numpy.random.normal",
        "run_command::test_numbers_of_numpy_that_torch_draws_with_its_own_generator_are_told",
    ),
    (
        (2, 8),
        "an earlier one guards the length of a dict, not which keys it has",
        "advice::test_each_reason_of_a_recompile_stands_in_its_group",
    ),
    (
        (2, 8),
        "compiles of an earlier one's compiled autograd have no ids of their own",
        "words_of_a_dump::test_a_backward_pass_is_called_so"
        " words_of_a_dump::test_it_is_drawn_below_its_tracing_after_the_forward",
    ),
    (
        (2, 9),
        "an earlier one resumes at another operation of the line",
        "first_read::test_the_overview_says_which_side_of_a_branch_a_rest_is"
        " words_of_a_dump::test_a_rest_of_which_nothing_of_the_line_is_left_begins_at_the_next"
        " shared_wrapper::test_so_has_the_rest_of_it_after_a_break"
        " words_of_a_dump::test_a_rest_goes_on_with_its_line_or_with_another",
    ),
    (
        (2, 9),
        "an earlier one tells nothing of the frames that it does not trace or gives up",
        "given_up::test_a_function_that_fails_once_runs_no_earlier_compile",
    ),
    (
        (2, 9),
        "an earlier one guards other things, or with other words",
        "fullcode::test_the_files_and_the_page_name_the_whole_path"
        " given_up::test_what_made_torch_compile_again_up_to_a_limit_is_the_change"
        " shared_wrapper::test_a_recompile_for_each_layer_is_not_said_to_need_no_action"
        " run_command::test_guards_and_breaks_are_found_in_a_program_whose_path_has",
    ),
    (
        (2, 9),
        "an earlier one keeps other values on the stack at a break",
        "handed::test_a_line_that_is_resumed_reads_as_in_the_program",
    ),
    (
        (2, 9),
        "resume functions of an earlier one have names of 60 characters",
        "handed::test_a_dump_says_what_torch_left_out_of_a_function",
    ),
    (
        (2, 12),
        "an earlier one raises RecursionError itself for a container that holds itself at a break",
        "containers_in_themselves",
    ),
    (
        (2, 12),
        "an earlier one makes resume functions of closures where they are called, under no name",
        "callers::test_resume_functions_that_torch_installs_again_are_the_same_code"
        " readable::test_a_free_variable_and_a_tuple_have_names_that_say_what_they_are"
        " callers::test_a_resume_function_without_code_runs_as_plain_python"
        " fullcode::test_no_line_of_guards_or_of_calls_is_too_wide"
        " readable::test_what_a_function_returned_is_no_second_one_of_it"
        " readable::test_objects_that_have_a_name_are_called_by_it"
        " handed::test_what_a_call_returns_is_named_by_the_variable_that_keeps_it",
    ),
    (
        (2, 12),
        "an earlier one tells nothing of the frames that it does not trace or gives up",
        "first_read::test_a_break_in_a_method_of_the_same_name_has_its_class"
        " given_up::test_a_side_that_the_first_call_did_not_take_is_told_of"
        " given_up::test_what_is_left_with_nothing_to_compile_is_not_said_to_be_uncalled"
        " given_up::test_the_only_rest_of_a_function_is_not_said_to_be_uncalled_perhaps"
        " given_up::test_a_rest_with_a_tensor_inside_of_an_object_is_said_to_be_not_traced"
        " readable::test_a_function_that_was_not_compiled_is_called_by_its_own_name"
        " words_of_a_dump::test_what_to_change_and_what_runs_uncompiled_stand_before_what_was"
        "_compiled",
    ),
    (
        (2, 12),
        "an earlier one guards other things, or with other words",
        "advice::test_texts_that_choose_modules_are_no_data_and_nobody_passes_a_free_variable"
        " advice::test_a_float_on_which_a_branch_decides_is_not_said_to_be_an_operators"
        " given_up::test_readme_names_whole_paths_and_the_line_that_leads_to_a_break"
        " readable::test_arguments_that_are_constants_are_told",
    ),
    (
        (2, 12),
        "an earlier one does not trace the methods of a named tuple",
        "unnoticed::test_dynamo_looks_at_methods_that_depyfs_classes_share_with_the_programs",
    ),
    (
        (2, 12),
        "an earlier one keeps other values on the stack at a break",
        "handed::test_a_tuple_has_not_the_name_of_one_of_its_items",
    ),
    (
        (2, 13),
        "an earlier one guards the number of a builtin function",
        "words_of_a_dump::test_a_guard_with_the_number_of_an_object_is_told_in_words",
    ),
    (
        (2, 13),
        "an earlier one wraps a function whose file does not exist",
        "unnoticed_functions::test_full_code_of_a_file_with_half_a_character_in_its_name_is_python",
    ),
    (
        (2, 13),
        "an earlier one raises ModuleNotFoundError for a class of a module that was not imported",
        "unnoticed_functions::test_no_method_of_the_program_s_objects_is_called",
    ),
    (
        (2, 13),
        "an earlier one keeps other values on the stack at a break",
        "readable::test_what_is_on_the_stack_has_the_name_of_what_it_is",
    ),
)

#: the same of what torch does up to one before the first of these
EARLIER = (
    (
        (2, 15),
        "it draws within the graph, or has another answer to the program",
        "advice::test_a_branch_on_a_drawn_number_is_said_to_be_so_where_no_tensor_decides"
        " advice::test_that_an_object_draws_the_same_number_again_is_told_where_it_does"
        " advice_of_uses::test_a_loop_that_a_called_functions_number_ends_is_not_said_to"
        "_be_unrolled"
        " advice_of_uses::test_a_draw_is_to_be_changed_before_the_setting_only_where"
        "_torch_traces_it"
        " given_up::test_a_function_that_is_never_compiled_is_named_also_where_no_change"
        "_is_for_it",
    ),
    (
        (2, 15),
        "it draws within the graph, cuts loops in another way, or raises ValueError itself for the "
        "format of a number after a break",
        "followed::test_a_change_by_hand_that_is_not_made_is_noticed %s"
        % " ".join(
            "followed::test_advice_without_a_patch_does_what_it_tells_where_it_is_followed_by_hand[%s]"
            % case
            for case in "drawn_inside drawn_rounds left_by_call counted_behind_a_property "
            "printed_and_used".split()
        ),
    ),
    (
        (2, 15),
        "other values are on its stack at a break, and CPython 3.14 copies a dataclass elsewhere",
        "readable::test_what_is_on_the_stack_has_the_name_of_what_it_is"
        " advice_of_uses::test_what_torch_keeps_on_its_stack_is_not_told_by_torchs_name_for_it"
        " lifetimes::test_what_a_test_finds_alive"
        " sentences_hold::test_a_list_that_is_only_handed_on_is_to_be_kept_outside",
    ),
    (
        (2, 15),
        "its cache gives a graph for one float to no other",
        "sentences_hold::test_a_float_that_is_a_constant_is_told_as_such_whether_or_not_torchs"
        "_cache_has_the_graph",
    ),
    (
        (2, 15),
        "names of resume functions have 60 characters",
        "handed::test_a_dump_says_what_torch_left_out_of_a_function",
    ),
)


def mark_later(items):
    """Skips the tests of a later torch among those that were collected."""
    reasons = {}
    for first, reason, tests in LATER:
        if TORCH < first:
            reason = "of torch %d.%d on: %s" % (first + (reason,))
            reasons.update(dict.fromkeys(tests.split(), reason))
    for first, reason, tests in EARLIER:
        if TORCH >= first:
            reason = "not of torch %d.%d: %s" % (first + (reason,))
            reasons.update(dict.fromkeys(tests.split(), reason))
    for item in items:
        file = item.path.stem if hasattr(item, "path") else item.fspath.purebasename
        file = file.replace("test_", "", 1)
        function = "%s::%s" % (file, getattr(item, "originalname", item.name))
        for key in (file, function, "%s::%s" % (file, item.name)):
            if key in reasons:
                item.add_marker(pytest.mark.skip(reason=reasons[key]))
