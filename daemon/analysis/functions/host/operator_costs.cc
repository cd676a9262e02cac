#include "daemon/analysis/functions/host/operator_costs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace kprof {
namespace {

// A list of the profiler: numbers, texts and lists.
struct Listed {
  enum class Type : uint8_t { kList, kNumber, kText } type = Type::kText;
  std::vector<Listed> items;
  int64_t number = 0;
  std::string_view text;  // without its quotes; also of a number
};

// Reads JSON without escapes, and the lists in texts of Concrete Inputs ("[1, 1]", "[True, False]").
class ListReader {
 public:
  explicit ListReader(std::string_view text) : text_(text) {}

  std::optional<Listed> Read() {
    std::optional<Listed> read = ReadOne(0);
    SkipSpace();
    return at_ == text_.size() ? read : std::nullopt;
  }

 private:
  static constexpr int kMostNesting = 6;
  static constexpr size_t kMostItems = 4096;

  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::optional<Listed> ReadOne(int nesting) {
    SkipSpace();
    if (at_ == text_.size() || nesting > kMostNesting) return std::nullopt;
    if (text_[at_] == '[') return ReadList(nesting);
    if (text_[at_] == '"') {
      const size_t end = text_.find('"', at_ + 1);
      if (end == std::string_view::npos) return std::nullopt;
      Listed read{.text = text_.substr(at_ + 1, end - at_ - 1)};
      at_ = end + 1;
      return read;
    }
    const size_t end = std::min(text_.find_first_of(",]", at_), text_.size());
    Listed read{.text = text_.substr(at_, end - at_)};
    at_ = end;
    const auto [last, error] = std::from_chars(read.text.data(), read.text.data() + read.text.size(), read.number);
    if (error == std::errc() && last == read.text.data() + read.text.size()) read.type = Listed::Type::kNumber;
    return read;
  }

  std::optional<Listed> ReadList(int nesting) {
    Listed list{.type = Listed::Type::kList};
    ++at_;
    for (SkipSpace(); at_ < text_.size() && text_[at_] != ']'; SkipSpace()) {
      if (!list.items.empty()) {
        if (text_[at_] != ',') return std::nullopt;
        ++at_;
      }
      std::optional<Listed> item = ReadOne(nesting + 1);
      if (!item || ++items_ > kMostItems) return std::nullopt;
      list.items.push_back(std::move(*item));
    }
    if (at_ == text_.size()) return std::nullopt;
    ++at_;
    return list;
  }

  const std::string_view text_;
  size_t at_ = 0;
  size_t items_ = 0;
};

using Dims = std::vector<double>;

double Product(const Dims& dims, size_t from = 0) {
  double product = 1;
  for (size_t i = from; i < dims.size(); ++i) product *= dims[i];
  return product;
}

// The inputs of one call.
class Inputs {
 public:
  Inputs(std::string_view dims, std::string_view types, std::string_view values)
      : dims_(ReadItems(dims)), types_(ReadItems(types)), values_(ReadItems(values)) {}

  // Nothing: it is no tensor, or there is no such input.
  std::optional<Dims> Tensor(size_t i) const {
    if (i >= dims_.size() || dims_[i].type != Listed::Type::kList) return std::nullopt;
    return NumbersOf(dims_[i]);
  }

  // The numbers of a list among the concrete inputs.
  std::optional<Dims> List(size_t i) const {
    if (i >= values_.size()) return std::nullopt;
    const std::optional<Listed> list = ListReader(values_[i].text).Read();
    if (!list || list->type != Listed::Type::kList) return std::nullopt;
    return NumbersOf(*list);
  }

  std::optional<bool> Flag(size_t i) const {
    if (i >= values_.size()) return std::nullopt;
    if (values_[i].text == "True" || values_[i].text == "1") return true;
    if (values_[i].text == "False" || values_[i].text == "0") return false;
    return std::nullopt;
  }

  std::optional<int64_t> Number(size_t i) const {
    if (i >= values_.size()) return std::nullopt;
    const std::string_view text = values_[i].text;
    int64_t number = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && last == text.data() + text.size() ? std::optional(number) : std::nullopt;
  }

