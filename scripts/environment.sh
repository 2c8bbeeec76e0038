# Shared by scripts/test and scripts/demo: choose a Python environment, install what is missing, build.
# Sourced, not run. Sets $root and $python.

# --help: the comment at the head of the script that was called; nothing is done
case "${1:-}" in
  -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '==> %s\n' "$*"; }

fail() {
  printf 'error: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '       %s\n' "$line" >&2; done
  exit 1
}

# installs Debian packages where that needs no questions: as root, with apt
can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }
apt_updated=
apt_install() {
  can_apt || return 1
  say "Installing $* with apt-get"
  if [ -z "$apt_updated" ]; then apt-get -qq update >/dev/null 2>&1 || true; apt_updated=1; fi
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null 2>&1
}

# The environment: $DEPYF_PYTHON, else the active virtual or conda environment, else .venv of the checkout.
choose_python() {
  if [ -n "${DEPYF_PYTHON:-}" ]; then
    python=$(command -v "$DEPYF_PYTHON") || fail "DEPYF_PYTHON is '$DEPYF_PYTHON', which is no program"
  elif [ -n "${VIRTUAL_ENV:-}" ] && [ -x "$VIRTUAL_ENV/bin/python" ]; then
    python=$VIRTUAL_ENV/bin/python
  elif [ -n "${CONDA_PREFIX:-}" ] && [ -x "$CONDA_PREFIX/bin/python" ]; then
    python=$CONDA_PREFIX/bin/python
  else
    python=$root/.venv/bin/python
    if ! "$python" -c 'import pip' >/dev/null 2>&1; then make_venv; fi
  fi
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' ||
    fail "$python is older than Python 3.8, which the build tools need" \
      "set DEPYF_PYTHON to a newer one; depyf itself runs on 3.7 as well"
  # Programs that pip installed (ninja, cmake) stand beside the interpreter.
  PATH=$(dirname "$python"):$PATH
  export PATH
  say "Python environment: $python ($("$python" -c 'import platform; print(platform.python_version())'))"
}

make_venv() {
  local base options=()
  base=$(command -v python3 || command -v python || true)
  [ -n "$base" ] || apt_install python3 python3-venv python3-dev && base=$(command -v python3 || true)
  [ -n "$base" ] || fail "there is no python3" "Debian, Ubuntu: apt-get install python3 python3-venv python3-dev" \
    "Fedora: dnf install python3 python3-devel   macOS: brew install python"
  # A torch that the interpreter itself brings is used, not downloaded again.
  if "$base" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2>/dev/null; then
    options=(--system-site-packages)
  fi
  say "Making a virtual environment in $root/.venv"
  rm -rf "$root/.venv"
  if ! "$base" -m venv ${options[@]+"${options[@]}"} "$root/.venv" >/dev/null 2>&1; then
    rm -rf "$root/.venv"
    apt_install python3-venv && "$base" -m venv ${options[@]+"${options[@]}"} "$root/.venv" >/dev/null 2>&1 ||
      fail "$base cannot make virtual environments (module venv or ensurepip is missing)" \
        "Debian, Ubuntu: apt-get install python3-venv"
  fi
}

pip_install() { "$python" -m pip install --quiet --disable-pip-version-check "$@"; }

# Bytecode of what is installed is written when it is imported: most of torch, transformers and
# JupyterLab never is, and compiling all of it takes as long as installing it. An environment that
# forbids to write bytecode (containers do) would make each process compile torch again.
unset PYTHONDONTWRITEBYTECODE
pip_install_tools() { pip_install --no-compile "$@"; }

# Only what the requirements files name and the environment lacks is installed; without a gap nothing is downloaded.
install_requirements() {
  local file=$1 what=$2
  say "Checking for $what"
  pip_install_tools -r "$root/$file" || fail "pip could not install $what ($file)" \
    "is a package index reachable? a proxy or index of your own is set with pip's usual settings"
}

has_module() (cd / && "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)' "$1")

install_torch() {
  if has_module torch; then
    say "PyTorch $("$python" -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null) is there"
  elif "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))'; then
    say "Installing PyTorch ($(grep "^torch" "$root/requirements-torch.txt")); this can take a minute"
    pip_install_tools -r "$root/requirements-torch.txt" || fail "pip could not install PyTorch" \
      "install one into $python by hand; any from 2.2 on is used as it is"
  else
    return 1
  fi
}

# What the report's tests look through. Without one they are skipped, by name.
install_browser() {
  local name
  for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then return; fi
  done
  apt_install chromium || say "SKIPPED: the report's tests need Chromium (Debian, Ubuntu: apt-get install chromium)"
}

check_compiler() {
  local compiler=${CXX:-c++}
  command -v "$compiler" >/dev/null || fail "there is no C++ compiler ('$compiler')" \
    "Debian, Ubuntu: apt-get install g++   Fedora: dnf install gcc-c++   macOS: xcode-select --install"
  printf '#include <compare>\n#include <concepts>\n#include <span>\nint main() {}\n' |
    "$compiler" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null ||
    fail "'$compiler' does not compile C++20 ($("$compiler" --version 2>/dev/null | head -1))" \
      "GCC 12 or Clang 15 and later do; name another compiler with the variable CXX"
  # Only compressed zip files need it: without it they are refused with a message.
  printf '#include <zlib.h>\n' | "$compiler" -x c++ -fsyntax-only - 2>/dev/null || apt_install zlib1g-dev || true
  local headers
  headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
  [ -e "$headers/Python.h" ] || apt_install python3-dev && [ -e "$headers/Python.h" ] ||
    fail "the headers of $python are missing ($headers/Python.h)" \
      "Debian, Ubuntu: apt-get install python3-dev   Fedora: dnf install python3-devel"
}

# Node.js of the versions in web/package.json, with npm, which bundle the report's page; PyPI has it
# where the system has not.
install_node() {
  "$python" "$root/packaging/depyf_build.py" --node || install_requirements requirements-node.txt "Node.js"
}

# What compiles the C++ unit tests. Without it they are skipped, by name.
install_googletest() {
  printf '#include <gtest/gtest.h>\n' | "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null ||
    apt_install libgtest-dev || true
}

# What builds, tests and checks the page: exactly what the lock file says.
install_web_tools() {
  install_node
  if [ "$root/web/package-lock.json" -nt "$root/web/node_modules/.installed" ] || [ ! -x "$root/web/node_modules/.bin/vitest" ]; then
    say "Installing the page's tools (web/package-lock.json)"
    npm --prefix "$root/web" ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null || return 1
    touch "$root/web/node_modules/.installed"
  fi
}

install_build_tools() {
  install_requirements requirements-build.txt "the build tools"
  install_node
  if command -v ccache >/dev/null; then  # what one checkout has compiled serves another
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}
  fi
  command -v ninja >/dev/null || pip_install "ninja==1.13.2"
  command -v cmake >/dev/null && cmake -P "$root/scripts/cmake_version.cmake" >/dev/null 2>&1 ||
    pip_install "cmake==4.4.4" || fail "CMake 3.20 or later is missing and pip could not install it"
}

# build_package ON|OFF: compile the core (with its C++ tests and native command when ON) and install the package.
build_package() {
  say "Building; the first time takes a few minutes, later only what changed is compiled"
  SKBUILD_CMAKE_DEFINE="DEPYF_BUILD_TESTS=$1;DEPYF_BUILD_COMMAND=$1;DEPYF_PRECOMPILED_HEADERS=ON" \
    pip_install --no-build-isolation --no-deps --force-reinstall "$root" ||
    fail "the build failed; the messages are above" "the same with more output: $python -m pip install -v --no-build-isolation $root"
}
