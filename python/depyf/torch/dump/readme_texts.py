"""README.md of a dump: what does not depend on the run."""

import re
from typing import List, Sequence

from depyf.model import Run

HOW_TO_READ = """\
Each function has a section with one subsection for each compile. Where the guards of a compile hold
for a call, its code runs in place of the function's own. Torch tries the compiles in turn, and
compiles the function again if the guards of none hold. A graph break splits a function: the code of
the first part runs up to the break and calls a resume function, which runs the rest and is compiled
separately. `full_code_for_*` shows all of this as Python for one function, `index.html` for all.
The number at the end of such a file's name tells functions of one name apart, counted from 0.

Compile 0/1 is compile 1 of function 0, both counted from 0, as torch numbers them. The code is
decompiled from torch's bytecode, and the word after a file's name says how far it is proven.
*exact*: it has the same operations in the same order. *equivalent*: operations differ in ways that
are proven to do the same. With any other word torch runs its own bytecode. A cache *hit* means that
torch took a compiled graph from an earlier compile or run, a *miss* that it compiled the graph."""
NOT_ENDED = """\
**The program was still running when `depyf report` wrote this, or had been killed: its block had
not ended.** Compiles that had not ended are missing, and so are `full_code_for_*`, which the end of
the block writes."""
FROM_FILES = """\
Tracebacks, and log lines of the program that show `%(filename)s` or `%(lineno)d`, name the file
here for code that torch runs from it. Without depyf they name the program's own file."""
WARNED = """\
So does a warning of such code, and Python remembers the line: a warning that the program shows once
for each of its lines is shown once for each line of these files that gives it."""
#: how names of torch's begin that code of it has, how they go on, and what each is; the first match
#: is an example
_NAMES_OF_TORCH = tuple(
    (begin, re.compile(r"\b" + begin + end), told)
    for begin, end, told in (
        (
            "__resume_at_",
            r"\d+_\d+",
            "a resume function. The first number is that of the instruction at which it goes on, "
            "as an offset into the bytecode of the function; the second counts torch's names. "
            "Where the function has free variables, the name is of what makes the resume function: "
            "`__resume_at_8_4((cell,))(x)` gives it their cells, and then calls what it returns.",
        ),
        (
            "___stack",
            r"\d+",
            "a value that was on Python's stack at the graph break, such as what "
            "the call there returned. The resume function takes it as a parameter.",
        ),
        (
            "__nested_resume_fns",
            r"\b",
            "resume functions of the callers, where the break is in a function that torch traced "
            "into its caller. The first list of a resume call, `[]` where there are none.",
        ),
        (
            "__nested_frame_values",
            r"\b",
            "the variables of those callers. The second list of a resume call.",
        ),
        (
            "__resume_frame_values",
            r"\b",
            "what a resume function goes on with, in a list, so that it can delete it: values of "
            "the stack, then the variables. It takes the list as a parameter, and empties it.",
        ),
        (
            "_create_nested_fn",
            r"\b",
            "makes a function of its code, as `def` or `lambda` does inside of a function.",
        ),
        ("dict_keys_getitem", r"\b", "the n-th key of a dict."),
        (
            "set_torch_function_mode_stack",
            r"\b",
            "sets which modes of `torch.overrides.TorchFunctionMode` are on.",
        ),
        (
            "pregraph_record",
            r"\b",
            "when the code in front of the graph began: "
            "`record_pregraph_bytecode_enter` and `record_pregraph_bytecode_exit` are for torch's "
            "profiler alone.",
        ),
        (
            "__compiled_fn_",
            r"\d+",
            "a compiled graph. It returns its outputs, which the code gives "
            "their names one by one.",
        ),
        ("dynamo_utils", r"\b", "the module `torch._dynamo.utils`."),
        ("builtins_dict", r"\b", "Python's built-in functions by name."),
        (
            "object_setattr_ignore_descriptor",
            r"\b",
            "sets an attribute as `object.__setattr__` does, without the descriptors of the class.",
        ),
        (
            ", through ",
            r"\w+",
            "the function around the one that is named, of a decorator, or torch's own around an "
            "object that is called, such as a `functools.partial`: torch compiles it as a function "
            "of its own, which calls the other one.",
        ),
        ("call_size", r"\b", "the size of a dimension of a tensor."),
        (
            "_as_tensor_fullprec",
            r"\b",
            "a tensor of a number of Python's: a float as float64, an int as int64.",
        ),
    )
)
PATCHES = (
    "The seconds are those of compiling, in this run: what a change saves of them at most. How "
    "much faster or slower the program then runs is not in them. `depyf report --advise` with this "
    "folder prints these with their patches, and all others."
)
#: what stands in place of the seconds of a change -> what it means
_FIGURES = (
    ("no compile time", "the change saves no compiling"),
    ("no more compile time", "the changes above it save the same compiles"),
    ("no figure", "what it saves depends on other values that it names, or is not known"),
    ("no figure yet", "another break or change, which it names, needs a change as well"),
    ("may save or cost compile time", "torch traces further then, up to the next break"),
)
_SPENT = (
    "`spent`: what compiling took until torch stopped compiling the function; what a change saves "
    "of it is not known."
)


