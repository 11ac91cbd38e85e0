// SPDX-License-Identifier: Apache-2.0
//
// Finding and loading NVRTC.
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>

#include "tc/runtime/cuda/nvrtc.h"

namespace tc::runtime::cuda {
namespace {

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
constexpr int kMinimumMajor = 12;
/// Folders of a toolkit's root, a conda prefix or a wheel that hold libraries.
constexpr const char* kLibraryFolders[] = {"", "/lib64", "/lib", "/targets/x86_64-linux/lib",
                                           "/targets/sbsa-linux/lib"};

bool exists(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0;
}
bool is_file(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Names in a folder that start with `prefix`, highest first; none if there is no such folder.
std::vector<std::string> entries(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> names;
  if (DIR* directory = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(directory))
      if (std::string_view(entry->d_name).substr(0, prefix.size()) == prefix)
        names.emplace_back(entry->d_name);
    closedir(directory);
  }
  std::sort(names.rbegin(), names.rend());
  return names;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// Files of the libraries of this process whose name starts with one of the names that come with
/// CUDA.
std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  const auto collect = [](dl_phdr_info* info, std::size_t, void* data) {
    const std::string path = info->dlpi_name;
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    for (const std::string_view prefix : {"libnvrtc.so", "libcudart", "libtorch"})
      if (name.substr(0, prefix.size()) == prefix)
        static_cast<std::vector<std::string>*>(data)->push_back(path);
    return 0;
  };
  dl_iterate_phdr(collect, &paths);
  return paths;
}

class Search {
public:
  /// Places of a toolkit's root or folder of libraries.
  void root(const std::string& root) {
    for (const char* below : kLibraryFolders)
      folder(root + below);
  }
  void folder(const std::string& folder) {
    if (!seen(folder)) folders_.push_back(folder);
  }
  /// Wheels of NVIDIA, newest CUDA first, and the conda environment around.
  void site_packages(const std::string& site) {
    for (const std::string& name : entries(site + "/nvidia", "cu"))
      folder(site + "/nvidia/" + name + "/lib");
    if (const std::string prefix = folder_of(folder_of(site)); !prefix.empty()) folder(prefix);
    bare_sites_.push_back(site);
  }
  /// Candidates for dlopen: full paths, or bare names for the loader.
  std::vector<std::string> files() const {
    std::vector<std::string> files;
    for (const std::string& folder : folders_)
      for (const char* name : kNames)
        if (exists(folder + "/" + name)) files.push_back(folder + "/" + name);
    return files;
  }
  std::string looked() const {
    std::string text;
    for (const std::string& folder : folders_)
      text += "\n  " + folder;
    for (const std::string& site : bare_sites_)
      text += "\n  " + site + "/nvidia/*/lib";
    return text;
  }

private:
  bool seen(const std::string& folder) const {
    return std::find(folders_.begin(), folders_.end(), folder) != folders_.end();
  }

