// Implements MigArtifact(). Formats: NVIDIA/mig-parted's README (version v1);
// the MIG User Guide, "Getting Started with MIG"; deploy/systemd/slice.env; and
// ResourceClaimTemplates of resource.k8s.io/v1 as the documents of NVIDIA's DRA
// driver have them.
#include "deploy/ctl/mig_artifacts.h"

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry::ctl {
namespace {

constexpr int kFirstGrpcPort = 8101;
constexpr int kFirstMetricsPort = 8201;

std::string ProfileName(const MigLayout& layout, size_t profile) {
  return layout.device.profiles[profile].name;
}

plan::MigCounts CountsOf(const MigLayout& layout, int64_t device) {
  plan::MigCounts counts = {};
  for (const plan::MigSlice& slice : layout.packing.slices) {
    counts[slice.profile] += slice.device == device ? 1 : 0;
  }
  return counts;
}

std::string MigParted(const MigLayout& layout) {
  std::string text = absl::StrCat(
      "# ", layout.device.name,
      ", by ferryctl mig-plan: nvidia-mig-parted apply -f FILE -c ferry\n"
      "version: v1\nmig-configs:\n  ferry:\n");
  for (int64_t device = 0; device < layout.packing.devices; ++device) {
    absl::StrAppend(&text, "    - devices: [", device,
                    "]\n      mig-enabled: true\n      mig-devices:\n");
    const plan::MigCounts counts = CountsOf(layout, device);
    for (size_t profile = 0; profile < plan::kMigProfiles; ++profile) {
      if (counts[profile] > 0) {
        absl::StrAppend(&text, "        \"", ProfileName(layout, profile),
                        "\": ", counts[profile], "\n");
      }
    }
  }
  return text;
}

std::string NvidiaSmi(const MigLayout& layout) {
  std::string text = absl::StrCat(
      "# ", layout.device.name,
      ", by ferryctl mig-plan. As root, with nothing on the devices.\n");
  for (int64_t device = 0; device < layout.packing.devices; ++device) {
    std::vector<std::string> names;
    for (const plan::MigSlice& slice : layout.packing.slices) {
      if (slice.device == device) {
        names.push_back(ProfileName(layout, slice.profile));
      }
    }
    absl::StrAppend(&text, "nvidia-smi -i ", device, " -mig 1\n",
                    "nvidia-smi mig -i ", device, " -cgi ",
                    absl::StrJoin(names, ","), " -C\n");
  }
  return text + "nvidia-smi -L\n";
}

std::string Env(const MigLayout& layout) {
  std::string text =
      "# By ferryctl mig-plan: one file for each slice, for ferry@.service.\n"
      "# FERRY_DEVICE is the slice's UUID, which the device alone knows:\n"
      "# nvidia-smi -L. The other variables: deploy/systemd/slice.env.\n";
  int server = 0;
  for (const plan::MigSlice& slice : layout.packing.slices) {
    if (!slice.model.has_value()) {
      continue;
    }
    const std::string& model = layout.models[*slice.model].name;
    absl::StrAppend(&text, "\n# /etc/ferry/", model, "-", server, ".env: a ",
                    ProfileName(layout, slice.profile), " of GPU ",
                    slice.device,
                    "\nFERRY_DEVICE=MIG-00000000-0000-0000-0000-000000000000",
                    "\nFERRY_GRPC_PORT=", kFirstGrpcPort + server,
                    "\nFERRY_METRICS_PORT=", kFirstMetricsPort + server,
                    "\n# A repository with this model alone.",
                    "\nFERRY_MODELS=/var/lib/ferry/", model, "\n");
    ++server;
  }
  return text;
}

// Returns a name that Kubernetes takes.
std::string ObjectName(const std::string& text) {
  std::string name = absl::AsciiStrToLower(text);
  for (char& letter : name) {
    letter =
        absl::ascii_isalnum(static_cast<unsigned char>(letter)) ? letter : '-';
  }
  while (name.back() == '-') {
    name.pop_back();
  }
  return name;
}

std::string Dra(const MigLayout& layout) {
  std::string text = absl::StrCat(
      "# ", layout.device.name,
      ", by ferryctl mig-plan: a claim of each model and profile, for NVIDIA's "
      "DRA driver.\n");
  std::set<std::pair<size_t, size_t>> written;
  for (const plan::MigSlice& slice : layout.packing.slices) {
    if (!slice.model.has_value() ||
        !written.emplace(*slice.model, slice.profile).second) {
      continue;
    }
    const std::string profile = ProfileName(layout, slice.profile);
    const std::string name =
        absl::StrCat("ferry-", *slice.model, "-",
                     layout.models[*slice.model].name, "-", profile);
    absl::StrAppend(
        &text,
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\n"
        "metadata:\n  name: ",
        ObjectName(name),
        "\nspec:\n  spec:\n    devices:\n      requests:\n      - name: slice\n"
        "        exactly:\n          deviceClassName: mig.nvidia.com\n"
        "          selectors:\n          - cel:\n"
        "              expression: \"device.attributes['gpu.nvidia.com']"
        ".profile == '",
        profile, "'\"\n");
  }
  return text;
}

}  // namespace

std::string MigArtifact(const std::string& name, const MigLayout& layout) {
  return name == kMigPartedArtifact   ? MigParted(layout)
         : name == kNvidiaSmiArtifact ? NvidiaSmi(layout)
         : name == kEnvArtifact       ? Env(layout)
                                      : Dra(layout);
}

std::string SlicesText(const MigLayout& layout, int64_t device) {
  std::vector<std::string> parts;
  for (const plan::MigSlice& slice : layout.packing.slices) {
    if (slice.device == device) {
      parts.push_back(absl::StrCat(
          ProfileName(layout, slice.profile), ": ",
          slice.model.has_value() ? layout.models[*slice.model].name : "free"));
    }
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace ferry::ctl
