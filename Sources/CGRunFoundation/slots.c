// SPDX-License-Identifier: Apache-2.0
// The slots through which loaded objects call functions of one another: where the dynamic linker has put an address
// we put another one.
//
// A slot that is resolved lazily may be resolved by another thread while it is set here, and then hold the original
// again: who relies on it sets it a second time, when such a call is over.

#define _GNU_SOURCE

#include "cgrun-foundation.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
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

/// What the dynamic section of a loaded object says.
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
        // The kernel's own object is not relocated.
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

static bool slot_set(const Object *object, void **slot, void *address)
{
    if (__atomic_load_n(slot, __ATOMIC_RELAXED) == address)
        return true;
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)slot & ~(page_size - 1));
    bool is_protected = (uintptr_t)slot >= object->protected_from && (uintptr_t)slot < object->protected_to;
    if (is_protected && mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(slot, address, __ATOMIC_RELEASE);
    if (is_protected)
        mprotect(page, page_size, PROT_READ);
    return true;
}

typedef struct {
    const cgrun_slot_function *functions;
    unsigned count;
    bool back;
    unsigned *in_original;
    unsigned set;
} Walk;

static void set_slots_of(const Object *object, Walk *walk)
{
    const cgrun_slot_kinds *kinds = cgrun_slot_kinds_of(MACHINE);
    for (int table = 0; table < 2; table++) {
        const ElfW(Rela) *relocation = object->tables[table];
        for (size_t i = 0; relocation != NULL && i < object->counts[table]; i++, relocation++) {
            uint32_t kind = (uint32_t)ELF64_R_TYPE(relocation->r_info);
            if (kind != kinds->jump_slot && kind != kinds->global_data)
                continue;
            const char *name = object->strings + object->symbols[ELF64_R_SYM(relocation->r_info)].st_name;
            for (unsigned k = 0; k < walk->count; k++) {
                const cgrun_slot_function *function = &walk->functions[k];
                if (strcmp(name, function->name) != 0)
                    continue;
                void *address = walk->back ? function->original : function->replacement;
                if (!slot_set(object, (void **)(object->base + relocation->r_offset), address))
                    continue;
                uintptr_t original = (uintptr_t)function->original;
                walk->set++;
                if (walk->in_original != NULL && original >= object->text_from && original < object->text_to)
                    walk->in_original[k]++;
            }
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

unsigned cgrun_slots_set(const cgrun_slot_function *functions, unsigned count, bool back, unsigned *in_original)
{
    Walk walk = {functions, count, back, in_original, 0};
    if (cgrun_slot_kinds_of(MACHINE) != NULL)
        dl_iterate_phdr(each_object, &walk);
    return walk.set;
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
