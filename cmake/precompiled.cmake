# Headers that take longer to compile than most sources that include them,
# compiled once for many targets.
#
#   ferry_precompiled(NAME test HEADERS <gtest/gtest.h> .. DEPS ..)
#   ferry_use_precompiled(<target> test)
#
# Invariants:
# 1. A source includes what it uses all the same; -DFERRY_PRECOMPILE=OFF shows
#    that it does.
# 2. Sanitizers, language standard and the macros that the headers ask for are
#    those of the targets. The level of optimization may differ.
# 3. Not in Debug: -O0 and the -O1 of tests cannot share a precompiled header.
include(CMakeDependentOption)
cmake_dependent_option(FERRY_PRECOMPILE "Precompile the headers that take longest"
  ON "NOT CMAKE_BUILD_TYPE STREQUAL Debug" OFF)

function(ferry_precompiled)
  cmake_parse_arguments(arg "" "NAME" "HEADERS;DEPS" ${ARGN})
  set(target ferry_${arg_NAME}_headers)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL
    ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(${target} PRIVATE ${arg_DEPS})
  target_compile_options(${target} PRIVATE -pthread)
  if(FERRY_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
  endif()
  _ferry_flags(${target})
endfunction()

function(ferry_use_precompiled target name)
  if(NOT FERRY_PRECOMPILE)
    return()
  endif()
  # What else is compiled otherwise would need headers of its own: programs, and
  # what does not use gRPC, which asks for -pthread.
  target_compile_options(${target} PRIVATE -fPIC -pthread
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
  target_precompile_headers(${target} REUSE_FROM ferry_${name}_headers)
endfunction()
