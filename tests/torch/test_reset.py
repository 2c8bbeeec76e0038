"""`torch._dynamo.reset()` inside a block: torch drops what it compiled, and numbers from 0 again."""

import re

import pytest

import depyf
from depyf.report import document
from depyf.report.overview import nodes_of

torch = pytest.importorskip("torch")

from programs import readme_of  # noqa: E402

BEFORE, AFTER = "before torch._dynamo.reset()", "after torch._dynamo.reset()"


def noisy(x):
    y = x + 1
    print("mid")
    return y * 2


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reset")
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)), depyf.capture() as run:
        torch.compile(noisy, backend="eager")(torch.ones(3))
        torch._dynamo.reset()
        torch.compile(noisy, backend="eager")(torch.ones(4))
    (path,) = folder.glob("full_code_for_noisy_*.py")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    assert torch.equal(names["noisy"](torch.ones(4)), torch.full((4,), 4.0))
    return folder, run


def test_readme_tells_the_compiles_of_one_number_apart(dumped):
    text = readme_of(dumped[0])
    headings = re.findall(r"^###? .*", text, re.MULTILINE)
    assert len(set(headings)) == len(headings)
    assert re.search("compile 0/0, %s\n" % re.escape(BEFORE), text)
    assert re.search("compile 0/0, %s\n" % re.escape(AFTER), text)
    assert "torch has dropped this entry" in text
    rests = [one for one in headings if "resumed after" in one and one.startswith("## ")]
    assert [(BEFORE in one, AFTER in one) for one in rests] == [(True, False), (False, True)]


def test_full_code_counts_the_entries_that_torch_has(dumped):
    folder, run = dumped
    (path,) = folder.glob("full_code_for_noisy_*.py")
    text = path.read_text()
    head = text[text.index("def noisy") :]
    head = head[: head.index("\n\n\n")]
    assert "tries the one compiled entry" in head and "2 compiled entries" not in head
    assert head.count("return __transformed_code_") == 1
    said = " ".join(re.sub(r"\n *#", "", head).split())
    assert "compile 0/0, %s: torch has dropped this entry" % BEFORE in said
    (function,) = [one for one in run.functions if not one.is_resume]
    assert [one.dropped for one in function.entries] == [True, False]


def test_the_page_says_what_its_key_means(dumped):
    nodes = nodes_of(document.load_all(str(dumped[0])))
    by_key = {one.key: one for one in nodes}
    assert by_key["0/0"].reset == BEFORE and by_key["0/0~2"].reset == AFTER
    assert by_key["1/0"].reset == BEFORE and by_key["1/0~2"].reset == AFTER
    page = (dumped[0] / "index.html").read_text()
    assert "0/0~2 is compile 0/0 after torch._dynamo.reset()" in page
    assert re.search(r'class="facts">[^<]*%s' % re.escape(AFTER), page)


def test_without_a_reset_nothing_is_said_of_one(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(noisy, backend="eager")
        compiled(torch.ones(3))
        compiled(torch.ones(4))
    for name in ("README.md", "index.html"):
        text = (tmp_path / name).read_text()
        assert BEFORE not in text and AFTER not in text and "dropped" not in text


def test_a_reset_before_numbers_that_come_once(tmp_path):
    def other(x):
        return x.sin()

    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(other, backend="eager")(torch.ones(3))
        torch.compile(noisy, backend="eager")(torch.ones(3))
        torch._dynamo.reset()
        torch.compile(noisy, backend="eager")(torch.ones(3))
    torch._dynamo.reset()
    told = {one.key: one.reset for one in nodes_of(document.load_all(str(tmp_path)))}
    assert told == {
        "0/0": BEFORE,
        "1/0": BEFORE,
        "2/0": BEFORE,
        "0/0~2": AFTER,
        "1/0~2": AFTER,
    }
