// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/boosting.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <type_traits>

namespace tc::tuner {

namespace {

// Of LightGBM's c_api.h.
constexpr int kFloat32 = 0, kFloat64 = 1;
constexpr int kPredictNormal = 0;
using Handle = void*;

constexpr const char* kLibrary = "lib_lightgbm.so";
constexpr const char* kInPackage = "/lightgbm/lib/lib_lightgbm.so";
constexpr int kTrees = 80;
/// Few samples, so small trees and small leaves; one thread and no sampling, so always the same.
constexpr const char* kParameters =
    "objective=regression learning_rate=0.12 num_leaves=12 min_data_in_leaf=3 min_data_in_bin=1 "
    "lambda_l2=0.5 feature_pre_filter=false deterministic=true force_row_wise=true num_threads=1 "
    "seed=1 verbosity=-1";

struct Api {
  int (*dataset_create)(const void*, int, std::int32_t, std::int32_t, int, const char*, Handle,
                        Handle*) = nullptr;
  int (*dataset_set_field)(Handle, const char*, const void*, int, int) = nullptr;
  int (*dataset_free)(Handle) = nullptr;
  int (*booster_create)(Handle, const char*, Handle*) = nullptr;
  int (*booster_update)(Handle, int*) = nullptr;
  int (*booster_predict)(Handle, const void*, int, std::int32_t, std::int32_t, int, int, int, int,
                         const char*, std::int64_t*, double*) = nullptr;
  int (*booster_free)(Handle) = nullptr;
};

template <class F>
bool resolve(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool resolve(void* library, Api& api) {
  return resolve(library, "LGBM_DatasetCreateFromMat", api.dataset_create) &&
         resolve(library, "LGBM_DatasetSetField", api.dataset_set_field) &&
         resolve(library, "LGBM_DatasetFree", api.dataset_free) &&
         resolve(library, "LGBM_BoosterCreate", api.booster_create) &&
         resolve(library, "LGBM_BoosterUpdateOneIter", api.booster_update) &&
         resolve(library, "LGBM_BoosterPredictForMat", api.booster_predict) &&
         resolve(library, "LGBM_BoosterFree", api.booster_free);
}

/// Gives a handle of the library back.
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, int (*)(Handle)>;

std::vector<double> flattened(const std::vector<std::vector<double>>& rows) {
  std::vector<double> flat;
  for (const std::vector<double>& row : rows)
    flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

class LightGbm final : public Regressor {
public:
  explicit LightGbm(const Api& api) : api_(api) {}

  std::vector<double> predict(const std::vector<std::vector<double>>& samples,
                              const std::vector<double>& values,
                              const std::vector<std::vector<double>>& queries) const override {
    if (samples.empty() || queries.empty()) return {};
    const auto columns = static_cast<std::int32_t>(samples.front().size());
    const std::vector<double> matrix = flattened(samples);
    Handle handle = nullptr;
    if (api_.dataset_create(matrix.data(), kFloat64, static_cast<std::int32_t>(samples.size()),
                            columns, 1, kParameters, nullptr, &handle) != 0)
      return {};
    const Owned dataset(handle, api_.dataset_free);
    const std::vector<float> labels(values.begin(), values.end());
    if (api_.dataset_set_field(dataset.get(), "label", labels.data(),
                               static_cast<int>(labels.size()), kFloat32) != 0 ||
        api_.booster_create(dataset.get(), kParameters, &handle) != 0)
      return {};
    const Owned booster(handle, api_.booster_free);
    for (int tree = 0, is_finished = 0; tree < kTrees && is_finished == 0; ++tree) {
      if (api_.booster_update(booster.get(), &is_finished) != 0) return {};
    }
    const std::vector<double> asked = flattened(queries);
    std::vector<double> predictions(queries.size());
    std::int64_t length = 0;
    if (api_.booster_predict(booster.get(), asked.data(), kFloat64,
                             static_cast<std::int32_t>(queries.size()), columns, 1, kPredictNormal,
                             0, -1, kParameters, &length, predictions.data()) != 0 ||
        length != static_cast<std::int64_t>(queries.size()))
      return {};
    return predictions;
  }

private:
  Api api_;
};

}  // namespace

Result<std::shared_ptr<const Regressor>, std::string>
open_lightgbm(const std::string& file, const std::vector<std::string>& site_packages) {
  std::vector<std::string> places;
  if (!file.empty()) {
    places.push_back(file);
  } else {
    for (const std::string& folder : site_packages)
      places.push_back(folder + kInPackage);
    places.emplace_back(kLibrary);
  }
  std::string why;
  for (const std::string& place : places) {
    // Never closed: its threads may outlive any use.
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    Api api;
    if (library != nullptr && resolve(library, api))
      return std::shared_ptr<const Regressor>(std::make_shared<LightGbm>(api));
    why = library == nullptr ? dlerror() : place + ": not the C interface that is known";
  }
  return fmt::format("LightGBM was not found ({})", why);
}

}  // namespace tc::tuner
