# Writes the source with BuildIdentity() of models/build_identity.h, when any
# source it stands for has changed; without git, since a tarball has none.
#
#   cmake -DSOURCE=<root> -DVERSION=0.1.0 -DTORCH=2.11.0 -DOUT=<file>
#     -P build_identity.cmake
file(GLOB_RECURSE files RELATIVE ${SOURCE}
  ${SOURCE}/batcher/*.h ${SOURCE}/batcher/*.cc
  ${SOURCE}/models/*.h ${SOURCE}/models/*.cc
  ${SOURCE}/models/*.cu ${SOURCE}/models/*.cuh)
list(SORT files)
set(hashes)
foreach(file IN LISTS files)
  file(SHA256 ${SOURCE}/${file} hash)
  string(APPEND hashes "${file} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUT} "// Of cmake/build_identity.cmake.
#include \"models/build_identity.h\"

namespace ferry {

const char* BuildIdentity() {
  return \"ferry-${VERSION}-torch-${TORCH}-${hash}\";
}

}  // namespace ferry
")
