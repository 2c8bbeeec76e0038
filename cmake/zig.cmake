# Toolchain: Clang, libc++ and the C library of `DEPYF_ZIG_TARGET` from PyPI's package ziglang, for
# wheels and programs that run anywhere (scripts/release).
#
# DEPYF_ZIG_TARGET  a target of Zig, such as x86_64-linux-gnu.2.17 or aarch64-linux-musl
# DEPYF_ZIG_TOOLS   the folder where scripts/release wrote the programs zig-cc, zig-c++, zig-ar and
#                   zig-ranlib, which call Zig for that target
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DEPYF_ZIG_TARGET DEPYF_ZIG_TOOLS)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${DEPYF_ZIG_TARGET}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER "${DEPYF_ZIG_TOOLS}/zig-cc")
set(CMAKE_CXX_COMPILER "${DEPYF_ZIG_TOOLS}/zig-c++")
set(CMAKE_AR "${DEPYF_ZIG_TOOLS}/zig-ar")
set(CMAKE_RANLIB "${DEPYF_ZIG_TOOLS}/zig-ranlib")

# Libraries of the building machine are not for the target.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
if(DEPYF_ZLIB_ROOT)  # a zlib that was built for the target
  set(ZLIB_INCLUDE_DIR "${DEPYF_ZLIB_ROOT}" CACHE PATH "")
  set(ZLIB_LIBRARY "${DEPYF_ZLIB_ROOT}/libz.a" CACHE FILEPATH "")
endif()
