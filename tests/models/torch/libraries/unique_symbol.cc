// This library has a symbol that GCC makes unique in the process.
template <typename T>
struct FerryTestCounter {
  static T& Value() {
    static T value = 0;
    return value;
  }
};

extern "C" int FerryTestCount() { return ++FerryTestCounter<int>::Value(); }
