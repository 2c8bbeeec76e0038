"""A g++ that remembers: tests with cold caches of torch compile the same C++ once for all of them.

Inductor finds `g++` in PATH. For each fresh cache folder it compiles its probes of the processor
and its kernels again, 10 to 20 seconds of processor time. conftest.py puts a program of this name
first in PATH. It keeps what the compiler made of a text with its options, and copies it when the
same is asked for again. torch's own caches stay as cold as the test wants them.

    kernel_compiler.py COMPILER FOLDER ARGUMENT...    what that program runs
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

MARK = "DEPYF_TEST_KERNELS"

# Everything but the making of a shared library goes straight to the compiler.
PROGRAM = """\
#!/bin/sh
case " $* " in
*" -shared "*) exec {python} -I -S {script} {compiler} {folder} "$@" ;;
*) exec {compiler} "$@" ;;
esac
"""


def install(folder):
    """Puts the program first in PATH, for this process and those that it starts."""
    compiler = shutil.which("g++")
    if compiler is None or "CXX" in os.environ or MARK in os.environ or os.name != "posix":
        return
    folder = os.path.join(folder, processor())
    programs = os.path.join(folder, "bin")
    os.makedirs(programs, exist_ok=True)
    words = {
        "python": sys.executable,
        "script": os.path.abspath(__file__),
        "compiler": compiler,
        "folder": folder,
    }
    quoted = {name: "'" + word.replace("'", "'\\''") + "'" for name, word in words.items()}
    handle, path = tempfile.mkstemp(dir=programs)
    with os.fdopen(handle, "w") as out:
        out.write(PROGRAM.format(**quoted))
    os.chmod(path, 0o755)
    os.replace(path, os.path.join(programs, "g++"))
    os.environ["PATH"] = programs + os.pathsep + os.environ.get("PATH", "")
    os.environ[MARK] = folder


def processor():
    """What `-march=native` depends on: a store may come to another machine with its folder."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = [line for line in file if line.startswith(("flags", "Features", "model name"))]
    except OSError:
        lines = []
    return hashlib.sha256("".join(sorted(set(lines))).encode()).hexdigest()[:16]


def stamp(path):
    """What tells that a file or folder was replaced."""
    found = os.stat(path)
    return "%s %d %d" % (path, found.st_mtime_ns, found.st_size)


def key_of(compiler, arguments):
    """(key, path of the output), or None where the arguments are not those of one library."""
    if arguments.count("-o") != 1:
        return None
    place = arguments.index("-o") + 1
    output = arguments[place]
    found = hashlib.sha256(stamp(os.path.realpath(compiler)).encode())
    sources = 0
    for number, argument in enumerate(arguments):
        if number == place:
            argument = os.path.basename(argument)
        elif argument.endswith(".cpp"):
            sources += 1
            with open(argument, "rb") as source:
                argument = hashlib.sha256(source.read()).hexdigest()
        elif argument.endswith((".h", ".o", ".so", ".a")) and os.path.exists(argument):
            argument = stamp(argument)
        elif argument.startswith(("-I", "-L")) and os.path.isdir(argument[2:]):
            argument = argument[:2] + stamp(argument[2:])
        found.update(argument.encode(errors="surrogateescape") + b"\0")
    return (found.hexdigest(), output) if sources == 1 else None


def copy(source, target):
    """A copy that is there whole or not at all."""
    handle, path = tempfile.mkstemp(dir=os.path.dirname(target) or ".")
    os.close(handle)
    shutil.copyfile(source, path)
    shutil.copymode(source, path)
    os.replace(path, target)


def main(compiler, folder, *arguments):
    command = [compiler, *arguments]
    try:
        found = key_of(compiler, list(arguments))
    except OSError:
        found = None
    if found is None:
        os.execv(compiler, command)
    key, output = found
    kept = os.path.join(folder, key)
    if os.path.exists(kept):
        copy(kept, output)
        return 0
    status = subprocess.call(command)
    if status == 0 and os.path.exists(output):
        copy(output, kept)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
