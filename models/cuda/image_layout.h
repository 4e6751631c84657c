// ImageLayout says where an element of a batch of images stands, with the
// channels before the pixels or behind them. For device and host code.
//
// Thread safety: plain values.
#ifndef FERRY_MODELS_CUDA_IMAGE_LAYOUT_H_
#define FERRY_MODELS_CUDA_IMAGE_LAYOUT_H_

#include <cstdint>

#include "models/config/normalization.h"

#ifdef __CUDACC__
#define FERRY_HOST_DEVICE __host__ __device__
#else
#define FERRY_HOST_DEVICE
#endif

namespace ferry {

struct ImagePlace {
  int64_t image = 0;
  int32_t channel = 0;
  int64_t pixel = 0;
};

struct ImageLayout {
  int32_t channels = 1;
  int64_t pixels = 0;  // of an image
  ChannelPlace place = ChannelPlace::kFirst;

  FERRY_HOST_DEVICE int64_t image_elements() const { return channels * pixels; }

  FERRY_HOST_DEVICE ImagePlace PlaceOf(int64_t index) const {
    const int64_t image = index / image_elements();
    const int64_t in_image = index - image * image_elements();
    if (place == ChannelPlace::kLast) {
      const int64_t pixel = in_image / channels;
      return {image, static_cast<int32_t>(in_image - pixel * channels), pixel};
    }
    const int64_t channel = in_image / pixels;
    return {image, static_cast<int32_t>(channel), in_image - channel * pixels};
  }

  // The place of the next index, without a division.
  FERRY_HOST_DEVICE ImagePlace After(ImagePlace at) const {
    if (place == ChannelPlace::kLast) {
      if (++at.channel < channels) {
        return at;
      }
      at.channel = 0;
      if (++at.pixel < pixels) {
        return at;
      }
    } else {
      if (++at.pixel < pixels) {
        return at;
      }
      at.pixel = 0;
      if (++at.channel < channels) {
        return at;
      }
    }
    return {at.image + 1, 0, 0};
  }

  FERRY_HOST_DEVICE int64_t IndexOf(const ImagePlace& at) const {
    return at.image * image_elements() + (place == ChannelPlace::kLast
                                              ? at.pixel * channels + at.channel
                                              : at.channel * pixels + at.pixel);
  }
};

}  // namespace ferry

#undef FERRY_HOST_DEVICE

#endif  // FERRY_MODELS_CUDA_IMAGE_LAYOUT_H_
