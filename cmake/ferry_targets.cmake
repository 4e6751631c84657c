# ferry_library, ferry_executable and ferry_test: one target an idea, named
# ferry_<name>, with the project's warnings and sanitizers and no global flags.
#
#   ferry_library(NAME queue HDRS push_list.h SRCS .. DEPS .. [SHARED])
#   ferry_executable(NAME ferry-server SRCS .. DEPS ..)      # builds bin/<name>
#   ferry_test(NAME batcher_test SRCS .. DEPS .. [LABELS unit] [TIMEOUT 60]
#              [PRECOMPILED test])                   # precompiled.cmake
#
#   ferry_install_program(<target>)  # bin/<name>, which starts libexec/<name>
#   ferry_fuzzer(NAME codec SRCS .. DEPS .. RUNS 10000)  # builds bin/<name>_fuzzer
#   ferry_build_identity(LIBRARY .. NAME .. HEADER .. FUNCTION .. PATTERNS ..)
#   ferry_shipped(<target>)  # hardened, for targets made without the above
#
# A library without SRCS is a header-only (INTERFACE) target. Headers compile
# alone: X.cc includes X.h first, and those without an X.cc are compiled by the
# target all_verify_interface_header_sets.

# What is shipped is hardened, which tests/deploy/hardening_test.py checks, and
# names its sources from the root, not where it was built (scripts/reproduce.sh).
# ccache with a base folder passes paths from the build folder on; a flag with an
# absolute path would keep two folders from sharing what they compile alike.
# Definitions come before CMAKE_CXX_FLAGS, which may take them back by -U.
function(ferry_shipped target)
  if(FERRY_SANITIZE)
    return()
  endif()
  set(root ${CMAKE_SOURCE_DIR})
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES CCACHE_BASEDIR)
    file(RELATIVE_PATH root ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
    string(REGEX REPLACE "/$" "" root ${root})
  endif()
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS
    $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=3>)  # it needs optimization
  target_compile_options(${target} PRIVATE -fstack-protector-strong
    -ffile-prefix-map=${root}/=)
  target_link_options(${target} PRIVATE
    LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endfunction()

function(_ferry_flags target)
  if(FERRY_STRICT)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow
      -Wconversion -Wold-style-cast -Wvla -Walloca -Werror)
  endif()
  ferry_shipped(${target})
  if(FERRY_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FERRY_SANITIZE}
      -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${FERRY_SANITIZE})
  endif()
  if(FERRY_FUZZ AND NOT target STREQUAL "ferry_fuzz_headers")
    ferry_use_precompiled(${target} fuzz)
  endif()
endfunction()

function(_ferry_headers target scope headers sources)
  list(TRANSFORM headers REPLACE "[.]h$" ".cc" OUTPUT_VARIABLE alone)
  list(REMOVE_ITEM alone ${sources} "")
  list(TRANSFORM alone REPLACE "[.]cc$" ".h")
  list(REMOVE_ITEM headers ${alone} "")
  target_sources(${target} ${scope}
    FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${headers}
    FILE_SET alone TYPE HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${alone})
  if(alone)
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON
      INTERFACE_HEADER_SETS_TO_VERIFY alone)
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
    _ferry_headers(${target} PUBLIC "${arg_HDRS}" "${arg_SRCS}")
    _ferry_flags(${target})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_DEPS})
    _ferry_headers(${target} INTERFACE "${arg_HDRS}" "")
  endif()
endfunction()

function(ferry_executable)
  cmake_parse_arguments(arg "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${arg_NAME} ${arg_SRCS})
  target_include_directories(${arg_NAME} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS})
  _ferry_flags(${arg_NAME})
endfunction()

# As in a bundle: what lies in bin/ finds torch and starts the program itself.
function(ferry_install_program target)
  install(TARGETS ${target} RUNTIME DESTINATION libexec)
  install(PROGRAMS ${CMAKE_SOURCE_DIR}/deploy/bundle/run.sh DESTINATION bin
    RENAME ${target})
endfunction()

function(ferry_test)
  cmake_parse_arguments(arg "" "NAME;PRECOMPILED;TIMEOUT" "SRCS;DEPS;LABELS"
    ${ARGN})
  add_executable(${arg_NAME} ${arg_SRCS})
  target_include_directories(${arg_NAME} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS} GTest::gmock_main)
  set_target_properties(${arg_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  _ferry_flags(${arg_NAME})
  # Of the test alone: it compiles in two thirds of the time.
  target_compile_options(${arg_NAME} PRIVATE -O1)
  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED test)
  endif()
  ferry_use_precompiled(${arg_NAME} ${arg_PRECOMPILED})
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
  # scripts/test.sh runs two tests at once, but those of many threads alone.
  if(NOT arg_LABELS STREQUAL unit)
    set_tests_properties(${test} PROPERTIES PROCESSORS 2)
  endif()
endfunction()

# A library with FUNCTION of HEADER, which returns NAME-<hash of the sources that
# match PATTERNS, from the root> (build_identity.cmake).
function(ferry_build_identity)
  cmake_parse_arguments(arg "" "LIBRARY;NAME;HEADER;FUNCTION" "PATTERNS" ${ARGN})
  set(written ${CMAKE_CURRENT_BINARY_DIR}/${arg_LIBRARY}.cc)
  list(JOIN arg_PATTERNS "," patterns)
  list(TRANSFORM arg_PATTERNS PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${arg_PATTERNS})
  set(script ${CMAKE_SOURCE_DIR}/cmake/build_identity.cmake)
  add_custom_command(OUTPUT ${written}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DPATTERNS=${patterns}
      -DNAME=${arg_NAME} -DHEADER=${arg_HEADER} -DFUNCTION=${arg_FUNCTION}
      -DOUT=${written} -P ${script}
    DEPENDS ${sources} ${script}
    COMMENT "Writing the build's identity" VERBATIM)
  get_filename_component(header ${arg_HEADER} NAME)
  ferry_library(NAME ${arg_LIBRARY} HDRS ${header} SRCS ${written})
endfunction()

# A libFuzzer target and its short run as a test: the kept corpus, then RUNS
# executions in all, the same ones each time.
function(ferry_fuzzer)
  cmake_parse_arguments(arg "" "NAME;RUNS" "SRCS;DEPS" ${ARGN})
  set(target ${arg_NAME}_fuzzer)
  ferry_executable(NAME ${target} SRCS ${arg_SRCS} DEPS ${arg_DEPS})
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)

  set(corpus ${CMAKE_BINARY_DIR}/corpus/${arg_NAME})
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/corpus)
  file(GLOB kept CONFIGURE_DEPENDS ${source}/${arg_NAME}/* ${source}/${arg_NAME}.*)
  add_custom_command(OUTPUT ${corpus}.list
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/corpus.py unpack
      ${source}/${arg_NAME} ${corpus}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/corpus.py ${kept}
    COMMENT "Unpacking the corpus of ${target}" VERBATIM)
  add_custom_target(${arg_NAME}_corpus DEPENDS ${corpus}.list)
  add_dependencies(${target} ${arg_NAME}_corpus)

  add_test(NAME ${target}_test
    COMMAND ${target} -seed=1 -runs=${arg_RUNS} -verbosity=0 -print_final_stats=1
      -dict=${source}/${arg_NAME}.dict -seed_inputs=@${corpus}.list
      -artifact_prefix=${CMAKE_BINARY_DIR}/${arg_NAME}-)
  set_tests_properties(${target}_test PROPERTIES TIMEOUT 300 LABELS fuzz
    ENVIRONMENT "ASAN_OPTIONS=malloc_context_size=3:quarantine_size_mb=16")
endfunction()
