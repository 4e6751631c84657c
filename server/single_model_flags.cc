// Implements AddSingleModelFlags().
#include "server/single_model_flags.h"

#include <string>
#include <vector>

namespace ferry {

void AddSingleModelFlags(CLI::App& app, SingleModelFlags& flags) {
  const char* const group = "One model without a repository";
  CLI::Option* const model =
      app.add_option("--model", flags.path,
                     "the TorchScript or AOTInductor (.pt2) file to serve")
          ->excludes(app.get_option("--model-repository"))
          ->excludes(app.get_option("--load-model"))
          ->check([](const std::string& path) {
            return std::string(path.empty() ? "expected a file, got nothing"
                                            : "");
          })
          ->type_name("FILE")
          ->group(group);
  app.add_option("--model-name", flags.name,
                 "its name; without: that of the file")
      ->needs(model)
      ->type_name("NAME")
      ->group(group);
  const auto add_tensors = [&](const char* flag, const char* text,
                               std::vector<std::string>& tensors) {
    app.add_option(flag, tensors, text)
        ->needs(model)
        ->type_name("NAME:TYPE:DIMS")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group(group);
  };
  add_tensors("--input",
              "an input, as x:FP32:-1,3,224,224, where -1 first is the batch "
              "dimension; may be given more than once; without: as a traced "
              "file says",
              flags.inputs);
  add_tensors("--output",
              "an output; may be given more than once; without: found by a "
              "probe forward",
              flags.outputs);
}

}  // namespace ferry
