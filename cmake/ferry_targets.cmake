# ferry_library, ferry_executable and ferry_test: one target an idea, named
# ferry_<name>, with the project's warnings and sanitizers and no global flags.
#
#   ferry_library(NAME queue HDRS push_list.h SRCS .. DEPS .. [SHARED])
#   ferry_executable(NAME ferry-server SRCS .. DEPS ..)      # builds bin/<name>
#   ferry_test(NAME batcher_test SRCS .. DEPS .. [LABELS unit] [TIMEOUT 60])
#
# A library without SRCS is a header-only (INTERFACE) target. Headers are
# checked to compile alone by the target all_verify_interface_header_sets.

function(_ferry_flags target)
  if(FERRY_STRICT)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow
      -Wconversion -Wold-style-cast -Wvla -Walloca -Werror)
  endif()
  if(FERRY_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FERRY_SANITIZE}
      -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${FERRY_SANITIZE})
  endif()
endfunction()

function(ferry_library)
  cmake_parse_arguments(arg "SHARED" "NAME" "HDRS;SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  set(target ferry_${arg_NAME})
  if(arg_SRCS)
    set(kind STATIC)
    if(arg_SHARED)
      set(kind SHARED)
    endif()
    add_library(${target} ${kind} ${arg_SRCS})
    target_link_libraries(${target} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
    target_sources(${target} PUBLIC FILE_SET HEADERS
      BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${arg_HDRS})
    _ferry_flags(${target})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_DEPS})
    target_sources(${target} INTERFACE FILE_SET HEADERS
      BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${arg_HDRS})
  endif()
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

function(ferry_executable)
  cmake_parse_arguments(arg "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${arg_NAME} ${arg_SRCS})
  target_include_directories(${arg_NAME} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS})
  _ferry_flags(${arg_NAME})
endfunction()

function(ferry_test)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT" "SRCS;DEPS;LABELS" ${ARGN})
  add_executable(${arg_NAME} ${arg_SRCS})
  target_include_directories(${arg_NAME} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS} GTest::gmock_main)
  set_target_properties(${arg_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  _ferry_flags(${arg_NAME})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  # scripts/test.sh lists the tests of all builds together.
  set(test ${arg_NAME})
  if(FERRY_SANITIZE)
    string(APPEND test .${FERRY_SANITIZE})
  endif()
  add_test(NAME ${test} COMMAND ${arg_NAME})
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77)
endfunction()
