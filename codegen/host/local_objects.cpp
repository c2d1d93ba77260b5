// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/local_objects.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/object_marks.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Type;
using llvm::Value;

// Larger objects are rarely temporaries, and zeroing them in the frame costs more than allocating zeroed memory.
constexpr std::uint64_t kLargest = 256;
// A limit for generated code: functions with more new objects would take long to compile.
constexpr std::size_t kMostObjects = 1000;

// A new object, as FunctionLowering::finish_object emits it: memory is allocated in `taken`, after the branch `room`,
// or else by the virtual machine, and the object is the phi of both.
struct NewObject {
  llvm::StoreInst* header;
  llvm::StoreInst* cursor;
  llvm::BranchInst* room;
  BasicBlock* taken;
  llvm::PHINode* object;
  std::uint64_t size;
};

// A field that is read: its offset and type.
struct Part {
  std::uint64_t offset;
  Type* type;
};

// Facts about a pointer to an object: a NewObject's phi, or a phi of such pointers.
struct Pointer {
  const NewObject* made = nullptr;  // null: a phi
  std::uint64_t size = 0;
  bool leaves = false;
  std::vector<llvm::PHINode*> phis;        // phis that use it
  std::vector<const Instruction*> writes;  // to its fields
  std::vector<Part> reads;
  std::vector<llvm::StoreInst*> roots;
};

std::optional<NewObject> new_object(llvm::StoreInst& header, const llvm::DominatorTree& dominators) {
  const llvm::MDNode* const mark = header.getMetadata(kNewObjectMark);
  if (mark == nullptr || !header.isSimple()) return std::nullopt;
  NewObject found{};
  found.header = &header;
  found.size = llvm::mdconst::extract<llvm::ConstantInt>(mark->getOperand(0))->getZExtValue();
  found.taken = header.getParent();
  Value* const start = header.getPointerOperand();
  BasicBlock* const before = found.taken->getSinglePredecessor();
  if (before == nullptr || found.size > kLargest || !llvm::isa<llvm::LoadInst>(start)) return std::nullopt;
  found.room = llvm::dyn_cast<llvm::BranchInst>(before->getTerminator());
  if (found.room == nullptr || !found.room->isConditional()) return std::nullopt;
  BasicBlock* const cold = found.room->getSuccessor(found.room->getSuccessor(0) == found.taken ? 1 : 0);
  if (cold->getSinglePredecessor() != before) return std::nullopt;
  for (const llvm::User* user : start->users()) {
    if (user == &header || llvm::isa<llvm::PtrToIntInst>(user)) continue;
    if (const auto* end = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
      if (!end->hasOneUse() || found.cursor != nullptr) return std::nullopt;
      const auto* const cursor = llvm::dyn_cast<llvm::StoreInst>(end->user_back());
      if (cursor == nullptr || cursor->getParent() != found.taken || cursor->getValueOperand() != end ||
          !cursor->isSimple()) {
        return std::nullopt;
      }
      found.cursor = const_cast<llvm::StoreInst*>(cursor);
      continue;
    }
    const auto* const object = llvm::dyn_cast<llvm::PHINode>(user);
    if (object == nullptr || found.object != nullptr) return std::nullopt;
    found.object = const_cast<llvm::PHINode*>(object);
  }
  if (found.object == nullptr || found.cursor == nullptr) return std::nullopt;
  // All other operands of the phi come from the virtual machine.
  for (unsigned n = 0; n < found.object->getNumIncomingValues(); ++n) {
    BasicBlock* const from = found.object->getIncomingBlock(n);
    if (from == found.taken ? found.object->getIncomingValue(n) != start
                            : !dominators.dominates(cold, from)) {
      return std::nullopt;
    }
  }
  return found.object->getBasicBlockIndex(found.taken) < 0 ? std::nullopt : std::optional(found);
}

class Search {
 public:
  explicit Search(llvm::Function& function)
      : layout_(function.getDataLayout()), entry_(function.getEntryBlock()) {}

  // Whether any objects do not escape.
  bool find(const std::vector<NewObject>& objects);
  void replace();

