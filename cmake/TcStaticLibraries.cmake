# Archives in place of shared libraries, under the names of their packages' targets, for programs that need only glibc.
function(tc_find_archive variable name)
  find_library(${variable} lib${name}.a REQUIRED)
endfunction()

# Debian has fmt as a shared library only; the parts that are not inline are compiled here. Users see the definitions
# of the shared library, so that their objects are the same in both kinds of build.
add_library(tc_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/static/fmt.cpp)
target_compile_definitions(tc_fmt INTERFACE FMT_SHARED)
add_library(fmt::fmt ALIAS tc_fmt)

add_library(tc_spdlog INTERFACE)
target_compile_definitions(tc_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(tc_spdlog INTERFACE fmt::fmt)
add_library(spdlog::spdlog ALIAS tc_spdlog)

tc_find_archive(SQLITE_LIBRARY sqlite3)
add_library(tc_sqlite INTERFACE)
target_link_libraries(tc_sqlite INTERFACE ${SQLITE_LIBRARY} m ${CMAKE_DL_LIBS})
add_library(SQLite::SQLite3 ALIAS tc_sqlite)

# The archive of libgomp is not for shared objects: the library looks for the process's own
# (tc/compiler/openmp_runtime.cpp). Tests and benchmarks of such a build link it as always.
add_library(tc_openmp INTERFACE)
target_compile_options(tc_openmp INTERFACE -fopenmp)
target_link_options(tc_openmp INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-fopenmp>)
add_library(OpenMP::OpenMP_CXX ALIAS tc_openmp)

# What LLVM's package names as its own dependencies.
set(ZLIB_USE_STATIC_LIBS ON)
find_package(ZLIB REQUIRED)
tc_find_archive(ZSTD_LIBRARY zstd)
add_library(zstd::libzstd_shared INTERFACE IMPORTED)
target_link_libraries(zstd::libzstd_shared INTERFACE ${ZSTD_LIBRARY})

# Nothing that no entry point reaches, no symbols, no library that nothing was taken of (LLVM names Z3).
set(TC_STATIC_LINK_OPTIONS -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed -Wl,-s)
