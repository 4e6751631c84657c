// ModelPages answers over HTTP what a client asks of a server and its models by
// GET: /v2, /v2/models/NAME and /v2/models/NAME/ready, each of the latter with
// /versions/N behind the name, too. In JSON, as the Open Inference Protocol has
// it; inference is not among it.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_HTTP_MODEL_PAGES_H_
#define FERRY_SERVER_HTTP_MODEL_PAGES_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"
#include "server/http/http_listener.h"

namespace ferry {

class ModelPages {
 public:
  // Both outlive it.
  ModelPages(const ModelTable& models, const Readiness& readiness)
      : models_(models), readiness_(readiness) {}

  // Returns nullopt for paths outside /v2; unknown ones in it get 404.
  std::optional<HttpReply> Answer(absl::string_view path) const;

 private:
  const ModelTable& models_;
  const Readiness& readiness_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_HTTP_MODEL_PAGES_H_