 private:
  void look_at_uses(Value* pointer);
  void look_at_use(llvm::Use& use, std::uint64_t offset, Pointer& known);
  bool leaves(Value* pointer, const Pointer& known) const;
  void spread();
  void pass_parts_on();
  std::optional<std::vector<Part>> parts_of(const Pointer& pointer) const;
  const Pointer* local(Value* value) const;
  void join(llvm::PHINode* phi, const Pointer& known);
  std::uint64_t size_of(Type* type) const { return layout_.getTypeStoreSize(type).getFixedValue(); }

  const llvm::DataLayout& layout_;
  BasicBlock& entry_;
  llvm::MapVector<Value*, Pointer> pointers_;
  std::vector<std::pair<llvm::PHINode*, std::uint64_t>> unseen_;  // phis, with the size of their operands
  llvm::DenseMap<Value*, llvm::AllocaInst*> places_;
};

llvm::ICmpInst* null_check(llvm::User* user) {
  auto* const check = llvm::dyn_cast<llvm::ICmpInst>(user);
  return check != nullptr && check->isEquality() &&
                 (llvm::isa<llvm::ConstantPointerNull>(check->getOperand(0)) ||
                  llvm::isa<llvm::ConstantPointerNull>(check->getOperand(1)))
             ? check
             : nullptr;
}

// The new objects, and the phis of new objects only. Operands of a phi from paths that trap are undefined.
llvm::SetVector<Value*> never_null(const std::vector<NewObject>& objects) {
  llvm::SetVector<Value*> found;
  for (const NewObject& object : objects) found.insert(object.object);
  for (std::size_t n = 0; n < found.size(); ++n) {
    for (llvm::User* user : found[n]->users()) {
      if (llvm::isa<llvm::PHINode>(user)) found.insert(user);
    }
  }
  const auto is_other = [&](Value* value) {
    return !llvm::isa<llvm::UndefValue>(value) && !found.contains(value);
  };
  const llvm::SetVector<Value*> phis(found.begin() + static_cast<std::ptrdiff_t>(objects.size()),
                                     found.end());
  for (bool changed = true; changed;) {
    changed = false;
    for (Value* phi : phis) {
      if (!found.contains(phi) || llvm::none_of(llvm::cast<llvm::PHINode>(phi)->incoming_values(), is_other))
        continue;
      found.remove(phi);
      changed = true;
    }
  }
  return found;
}

// Returns whether any were folded.
bool fold_null_checks(const std::vector<NewObject>& objects) {
  std::vector<llvm::ICmpInst*> checks;
  for (Value* pointer : never_null(objects)) {
    for (llvm::User* user : pointer->users()) {
      if (llvm::ICmpInst* const check = null_check(user)) checks.push_back(check);
    }
  }
  for (llvm::ICmpInst* check : checks) {
    const bool is_true = check->getPredicate() == llvm::CmpInst::ICMP_NE;
    check->replaceAllUsesWith(llvm::ConstantInt::getBool(check->getType(), is_true));
    check->eraseFromParent();
  }
  return !checks.empty();
}

void remove_dead_ways(llvm::Function& function) {
  for (BasicBlock& block : function) llvm::ConstantFoldTerminator(&block, /*DeleteDeadConditions=*/true);
  llvm::removeUnreachableBlocks(function);
}

void Search::look_at_use(llvm::Use& use, std::uint64_t offset, Pointer& known) {
  llvm::User* const user = use.getUser();
  const auto is_inside = [&](Type* type) { return offset + size_of(type) <= known.size; };
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user); load != nullptr && load->isSimple()) {
    if (is_inside(load->getType())) return known.reads.push_back({offset, load->getType()});
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user); store != nullptr && store->isSimple()) {
    if (use.getOperandNo() == llvm::StoreInst::getPointerOperandIndex()) {
      // The collector finds the object in a reference field through the outer object.
      Value* const value = store->getValueOperand();
      const bool is_root = value->getType()->isPointerTy() && !llvm::isa<llvm::ConstantPointerNull>(value);
      if (!is_root && is_inside(value->getType())) return known.writes.push_back(store);
    } else if (offset == 0 && store->hasMetadata(kRootMark)) {
      return known.roots.push_back(store);
    }
  } else if (auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
    llvm::APInt distance(64, 0);
    if (place->accumulateConstantOffset(layout_, distance) &&
        offset + distance.getZExtValue() <= known.size) {
      for (llvm::Use& next : place->uses()) look_at_use(next, offset + distance.getZExtValue(), known);
      return;
    }
  } else if (auto* phi = llvm::dyn_cast<llvm::PHINode>(user); phi != nullptr && offset == 0) {
    known.phis.push_back(phi);
    unseen_.emplace_back(phi, known.size);
    return;
  }
  known.leaves = true;
}

