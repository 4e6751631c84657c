// Implements MutateMessage: walks to one message, then changes one field of it.
#include "tests/fuzz/message_mutator.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace ferry {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kMaxTextBytes = 64;

class Mutator {
 public:
  Mutator(std::minstd_rand& random, MutateBytes mutate_bytes)
      : random_(random), mutate_bytes_(mutate_bytes) {}

  void Change(Message& root) {
    std::vector<Message*> messages;
    Collect(root, messages);
    Message& message = *messages[Below(messages.size())];
    const auto& type = *message.GetDescriptor();
    if (type.field_count() == 0) {
      return;
    }
    const FieldDescriptor& field = *type.field(
        static_cast<int>(Below(static_cast<size_t>(type.field_count()))));
    if (field.is_repeated()) {
      ChangeRepeated(message, field);
    } else if (Below(8) == 0) {
      message.GetReflection()->ClearField(&message, &field);
    } else {
      Set(message, field);
    }
  }

 private:
  size_t Below(size_t bound) { return random_() % bound; }

  // The message and all that it holds.
  static void Collect(Message& message, std::vector<Message*>& messages) {
    messages.push_back(&message);
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        continue;
      }
      if (!field->is_repeated()) {
        Collect(*reflection.MutableMessage(&message, field), messages);
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Collect(*reflection.MutableRepeatedMessage(&message, field, i),
                messages);
      }
    }
  }

  void ChangeRepeated(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    const auto any = [&] {
      return static_cast<int>(Below(static_cast<size_t>(size)));
    };
    switch (size == 0 ? 0 : Below(8)) {
      case 0:
      case 1:
        return Add(message, field);
      case 2:
        return reflection.RemoveLast(&message, &field);
      case 3:
        return reflection.SwapElements(&message, &field, any(), any());
      case 4:
        if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          const Message& copied =
              reflection.GetRepeatedMessage(message, &field, any());
          Message& added = *reflection.AddMessage(&message, &field);
          return added.CopyFrom(copied);
        }
        [[fallthrough]];
      default:
        return SetRepeated(message, field, any());
    }
  }

  void Set(Message& message, const FieldDescriptor& field) {
    const Reflection& r = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r.SetInt32(&message, &field,
                          Number(r.GetInt32(message, &field)));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.SetInt64(&message, &field,
                          Number(r.GetInt64(message, &field)));
      case FieldDescriptor::CPPTYPE_UINT32:
        return r.SetUInt32(&message, &field,
                           Number(r.GetUInt32(message, &field)));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.SetUInt64(&message, &field,
                           Number(r.GetUInt64(message, &field)));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r.SetDouble(&message, &field, Real());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.SetFloat(&message, &field, static_cast<float>(Real()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r.SetBool(&message, &field, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r.SetEnum(&message, &field, Enum(field));
      case FieldDescriptor::CPPTYPE_STRING:
        return r.SetString(&message, &field,
                           Text(field, r.GetString(message, &field)));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        r.MutableMessage(&message, &field);
    }
  }

  void SetRepeated(Message& message, const FieldDescriptor& field, int i) {
    const Reflection& r = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r.SetRepeatedInt32(
            &message, &field, i,
            Number(r.GetRepeatedInt32(message, &field, i)));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.SetRepeatedInt64(
            &message, &field, i,
            Number(r.GetRepeatedInt64(message, &field, i)));
      case FieldDescriptor::CPPTYPE_UINT32:
        return r.SetRepeatedUInt32(
            &message, &field, i,
            Number(r.GetRepeatedUInt32(message, &field, i)));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.SetRepeatedUInt64(
            &message, &field, i,
            Number(r.GetRepeatedUInt64(message, &field, i)));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r.SetRepeatedDouble(&message, &field, i, Real());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.SetRepeatedFloat(&message, &field, i,
                                  static_cast<float>(Real()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r.SetRepeatedBool(&message, &field, i, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r.SetRepeatedEnum(&message, &field, i, Enum(field));
      case FieldDescriptor::CPPTYPE_STRING:
        return r.SetRepeatedString(
            &message, &field, i,
            Text(field, r.GetRepeatedString(message, &field, i)));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Change(*r.MutableRepeatedMessage(&message, &field, i));
    }
  }

  void Add(Message& message, const FieldDescriptor& field) {
    const Reflection& r = *message.GetReflection();
    const int last = r.FieldSize(message, &field);
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        r.AddInt32(&message, &field, 0);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        r.AddInt64(&message, &field, 0);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        r.AddUInt32(&message, &field, 0);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        r.AddUInt64(&message, &field, 0);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        r.AddDouble(&message, &field, 0);
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        r.AddFloat(&message, &field, 0);
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        r.AddBool(&message, &field, false);
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        r.AddEnum(&message, &field, field.enum_type()->value(0));
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        r.AddString(&message, &field, "");
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        r.AddMessage(&message, &field);
        break;
    }
    SetRepeated(message, field, last);
  }

  // Near the old one, small, at an edge, or of any number of bits.
  template <typename Integer>
  Integer Number(Integer old) {
    using Limits = std::numeric_limits<Integer>;
    switch (Below(10)) {
      case 0:
        return old == Limits::max() ? old : static_cast<Integer>(old + 1);
      case 1:
        return old == Limits::min() ? old : static_cast<Integer>(old - 1);
      case 2:
        return static_cast<Integer>(Integer{1} << Below(Limits::digits));
      case 3:
        return Below(2) == 0 ? Limits::max() : Limits::min();
      case 4:
      case 5:
        return Signed(static_cast<Integer>(
            std::uniform_int_distribution<uint64_t>()(random_) &
            static_cast<uint64_t>(Limits::max() >> Below(Limits::digits))));
      default:
        return static_cast<Integer>(static_cast<Integer>(Below(10)) -
                                    (Limits::is_signed ? Integer{1} : 0));
    }
  }

  // Half of them negative, where they may be.
  template <typename Integer>
  Integer Signed(Integer number) {
    return std::numeric_limits<Integer>::is_signed && Below(2) == 0
               ? static_cast<Integer>(~number)
               : number;
  }

  double Real() {
    static constexpr double kReals[] = {
        0,    -0.0,   1,     -1,
        0.5,  1e-300, 1e300, std::numeric_limits<double>::infinity(),
        3e38, 1e-40,  100,   std::numeric_limits<double>::quiet_NaN()};
    return kReals[Below(std::size(kReals))];
  }

  const google::protobuf::EnumValueDescriptor* Enum(
      const FieldDescriptor& field) {
    const auto& type = *field.enum_type();
    return type.value(
        static_cast<int>(Below(static_cast<size_t>(type.value_count()))));
  }

  std::string Text(const FieldDescriptor& field, std::string text) {
    const size_t room = std::max(text.size() + 8, kMaxTextBytes);
    size_t size = text.size();
    text.resize(room);
    size = mutate_bytes_(reinterpret_cast<uint8_t*>(text.data()), size, room);
    text.resize(size);
    if (field.type() == FieldDescriptor::TYPE_STRING) {
      for (char& letter : text) {
        letter = static_cast<char>(letter & 0x7f);
      }
    }
    return text;
  }

  std::minstd_rand& random_;
  const MutateBytes mutate_bytes_;
};

}  // namespace

void MutateMessage(std::minstd_rand& random, MutateBytes mutate_bytes,
                   Message& message) {
  Mutator(random, mutate_bytes).Change(message);
}

}  // namespace ferry
