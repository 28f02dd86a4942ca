// SPDX-License-Identifier: Apache-2.0
// The slots of the global offset table. A loaded object calls a function of another object through a slot, into which
// the dynamic linker puts the function's address. We replace this address.
//
// If a slot is resolved lazily, another thread may resolve it after we have set it. Then the slot holds the original
// address again, so a later call of cgrun_slots_set() sets the slot once more.
//
// While another thread loads an object, the linker lists the object first, and relocates the object and protects its
// pages later. Relocation changes the value in a slot. If we protected the slot's page before the relocation, the
// thread that loads the object would crash. So we do not change a slot of such an object.

#define _GNU_SOURCE

#include "cgrun-foundation.h"

#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const cgrun_slot_kinds *cgrun_slot_kinds_of(uint16_t machine)
{
    static const cgrun_slot_kinds kinds[] = {
        {EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT},
        {EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT},
    };
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].machine == machine)
            return &kinds[i];
    return NULL;
}

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE };
#endif

/// The data of a loaded object, from its program headers and its dynamic section.
typedef struct {
    uintptr_t base;
    uintptr_t protected_from, protected_to;
    uintptr_t text_from, text_to;
    const ElfW(Sym) *symbols;
    const char *strings;
    const ElfW(Rela) *tables[2];
    size_t counts[2];
} Object;

static bool object_read(Object *object, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *entry = NULL;
    *object = (Object){.base = info->dlpi_addr, .text_from = UINTPTR_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + header->p_vaddr;
        uintptr_t to = from + header->p_memsz;
        if (header->p_type == PT_DYNAMIC)
            entry = (const void *)from;
        if (header->p_type == PT_GNU_RELRO) {
            object->protected_from = from;
            object->protected_to = to;
        }
        if (header->p_type == PT_LOAD) {
            object->text_from = from < object->text_from ? from : object->text_from;
            object->text_to = to > object->text_to ? to : object->text_to;
        }
    }
    if (entry == NULL)
        return false;
    for (; entry->d_tag != DT_NULL; entry++) {
        uintptr_t place = entry->d_un.d_ptr;
        // The kernel's own object, linux-vdso.so, contains addresses without the base address, because the linker does
        // not relocate it.
        if (place < info->dlpi_addr)
            place += info->dlpi_addr;
        switch (entry->d_tag) {
        case DT_SYMTAB: object->symbols = (const void *)place; break;
        case DT_STRTAB: object->strings = (const void *)place; break;
        case DT_JMPREL: object->tables[0] = (const void *)place; break;
        case DT_RELA: object->tables[1] = (const void *)place; break;
        case DT_PLTRELSZ: object->counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_RELASZ: object->counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        }
    }
    return object->symbols != NULL && object->strings != NULL;
}

static uintptr_t page_of(const void *place) { return (uintptr_t)place & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1); }

/// Returns whether the linker makes the page of a place read-only. The linker protects only whole pages. So if the
/// protected region covers only the beginning of a page, this page stays writable.
static bool is_protected(const Object *object, const void *place)
{
    return (uintptr_t)place >= object->protected_from
           && (uintptr_t)place < page_of((void *)object->protected_to);
}

/// Returns whether the page is writable now. Returns false if /proc/self/maps cannot be read.
static bool is_writable(uintptr_t page)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool writable = false;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        uintptr_t from, to;
        char mode;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*c%c", &from, &to, &mode) == 3 && page >= from && page < to)
            writable = mode == 'w';
    }
    if (maps != NULL)
        fclose(maps);
    return writable;
}

static bool slot_write(const Object *object, void **slot, void *expected, void *address)
{
    void *page = (void *)page_of(slot);
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    bool protects = is_protected(object, slot);
    if (protects && (is_writable((uintptr_t)page) || mprotect(page, size, PROT_READ | PROT_WRITE) != 0))
        return false;
    // If another thread has resolved the slot since this thread read it, the slot keeps the other thread's value.
    __atomic_compare_exchange_n(slot, &expected, address, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    if (protects)
        mprotect(page, size, PROT_READ);
    return true;
}

typedef struct {
    const cgrun_slot_function *functions;
    unsigned count;
    bool back;
    cgrun_slots_result *result;
} Walk;

static bool is_inside(const Object *object, const void *place)
{
    return (uintptr_t)place >= object->text_from && (uintptr_t)place < object->text_to;
}

static void slot_set(const Object *object, void **slot, bool is_weak, unsigned index, const Walk *walk)
{
    void *original = walk->functions[index].original;
    void *replacement = walk->functions[index].replacement;
    void *wanted = walk->back ? original : replacement;
    void *held;
    bool is_late = false;
    while ((held = __atomic_load_n(slot, __ATOMIC_ACQUIRE)) != wanted) {
        // A slot that is not resolved yet points into the object's own code. When the originals are restored, such a
        // slot may stay unchanged.
        bool is_unresolved = !walk->back && held != original && is_inside(object, held);
        if (held != (walk->back ? replacement : original) && !is_unresolved)
            break;
        is_late = true;
        if (!slot_write(object, slot, held, wanted))
            break;
    }
    if (walk->result == NULL)
        return;
    // If the slot holds zero, or an offset instead of an address, the object is still being loaded.
    is_late |= object->base != 0 && !is_weak && (uintptr_t)held <= object->text_to - object->base;
    walk->result->is_incomplete |= is_late;
    if (walk->result->in_original != NULL && held == wanted && is_inside(object, original))
        walk->result->in_original[index]++;
}

static void set_slots_of(const Object *object, const Walk *walk)
{
    const cgrun_slot_kinds *kinds = cgrun_slot_kinds_of(MACHINE);
    for (int table = 0; table < 2; table++) {
        const ElfW(Rela) *relocation = object->tables[table];
        for (size_t i = 0; relocation != NULL && i < object->counts[table]; i++, relocation++) {
            uint32_t kind = (uint32_t)ELF64_R_TYPE(relocation->r_info);
            if (kind != kinds->jump_slot && kind != kinds->global_data)
                continue;
            const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
            const char *name = object->strings + symbol->st_name;
            bool is_weak = ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
            for (unsigned k = 0; k < walk->count; k++)
                if (strcmp(name, walk->functions[k].name) == 0)
                    slot_set(object, (void **)(object->base + relocation->r_offset), is_weak, k, walk);
        }
    }
}

static int each_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    Object object;
    if (object_read(&object, info))
        set_slots_of(&object, data);
    return 0;
}

void cgrun_slots_set(const cgrun_slot_function *functions, unsigned count, bool back, cgrun_slots_result *result)
{
    Walk walk = {functions, count, back, result};
    if (cgrun_slot_kinds_of(MACHINE) != NULL)
        dl_iterate_phdr(each_object, &walk);
}

static int first_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(uint64_t *)data = info->dlpi_adds;
    return 1;
}

uint64_t cgrun_slots_loaded(void)
{
    uint64_t loaded = 0;
    dl_iterate_phdr(first_object, &loaded);
    return loaded;
}
