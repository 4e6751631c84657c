// KernelNames lists the names of the kernels that a recorded graph launches.
//
// Thread safety: free function.
#ifndef FERRY_TESTS_GPU_GRAPH_KERNELS_H_
#define FERRY_TESTS_GPU_GRAPH_KERNELS_H_

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ferry {

// A function of the driver, so that the test needs none to be linked.
template <typename Function>
Function DriverFunction(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = {};
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &found, 12030,
                                             cudaEnableDefault, &result),
            cudaSuccess);
  EXPECT_EQ(result, cudaDriverEntryPointSuccess) << name;
  return reinterpret_cast<Function>(found);
}

inline std::vector<std::string> KernelNames(cudaGraph_t graph) {
  using GetParams =
      CUresult (*)(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS * params);
  using GetName = CUresult (*)(const char** name, CUfunction function);
  using GetKernelName = CUresult (*)(const char** name, CUkernel kernel);
  const auto get_params =
      DriverFunction<GetParams>("cuGraphKernelNodeGetParams");
  const auto get_name = DriverFunction<GetName>("cuFuncGetName");
  const auto get_kernel_name = DriverFunction<GetKernelName>("cuKernelGetName");
  size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  std::vector<std::string> names;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = {};
    EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
    if (type != cudaGraphNodeTypeKernel) {
      continue;
    }
    CUDA_KERNEL_NODE_PARAMS params = {};
    EXPECT_EQ(get_params(node, &params), CUDA_SUCCESS);
    const char* name = "";
    EXPECT_EQ(params.func != nullptr ? get_name(&name, params.func)
                                     : get_kernel_name(&name, params.kern),
              CUDA_SUCCESS);
    names.emplace_back(name);
  }
  return names;
}

}  // namespace ferry

#endif  // FERRY_TESTS_GPU_GRAPH_KERNELS_H_
