// FindEmbeddedConfig gives configs of models without files: seeded weights.
//
// Thread safety: free functions over constants.
#ifndef FERRY_MODELS_REPOSITORY_EMBEDDED_MODELS_H_
#define FERRY_MODELS_REPOSITORY_EMBEDDED_MODELS_H_

#include <string>
#include <vector>

namespace ferry {

// What serves where neither a folder nor a name is given.
inline constexpr char kDefaultEmbeddedModel[] = "mlp";

// The names there are, for messages.
inline constexpr char kEmbeddedModelNames[] = "mlp, resnet50, encoder";

std::vector<std::string> EmbeddedModelNames();

// Returns the config.pbtxt text of an embedded model, or null for other names.
const char* FindEmbeddedConfig(const std::string& name);

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_EMBEDDED_MODELS_H_
