// This file holds nothing: a target that precompiles headers needs a source.
// See cmake/precompiled.cmake.
