# ferry_cuda_library: device code, compiled by nvcc from the wheels that
# `scripts/setup.sh --cuda` installs, or by that of -DFERRY_NVCC.
#
#   ferry_cuda_library(NAME cuda_kernels HDRS .. SRCS a.cu .. DEPS ..)
#
# Not CMake's CUDA language: it wants a toolkit laid out as NVIDIA's installer does
# and links a program first, which the wheels alone cannot.
#
# FERRY_CUDA_ARCHS: for which devices; "90" or "80;90;100". The last one's PTX is
# kept, so that newer devices run it too.
set(FERRY_CUDA_ARCHS "80;90;100" CACHE STRING "Compute capabilities, times 10")
file(GLOB _cuda_homes
  ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13)
find_program(FERRY_NVCC nvcc PATHS ${_cuda_homes} PATH_SUFFIXES bin
  NO_DEFAULT_PATH DOC "The CUDA compiler")
if(NOT FERRY_NVCC)
  message(FATAL_ERROR "FERRY_CUDA: nvcc not found: run scripts/setup.sh --cuda, "
    "which installs it into .venv, or give -DFERRY_NVCC=<path>")
endif()
cmake_path(GET FERRY_NVCC PARENT_PATH _cuda_bin)
cmake_path(GET _cuda_bin PARENT_PATH FERRY_CUDA_HOME)
find_library(FERRY_CUDART NAMES cudart libcudart.so.13
  PATHS ${FERRY_CUDA_HOME} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH REQUIRED)

# The CUDA runtime, for code that calls it.
add_library(ferry_cudart INTERFACE)
target_include_directories(ferry_cudart SYSTEM INTERFACE
  ${FERRY_CUDA_HOME}/include)
target_link_libraries(ferry_cudart INTERFACE ${FERRY_CUDART})

set(_cuda_code)
foreach(arch IN LISTS FERRY_CUDA_ARCHS)
  list(APPEND _cuda_code -gencode=arch=compute_${arch},code=sm_${arch})
endforeach()
list(GET FERRY_CUDA_ARCHS -1 _cuda_newest)
list(APPEND _cuda_code
  -gencode=arch=compute_${_cuda_newest},code=compute_${_cuda_newest})

function(ferry_cuda_library)
  cmake_parse_arguments(arg "" "NAME" "HDRS;SRCS;DEPS" ${ARGN})
  set(objects)
  foreach(source IN LISTS arg_SRCS)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${FERRY_NVCC} -ccbin ${CMAKE_CXX_COMPILER} -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
        -std=c++20 -O3 -I${CMAKE_SOURCE_DIR} -isystem ${FERRY_CUDA_HOME}/include
        -D_GLIBCXX_ASSERTIONS -D_FORTIFY_SOURCE=3
        ${_cuda_code} -Xcompiler=-fPIC,-fstack-protector-strong,-Wall,-Wextra
        $<$<BOOL:${FERRY_STRICT}>:-Werror=all-warnings>
        -MD -MF ${object}.d
      DEPENDS ${source} DEPFILE ${object}.d
      COMMENT "Compiling ${source} for ${FERRY_CUDA_ARCHS}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(target ferry_${arg_NAME})
  add_library(${target} STATIC ${objects})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PUBLIC ferry_cudart ${arg_DEPS})
  _ferry_headers(${target} PUBLIC "${arg_HDRS}" "")
endfunction()
