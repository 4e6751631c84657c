// ConnectionBounds says how many connections of gRPC there may be at once.
//
// Thread safety: plain values.
#ifndef FERRY_SERVER_NET_CONNECTION_BOUNDS_H_
#define FERRY_SERVER_NET_CONNECTION_BOUNDS_H_

namespace ferry {

// 0: no bound but that of the descriptors.
struct ConnectionBounds {
  int all = 0;
  int of_peer = 0;  // an IPv4 address, or an IPv6 network of 64 bits

  bool has_any() const { return all > 0 || of_peer > 0; }
};

}  // namespace ferry

#endif  // FERRY_SERVER_NET_CONNECTION_BOUNDS_H_
