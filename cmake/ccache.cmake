# Compiles through ccache where it is installed, unless a launcher is chosen or
# CCACHE_DISABLE is set.
#
# With the root as base folder, copies of the sources share what they compile
# alike; debug symbols may name the copy that was built first. Without leave to
# overlook macros and times it keeps nothing that uses a precompiled header.
if(DEFINED CMAKE_CXX_COMPILER_LAUNCHER OR DEFINED ENV{CCACHE_DISABLE})
  return()
endif()
find_program(FERRY_CCACHE ccache)
if(FERRY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
    CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
    ${FERRY_CCACHE})
endif()
