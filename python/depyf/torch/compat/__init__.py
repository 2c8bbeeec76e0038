"""The one place that touches private names of torch.

Every private name is looked for once; what is missing is recorded with its reason and everything
else goes on. The rest of depyf.torch asks here and never imports from torch's private modules
itself. Each file holds one subject.
"""

import sys

from depyf.torch.compat.compiles import (
    cache_entries,
    current_compile,
    entry_compile_id,
    entry_guard_manager,
    find_cache_entry_list,
    find_compile_context,
    forget_code,
    forget_everything,
    is_compiled,
    is_invalidated,
    replaces_serialised_code,
    step_into,
)
from depyf.torch.compat.frames import (
    calling_codes,
    calling_frames,
    compiled_frame,
    continued,
    frame_code,
    frame_globals,
    frame_locals,
    frames_of_failure,
    graph_break_at_hand,
    graph_module_of,
    graph_outputs,
    guarded_sources,
    installed_globals,
    reads_are_observed,
    recompile_reasons,
    resume_codes,
    was_looked_at,
)
from depyf.torch.compat.graphs import (
    TracedNode,
    failing_node,
    origin_of,
    readable_graph,
    readable_source,
    sources_of,
    traced_graph,
    traced_module,
    watch_formatted_graphs,
)
from depyf.torch.compat.guards import (
    dispatch_keys,
    find_relational_guard,
    global_state,
    guard_closure_variables,
    guard_globals,
    guard_root,
    guards_hold,
    is_relational,
    saved_tensors_hooks,
)
from depyf.torch.compat.hooks import (
    find_register_bytecode_hook,
    hooks_behind,
    register_bytecode_hook,
    register_weak_bytecode_hook,
)
from depyf.torch.compat.inductor import (
    Schedule,
    inductor_as_eager_random,
    inductor_compile,
    inductor_inner,
    inductor_schedule,
)
from depyf.torch.compat.logs import (
    FUSION_LOGGERS,
    METRICS,
    artifact_loggers,
    ask_for,
    cudagraph_logger,
    evaluation_log,
    fusion_loggers,
    inductor_loaded,
    levels_of,
    logged_metrics,
    logged_text,
    stop_asking,
    watch_fusion,
)
from depyf.torch.compat.probes import (
    DYNAMO_HOOKS,
    MissingTorch,
    note_unavailable,
    probe,
    require_torch,
    unavailable,
)
from depyf.torch.compat.processes import process_group
from depyf.torch.compat.records import (
    TRACE_LOGGER,
    Offered,
    add_trace_handler,
    details_of,
    drops_exceptions,
    find_intern_table,
    find_trace_structured,
    interned_names,
    payload_of,
    payload_text,
    remove_trace_handler,
    surroundings_of,
    trace_is_held_back,
    trace_logger,
)
from depyf.torch.compat.switches import (
    caches_off,
    eager,
    find_set_stance,
    forced_backend,
    no_compile,
)
from depyf.torch.compat.unseen import hide_debuggers, hide_from_dynamo, not_traced, untraced

__all__ = [
    "FUSION_LOGGERS",
    "METRICS",
    "TRACE_LOGGER",
    "MissingTorch",
    "Offered",
    "Schedule",
    "TracedNode",
    "add_trace_handler",
    "artifact_loggers",
    "ask_for",
    "cache_entries",
    "caches_off",
    "calling_codes",
    "calling_frames",
    "compiled_frame",
    "continued",
    "cudagraph_logger",
    "current_compile",
    "details_of",
    "dispatch_keys",
    "drops_exceptions",
    "eager",
    "entry_compile_id",
    "entry_guard_manager",
    "evaluation_log",
    "failing_node",
    "forced_backend",
    "forget_code",
    "forget_everything",
    "frame_code",
    "frame_globals",
    "frame_locals",
    "frames_of_failure",
    "fusion_loggers",
    "global_state",
    "graph_break_at_hand",
    "graph_module_of",
    "graph_outputs",
    "guard_closure_variables",
    "guard_globals",
    "guard_root",
    "guarded_sources",
    "guards_hold",
    "hide_debuggers",
    "hide_from_dynamo",
    "hooks_behind",
    "inductor_as_eager_random",
    "inductor_compile",
    "inductor_inner",
    "inductor_loaded",
    "inductor_schedule",
    "installed_globals",
    "interned_names",
    "is_compiled",
    "is_invalidated",
    "is_relational",
    "logged_metrics",
    "levels_of",
    "logged_text",
    "no_compile",
    "not_traced",
    "note_unavailable",
    "origin_of",
    "payload_of",
    "payload_text",
    "probe",
    "probe_all",
    "process_group",
    "readable_graph",
    "readable_source",
    "reads_are_observed",
    "recompile_reasons",
    "register_bytecode_hook",
    "register_weak_bytecode_hook",
    "remove_trace_handler",
    "replaces_serialised_code",
    "require_torch",
    "resume_codes",
    "saved_tensors_hooks",
    "sources_of",
    "step_into",
    "stop_asking",
    "surroundings_of",
    "trace_is_held_back",
    "trace_logger",
    "traced_graph",
    "traced_module",
    "unavailable",
    "untraced",
    "was_looked_at",
    "watch_formatted_graphs",
    "watch_fusion",
]


def probe_all() -> None:
    """Looks for everything that loads nothing which the program may not need (Dynamo, inductor).

    Afterwards `unavailable` says what is missing.
    """
    for find in (
        find_compile_context,
        find_intern_table,
        find_relational_guard,
        find_set_stance,
        find_trace_structured,
    ):
        find()
    if DYNAMO_HOOKS in sys.modules:
        for find in (find_register_bytecode_hook, find_cache_entry_list):
            find()
