# Read by CMake when it configures llama.cpp (`CMAKE_PROJECT_INCLUDE` in .cargo/config.toml).
#
# `llama-common` is argument parsing, chat templates and downloads for llama.cpp's own programs, which we do not use. It takes
# half the time of the C++ build. `llama-cpp-2` enables it unconditionally: its dependency on `llama-cpp-sys-2` has default features.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)
