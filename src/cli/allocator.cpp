// Memory of the native program: `operator new` and `operator delete` with free lists for each
// thread and size. Decompiling makes and drops short vectors all the time, which general-purpose
// malloc spends a fifth of the program's time on. The library leaves memory to who uses it.
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

#ifdef __GLIBC__
/// What one file needed the next one needs again: nothing goes back to the system in between.
[[maybe_unused]] const int kept =
    mallopt(M_TRIM_THRESHOLD, 1 << 30) + mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif

constexpr std::size_t kGrain = 16;                    // sizes up to kFine are told apart by it
constexpr std::size_t kFine = 1024;                   // from here on sizes are powers of two
constexpr std::size_t kLargest = 32 * 1024;           // malloc has what is larger
constexpr std::size_t kSlab = 64 * 1024;              // holds pieces of one size
constexpr std::size_t kPool = std::size_t{64} << 20;  // malloc has what comes after it is used up
constexpr std::size_t kFineClasses = kFine / kGrain + 1;
constexpr std::size_t kClasses = kFineClasses + std::bit_width(kLargest / kFine) - 1;

alignas(64) std::byte pool[kPool];  // pages that nothing was written to cost nothing
std::uint8_t class_of_slab[kPool / kSlab];
std::atomic<std::size_t> slabs_in_use{0};

struct Piece {
  Piece* next;
};

/// What one thread has of each size. A piece belongs to the thread that frees it.
constinit thread_local Piece* free_pieces[kClasses] = {};

/// Rest of the last slab for each size.
struct Rest {
  std::byte* fresh;
  std::byte* end;
};
constinit thread_local Rest rests[kClasses] = {};

std::size_t class_of(std::size_t size) {
  return size <= kFine ? (size + kGrain - 1) / kGrain
                       : kFineClasses + std::bit_width((size - 1) / kFine) - 1;
}

std::size_t size_of(std::size_t size_class) {
  if (size_class >= kFineClasses) return (2 * kFine) << (size_class - kFineClasses);
  return size_class == 0 ? kGrain : size_class * kGrain;
}

void* from_malloc(std::size_t size) {
  for (;;) {
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    if (std::new_handler handler = std::get_new_handler())
      handler();
    else
      throw std::bad_alloc();
  }
}

void* from_slab(std::size_t size_class) {
  Rest& rest = rests[size_class];
  const std::size_t size = size_of(size_class);
  if (static_cast<std::size_t>(rest.end - rest.fresh) < size) {
    if (slabs_in_use.load(std::memory_order_relaxed) >= kPool / kSlab) return from_malloc(size);
    const std::size_t slab = slabs_in_use.fetch_add(1, std::memory_order_relaxed);
    if (slab >= kPool / kSlab) return from_malloc(size);
    class_of_slab[slab] = static_cast<std::uint8_t>(size_class);
    rest.fresh = pool + slab * kSlab;
    rest.end = rest.fresh + kSlab;
  }
  void* piece = rest.fresh;
  rest.fresh += size;
  return piece;
}

}  // namespace

void* operator new(std::size_t size) {
  if (size > kLargest) return from_malloc(size);
  const std::size_t size_class = class_of(size);
  Piece*& free = free_pieces[size_class];
  if (Piece* piece = free) {
    free = piece->next;
    return piece;
  }
  return from_slab(size_class);
}

void operator delete(void* memory) noexcept {
  const std::size_t at =
      reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(pool);
  if (at >= kPool) {
    std::free(memory);
    return;
  }
  Piece*& free = free_pieces[class_of_slab[at / kSlab]];
  Piece* piece = static_cast<Piece*>(memory);
  piece->next = free;
  free = piece;
}

void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }
