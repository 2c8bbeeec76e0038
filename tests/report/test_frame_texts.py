"""Frames of stacks, and places in texts, of files with whatever name."""

import pytest

from depyf.report import words
from depyf.report.words import stacks
from depyf.summary.guards import guards_text
from depyf.summary.recompiles import reason_parts
from depyf.trace import frames
from depyf.trace.guard_text import make_guard, name_whole_paths

PATHS = (
    "/a/b.py",
    "/my dir/a b.py",
    '/a "b"/c.py',
    "/it's/c.py",
    "/a\nb/c.py",
    "/a:7/b.py",
    "C:\\a b\\c.py",
    "/a (b)/c.py",
    "/a# b/c.py",
    "<string>",
)
every_path = pytest.mark.parametrize("path", PATHS)


@every_path
@pytest.mark.parametrize("name", ("f", "<module>", "<resume in f>", "M.forward"))
def test_frames_are_read(path, name):
    of_traceback = 'File "%s", line 12, in %s' % (path, name)
    for text in (of_traceback, "  " + of_traceback):
        assert frames.parse_frame(text) == (path, 12, name, None)
    for code in ("x = y[1:2]", 'print("a:5 in b: c")', ""):
        text = "%s:12 in %s: %s" % (path, name, code)
        assert frames.parse_frame(text) == (path, 12, name, code)
    assert frames.parse_frame('File "%s", line 12' % path) == (path, 12, "", None)


@every_path
def test_places_are_read(path):
    for form in ('File "%s", line 12, in f', "%s:12", "%s:12 in f", "%s:12 in f: x"):
        assert frames.parse_place(form % path) == (path, 12)


def test_what_is_no_frame_is_none():
    for text in ("", "  x = y[1:2]", "return x", "  ^^^^^", "Reason: call print"):
        assert frames.parse_frame(text) is None
    assert frames.parse_place("no place\nbut here: 7\nx:3, y") is None


@every_path
@pytest.mark.parametrize(
    "behind", ("", " (HINT: type M)", " (_dynamo/a.py:3 in g)", '\nUser:\n  File "/x.py", line 3')
)
def test_the_place_of_a_guard_is_in_its_comment(path, behind):
    for code in ("if n > 2:", "if n > 2:  # why: 3", 'd["a:3 in b"]', ""):
        comment = "# %s%s:12 in f%s" % (code and code + "  # ", path, behind)
        assert frames.parse_comment(comment) == (path, 12, "f", code)
        assert frames.with_path(comment, "/n.py") == comment.replace(path + ":", "/n.py:")
        assert frames.places_of_comment(comment)[0] == (path, 12)
        assert (("_dynamo/a.py", 3) in frames.places_of_comment(comment)) == ("_dyn" in behind)


@every_path
def test_of_two_guards_in_one_comment_the_first_has_the_place(path):
    first = "# if n > 3:  # %s:12 in f (why--try mark_unbacked(x, 0))" % path
    comment = first + " and if m:  # /other.py:3 in g (_dynamo/a.py:3 in g)"
    assert frames.parse_comment(comment) == (path, 12, "f", "if n > 3:")
    assert frames.with_path(comment, "/n.py") == comment.replace(path + ":12", "/n.py:12")


def test_a_comment_without_a_place_has_none():
    for comment in (
        "",
        "# duck sizing",
        '# x\nStack:\n  File "/b.py", line 7, in f\n    d[1:2 in x]',
    ):
        assert frames.parse_comment(comment) is None
        assert frames.with_path(comment, "/n.py") == comment


@every_path
def test_the_stack_of_a_text_is_read(path):
    text = '  File "%s", line 3, in f\n    y = x + 1\n        ~~^~~\n  File "/b.py", line 4, in g\n'
    assert frames.frames_of_text("Stack:\n" + text % path) == (
        (path, 3, "f", "y = x + 1"),
        ("/b.py", 4, "g", None),
    )


@every_path
def test_stacks_are_the_users(path):
    lines = ['File "%s", line 12, in f' % path, "  y = g(x)", "/b.py:5 in g: return x"]
    own = [] if path.startswith("<") else [(path, 12, "y = g(x)")]
    assert stacks.users_frames(lines) == own + [("/b.py", 5, "return x")]


@every_path
def test_guards_of_a_line_are_found(path):
    guard = make_guard("L['n'] == 3  # if n > 2:  # %s:12 in f (HINT: x)" % path[2:])
    name_whole_paths([guard], [path])
    assert "# %s:12 in f" % path in guard.comment
    entry = {"compile_id": "0/0", "guards": [guard.to_json()]}
    function = {"name": "f", "filename": path, "entries": [entry]}
    document = {"functions": [function], "unattributed": []}
    told = "f [0/0] L['n'] == 3"
    assert guards_text(document, "12") == told
    if "\n" not in path:
        assert guards_text(document, "%s:12" % path) == told


@every_path
def test_the_place_of_a_reason_is_found(path):
    place = "0/0: L['n'] == 3  # if n > 2:  # %s:12 in f" % path
    stack = "0/0: L['n'] == 3\nStack:\n  File \"%s\", line 12, in f\n    if n > 2:\n" % path
    for reason in (place, stack):
        said = words.of_reason(reason)
        assert (said["file"], said["line"], said["source"]) == (path, 12, "if n > 2:")
        assert reason_parts(reason, path)[1] == (path, 12)


def test_a_reason_is_at_the_innermost_frame_whose_code_is_known():
    reason = "0/0: not seen  #   # <string>:4 in __init__\nUser stack trace:\n"
    reason += (
        '  File "/a/b.py", line 12, in f\n    x = g()\n  File "<string>", line 4, in __init__\n'
    )
    said = words.of_reason(reason)
    assert (said["file"], said["line"], said["source"]) == ("/a/b.py", 12, "x = g()")
