// This library asks torch for what this torch does not have.
namespace at {
void ferry_test_no_such_function();
}  // namespace at

void FerryTestCall() { at::ferry_test_no_such_function(); }