  // How many of a list of flags are set.
  std::optional<int> SetFlags(size_t i, size_t from, size_t to) const {
    if (i >= values_.size()) return std::nullopt;
    const std::optional<Listed> list = ListReader(values_[i].text).Read();
    if (!list || list->type != Listed::Type::kList || list->items.size() < to) return std::nullopt;
    int set = 0;
    for (size_t flag = from; flag < to; ++flag) set += list->items[flag].text == "True" ? 1 : 0;
    return set;
  }

  std::optional<double> BytesOf(size_t i) const {
    return i < types_.size() ? BytesOfType(types_[i].text) : std::nullopt;
  }

 private:
  static std::vector<Listed> ReadItems(std::string_view text) {
    std::optional<Listed> list = ListReader(text).Read();
    return list && list->type == Listed::Type::kList ? std::move(list->items) : std::vector<Listed>();
  }

  static std::optional<Dims> NumbersOf(const Listed& list) {
    constexpr int64_t kMostDim = int64_t{1} << 48;
    Dims numbers;
    for (const Listed& item : list.items) {
      if (item.type != Listed::Type::kNumber || item.number < 0 || item.number > kMostDim) return std::nullopt;
      numbers.push_back(static_cast<double>(item.number));
    }
    return numbers;
  }

  const std::vector<Listed> dims_;
  const std::vector<Listed> types_;
  const std::vector<Listed> values_;
};

// Adds up bytes of tensors; nothing once a type is not known.
class Traffic {
 public:
  explicit Traffic(const Inputs& inputs) : inputs_(inputs) {}
  void Add(size_t type_of, double elements) {
    const std::optional<double> each = inputs_.BytesOf(type_of);
    if (!each) {
      bytes_.reset();
    } else if (bytes_) {
      *bytes_ += *each * elements;
    }
  }
  std::optional<double> bytes() const { return bytes_; }

