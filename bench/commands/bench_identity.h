// BenchIdentity() names what ferry-bench was compiled from, so that two results
// tell whether one program measured them. A hash of sources, not a commit: it
// is the same for the same sources, and known without git.
//
// Thread safety: a constant.
#ifndef FERRY_BENCH_COMMANDS_BENCH_IDENTITY_H_
#define FERRY_BENCH_COMMANDS_BENCH_IDENTITY_H_

namespace ferry::bench {

// Returns "ferry-bench-<version>-<hash>", the hash that of all sources that
// ferry-bench was built from (cmake/build_identity.cmake).
const char* BenchIdentity();

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_BENCH_IDENTITY_H_
