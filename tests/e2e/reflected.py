"""A client that knows nothing but reflection: it finds services and messages as
grpcurl does."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

REFLECTION = "grpc.reflection.v1alpha.ServerReflection"


def reflection_messages():
    """Returns (request, response) classes: the few fields used here."""
    file = descriptor_pb2.FileDescriptorProto(
        name="reflection.proto", package="reflected", syntax="proto3")

    def message(name, *fields):
        kind = file.message_type.add(name=name)
        for field, number, label, type_name in fields:
            kind.field.add(
                name=field, number=number,
                label=label, type_name=type_name or None,
                type=(descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
                      if type_name else
                      descriptor_pb2.FieldDescriptorProto.TYPE_BYTES))
    one = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
    many = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
    message("Request", ("file_by_filename", 3, one, ""),
            ("file_containing_symbol", 4, one, ""),
            ("list_services", 7, one, ""))
    message("Files", ("files", 1, many, ""))
    message("Service", ("name", 1, one, ""))
    message("Services", ("services", 1, many, ".reflected.Service"))
    message("Response", ("files", 4, one, ".reflected.Files"),
            ("services", 6, one, ".reflected.Services"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"reflected.{name}"))
        for name in ("Request", "Response")]


Request, Response = reflection_messages()


class Reflection:
    """`metadata`: sent with each call."""

    def __init__(self, channel, metadata=()):
        self.channel = channel
        self.metadata = metadata
        self.pool = descriptor_pool.DescriptorPool()

    def ask(self, **what):
        call = self.channel.stream_stream(
            f"/{REFLECTION}/ServerReflectionInfo",
            request_serializer=Request.SerializeToString,
            response_deserializer=Response.FromString)
        return next(iter(call(iter([Request(**what)]),
                              metadata=self.metadata)))

    def services(self):
        """Returns the names of the services that are served."""
        return [service.name.decode() for service in
                self.ask(list_services=b"*").services.services]

    def learn(self, files):
        """Adds these files to the pool, those that they import first."""
        for text in files:
            file = descriptor_pb2.FileDescriptorProto.FromString(text)
            for imported in file.dependency:
                try:
                    self.pool.FindFileByName(imported)
                except KeyError:
                    self.learn(self.ask(
                        file_by_filename=imported.encode()).files.files)
            self.pool.Add(file)

    def service(self, name):
        """Returns its descriptor."""
        try:
            return self.pool.FindServiceByName(name)
        except KeyError:
            self.learn(self.ask(
                file_containing_symbol=name.encode()).files.files)
            return self.pool.FindServiceByName(name)
