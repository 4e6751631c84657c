# Sets the run path of a program or library of a bundle, so that it holds no path
# of the machine that built it: cmake -DFILE=.. -P bundle_rpath.cmake
file(RPATH_SET FILE ${FILE} NEW_RPATH "$ORIGIN/../lib")
