// Tests the files that a layout of MIG slices is made by.
#include "deploy/ctl/mig_artifacts.h"

#include <gtest/gtest.h>

namespace ferry::ctl {
namespace {

// Two devices: a 3g and a free 1g on the first, a 1g on the other.
class MigArtifactTest : public ::testing::Test {
 protected:
  std::string Artifact(const std::string& name) const {
    return MigArtifact(
        name, {.device = device_, .models = models_, .packing = packing_});
  }

  const plan::MigDevice device_ = *plan::FindMigDevice("H200");
  const std::vector<plan::MigModel> models_ = {{.name = "Big_1"},
                                               {.name = "small."}};
  const plan::MigPacking packing_ = {
      .devices = 2,
      .slices = {{.device = 0, .profile = 4, .model = 0},
                 {.device = 0, .profile = 0, .model = std::nullopt},
                 {.device = 1, .profile = 0, .model = 1},
                 {.device = 1, .profile = 0, .model = 1}},
      .sms_held = 108};
};

TEST_F(MigArtifactTest, MigParted) {
  EXPECT_EQ(
      Artifact(kMigPartedArtifact),
      "# H200-141GB, by ferryctl mig-plan: nvidia-mig-parted apply -f FILE -c "
      "ferry\n"
      "version: v1\n"
      "mig-configs:\n"
      "  ferry:\n"
      "    - devices: [0]\n"
      "      mig-enabled: true\n"
      "      mig-devices:\n"
      "        \"1g.18gb\": 1\n"
      "        \"3g.71gb\": 1\n"
      "    - devices: [1]\n"
      "      mig-enabled: true\n"
      "      mig-devices:\n"
      "        \"1g.18gb\": 2\n");
}

TEST_F(MigArtifactTest, NvidiaSmi) {
  EXPECT_EQ(Artifact(kNvidiaSmiArtifact),
            "# H200-141GB, by ferryctl mig-plan. As root, with nothing on the "
            "devices.\n"
            "nvidia-smi -i 0 -mig 1\n"
            "nvidia-smi mig -i 0 -cgi 3g.71gb,1g.18gb -C\n"
            "nvidia-smi -i 1 -mig 1\n"
            "nvidia-smi mig -i 1 -cgi 1g.18gb,1g.18gb -C\n"
            "nvidia-smi -L\n");
}

TEST_F(MigArtifactTest, EnvOfEachSliceThatServes) {
  EXPECT_EQ(
      Artifact(kEnvArtifact),
      "# By ferryctl mig-plan: one file for each slice, for "
      "ferry@.service.\n"
      "# FERRY_DEVICE is the slice's UUID, which the device alone knows:\n"
      "# nvidia-smi -L. The other variables: deploy/systemd/slice.env.\n"
      "\n# /etc/ferry/Big_1-0.env: a 3g.71gb of GPU 0\n"
      "FERRY_DEVICE=MIG-00000000-0000-0000-0000-000000000000\n"
      "FERRY_GRPC_PORT=8101\nFERRY_METRICS_PORT=8201\n"
      "# A repository with this model alone.\n"
      "FERRY_MODELS=/var/lib/ferry/Big_1\n"
      "\n# /etc/ferry/small.-1.env: a 1g.18gb of GPU 1\n"
      "FERRY_DEVICE=MIG-00000000-0000-0000-0000-000000000000\n"
      "FERRY_GRPC_PORT=8102\nFERRY_METRICS_PORT=8202\n"
      "# A repository with this model alone.\n"
      "FERRY_MODELS=/var/lib/ferry/small.\n"
      "\n# /etc/ferry/small.-2.env: a 1g.18gb of GPU 1\n"
      "FERRY_DEVICE=MIG-00000000-0000-0000-0000-000000000000\n"
      "FERRY_GRPC_PORT=8103\nFERRY_METRICS_PORT=8203\n"
      "# A repository with this model alone.\n"
      "FERRY_MODELS=/var/lib/ferry/small.\n");
}

std::string Claim(const std::string& name, const std::string& profile) {
  return "---\napiVersion: resource.k8s.io/v1\n"
         "kind: ResourceClaimTemplate\n"
         "metadata:\n"
         "  name: " +
         name +
         "\n"
         "spec:\n"
         "  spec:\n"
         "    devices:\n"
         "      requests:\n"
         "      - name: slice\n"
         "        exactly:\n"
         "          deviceClassName: mig.nvidia.com\n"
         "          selectors:\n"
         "          - cel:\n"
         "              expression: "
         "\"device.attributes['gpu.nvidia.com'].profile == '" +
         profile + "'\"\n";
}

TEST_F(MigArtifactTest, ClaimOfEachModelAndProfile) {
  EXPECT_EQ(Artifact(kDraArtifact),
            "# H200-141GB, by ferryctl mig-plan: a claim of each model and "
            "profile, for NVIDIA's DRA driver.\n" +
                Claim("ferry-0-big-1-3g-71gb", "3g.71gb") +
                Claim("ferry-1-small--1g-18gb", "1g.18gb"));
}

}  // namespace
}  // namespace ferry::ctl