  std::vector<std::string> folders_;
  std::vector<std::string> bare_sites_;
};

template <class Function>
bool resolve(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool resolve_all(void* library, NvrtcApi& api) {
  return resolve(library, api.get_error_string, "nvrtcGetErrorString") &&
         resolve(library, api.version, "nvrtcVersion") &&
         resolve(library, api.get_num_supported_archs, "nvrtcGetNumSupportedArchs") &&
         resolve(library, api.get_supported_archs, "nvrtcGetSupportedArchs") &&
         resolve(library, api.create_program, "nvrtcCreateProgram") &&
         resolve(library, api.destroy_program, "nvrtcDestroyProgram") &&
         resolve(library, api.compile_program, "nvrtcCompileProgram") &&
         resolve(library, api.get_log_size, "nvrtcGetProgramLogSize") &&
         resolve(library, api.get_log, "nvrtcGetProgramLog") &&
         resolve(library, api.get_ptx_size, "nvrtcGetPTXSize") &&
         resolve(library, api.get_ptx, "nvrtcGetPTX") &&
         resolve(library, api.get_cubin_size, "nvrtcGetCUBINSize") &&
         resolve(library, api.get_cubin, "nvrtcGetCUBIN");
}

/// The builtins lie beside NVRTC, but some releases only find them on the loader's path: loaded
/// here by file, they are found by name.
void load_builtins(const std::string& path, int major, int minor) {
  const std::string folder = folder_of(path);
  if (folder.empty()) return;
  const std::string file = fmt::format("{}/libnvrtc-builtins.so.{}.{}", folder, major, minor);
  if (exists(file)) dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

struct Opened {
  NvrtcApi api{};
  std::string path;
  int major = 0, minor = 0;
  std::vector<int> archs;
};

/// Opens one candidate; the reason if it is of no use.
Result<Opened, std::string> open_candidate(const std::string& file, int driver_version) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return std::string(reason != nullptr ? reason : "it does not load");
  }
  Opened opened;
  const auto give_up = [&](std::string reason) {
    dlclose(library);
    return reason;
  };
  if (!resolve(library, opened.api.version, "nvrtcVersion") ||
      opened.api.version(&opened.major, &opened.minor) != NvrtcResult::Success)
    return give_up("it is no NVRTC");
  if (opened.major < kMinimumMajor)
    return give_up(fmt::format("it is version {}.{}, {}.0 or newer is needed", opened.major,
                               opened.minor, kMinimumMajor));
  if (driver_version > 0 && opened.major > driver_version / 1000)
    return give_up(fmt::format("it is version {}.{}, the driver supports CUDA {}.{}; update the "
                               "driver or install NVRTC {}",
                               opened.major, opened.minor, driver_version / 1000,
                               driver_version % 1000 / 10, driver_version / 1000));
  int count = 0;
  if (!resolve_all(library, opened.api) ||
      opened.api.get_num_supported_archs(&count) != NvrtcResult::Success || count <= 0)
    return give_up("it lacks entry points");
  opened.archs.resize(static_cast<std::size_t>(count));
  if (opened.api.get_supported_archs(opened.archs.data()) != NvrtcResult::Success)
    return give_up("it does not say what it compiles for");
  std::sort(opened.archs.begin(), opened.archs.end());
  // Where the loader found it, for messages and for what lies beside it.
  Dl_info info{};
  opened.path =
      dladdr(reinterpret_cast<void*>(opened.api.version), &info) != 0 && info.dli_fname != nullptr
          ? info.dli_fname
          : file;
  load_builtins(opened.path, opened.major, opened.minor);
  return opened;
}

}  // namespace

Result<std::shared_ptr<const Nvrtc>, Rejection> Nvrtc::open(const NvrtcSearch& search) {
  Search places;
  std::vector<std::string> candidates;
  std::string problems;
  if (!search.cuda_path.empty()) {
    if (is_file(search.cuda_path))
      candidates.push_back(search.cuda_path);
    else if (!exists(search.cuda_path))
      problems += fmt::format("\n  TC_CUDA_PATH={}: no such file or folder", search.cuda_path);
    else
      places.root(search.cuda_path);
  } else {
    if (search.system) {
      for (const std::string& path : loaded_libraries()) {
        places.folder(folder_of(path));
        // torch/lib lies in the folder of packages that holds the wheels of its CUDA.
        if (path.find("/torch/lib/") != std::string::npos)
          places.site_packages(folder_of(folder_of(folder_of(path))));
      }
    }
    for (const std::string& site : search.site_packages)
      places.site_packages(site);
    if (search.system) {
      candidates = places.files();
      for (const char* name : kNames)
        candidates.emplace_back(name);
      places.root("/usr/local/cuda");
      for (const std::string& name : entries("/usr/local", "cuda-"))
        places.root("/usr/local/" + name);
      places.root("/opt/cuda");
    }
  }
  for (const std::string& file : places.files())
    if (std::find(candidates.begin(), candidates.end(), file) == candidates.end())
      candidates.push_back(file);
  for (const std::string& file : candidates) {
    auto opened = open_candidate(file, search.driver_version);
    if (!opened) {
      problems += fmt::format("\n  {}: {}", file, opened.error());
      continue;
    }
    std::shared_ptr<Nvrtc> nvrtc(new Nvrtc());
    nvrtc->api_ = opened->api;
    nvrtc->path_ = std::move(opened->path);
    nvrtc->major_ = opened->major;
    nvrtc->minor_ = opened->minor;
    nvrtc->archs_ = std::move(opened->archs);
    return std::shared_ptr<const Nvrtc>(std::move(nvrtc));
  }
  return Rejection{
      RejectionKind::TargetMissing,
      fmt::format("NVRTC (libnvrtc.so.12 or .13), which compiles kernels for CUDA, was "
                  "not found; 'pip install nvidia-cuda-nvrtc' brings it, and "
                  "TC_CUDA_PATH names another place.{}{}{}{}",
                  problems.empty() ? "" : "\nTried:", problems,
                  places.looked().empty() ? "" : "\nLooked in:", places.looked())};
}

}  // namespace tc::runtime::cuda
