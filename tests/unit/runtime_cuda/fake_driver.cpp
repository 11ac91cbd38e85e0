// SPDX-License-Identifier: Apache-2.0
#include "fake_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <sstream>
#include <string_view>

namespace {

constexpr int kInvalidValue = 1;
constexpr int kInvalidContext = 201;
constexpr int kNotFound = 500;
constexpr int kCaptureUnsupported = 900;
constexpr std::align_val_t kBlockAlignment{256};

struct Failing {
  int code, after, times;
};
struct FakeModule {
  int device;
};
struct FakeFunction {
  FakeModule* module;
  std::string name;
};

struct State {
  std::mutex mutex;
  fake::Settings settings;
  std::map<std::string, Failing> failing;
  std::map<std::string, int> counts;
  std::vector<std::string> calls, violations;
  std::vector<fake::Launch> launches;
  std::map<std::pair<std::string, int>, int> attributes;
  std::map<std::string, std::set<void*>> alive;
  std::vector<std::unique_ptr<FakeFunction>> functions;
  std::vector<int> retained;
  std::map<std::uintptr_t, std::pair<std::size_t, int>> blocks;  // by address: bytes, device
  std::array<char, 64> contexts{};                               // their addresses are the handles
  int all = 0;
  int capturing = 0;  // streams
};

/// What a program that knows nothing of this file sees: TC_FAKE_CUDA_STANDALONE=1. Its calls of one
/// entry point fail with TC_FAKE_CUDA_FAIL="entry code after".
fake::Settings standalone() {
  const char* asked = std::getenv("TC_FAKE_CUDA_STANDALONE");
  if (asked == nullptr || std::string_view(asked) != "1") return {};
  return {.free_bytes = std::size_t{1} << 30, .has_every_kernel = true, .owns_its_blocks = true};
}

State& state() {
  // Never destroyed: modules at the end of the process still call.
  static auto* const value = [] {
    auto* made = new State();
    made->settings = standalone();
    if (const char* failing = std::getenv("TC_FAKE_CUDA_FAIL")) {
      std::istringstream words(failing);
      std::string entry;
      int code = 0, after = 0;
      words >> entry >> code >> after;
      made->failing[entry] = {code, after, -1};
    }
    return made;
  }();
  return *value;
}

thread_local std::vector<void*> context_stack;
thread_local int capture_mode = 0;

int device_of(const void* context) {
  if (context == nullptr) return -1;
  return static_cast<int>(static_cast<const char*>(context) - state().contexts.data());
}

int current() {
  return context_stack.empty() ? -1 : device_of(context_stack.back());
}

/// Records a call and says whether it fails. The caller holds no lock.
int enter(const std::string& entry) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.calls.push_back(entry);
  const int number = s.counts[entry]++;
  if (s.all != 0) return s.all;
  const auto found = s.failing.find(entry);
  if (found == s.failing.end()) return 0;
  const Failing& failing = found->second;
  const bool fails =
      number >= failing.after && (failing.times < 0 || number < failing.after + failing.times);
  return fails ? failing.code : 0;
}

void violate(const std::string& what) {
  const std::lock_guard lock(state().mutex);
  state().violations.push_back(what);
}

/// For calls that need a current context.
int enter_in_context(const std::string& entry) {
  if (const int code = enter(entry)) return code;
  if (current() >= 0) return 0;
  violate(entry + " without a context");
  return kInvalidContext;
}

/// For calls that capture forbids to threads in global or thread-local mode.
int enter_unsafe(const std::string& entry) {
  if (const int code = enter_in_context(entry)) return code;
  if (state().capturing == 0 || capture_mode == 2) return 0;
  violate(entry + " during capture");
  return kCaptureUnsupported;
}

template <class Handle>
int make(const std::string& kind, Handle** out) {
  auto* handle = new char;
  const std::lock_guard lock(state().mutex);
  state().alive[kind].insert(handle);
  *out = reinterpret_cast<Handle*>(handle);
  return 0;
}