def figures(advised: Sequence[str]) -> str:
    """What the words mean that stand in place of seconds in a list of changes; "" for none."""
    found = [re.match(r"\d+\. ([^,]+),", one) for one in advised]
    used = [one.group(1) for one in found if one is not None]
    told = ["`%s`: %s." % pair for pair in _FIGURES if pair[0] in used]
    told += [_SPENT] * any(one.endswith(" spent") for one in used)
    return " ".join(told)


#: kinds of files, in the order in which torch makes them, with what is in them
_FILES = (
    (
        "Captured_Graph",
        "the graph as Dynamo traced it; `__compiled_fn_N` is what the backend made of it.",
    ),
    ("BEFORE_PRE_GRAD", "the captured graph, given to the first passes of Inductor."),
    ("AFTER_PRE_GRAD", "the captured graph after the first passes of Inductor."),
    (
        "Joint_graph",
        "forward and backward pass in one, as AOTAutograd traced them, in ATen's operators; "
        "it is then cut into Forward_graph and Backward_graph.",
    ),
    ("BEFORE_JOINT", "the joint graph, given to Inductor's passes."),
    ("AFTER_JOINT", "the joint graph after Inductor's passes."),
    (
        "Forward_graph",
        "the graph that a call runs, in ATen's operators. `primals_1`, `primals_2` … are its "
        "inputs in the order of the captured graph's (there `arg0_1`, `arg1_1` … where no "
        "gradient is needed), parameters among them.",
    ),
    (
        "Backward_graph",
        "the graph that the backward pass runs. Its inputs are values that the forward graph has "
        "kept, and `tangents_1`, `tangents_2` …: the gradients of the outputs.",
    ),
    ("BEFORE_POST_GRAD", "a forward or backward graph, given to Inductor's last passes."),
    ("AFTER_POST_GRAD", "the same after these passes: what Inductor makes kernels of."),
    (
        "aot_forward_graph_fw_metadata",
        "what AOTAutograd knows of inputs and outputs: which are views, changed in place, or need "
        "a gradient.",
    ),
    ("dynamo_side_effects", "where the program changes lists, attributes and the like in a graph."),
    (
        "runtime_wrapper_orchestration",
        "AOTAutograd's Python around the forward graph: the order of its parts.",
    ),
    ("output_alias_wrapper", "makes those outputs anew that are views of inputs."),
    ("compiled_fn_wrapper", "calls the `autograd.Function` that runs both graphs."),
    ("compiled_function_forward", "`forward` of that `autograd.Function`."),
    ("compiled_function_backward", "`backward` of that `autograd.Function`."),
    ("backward_prologue", "prepares the gradients for the backward graph."),
    ("backward_epilogue", "puts the backward graph's results in the order of the inputs."),
)
BACKWARD_PASSES = """\
Compile !0/2/0 is compile 0 of function 2 in backward pass 0. Compiled autograd traces a whole
backward pass into one function, with the hooks of the program in it, and torch compiles that. !0
alone is the tracing."""
RESET = """\
The program called torch._dynamo.reset(): torch dropped all compiles before it, and numbered later
ones from 0 again."""


def names_of_torch(run: Run) -> List[str]:
    """A list of the names that are torch's, of those that the code of this run has."""
    rows = []
    sources = [entry.source for entry in run.entries()]
    for begin, name, told in _NAMES_OF_TORCH:
        # the search for a text is many times as fast as that for an expression
        matches = (name.search(one) for one in sources if begin in one)
        found = next((one for one in matches if one is not None), None)
        if found is not None:
            rows.append("- %s: %s" % (as_code(found.group().strip(", ")), told))
    if not rows:
        return []
    return ["## Names of torch's", "", *rows, ""]


RUNS = """\
Each row is a compile, in the order of the first calls; what stands below it and further to the
right is called by its code, or goes on with it behind a graph break. ⤷ is a call, ▷ the rest of a
function, ✂ a graph break, at which Python runs that line itself, ↻ a compile of a function that was
compiled before. Torch need not compile a rest. Its row then ends in `plain Python` if it ran as
that, `not called` if torch saw no call of it, and `no compile` if neither is known."""


def kinds_of_files(run: Run) -> List[str]:
    """A list of what the links below lead to, of those that this run has."""
    every = list(run.entries()) + list(run.unattributed)
    made = {one.stage for entry in every for one in entry.artifacts if one.path}
    rows = ["- %s: %s" % pair for pair in _FILES if pair[0] in made]
    return ["## Files of a graph", "", *rows, ""] if rows else []


def as_code(text: str) -> str:
    """A name in Markdown."""
    return "`%s`" % text.replace("`", "'").replace("\n", " ")
