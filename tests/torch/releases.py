"""Tests of what only a later torch does, says or records. An earlier one skips them, with the reason
that stands here; on the torch that the project is pinned to all of them run.

What a program's results are, what is proven and what a program can tell is asked of every torch.
"""

import pytest
import torch

TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])

#: (the first torch that a test is for, reason, files, or tests with or without their parameters)
LATER = (
    (
        (2, 12),
        "an earlier one raises RecursionError itself for a container that holds itself at a break",
        "containers_in_themselves",
    ),
    (
        (2, 12),
        "an earlier one makes resume functions of closures where they are called, under no name",
        "callers::test_resume_functions_that_torch_installs_again_are_the_same_code"
        " callers::test_a_resume_function_without_code_runs_as_plain_python"
        " fullcode::test_no_line_of_guards_or_of_calls_is_too_wide"
        " readable::test_what_a_function_returned_is_no_second_one_of_it"
        " readable::test_objects_that_have_a_name_are_called_by_it"
        " handed::test_what_a_call_returns_is_named_by_the_variable_that_keeps_it",
    ),
    (
        (2, 12),
        "an earlier one resumes at another operation of the line",
        "first_read::test_the_overview_says_which_side_of_a_branch_a_rest_is"
        " words_of_a_dump::test_a_rest_of_which_nothing_of_the_line_is_left_begins_at_the_next"
        " shared_wrapper::test_so_has_the_rest_of_it_after_a_break",
    ),
    (
        (2, 12),
        "an earlier one tells nothing of the frames that it does not trace or gives up",
        "given_up::test_a_function_that_fails_once_runs_no_earlier_compile"
        " given_up::test_a_side_that_the_first_call_did_not_take_is_told_of"
        " given_up::test_what_is_left_with_nothing_to_compile_is_not_said_to_be_uncalled"
        " given_up::test_the_only_rest_of_a_function_is_not_said_to_be_uncalled_perhaps"
        " given_up::test_a_rest_with_a_tensor_inside_of_an_object_is_said_to_be_not_traced"
        " readable::test_a_function_that_was_not_compiled_is_called_by_its_own_name"
        " words_of_a_dump::test_what_to_change_and_what_runs_uncompiled_stand_before_what_was_compiled",
    ),
    (
        (2, 12),
        "an earlier one guards other things, or with other words",
        "advice::test_texts_that_choose_modules_are_no_data_and_nobody_passes_a_free_variable"
        " advice::test_a_float_on_which_a_branch_decides_is_not_said_to_be_an_operators"
        " fullcode::test_the_files_and_the_page_name_the_whole_path"
        " given_up::test_readme_names_whole_paths_and_the_line_that_leads_to_a_break"
        " given_up::test_what_made_torch_compile_again_up_to_a_limit_is_the_change"
        " readable::test_arguments_that_are_constants_are_told"
        " shared_wrapper::test_a_recompile_for_each_layer_is_not_said_to_need_no_action",
    ),
    (
        (2, 12),
        "an earlier one keeps other values on the stack at a break",
        "handed::test_a_line_that_is_resumed_reads_as_in_the_program"
        " handed::test_a_tuple_has_not_the_name_of_one_of_its_items",
    ),
    (
        (2, 12),
        "resume functions of an earlier one have names of 60 characters",
        "handed::test_a_dump_says_what_torch_left_out_of_a_function",
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


def mark_later(items):
    """Skips the tests of a later torch among those that were collected."""
    reasons = {}
    for first, reason, tests in LATER:
        if TORCH < first:
            reason = "of torch %d.%d on: %s" % (first + (reason,))
            reasons.update(dict.fromkeys(tests.split(), reason))
    for item in items:
        file = item.path.stem if hasattr(item, "path") else item.fspath.purebasename
        file = file.replace("test_", "", 1)
        function = "%s::%s" % (file, getattr(item, "originalname", item.name))
        for key in (file, function, "%s::%s" % (file, item.name)):
            if key in reasons:
                item.add_marker(pytest.mark.skip(reason=reasons[key]))
