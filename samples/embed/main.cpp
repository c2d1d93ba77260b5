// SPDX-License-Identifier: Apache-2.0
// A host application: it keeps audio samples, and lets a script work on them. docs/embedding.md
// explains each part.
//
// usage: embed_sample [SCRIPT]
#include <dhpvm/dhpvm.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using namespace std::chrono_literals;

// Without its script this application has nothing to do, so an error at start ends it.
template <typename T>
T need(dhpvm::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "embed_sample: %s\n", result.error().to_string().c_str());
  std::exit(1);
}

std::vector<float> tone(int count) {
  std::vector<float> samples;
  for (int i = 0; i < count; ++i) samples.push_back(0.25f * std::sin(static_cast<float>(i) * 0.05f));
  return samples;
}

const std::map<std::string, double, std::less<>> kSettings = {{"level", 0.8}};

// A class of the application whose objects scripts make and use as their own.
class Mixer {
 public:
  explicit Mixer(double volume) : volume(volume) {}
  void add(std::span<const float> track) {
    if (mix_.size() < track.size()) mix_.resize(track.size());
    for (std::size_t i = 0; i < track.size(); ++i) mix_[i] += static_cast<float>(volume) * track[i];
  }
  double peak() const {
    float most = 0;
    for (const float sample : mix_) most = std::max(most, std::abs(sample));
    return static_cast<double>(most);
  }
  double volume;

 private:
  std::vector<float> mix_;
};

// The functions that scripts may call. Everything else (except the file system, through the standard library) is out
// of their reach.
dhpvm::Status define_host_functions(dhpvm::Engine& engine) {
  DHPVM_TRY(engine.define("host.log", [](std::string_view text) {
    std::printf("script says: %.*s\n", static_cast<int>(text.size()), text.data());
  }));
  dhpvm::HostClass<Mixer> mixer("studio.Mixer");
  mixer.constructor<double>("new_mixer")
      .method("add", &Mixer::add)
      .method("peak", &Mixer::peak)
      .property("volume", &Mixer::volume);
  DHPVM_TRY(engine.define(mixer));
  return engine.define("host.setting", [](std::string_view name) -> dhpvm::Result<double> {
    const auto found = kSettings.find(name);
    if (found != kSettings.end()) return found->second;
    return dhpvm::Error(dhpvm::ErrorCode::kUserTrap, "there is no setting '" + std::string(name) + "'");
  });
}

struct Range {
  float low;
  float high;
};

