# Finds LibTorch and makes the imported target LibTorch::LibTorch, for the CPU.
#
# Looked for in this order:
#   1. -DLibTorch_ROOT=<dir>: an unpacked LibTorch, or a wheel's torch/ folder
#   2. the environment variable LibTorch_ROOT
#   3. <source>/.tools/libtorch, made by scripts/setup.sh --libtorch
#   4. the torch wheel in <source>/.venv, which scripts/setup.sh installs
#
# Sets LibTorch_FOUND, LibTorch_VERSION (numbers only), LibTorch_LIBRARY_DIR.
#
# LibTorch's own find_package(Torch) fails on the wheel where there is no CUDA
# toolkit, and adds global flags; hence this file.
#
# Invariants:
# 1. Programs link libtorch_cpu and libc10, never libtorch.so, which in a CUDA
#    build pulls in libraries that a lean installation lacks.
# 2. The include folder carries an old google/protobuf. It is a SYSTEM folder,
#    and belongs to targets that link LibTorch PRIVATE and see no other
#    protobuf.
set(_libtorch_dirs ${LibTorch_ROOT} $ENV{LibTorch_ROOT})
if(NOT _libtorch_dirs)
  file(GLOB _libtorch_dirs
    ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  if(EXISTS ${PROJECT_SOURCE_DIR}/.tools/libtorch/lib)
    file(REAL_PATH ${PROJECT_SOURCE_DIR}/.tools/libtorch _libtorch_dirs)
  endif()
endif()

# Forgets what an earlier run found, so that a new root is honored, and looks
# nowhere but in the folders above.
macro(_libtorch_find_library variable name)
  unset(${variable} CACHE)
  find_library(${variable} ${name}
    PATHS ${_libtorch_dirs} PATH_SUFFIXES lib NO_DEFAULT_PATH)
  mark_as_advanced(${variable})
endmacro()
_libtorch_find_library(LibTorch_CPU_LIBRARY torch_cpu)
_libtorch_find_library(LibTorch_C10_LIBRARY c10)
unset(LibTorch_INCLUDE_DIR CACHE)
find_path(LibTorch_INCLUDE_DIR torch/script.h
  PATHS ${_libtorch_dirs} PATH_SUFFIXES include NO_DEFAULT_PATH)
mark_as_advanced(LibTorch_INCLUDE_DIR)

if(LibTorch_CPU_LIBRARY)
  get_filename_component(LibTorch_LIBRARY_DIR ${LibTorch_CPU_LIBRARY} DIRECTORY)
  get_filename_component(_libtorch_dir ${LibTorch_LIBRARY_DIR} DIRECTORY)
  set(_libtorch_text)
  if(EXISTS ${_libtorch_dir}/version.py)
    file(STRINGS ${_libtorch_dir}/version.py _libtorch_text
      REGEX "^__version__" LIMIT_COUNT 1)
  elseif(EXISTS ${_libtorch_dir}/build-version)
    file(STRINGS ${_libtorch_dir}/build-version _libtorch_text LIMIT_COUNT 1)
  endif()
  if(_libtorch_text MATCHES "([0-9]+\\.[0-9]+\\.[0-9]+)")
    set(LibTorch_VERSION ${CMAKE_MATCH_1})
  endif()
  # Libraries that libtorch_cpu itself needs and a wheel keeps beside torch/.
  file(GLOB _libtorch_beside LIST_DIRECTORIES true
    ${_libtorch_dir}/../nvidia/*/lib)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE
    "Run scripts/setup.sh, which installs it into .venv, or give -DLibTorch_ROOT=<unpacked LibTorch>.")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  # The old string ABI would link and then fail on every std::string.
  set(_libtorch_config ${_libtorch_dir}/share/cmake/Torch/TorchConfig.cmake)
  if(EXISTS ${_libtorch_config})
    file(STRINGS ${_libtorch_config} _libtorch_old_abi
      REGEX "_GLIBCXX_USE_CXX11_ABI=0" LIMIT_COUNT 1)
    if(_libtorch_old_abi)
      message(FATAL_ERROR
        "LibTorch in ${_libtorch_dir} has the old C++ ABI; take a build whose name says cxx11-abi, or any of 2.7 or later.")
    endif()
  endif()

  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES
    IMPORTED_LOCATION ${LibTorch_C10_LIBRARY})

  add_library(LibTorch::LibTorch SHARED IMPORTED)
  set_target_properties(LibTorch::LibTorch PROPERTIES
    IMPORTED_LOCATION ${LibTorch_CPU_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES
      "${LibTorch_INCLUDE_DIR};${LibTorch_INCLUDE_DIR}/torch/csrc/api/include"
    INTERFACE_LINK_LIBRARIES LibTorch::c10)
  foreach(_libtorch_folder IN LISTS LibTorch_LIBRARY_DIR _libtorch_beside)
    target_link_options(LibTorch::LibTorch INTERFACE
      LINKER:-rpath-link,${_libtorch_folder})
  endforeach()
endif()
