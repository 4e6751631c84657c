// This library stands for libtorch.so and is empty; it is linked with the parts
// of torch for the processor: see models/torch/libtorch_name.h.
