// CheckConfig() loads every model that would be served (--check-config), says
// what is wrong with each, and prints the configs in force.
//
// Thread safety: free function.
#ifndef FERRY_SERVER_CONTROL_CHECK_CONFIG_H_
#define FERRY_SERVER_CONTROL_CHECK_CONFIG_H_

#include <string>

#include "models/repository/model_repository.h"
#include "server/control/model_control_options.h"

namespace ferry {

struct ConfigCheck {
  bool is_good = true;  // every model can be served
  std::string text;     // for people: a paragraph for each version
};

// Models are loaded and warmed up one after the other, and let go again.
ConfigCheck CheckConfig(ModelRepository& repository,
                        const ModelControlOptions& options);

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_CHECK_CONFIG_H_
