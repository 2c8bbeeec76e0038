"""decompile() and compare() of what torch put around a user's function."""

import pytest

import depyf

torch = pytest.importorskip("torch")


def doubled(x, times=2):
    y = x + 1
    return y * times


class Layer(torch.nn.Module):
    def forward(self, x):
        return x.sin()


BODY = "    y = x + 1\n    return y * times\n"


def test_a_compiled_function_is_shown_as_the_user_wrote_it():
    compiled = torch.compile(doubled, backend="eager")
    text = depyf.decompile(compiled)
    assert text.startswith("# inside torch.compile\ndef doubled(x, times=2):\n" + BODY)
    assert text.proven
    # before and after it was called
    compiled(torch.ones(2))
    assert depyf.decompile(compiled) == text
    result = depyf.compare(doubled, compiled)
    assert result.verdict == "identical" and "torch.compile" in result.ignored
    assert not depyf.compare(torch.compile(doubled, backend="eager"), torch.compile(Layer()))


def test_what_is_not_to_be_compiled():
    text = depyf.decompile(torch.compiler.disable(doubled))
    assert BODY in text and "torch.compiler.disable" in text.splitlines()[0]


@pytest.mark.parametrize("kind", ["plain", "compiled", "call", "method of compiled"])
def test_a_module_is_its_forward(kind):
    module = Layer()
    compiled = torch.compile(module, backend="eager")
    what = {
        "plain": module,
        "compiled": compiled,
        "call": module.__call__,
        "method of compiled": compiled.forward,
    }[kind]
    text = depyf.decompile(what)
    assert text.endswith("def forward(self, x):\n    return x.sin()\n"), text
    assert ("torch.compile" in text.splitlines()[0]) == ("compiled" in kind)


def test_forwards_of_the_user_come_first():
    own = Layer()
    own.forward = lambda x: x.cos()
    assert "x.cos()" in depyf.decompile(own)

    class Called(torch.nn.Module):
        def __call__(self, x):
            return x.tan()

    assert "x.tan()" in depyf.decompile(Called())
