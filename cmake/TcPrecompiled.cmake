# tc_precompiled(TARGET SET): in builds with TC_PRECOMPILED, the headers of third parties that most files of a set include are
# parsed once. Each file includes what it uses all the same; builds without the option prove it. The sets differ in what the
# compiler tells apart: macros, position independence, optimisation.
#   room     libraries, optimised as the build type says       llvm   the same, on LLVM
#   program  executables, not optimised: their code is small   test   the same, with GoogleTest
option(TC_PRECOMPILED "Parse the headers of third parties once" OFF)

function(tc_precompiled target set)
  if(NOT TC_PRECOMPILED)
    return()
  endif()
  # One set of macros for everything that shares a set.
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:fmt::fmt>)
  if(set MATCHES "program|test")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(NOT "OpenMP::OpenMP_CXX" IN_LIST libraries)
    target_precompile_headers(${target} REUSE_FROM tc_precompiled_${set})
  endif()
endfunction()

# tc_precompiled_set(SET libraries... HEADERS header...)
function(tc_precompiled_set set)
  cmake_parse_arguments(SET "" "" "HEADERS" ${ARGN})
  set(main ${CMAKE_BINARY_DIR}/precompiled.cpp)
  file(WRITE ${main} "int main() { return 0; }\n")
  if(set MATCHES "program|test")
    add_executable(tc_precompiled_${set} ${main})
    target_compile_options(tc_precompiled_${set} PRIVATE -O0)
  else()
    add_library(tc_precompiled_${set} STATIC ${main})
  endif()
  target_link_libraries(tc_precompiled_${set} PRIVATE fmt::fmt ${SET_UNPARSED_ARGUMENTS} tc_warnings)
  target_precompile_headers(tc_precompiled_${set} PRIVATE <algorithm> <cmath> <cstdint> <filesystem> <fstream>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <sstream> <string> <string_view> <thread>
    <unordered_map> <utility> <variant> <vector> <fmt/format.h> ${SET_HEADERS})
endfunction()

if(TC_PRECOMPILED)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Content decides, not the time of a file: compiler caches depend on it.
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
  tc_precompiled_set(room nlohmann_json::nlohmann_json tc_isl HEADERS <fmt/ranges.h> <isl/cpp.h> <nlohmann/json.hpp>)
  tc_precompiled_set(llvm tc_llvm
    HEADERS <llvm/IR/IRBuilder.h> <llvm/IR/Intrinsics.h> <llvm/IR/Module.h> <llvm/Support/raw_ostream.h>)
  tc_precompiled_set(program nlohmann_json::nlohmann_json HEADERS <fmt/ranges.h> <nlohmann/json.hpp>)
  tc_precompiled_set(test nlohmann_json::nlohmann_json tc_isl GTest::gtest_main
    HEADERS <fmt/ranges.h> <isl/cpp.h> <nlohmann/json.hpp> <gtest/gtest.h>)
endif()