 private:
  const Inputs& inputs_;
  std::optional<double> bytes_ = 0;
};

// The batch dimensions of two tensors side by side, one of which may be repeated.
std::optional<double> BroadcastBatch(const Dims& a, const Dims& b, size_t a_batch, size_t b_batch) {
  double batch = 1;
  for (size_t i = 1; i <= std::max(a_batch, b_batch); ++i) {
    const double of_a = i <= a_batch ? a[a_batch - i] : 1;
    const double of_b = i <= b_batch ? b[b_batch - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
    batch *= of_a == 1 ? of_b : of_a;
  }
  return batch;
}

struct Product2 {
  size_t a = 0;  // which inputs they are
  size_t b = 1;
  std::optional<size_t> added;  // that which is added to it
  bool is_transposed = false;   // `b` is [n, k], as a weight is
};

// [..., m, k] times [..., k, n]; vectors are such of one row or column.
std::optional<OperatorCost> CostOfProduct(const Inputs& inputs, const Product2& of) {
  const std::optional<Dims> a = inputs.Tensor(of.a);
  const std::optional<Dims> b = inputs.Tensor(of.b);
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  const size_t a_batch = a->size() > 2 ? a->size() - 2 : 0;
  const size_t b_batch = b->size() > 2 ? b->size() - 2 : 0;
  const double m = a->size() > 1 ? (*a)[a->size() - 2] : 1;
  const double k = a->back();
  double k_of_b = b->size() > 1 ? (*b)[b->size() - 2] : b->front();
  double n = b->size() > 1 ? b->back() : 1;
  if (of.is_transposed && b->size() > 1) std::swap(k_of_b, n);
  if (k != k_of_b) return std::nullopt;
  const std::optional<double> batch = BroadcastBatch(*a, *b, a_batch, b_batch);
  if (!batch) return std::nullopt;
  Traffic traffic(inputs);
  traffic.Add(of.a, Product(*a));
  traffic.Add(of.b, Product(*b));
  traffic.Add(of.a, *batch * m * n);
  if (of.added) {
    const std::optional<Dims> added = inputs.Tensor(*of.added);
    if (added && !added->empty()) traffic.Add(*of.added, Product(*added));
  }
  return OperatorCost{2 * *batch * m * n * k, traffic.bytes()};
}

// Which inputs of a convolution are what; SIZE_MAX: it has none.
struct Convolution {
  size_t bias = SIZE_MAX;
  size_t stride = 0;
  size_t padding = 0;
  size_t dilation = 0;
  size_t transposed = SIZE_MAX;
};

double AtOrLast(const Dims& dims, size_t i) {
  return dims.empty() ? 0 : dims[std::min(i, dims.size() - 1)];
}

std::optional<OperatorCost> CostOfConvolution(const Inputs& inputs, const Convolution& of) {
  const std::optional<Dims> input = inputs.Tensor(0);
  const std::optional<Dims> weight = inputs.Tensor(1);
  if (!input || !weight || weight->size() < 3) return std::nullopt;
  const size_t space = weight->size() - 2;
  if (input->size() != weight->size() && input->size() != weight->size() - 1) return std::nullopt;
  const size_t first = input->size() - space;  // of the input's dimensions in space
  const double batch = first == 2 ? input->front() : 1;
  const bool is_transposed = of.transposed != SIZE_MAX && inputs.Flag(of.transposed).value_or(false);
  const double of_kernel = Product(*weight, 1);  // channels of a group, times the kernel
  Traffic traffic(inputs);
  traffic.Add(0, Product(*input));
  traffic.Add(1, Product(*weight));
  // Each element of the input goes to all of the kernel; the size of the result is nothing that inputs tell.
  if (is_transposed) return OperatorCost{2 * Product(*input) * of_kernel, std::nullopt};
  const std::optional<Dims> stride = inputs.List(of.stride);
  const std::optional<Dims> padding = inputs.List(of.padding);
  const std::optional<Dims> dilation = inputs.List(of.dilation);
  if (!stride || !padding || !dilation || stride->empty() || padding->empty() || dilation->empty()) return std::nullopt;
  double result = batch * weight->front();
  for (size_t i = 0; i < space; ++i) {
    const double reach = AtOrLast(*dilation, i) * ((*weight)[2 + i] - 1) + 1;
    const double room = (*input)[first + i] + 2 * AtOrLast(*padding, i) - reach;
    if (room < 0 || AtOrLast(*stride, i) < 1) return std::nullopt;
    result *= static_cast<double>(static_cast<int64_t>(room / AtOrLast(*stride, i)) + 1);
  }
  traffic.Add(0, result);
  if (of.bias != SIZE_MAX) {
    const std::optional<Dims> bias = inputs.Tensor(of.bias);
    if (bias && !bias->empty()) traffic.Add(of.bias, Product(*bias));
  }
  return OperatorCost{2 * result * of_kernel, traffic.bytes()};
}

// grad_output, input, weight, bias sizes, stride, padding, dilation, transposed, output padding, groups, output mask.
std::optional<OperatorCost> CostOfConvolutionBackward(const Inputs& inputs) {
  constexpr size_t kTransposed = 7;
  constexpr size_t kMask = 10;
  const std::optional<Dims> gradient = inputs.Tensor(0);
  const std::optional<Dims> input = inputs.Tensor(1);
  const std::optional<Dims> weight = inputs.Tensor(2);
  const std::optional<int> products = inputs.SetFlags(kMask, 0, 2);  // of the input, of the weight
  const std::optional<bool> is_transposed = inputs.Flag(kTransposed);
  if (!gradient || !input || !weight || weight->size() < 3 || !products || !is_transposed) return std::nullopt;
  const double elements = Product(*is_transposed ? *input : *gradient);
  Traffic traffic(inputs);
  traffic.Add(0, Product(*gradient));
  traffic.Add(1, Product(*input) * (*products > 0 ? 2 : 1));  // read, and its gradient written
  traffic.Add(2, Product(*weight) * (*products > 1 ? 2 : 1));
  return OperatorCost{2 * *products * elements * Product(*weight, 1), traffic.bytes()};
}

// Which inputs of attention are what, and how they lie.
struct Attention {
  size_t query = 0;  // the key and the value follow it
  size_t causal = SIZE_MAX;
  bool heads_first = true;  // [batch, heads, length, width], else [batch, length, heads, width]
  bool is_backward = false;
  bool has_mask_type = false;  // `causal` is 0: no mask, 1: causal, 2: causal, the last query sees all keys
  bool ends_align = false;     // the last query sees all keys, else the first query sees the first key
};

std::optional<OperatorCost> CostOfAttention(const Inputs& inputs, const Attention& of) {
  constexpr size_t kDims = 4;
  const std::optional<Dims> query = inputs.Tensor(of.query);
  const std::optional<Dims> key = inputs.Tensor(of.query + 1);
  const std::optional<Dims> value = inputs.Tensor(of.query + 2);
  if (!query || !key || !value || query->size() != kDims || key->size() != kDims || value->size() != kDims) {
    return std::nullopt;
  }
  const size_t heads_at = of.heads_first ? 1 : 2;
  const size_t length_at = of.heads_first ? 2 : 1;
  const double asks = (*query)[length_at];
  const double answers = (*key)[length_at];
  std::optional<bool> is_causal = inputs.Flag(of.causal);
  bool ends_align = of.ends_align;
  if (of.has_mask_type) {
    const std::optional<int64_t> mask = inputs.Number(of.causal);
    is_causal = mask ? std::optional(*mask != 0) : std::nullopt;
    ends_align = mask == 2;
  }
  if (!is_causal || key->back() != query->back()) return std::nullopt;
  double pairs = asks * answers;
  if (*is_causal && ends_align && answers > asks) {
    pairs -= asks * (asks - 1) / 2;
  } else if (*is_causal) {  // the query i sees keys 0 to i; with more queries, where the ends align, the first ones
                            // none
    const double full = std::min(asks, answers);
    pairs = full * (full + 1) / 2 + (ends_align ? 0 : (asks - full) * answers);
  }
  const double heads = (*query)[0] * (*query)[heads_at];
  const double width = query->back();
  const double value_width = value->back();
  const double result = heads * asks * value_width;
  Traffic traffic(inputs);
  const double times = of.is_backward ? 2 : 1;  // the inputs, and their gradients
  traffic.Add(of.query, Product(*query) * times + result * times);
  traffic.Add(of.query + 1, Product(*key) * times);
  traffic.Add(of.query + 2, Product(*value) * times);
  // Forward: scores, and their product with the values. Backward makes the scores again, and has four products.
  const double of_pair = of.is_backward ? 3 * width + 2 * value_width : width + value_width;
  return OperatorCost{2 * heads * pairs * of_pair, traffic.bytes()};
}

// One input, which is read, and a result of the same size.
std::optional<OperatorCost> CostOfSumOverRanks(const Inputs& inputs) {
  const std::optional<Dims> input = inputs.Tensor(0);
  if (!input || input->empty()) return std::nullopt;
  Traffic traffic(inputs);
  traffic.Add(0, 2 * Product(*input));
  if (!traffic.bytes()) return std::nullopt;
  return OperatorCost{std::nullopt, traffic.bytes()};
}

struct NamedProduct {
  std::string_view name;
  Product2 of;
};
struct NamedConvolution {
  std::string_view name;
  Convolution of;
};
struct NamedAttention {
  std::string_view name;
  Attention of;
};

constexpr NamedProduct kProducts[] = {
    {"aten::mm", {0, 1, {}, false}},         {"aten::bmm", {0, 1, {}, false}},
    {"aten::matmul", {0, 1, {}, false}},     {"aten::addmm", {1, 2, 0, false}},
    {"aten::addmm_", {1, 2, 0, false}},      {"aten::_addmm_activation", {1, 2, 0, false}},
    {"aten::baddbmm", {1, 2, 0, false}},     {"aten::baddbmm_", {1, 2, 0, false}},
    {"aten::mv", {0, 1, {}, false}},         {"aten::addmv", {1, 2, 0, false}},
    {"aten::dot", {0, 1, {}, false}},        {"aten::linear", {0, 1, 2, true}},
    {"aten::_scaled_mm", {0, 1, {}, false}}, {"aten::_int_mm", {0, 1, {}, false}},
};
// As the operators are declared: bias, stride, padding, dilation, transposed.
constexpr NamedConvolution kConvolutions[] = {
    {"aten::conv1d", {2, 3, 4, 5, SIZE_MAX}},
    {"aten::conv2d", {2, 3, 4, 5, SIZE_MAX}},
    {"aten::conv3d", {2, 3, 4, 5, SIZE_MAX}},
    {"aten::convolution", {2, 3, 4, 5, 6}},
    {"aten::_convolution", {2, 3, 4, 5, 6}},
    {"aten::convolution_overrideable", {2, 3, 4, 5, 6}},
    {"aten::cudnn_convolution", {SIZE_MAX, 3, 2, 4, SIZE_MAX}},
    {"aten::cudnn_convolution_relu", {2, 3, 4, 5, SIZE_MAX}},
    {"aten::miopen_convolution", {2, 4, 3, 5, SIZE_MAX}},
    {"aten::miopen_depthwise_convolution", {2, 4, 3, 5, SIZE_MAX}},
    {"aten::mkldnn_convolution", {2, 4, 3, 5, SIZE_MAX}},
    {"aten::_conv_depthwise2d", {3, 4, 5, 6, SIZE_MAX}},
};
constexpr NamedAttention kAttentions[] = {
    {"aten::scaled_dot_product_attention", {.causal = 5}},
    {"aten::_scaled_dot_product_attention_math", {.causal = 5}},
    {"aten::_scaled_dot_product_flash_attention", {.causal = 4}},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", {.causal = 4}},
    {"aten::_scaled_dot_product_efficient_attention", {.causal = 6}},
    {"aten::_scaled_dot_product_cudnn_attention", {.causal = 6}},
    {"aten::_flash_attention_forward", {.causal = 8, .heads_first = false, .ends_align = true}},
    {"aten::_efficient_attention_forward", {.causal = 9, .heads_first = false, .has_mask_type = true}},
    {"flash_attn::_flash_attn_forward", {.causal = 5, .heads_first = false, .ends_align = true}},
    {"aten::_scaled_dot_product_flash_attention_backward", {.query = 1, .causal = 11, .is_backward = true}},
    {"aten::_scaled_dot_product_efficient_attention_backward", {.query = 1, .causal = 11, .is_backward = true}},
    {"aten::_scaled_dot_product_cudnn_attention_backward", {.query = 1, .causal = 14, .is_backward = true}},
    {"aten::_flash_attention_backward",
     {.query = 1, .causal = 11, .heads_first = false, .is_backward = true, .ends_align = true}},
};

struct NamedSum {
  std::string_view name;
};
constexpr NamedSum kSumsOverRanks[] = {
    {"symm_mem::multimem_all_reduce_"},
    {"symm_mem::multimem_one_shot_all_reduce"},
    {"symm_mem::one_shot_all_reduce"},
    {"symm_mem::two_shot_all_reduce_"},
};

struct TypeSize {
  std::string_view name;
  double bytes;
};
constexpr TypeSize kTypes[] = {
    {"float", 4},
    {"double", 8},
    {"c10::BFloat16", 2},
    {"c10::Half", 2},
    {"long int", 8},
    {"long", 8},
    {"int", 4},
    {"short int", 2},
    {"short", 2},
    {"signed char", 1},
    {"unsigned char", 1},
    {"bool", 1},
    {"c10::complex<float>", 8},
    {"c10::complex<double>", 16},
};

template <typename Rows>
const auto* FindNamed(const Rows& rows, std::string_view name) {
  const auto found = std::find_if(std::begin(rows), std::end(rows), [&](const auto& row) { return row.name == name; });
  return found == std::end(rows) ? nullptr : &*found;
}

}  // namespace

std::optional<double> BytesOfType(std::string_view type) {
  if (type.starts_with("c10::Float8_")) return 1;
  const TypeSize* known = FindNamed(kTypes, type);
  return known == nullptr ? std::nullopt : std::optional(known->bytes);
}

std::optional<OperatorCost> CostOfOperator(std::string_view name, std::string_view dims, std::string_view types,
                                           std::string_view values) {
  if (dims.empty() || types.find("complex") != std::string_view::npos) return std::nullopt;
  if (const NamedProduct* product = FindNamed(kProducts, name)) {
    return CostOfProduct(Inputs(dims, types, values), product->of);
  }
  if (const NamedConvolution* convolution = FindNamed(kConvolutions, name)) {
    return CostOfConvolution(Inputs(dims, types, values), convolution->of);
  }
  if (name == "aten::convolution_backward") return CostOfConvolutionBackward(Inputs(dims, types, values));
  if (const NamedAttention* attention = FindNamed(kAttentions, name)) {
    return CostOfAttention(Inputs(dims, types, values), attention->of);
  }
  if (FindNamed(kSumsOverRanks, name) != nullptr) return CostOfSumOverRanks(Inputs(dims, types, values));
  return std::nullopt;
}

}  // namespace kprof
