# The identity of the compiler's code: a hash of its sources, the same for every binary that is made of them. Part of the key of
# cached kernels, so that code of another lowering is never served.
#   cmake -D ROOT=... -D OUT=header.h -P SourceIdentity.cmake     writes the header, unless it is the same
#   cmake -D ROOT=... -P SourceIdentity.cmake                     prints the identity
# ROOT is the folder of the rooms. The tuner and the emulator decide nothing about code.
set(TC_IDENTITY_PATTERNS *.cpp *.h *.cuh *.in *.cmake CMakeLists.txt)
set(TC_IDENTITY_WITHOUT "^(tuner|emulation)/")

if(CMAKE_SCRIPT_MODE_FILE)
  list(TRANSFORM TC_IDENTITY_PATTERNS PREPEND ${ROOT}/)
  file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${ROOT} ${TC_IDENTITY_PATTERNS})
  list(FILTER files EXCLUDE REGEX ${TC_IDENTITY_WITHOUT})
  list(SORT files)
  set(hashes "")
  foreach(file IN LISTS files)
    file(SHA256 ${ROOT}/${file} hash)
    string(APPEND hashes "${file} ${hash}\n")
  endforeach()
  string(SHA256 identity "${hashes}")
  string(SUBSTRING ${identity} 0 16 identity)
  if(OUT)
    file(CONFIGURE OUTPUT ${OUT} CONTENT "#define TC_BUILD_IDENTITY \"${identity}\"\n")
  else()
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${identity})
  endif()
  return()
endif()

# Makes the header in the build tree, anew whenever a source changes, comes or goes; its folder goes to `target`.
function(tc_source_identity target)
  set(root ${CMAKE_SOURCE_DIR}/tc)
  list(TRANSFORM TC_IDENTITY_PATTERNS PREPEND ${root}/)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS LIST_DIRECTORIES false ${TC_IDENTITY_PATTERNS})
  list(FILTER sources EXCLUDE REGEX "^${root}/(tuner|emulation)/")
  set(folder ${CMAKE_BINARY_DIR}/identity)
  add_custom_command(
    OUTPUT ${folder}/build_identity.h
    COMMAND ${CMAKE_COMMAND} -D ROOT=${root} -D OUT=${folder}/build_identity.h -P ${CMAKE_SOURCE_DIR}/cmake/SourceIdentity.cmake
    DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/cmake/SourceIdentity.cmake
    COMMENT "Identity of the compiler's sources"
    VERBATIM)
  target_sources(${target} PRIVATE ${folder}/build_identity.h)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