void Search::look_at_uses(Value* pointer) {
  Pointer& known = pointers_.find(pointer)->second;
  for (llvm::Use& use : pointer->uses()) {
    look_at_use(use, 0, known);
    if (known.leaves) return;
  }
}

// The facts about a pointer to an object that does not escape, as far as they are known.
const Pointer* Search::local(Value* value) const {
  const auto found = pointers_.find(value);
  return found == pointers_.end() || found->second.leaves ? nullptr : &found->second;
}

bool Search::leaves(Value* pointer, const Pointer& known) const {
  if (llvm::any_of(known.phis, [&](llvm::PHINode* phi) { return local(phi) == nullptr; })) return true;
  if (known.made != nullptr) {
    // Phis get copies, so the object must be complete at that point.
    const BasicBlock* const begin = llvm::cast<Instruction>(pointer)->getParent();
    return !known.phis.empty() &&
           llvm::any_of(known.writes, [&](const Instruction* write) { return write->getParent() != begin; });
  }
  if (!known.writes.empty() || !parts_of(known)) return true;
  return llvm::any_of(llvm::cast<llvm::PHINode>(pointer)->incoming_values(), [&](Value* value) {
    const Pointer* const object = local(value);
    return !llvm::isa<llvm::UndefValue>(value) && (object == nullptr || object->size != known.size);
  });
}

// A phi escapes if one of its operands does, or is not a new object; the operands of an escaping phi escape, too.
void Search::spread() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [pointer, known] : pointers_) {
      if (known.leaves || !leaves(pointer, known)) continue;
      known.leaves = changed = true;
    }
  }
}

// A field that is read through a phi is read of all its operands.
void Search::pass_parts_on() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [pointer, known] : pointers_) {
      for (llvm::PHINode* phi : known.phis) {
        if (phi == pointer) continue;
        for (const Part& part : pointers_.find(phi)->second.reads) {
          const auto is_same = [&](const Part& own) {
            return own.offset == part.offset && size_of(own.type) == size_of(part.type);
          };
          if (llvm::any_of(known.reads, is_same)) continue;
          known.reads.push_back(part);
          changed = true;
        }
      }
    }
  }
}

// The fields that are read, each once. Empty if some overlap.
std::optional<std::vector<Part>> Search::parts_of(const Pointer& pointer) const {
  std::map<std::uint64_t, Type*> by_offset;
  for (const Part& part : pointer.reads) {
    const auto [place, is_new] = by_offset.try_emplace(part.offset, part.type);
    if (!is_new && size_of(place->second) != size_of(part.type)) return std::nullopt;
  }
  std::vector<Part> parts;
  std::uint64_t end = 0;
  for (const auto& [offset, type] : by_offset) {
    if (offset < end) return std::nullopt;
    end = offset + size_of(type);
    parts.push_back({offset, type});
  }
  return parts;
}

bool Search::find(const std::vector<NewObject>& objects) {
  for (const NewObject& object : objects) {
    Pointer& known = pointers_[object.object];
    known.made = &object;
    known.size = object.size;
  }
  for (const NewObject& object : objects) look_at_uses(object.object);
  while (!unseen_.empty()) {
    const auto [phi, size] = unseen_.back();
    unseen_.pop_back();
    const auto [place, is_new] = pointers_.insert({phi, Pointer()});
    if (!is_new) continue;
    place->second.size = size;
    look_at_uses(phi);
  }
  pass_parts_on();
  spread();
  return llvm::any_of(objects, [&](const NewObject& object) { return local(object.object) != nullptr; });
}

Value* field(llvm::IRBuilder<>& builder, Value* object, std::uint64_t offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), object, offset);
}

