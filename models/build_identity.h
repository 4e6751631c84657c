// BuildIdentity() names what a binary was compiled from: a program and a
// library that it opens share C++ types, and must be of the same build.
//
// Thread safety: a constant.
#ifndef FERRY_MODELS_BUILD_IDENTITY_H_
#define FERRY_MODELS_BUILD_IDENTITY_H_

namespace ferry {

// Returns "ferry-<version>-torch-<version>-<hash>", the hash that of all
// sources in batcher/ and models/ when it was built
// (cmake/build_identity.cmake). scripts/bundle.sh finds it in the files.
const char* BuildIdentity();

}  // namespace ferry

#endif  // FERRY_MODELS_BUILD_IDENTITY_H_