void call_functions(const dhpvm::Isolate& isolate) {
  // The signature is compared with the script's here, once; calls check nothing.
  const auto normalize = need(isolate.function<double(std::span<float>)>("normalize"));
  std::vector<float> samples = tone(10'000);
  const double factor = need(normalize(samples));  // works on `samples` itself
  std::printf("factor %.3f, sample 31 is now %.3f\n", factor, samples[31]);

  // The members of a struct are those of the script's struct. Const samples cannot be written to.
  const auto range_of = need(isolate.function<Range(std::span<const float>)>("range"));
  const Range range = need(range_of(samples));
  std::printf("range %.3f to %.3f\n", range.low, range.high);
  std::printf("mixed to %.3f\n",
              need(need(isolate.function<double(std::span<const float>)>("mix"))(samples)));
}

void keep_an_object(const dhpvm::Isolate& isolate) {
  const auto new_meter = need(isolate.function<dhpvm::Object()>("new_meter"));
  const auto feed = need(isolate.function<void(const dhpvm::Object&, std::span<const float>)>("feed"));
  const auto level = need(isolate.function<double(const dhpvm::Object&)>("level"));
  const dhpvm::Object meter = need(new_meter());  // lives as long as this handle
  for (int block = 0; block < 10; ++block) {
    if (const dhpvm::Status fed = feed(meter, tone(4'000)); !fed.ok())
      std::printf("%s\n", fed.error().to_string().c_str());
  }
  std::printf("a %s measured a level of %.3f\n", meter.type_name().c_str(), need(level(meter)));
  const auto add = need(meter.method<void(std::span<const float>)>("add"));  // bound to the meter
  if (add(tone(4'000)).ok())
    std::printf("and %d samples\n", static_cast<int>(need(meter.get<std::int64_t>("count"))));
}

// Objects of the script's classes, by names that only the script knows.
void make_objects(const dhpvm::Isolate& isolate) {
  const dhpvm::Object titles = need(isolate.make("List<str>", {0}));
  for (const char* title : {"intro", "theme", "finale"}) need(titles.call<void>("push", {title}));
  const dhpvm::Object album = need(isolate.make("Album", {"Tones", titles}));
  for (const std::string& title : need(need(album.get<dhpvm::Object>("titles")).values<std::string>()))
    std::printf("%s; ", title.c_str());
  std::printf("%s\n", need(album.call<std::string>("describe")).c_str());
  const dhpvm::Record wish = {{"gain", 3}, {"fade", dhpvm::Record{{"rise", 0.5}, {"fall", dhpvm::Value()}}}};
  const dhpvm::Record master = need(album.call<dhpvm::Record>("mastered", {wish}));
  const dhpvm::Record fade = need(master.get<dhpvm::Record>("fade"));
  std::printf("mastered by a gain of %.0f, falling for %.1f s\n", need(master.get<double>("gain")),
              need(fade.get<double>("fall")));
}

void keep_a_closure(const dhpvm::Isolate& isolate) {
  const auto limiter = need(isolate.function<dhpvm::Object(float)>("limiter"));
  const auto limit = need(need(limiter(0.5f)).closure<std::tuple<float, std::int64_t>(float)>());
  for (const float sample : {0.25f, 2.0f}) {
    const auto [limited, changed] = need(limit(sample));
    std::printf("the limiter turns %.2f into %.2f, %d changed so far\n", sample, limited,
                static_cast<int>(changed));
  }
}

void survive_mistakes(const dhpvm::Isolate& isolate) {
  const auto reads_too_far = need(isolate.function<float(std::span<const float>)>("reads_too_far"));
  const dhpvm::Result<float> sample = reads_too_far(tone(10));
  if (!sample.ok()) std::printf("%s\n", std::string(dhpvm::to_string(sample.error().code())).c_str());

  const auto never_ends = need(isolate.function<void()>("never_ends"));
  const dhpvm::Status stopped = never_ends();
  if (!stopped.ok()) std::printf("%s\n", std::string(dhpvm::to_string(stopped.error().code())).c_str());
}

void run_on_threads(const dhpvm::Module& module) {
  std::vector<double> factors(2);
  std::vector<std::thread> threads;
  for (double& factor : factors) {
    threads.emplace_back([&module, &factor] {
      // The module is shared; each thread has an isolate of its own.
      const dhpvm::Isolate isolate = need(dhpvm::Isolate::create(module));
      std::vector<float> samples = tone(1'000);
      factor = need(need(isolate.function<double(std::span<float>)>("normalize"))(samples));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("two threads found %.3f and %.3f\n", factors[0], factors[1]);
}

}  // namespace

int main(int count, char** words) {
  dhpvm::Engine engine({.system_access = false});  // scripts may be anybody's
  if (const dhpvm::Status defined = define_host_functions(engine); !defined.ok()) return 1;

  const dhpvm::Module module =
      need(dhpvm::Module::open(engine, count > 1 ? words[1] : EMBED_SAMPLE_SCRIPT, {.host_objects = true}));
  const dhpvm::Isolate isolate =
      need(dhpvm::Isolate::create(module, {.limits = {.heap_bytes = 64 << 20, .deadline = 500ms}}));

  call_functions(isolate);
  keep_an_object(isolate);
  make_objects(isolate);
  keep_a_closure(isolate);
  survive_mistakes(isolate);
  run_on_threads(module);
  return 0;
}
