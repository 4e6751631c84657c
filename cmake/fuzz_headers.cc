// Nothing: the target that precompiles the headers of fuzz targets needs a
// source. See cmake/ferry_targets.cmake.
