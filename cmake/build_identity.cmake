# Writes the source of a function that returns NAME-<hash>, the hash that of the
# sources it stands for, when any of them has changed; without git, since a
# tarball has none.
#
#   cmake -DSOURCE=<root> -DPATTERNS=batcher/*.h,models/*.cc -DNAME=ferry-0.1.0
#     -DHEADER=models/build_identity.h -DFUNCTION=ferry::BuildIdentity
#     -DOUT=<file> -P build_identity.cmake
string(REPLACE "," ";" PATTERNS ${PATTERNS})
list(TRANSFORM PATTERNS PREPEND ${SOURCE}/)
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${PATTERNS})
list(SORT files)
set(hashes)
foreach(file IN LISTS files)
  file(SHA256 ${SOURCE}/${file} hash)
  string(APPEND hashes "${file} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUT} "// Of cmake/build_identity.cmake.
#include \"${HEADER}\"

const char* ${FUNCTION}() { return \"${NAME}-${hash}\"; }
")