int destroy(const std::string& kind, void* handle) {
  const std::lock_guard lock(state().mutex);
  if (state().alive[kind].erase(handle) == 0) {
    state().violations.push_back("destroying an unknown " + kind);
    return kInvalidValue;
  }
  delete static_cast<char*>(handle);
  return 0;
}

// Layouts of the driver's interface, written down once more so that a mistake in the room shows.
struct AttributeWords {
  std::uint32_t id, pad;
  std::uint32_t words[16];
};
struct ConfigWords {
  std::uint32_t grid[3], block[3];
  std::uint32_t shared;
  void* stream;
  AttributeWords* attributes;
  std::uint32_t count;
};

int get_error_name(int code, const char** out) {
  static const std::map<int, const char*> names = {{2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                   {100, "CUDA_ERROR_NO_DEVICE"},
                                                   {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
  const auto found = names.find(code);
  *out = found == names.end() ? nullptr : found->second;
  return found == names.end() ? kInvalidValue : 0;
}
int get_error_string(int code, const char** out) {
  *out = code == 2 ? "out of memory" : nullptr;
  return code == 2 ? 0 : kInvalidValue;
}

int init(unsigned) {
  return enter("cuInit");
}
int device_get_count(int* count) {
  *count = static_cast<int>(state().settings.devices.size());
  return enter("cuDeviceGetCount");
}
int device_get(int* device, int ordinal) {
  *device = ordinal + 100;  // a handle is no ordinal
  return enter("cuDeviceGet");
}
const fake::Device& facts(int device) {
  return state().settings.devices.at(static_cast<std::size_t>(device - 100));
}
int device_get_name(char* name, int size, int device) {
  std::strncpy(name, facts(device).name.c_str(), static_cast<std::size_t>(size));
  return enter("cuDeviceGetName");
}
int device_get_attribute(int* value, int attribute, int device) {
  const auto& known = facts(device).attributes;
  const auto found = known.find(attribute);
  *value = found == known.end() ? 0 : found->second;
  const int code = enter("cuDeviceGetAttribute");
  return code != 0 ? code : found == known.end() ? kInvalidValue : 0;
}
int device_total_mem(std::size_t* bytes, int device) {
  *bytes = facts(device).memory;
  return enter("cuDeviceTotalMem");
}

int primary_context_retain(void** context, int device) {
  if (const int code = enter("cuDevicePrimaryCtxRetain")) return code;
  const std::lock_guard lock(state().mutex);
  state().retained.push_back(device - 100);
  *context = &state().contexts[static_cast<std::size_t>(device - 100)];
  return 0;
}
int primary_context_release(int device) {
  if (const int code = enter("cuDevicePrimaryCtxRelease")) return code;
  const std::lock_guard lock(state().mutex);
  auto& retained = state().retained;
  const auto found = std::find(retained.begin(), retained.end(), device - 100);
  if (found == retained.end()) {
    state().violations.push_back("releasing a context that is not retained");
    return kInvalidValue;
  }
  retained.erase(found);
  return 0;
}
int context_get_current(void** context) {
  *context = context_stack.empty() ? nullptr : context_stack.back();
  return enter("cuCtxGetCurrent");
}
int context_push(void* context) {
  if (const int code = enter("cuCtxPushCurrent")) return code;
  context_stack.push_back(context);
  return 0;
}
int context_pop(void** context) {
  if (const int code = enter("cuCtxPopCurrent")) return code;
  if (context_stack.empty()) {
    violate("popping no context");
    return kInvalidContext;
  }
  *context = context_stack.back();
  context_stack.pop_back();
  return 0;
}
int exchange_capture_mode(int* mode) {
  std::swap(*mode, capture_mode);
  return enter("cuThreadExchangeStreamCaptureMode");
}

/// An image is the names of its kernels, separated by spaces. A compiled one has every kernel: "*".
std::map<void*, std::string>& images() {
  static auto* const value = new std::map<void*, std::string>();
  return *value;
}

int module_load_data(void** module, const void* image, unsigned count, const int* options,
                     void** values) {
  if (const int code = enter_unsafe("cuModuleLoadDataEx")) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5) std::strcpy(static_cast<char*>(values[i]), "the image is odd");
    return code;
  }
  auto* made = new FakeModule{current()};
  const std::lock_guard lock(state().mutex);
  state().alive["module"].insert(made);
  const auto* text = static_cast<const char*>(image);
  images()[made] = std::strncmp(text, "\177ELF", 4) == 0 ? "*" : text;
  *module = made;
  return 0;
}
int module_unload(void* module) {
  if (const int code = enter_unsafe("cuModuleUnload")) return code;
  if (static_cast<FakeModule*>(module)->device != current())
    violate("unloading in a wrong context");
  const std::lock_guard lock(state().mutex);
  if (state().alive["module"].erase(module) == 0) {
    state().violations.push_back("unloading twice");
    return kInvalidValue;
  }
  return 0;  // the object stays, so that a late launch is noticed
}
int module_get_function(void** function, void* module, const char* name) {
  if (const int code = enter_in_context("cuModuleGetFunction")) return code;
  const std::lock_guard lock(state().mutex);
  std::string known = state().settings.has_every_kernel ? name : images()[module];
  std::istringstream names(std::move(known));
  for (std::string word; names >> word;) {
    if (word != name && word != "*") continue;
    state().functions.push_back(
        std::make_unique<FakeFunction>(FakeFunction{static_cast<FakeModule*>(module), name}));
    *function = state().functions.back().get();
    return 0;
  }
  return kNotFound;
}
int function_load(void*) {
  return enter_unsafe("cuFuncLoad");
}
fake::Function function_facts(void* function) {
  const std::lock_guard lock(state().mutex);
  const auto& known = state().settings.functions;
  const auto found = known.find(static_cast<FakeFunction*>(function)->name);
  return found == known.end() ? fake::Function{} : found->second;
}
int function_get_attribute(int* value, int attribute, void* function) {
  const fake::Function known = function_facts(function);
  *value = attribute == 1 ? known.static_shared : attribute == 0 ? known.max_threads : 0;
  return enter("cuFuncGetAttribute");
}
int function_set_attribute(void* function, int attribute, int value) {
  if (const int code = enter_unsafe("cuFuncSetAttribute")) return code;
  const std::lock_guard lock(state().mutex);
  state().attributes[{static_cast<FakeFunction*>(function)->name, attribute}] = value;
  return 0;
}
int max_active_blocks(int* blocks, void* function, int, std::size_t) {
  *blocks = function_facts(function).active_blocks;
  return enter_in_context("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

int launch(const ConfigWords* config, void* function, void** parameters, void** extra) {
  if (const int code = enter_in_context("cuLaunchKernelEx")) return code;
  const auto* known = static_cast<FakeFunction*>(function);
  const std::lock_guard lock(state().mutex);
  const auto broken = [&](const std::string& what) {
    state().violations.push_back(what);
    return kInvalidValue;
  };
  if (known->module->device != current()) return broken("launching in a wrong context");
  if (state().alive["module"].count(known->module) == 0)
    return broken("launching what is unloaded");
  if (parameters != nullptr || extra == nullptr || extra[0] != reinterpret_cast<void*>(1) ||
      extra[2] != reinterpret_cast<void*>(2) || extra[4] != nullptr)
    return broken("parameters in another form");
  fake::Launch made;
  made.kernel = known->name;
  made.device = current();
  std::copy_n(config->grid, 3, made.grid.begin());
  std::copy_n(config->block, 3, made.block.begin());
  made.dynamic_shared = config->shared;
  made.stream = config->stream;
  for (std::uint32_t i = 0; i < config->count; ++i) {
    const AttributeWords& attribute = config->attributes[i];
    if (attribute.id == 2) made.cooperative = attribute.words[0] != 0;
    if (attribute.id == 4) std::copy_n(attribute.words, 3, made.cluster.begin());
  }
  made.parameters.resize(*static_cast<std::size_t*>(extra[3]) / 8);
  if (!made.parameters.empty())
    std::memcpy(made.parameters.data(), extra[1], 8 * made.parameters.size());
  state().launches.push_back(std::move(made));
  return 0;
}

int memory_info(std::size_t* free_bytes, std::size_t* total) {
  *free_bytes = state().settings.free_bytes;
  *total = 2 * *free_bytes;
  return enter_in_context("cuMemGetInfo");
}
int memory_alloc(unsigned long long* address, std::size_t bytes) {
  if (const int code = enter_unsafe("cuMemAlloc")) return code;
  auto* block = static_cast<char*>(::operator new[](bytes, kBlockAlignment));
  const std::lock_guard lock(state().mutex);
  state().alive["memory"].insert(block);
  state().blocks[reinterpret_cast<std::uintptr_t>(block)] = {bytes, current()};
  *address = reinterpret_cast<unsigned long long>(block);
  return 0;
}
int memory_free(unsigned long long address) {
  if (const int code = enter_unsafe("cuMemFree")) return code;
  auto* block = reinterpret_cast<char*>(address);
  const std::lock_guard lock(state().mutex);
  if (state().alive["memory"].erase(block) == 0) {
    state().violations.push_back("freeing unknown memory");
    return kInvalidValue;
  }
  state().blocks.erase(reinterpret_cast<std::uintptr_t>(block));
  ::operator delete[](block, kBlockAlignment);
  return 0;
}
int host_alloc(void** address, std::size_t bytes, unsigned) {
  if (const int code = enter_unsafe("cuMemHostAlloc")) return code;
  auto* block = static_cast<char*>(::operator new[](bytes, kBlockAlignment));
  const std::lock_guard lock(state().mutex);
  state().alive["host memory"].insert(block);
  *address = block;
  return 0;
}
int host_free(void* address) {
  if (const int code = enter_unsafe("cuMemFreeHost")) return code;
  const std::lock_guard lock(state().mutex);
  if (state().alive["host memory"].erase(static_cast<char*>(address)) == 0) {
    state().violations.push_back("freeing unknown memory of the host");
    return kInvalidValue;
  }
  ::operator delete[](static_cast<char*>(address), kBlockAlignment);
  return 0;
}
int pointer_get_attribute(void* value, int attribute, unsigned long long address) {
  if (const int code = enter_in_context("cuPointerGetAttribute")) return code;
  const std::lock_guard lock(state().mutex);
  std::vector<fake::Memory> memories = state().settings.memory;
  if (state().settings.owns_its_blocks) {
    for (const auto& [begin, block] : state().blocks)
      memories.push_back({begin, begin + block.first, block.second});
  }
  for (const fake::Memory& memory : memories) {
    if (address < memory.begin || address >= memory.end) continue;
    // The driver writes 4 bytes for each of these.
    const int written = attribute == 2   ? static_cast<int>(memory.type)
                        : attribute == 8 ? static_cast<int>(memory.is_managed)
                        : attribute == 9 ? memory.device
                                         : -1;
    std::memcpy(value, &written, sizeof written);
    return written < 0 && attribute != 9 ? kInvalidValue : 0;
  }
  return kInvalidValue;
}
int copy_to_device(unsigned long long to, const void* from, std::size_t bytes, void*) {
  if (const int code = enter_in_context("cuMemcpyHtoDAsync")) return code;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int copy_to_host(void* to, unsigned long long from, std::size_t bytes, void*) {
  if (const int code = enter_in_context("cuMemcpyDtoHAsync")) return code;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int fill_bytes(unsigned long long to, unsigned char value, std::size_t bytes, void*) {
  if (const int code = enter_in_context("cuMemsetD8Async")) return code;
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return 0;
}

int stream_create(void** stream, unsigned) {
  if (const int code = enter_in_context("cuStreamCreate")) return code;
  return make("stream", reinterpret_cast<char**>(stream));
}
int stream_destroy(void* stream) {
  if (const int code = enter_in_context("cuStreamDestroy")) return code;
  return destroy("stream", stream);
}
int stream_synchronize(void*) {
  return enter_unsafe("cuStreamSynchronize");
}
int stream_begin_capture(void*, int) {
  if (const int code = enter_in_context("cuStreamBeginCapture")) return code;
  ++state().capturing;
  return 0;
}
int stream_end_capture(void*, void** graph) {
  --state().capturing;
  if (const int code = enter_in_context("cuStreamEndCapture")) return code;
  return make("graph", reinterpret_cast<char**>(graph));
}
int event_create(void** event, unsigned) {
  if (const int code = enter_in_context("cuEventCreate")) return code;
  return make("event", reinterpret_cast<char**>(event));
}
int event_destroy(void* event) {
  if (const int code = enter_in_context("cuEventDestroy")) return code;
  return destroy("event", event);
}
int event_record(void*, void*) {
  return enter_in_context("cuEventRecord");
}
int event_synchronize(void*) {
  return enter_unsafe("cuEventSynchronize");
}
int event_elapsed(float* milliseconds, void*, void*) {
  *milliseconds = state().settings.replay_ms;
  return enter_in_context("cuEventElapsedTime");
}
int graph_instantiate(void** exec, void*, unsigned long long) {
  if (const int code = enter_in_context("cuGraphInstantiateWithFlags")) return code;
  return make("graph exec", reinterpret_cast<char**>(exec));
}
int graph_launch(void*, void*) {
  return enter_in_context("cuGraphLaunch");
}
int graph_exec_destroy(void* exec) {
  if (const int code = enter("cuGraphExecDestroy")) return code;
  return destroy("graph exec", exec);
}
int graph_destroy(void* graph) {
  if (const int code = enter("cuGraphDestroy")) return code;
  return destroy("graph", graph);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

const std::map<std::string, void*>& entries() {
  static const std::map<std::string, void*> table = {
      {"cuGetErrorName", address(get_error_name)},
      {"cuGetErrorString", address(get_error_string)},
      {"cuInit", address(init)},
      {"cuDeviceGetCount", address(device_get_count)},
      {"cuDeviceGet", address(device_get)},
      {"cuDeviceGetName", address(device_get_name)},
      {"cuDeviceGetAttribute", address(device_get_attribute)},
      {"cuDeviceTotalMem", address(device_total_mem)},
      {"cuDevicePrimaryCtxRetain", address(primary_context_retain)},
      {"cuDevicePrimaryCtxRelease", address(primary_context_release)},
      {"cuCtxGetCurrent", address(context_get_current)},
      {"cuCtxPushCurrent", address(context_push)},
      {"cuCtxPopCurrent", address(context_pop)},
      {"cuThreadExchangeStreamCaptureMode", address(exchange_capture_mode)},
      {"cuModuleLoadDataEx", address(module_load_data)},
      {"cuModuleUnload", address(module_unload)},
      {"cuModuleGetFunction", address(module_get_function)},
      {"cuFuncLoad", address(function_load)},
      {"cuFuncGetAttribute", address(function_get_attribute)},
      {"cuFuncSetAttribute", address(function_set_attribute)},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", address(max_active_blocks)},
      {"cuLaunchKernelEx", address(launch)},
      {"cuMemGetInfo", address(memory_info)},
      {"cuMemAlloc", address(memory_alloc)},
      {"cuMemFree", address(memory_free)},
      {"cuMemHostAlloc", address(host_alloc)},
      {"cuMemFreeHost", address(host_free)},
      {"cuPointerGetAttribute", address(pointer_get_attribute)},
      {"cuMemcpyHtoDAsync", address(copy_to_device)},
      {"cuMemcpyDtoHAsync", address(copy_to_host)},
      {"cuMemsetD8Async", address(fill_bytes)},
      {"cuStreamCreate", address(stream_create)},
      {"cuStreamDestroy", address(stream_destroy)},
      {"cuStreamSynchronize", address(stream_synchronize)},
      {"cuStreamBeginCapture", address(stream_begin_capture)},
      {"cuStreamEndCapture", address(stream_end_capture)},
      {"cuEventCreate", address(event_create)},
      {"cuEventDestroy", address(event_destroy)},
      {"cuEventRecord", address(event_record)},
      {"cuEventSynchronize", address(event_synchronize)},
      {"cuEventElapsedTime", address(event_elapsed)},
      {"cuGraphInstantiateWithFlags", address(graph_instantiate)},
      {"cuGraphLaunch", address(graph_launch)},
      {"cuGraphExecDestroy", address(graph_exec_destroy)},
      {"cuGraphDestroy", address(graph_destroy)},
  };
  return table;
}

}  // namespace

extern "C" int cuDriverGetVersion(int* version);
extern "C" int cuGetProcAddress_v2(const char* name, void** function, int version,
                                   std::uint64_t flags, int* status);

extern "C" int cuDriverGetVersion(int* version) {
  *version = state().settings.version;
  return state().settings.version_result;
}

extern "C" int cuGetProcAddress_v2(const char* name, void** function, int version,
                                   std::uint64_t flags, int*) {
  const auto found = entries().find(name);
  const auto& lacking = state().settings.lacking;
  if (found == entries().end() || version > state().settings.version || flags != 1 ||
      std::find(lacking.begin(), lacking.end(), name) != lacking.end()) {
    *function = nullptr;
    return kNotFound;
  }
  *function = found->second;
  return 0;
}

namespace fake {

Device hopper() {
  Device device;
  device.attributes = {{1, 1024},     {12, 65536},  {13, 1980000},  {16, 132},  {20, 0},
                       {36, 3201000}, {37, 6144},   {38, 62914560}, {39, 2048}, {75, 9},
                       {76, 0},       {81, 233472}, {82, 65536},    {95, 1},    {97, 232448},
                       {111, 1024},   {120, 1}};
  return device;
}

void reset(const Settings& settings) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.settings = settings;
  s.failing.clear();
  s.counts.clear();
  s.calls.clear();
  s.violations.clear();
  s.launches.clear();
  s.attributes.clear();
  s.all = 0;
  s.capturing = 0;
  context_stack.clear();
}
void fail(const std::string& entry, int code, int after, int times) {
  const std::lock_guard lock(state().mutex);
  state().failing[entry] = {code, after, times};
}
void fail_all(int code) {
  const std::lock_guard lock(state().mutex);
  state().all = code;
}
std::vector<std::string> calls() {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}
int count(const std::string& entry) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().counts.find(entry);
  return found == state().counts.end() ? 0 : found->second;
}
std::vector<Launch> launches() {
  const std::lock_guard lock(state().mutex);
  return state().launches;
}
int attribute(const std::string& kernel, int attribute) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().attributes.find({kernel, attribute});
  return found == state().attributes.end() ? -1 : found->second;
}
std::vector<std::string> violations() {
  const std::lock_guard lock(state().mutex);
  return state().violations;
}
int alive(const std::string& kind) {
  const std::lock_guard lock(state().mutex);
  if (kind == "context") return static_cast<int>(state().retained.size());
  return static_cast<int>(state().alive[kind].size());
}
std::size_t block_bytes(const void* address) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().blocks.find(reinterpret_cast<std::uintptr_t>(address));
  return found == state().blocks.end() ? 0 : found->second.first;
}
int current_device() {
  return current();
}
void set_current_device(int device) {
  context_stack = {&state().contexts[static_cast<std::size_t>(device)]};
}

}  // namespace fake