// Each field that is read becomes a phi, which is stored into the phi's memory in the frame.
void Search::join(llvm::PHINode* phi, const Pointer& known) {
  const std::optional<std::vector<Part>> parts = parts_of(known);
  for (const Part& part : *parts) {
    llvm::IRBuilder<> builder(phi);
    llvm::PHINode* const joined = builder.CreatePHI(part.type, phi->getNumIncomingValues());
    std::map<BasicBlock*, Value*> from;
    for (unsigned n = 0; n < phi->getNumIncomingValues(); ++n) {
      BasicBlock* const block = phi->getIncomingBlock(n);
      Value*& value = from[block];
      if (value == nullptr) {
        value = llvm::UndefValue::get(part.type);
        if (Value* const object = places_.lookup(phi->getIncomingValue(n))) {
          llvm::IRBuilder<> at_end(block->getTerminator());
          value = at_end.CreateLoad(part.type, field(at_end, object, part.offset));
        }
      }
      joined->addIncoming(value, block);
    }
    BasicBlock* const block = phi->getParent();
    builder.SetInsertPoint(block, block->getFirstInsertionPt());
    builder.CreateStore(joined, field(builder, places_.lookup(phi), part.offset));
  }
}

void Search::replace() {
  for (auto& [pointer, known] : pointers_) {
    if (known.leaves) continue;
    llvm::IRBuilder<> builder(&entry_, entry_.begin());
    Type* const bytes = llvm::ArrayType::get(builder.getInt8Ty(), known.size);
    llvm::AllocaInst* const place = builder.CreateAlloca(bytes, nullptr, "local.object");
    place->setAlignment(llvm::Align(8));
    places_[pointer] = place;
  }
  for (auto& [pointer, known] : pointers_) {
    if (!known.leaves && known.made == nullptr) join(llvm::cast<llvm::PHINode>(pointer), known);
  }
  for (auto& [pointer, known] : pointers_) {
    if (known.leaves) continue;
    Value* const null = llvm::ConstantPointerNull::get(llvm::cast<llvm::PointerType>(pointer->getType()));
    for (llvm::StoreInst* root : known.roots) root->setOperand(0, null);
    const auto in_frame = [](const llvm::Use& use) { return !llvm::isa<llvm::PHINode>(use.getUser()); };
    pointer->replaceUsesWithIf(places_[pointer], in_frame);
  }
  for (auto& [pointer, known] : pointers_) {
    if (known.leaves) continue;
    if (const NewObject* const made = known.made) {
      llvm::IRBuilder<> builder(made->header);
      builder.CreateMemSet(places_[pointer], builder.getInt8(0), known.size, llvm::Align(8));
      made->header->setOperand(llvm::StoreInst::getPointerOperandIndex(), places_[pointer]);
      made->header->setMetadata(kNewObjectMark, nullptr);
      made->cursor->eraseFromParent();
      made->room->setCondition(builder.getInt1(made->room->getSuccessor(0) == made->taken));
    }
    // The remaining uses are phis of other objects in the frame.
    pointer->replaceAllUsesWith(llvm::PoisonValue::get(pointer->getType()));
    llvm::cast<Instruction>(pointer)->eraseFromParent();
  }
}

std::vector<NewObject> new_objects(llvm::Function& function) {
  std::vector<llvm::StoreInst*> headers;
  for (BasicBlock& block : function) {
    for (Instruction& instruction : block) {
      auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (store != nullptr && store->hasMetadata(kNewObjectMark)) headers.push_back(store);
    }
  }
  std::vector<NewObject> objects;
  if (headers.empty() || headers.size() > kMostObjects) return objects;
  const llvm::DominatorTree dominators(function);
  for (llvm::StoreInst* header : headers) {
    if (const std::optional<NewObject> object = new_object(*header, dominators)) objects.push_back(*object);
  }
  return objects;
}

}  // namespace

bool keep_objects_local(llvm::Function& function) {
  std::vector<NewObject> objects = new_objects(function);
  if (objects.empty()) return false;
  const bool changed = fold_null_checks(objects);
  if (changed) {
    remove_dead_ways(function);
    objects = new_objects(function);
  }
  Search search(function);
  if (!search.find(objects)) return changed;
  search.replace();
  remove_dead_ways(function);
  return true;
}

}  // namespace dhpvm::codegen
