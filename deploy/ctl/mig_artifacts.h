// MigArtifact() writes what a layout of MIG slices is made by: a file for
// mig-parted, lines of nvidia-smi, environments of servers, or claims of
// Kubernetes. Nothing here runs any of it.
//
// Thread safety: free functions over values.
#ifndef FERRY_DEPLOY_CTL_MIG_ARTIFACTS_H_
#define FERRY_DEPLOY_CTL_MIG_ARTIFACTS_H_

#include <string>
#include <vector>

#include "bench/plan/mig_plan.h"

namespace ferry::ctl {

inline constexpr char kMigPartedArtifact[] = "mig-parted";
inline constexpr char kNvidiaSmiArtifact[] = "nvidia-smi";
inline constexpr char kEnvArtifact[] = "env";
inline constexpr char kDraArtifact[] = "dra";

// What is divided how, and for which models; all of it outlives the call.
struct MigLayout {
  const plan::MigDevice& device;
  const std::vector<plan::MigModel>& models;
  const plan::MigPacking& packing;
};

// Returns the artifact of that name, one of those above.
std::string MigArtifact(const std::string& name, const MigLayout& layout);

// Returns the slices of one device, from 0: "3g.71gb: a; 1g.18gb: b".
std::string SlicesText(const MigLayout& layout, int64_t device);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_MIG_ARTIFACTS_H_
