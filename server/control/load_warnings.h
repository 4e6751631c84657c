// LoadWarnings says what a load has found out that one should know.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_CONTROL_LOAD_WARNINGS_H_
#define FERRY_SERVER_CONTROL_LOAD_WARNINGS_H_

#include <string>
#include <vector>

#include "models/repository/served_model.h"

namespace ferry {

// Returns sentences without their subject, which is the model: of its
// precision, and of rows that it mixes.
std::vector<std::string> LoadWarnings(const ServedModel& model);

// Returns why the model refuses requests of more rows than max_batch_size,
// where no warning says so; "" of one that serves them.
std::string LargeRequestNote(const ServedModel& model);

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_LOAD_WARNINGS_H_
