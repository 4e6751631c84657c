# Every package Ferry uses, where it comes from, and why. scripts/setup.sh
# installs them; versions are those of Debian 12 or pinned here.
#
#   Abseil 20220623 (apt)       Status, Span, containers. One Abseil a program.
#   Protobuf 3.21 (apt)         the wire contract and config.pbtxt
#   gRPC 1.51 (apt)             transport; predates fixes of some 2023 CVEs, see
#                               docs/decisions/0006-dependencies.md
#   LibTorch 2.11.0 (pip)       tensors and kernels; models/ alone sees it
#   nvml.h 13.0 (pip)           models/nvml's declarations are held against it
#   OpenSSL 3.0 (apt)           SHA-256 of manifests and configs, ferry-bench's
#                               certificates; comes with gRPC
#   CLI11 2.1 (apt)             flags
#   nlohmann-json 3.11 (apt)    results and safetensors headers
#   spdlog 1.10 (apt)           log lines (Debian's Abseil has no absl/log)
#   prometheus-cpp 1.0 (apt)    metric text; core only, no HTTP of its own
#   libmicrohttpd 0.9.75 (apt)  the GET-only metrics listener
#   cpp-httplib 0.11 (apt)      ferry-bench reads /metrics, ferry-launch health; a client only
#   Chart.js 3.9 (apt)          the report page's plots, inlined
#   tcmalloc 2.10 (apt)         the allocator of ferry-server, ferry-forward
#                               and ferry-inprocess;
#                               docs/decisions/0013-allocator.md
#   GoogleTest 1.12, Google Benchmark 1.7 (apt)
#   moodycamel concurrentqueue 1.0 (apt)  a peer in claim A4
find_package(absl REQUIRED)
find_package(Threads REQUIRED)
if(FERRY_BUILD_MODELS OR FERRY_BUILD_SERVER OR FERRY_BUILD_BENCH OR FERRY_BUILD_CALLS)
  find_package(Protobuf REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()
if(FERRY_BUILD_MODELS)
  find_package(LibTorch REQUIRED)
endif()
if(FERRY_BUILD_MODELS OR FERRY_BUILD_BENCH OR FERRY_BUILD_CALLS)
  find_package(OpenSSL REQUIRED)
endif()
if(FERRY_BUILD_SERVER OR FERRY_BUILD_BENCH OR FERRY_BUILD_CALLS)
  find_package(gRPC CONFIG REQUIRED)
endif()
if(FERRY_BUILD_SERVER OR FERRY_BUILD_BENCH)
  find_package(CLI11 REQUIRED)
endif()
if(FERRY_BUILD_SERVER OR FERRY_BUILD_BENCH OR FERRY_BUILD_CALLS)
  find_package(spdlog REQUIRED)
endif()
if(FERRY_BUILD_SERVER)
  find_package(prometheus-cpp CONFIG REQUIRED)
endif()
# Debian's cpp-httplib is compiled with OpenSSL, by which its Client is larger:
# what includes the header has to say so too.
add_library(ferry_httplib INTERFACE)
target_compile_definitions(ferry_httplib INTERFACE CPPHTTPLIB_OPENSSL_SUPPORT)
target_link_libraries(ferry_httplib INTERFACE cpp-httplib)
if(FERRY_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
# The programs that run models link it first, so that it takes malloc's place in
# all that they load. Sanitizers bring their own.
add_library(ferry_allocator INTERFACE)
if(FERRY_TCMALLOC AND NOT FERRY_SANITIZE)
  find_library(TCMALLOC_LIBRARY
    NAMES tcmalloc_minimal libtcmalloc_minimal.so.4 REQUIRED)
  target_link_libraries(ferry_allocator INTERFACE
    -Wl,--push-state,--no-as-needed ${TCMALLOC_LIBRARY} -Wl,--pop-state)
endif()
if(FERRY_BUILD_TESTS OR FERRY_FUZZ)
  find_package(GTest REQUIRED)
endif()
