# tc_room(NAME SOURCES... PUBLIC lib... PRIVATE lib...): one room of the architecture as a static library tc_NAME.
# Warnings are errors in every target of the project.
add_library(tc_warnings INTERFACE)
target_compile_options(tc_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 and 13 report false uses of uninitialised, freed or dangling storage inside std::variant and std::string when optimising.
  target_compile_options(tc_warnings INTERFACE -Wno-maybe-uninitialized -Wno-restrict -Wno-free-nonheap-object -Wno-dangling-reference)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(tc_warnings INTERFACE -Wno-dangling-pointer)
  endif()
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # std::stable_sort of libstdc++ 12 uses std::get_temporary_buffer.
  target_compile_options(tc_warnings INTERFACE -Wno-deprecated-declarations)
endif()

# The presets take the sanitizers of clang, which compiles instrumented code faster than GCC.
if(TC_SANITIZE)
  add_compile_options(-fsanitize=${TC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TC_SANITIZE})
  if(TC_SANITIZE MATCHES "undefined")
    # function reads a signature in front of the callee, where the memory of generated code may begin; vptr needs type
    # information that LLVM may be built without.
    add_compile_options(-fno-sanitize=function,vptr)
    add_link_options(-fno-sanitize=function,vptr)
  endif()
endif()

function(tc_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(tc_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(tc_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
  target_link_libraries(tc_${name} PUBLIC ${ROOM_PUBLIC} PRIVATE ${ROOM_PRIVATE} $<BUILD_INTERFACE:tc_warnings>)
  if("tc_llvm" IN_LIST ROOM_PRIVATE)
    tc_precompiled(tc_${name} llvm)
  else()
    tc_precompiled(tc_${name} room)
  endif()
endfunction()

# tc_test(NAME LABEL label SOURCES... LINK lib...): a GoogleTest program registered as one ctest test.
function(tc_test name)
  cmake_parse_arguments(TEST "" "LABEL" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LINK} GTest::gtest_main tc_warnings)
  target_compile_definitions(${name} PRIVATE TC_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  tc_precompiled(${name} test)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${TEST_LABEL} TIMEOUT 600)
endfunction()
