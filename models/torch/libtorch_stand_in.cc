// An empty library that the dynamic loader knows as libtorch.so, linked with
// the parts of torch for the processor: see models/torch/libtorch_name.h.
