// BorrowedTable is a ModelTable of models that the test owns.
//
// Thread safety: free functions.
#ifndef FERRY_TESTS_SERVER_BORROWED_MODELS_H_
#define FERRY_TESTS_SERVER_BORROWED_MODELS_H_

#include <initializer_list>
#include <memory>

#include "server/control/model_table.h"

namespace ferry {

// The model outlives the entry.
inline std::shared_ptr<ModelEntry> Borrowed(const ServedModel& model) {
  return std::make_shared<ModelEntry>(
      std::shared_ptr<const ServedModel>(std::shared_ptr<void>(), &model));
}

inline ServedSet SetOf(std::initializer_list<const ServedModel*> models) {
  ServedSet served;
  for (const ServedModel* model : models) {
    served.by_name[model->name].ready.push_back(Borrowed(*model));
  }
  return served;
}

// Serves exactly these, which outlive the table.
struct BorrowedTable : ModelTable {
  explicit BorrowedTable(std::initializer_list<const ServedModel*> models) {
    Publish(SetOf(models));
  }
};

}  // namespace ferry

#endif  // FERRY_TESTS_SERVER_BORROWED_MODELS_H_
