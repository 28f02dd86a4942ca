// SPDX-License-Identifier: Apache-2.0
// Checks which slots of an object slots.c sets, also for other machines. The check loads the object itself, and slots.c
// finds only this object. -DAS_aarch64 or -DAS_x86_64 compiles slots.c as for that machine.
//
// usage: check FILE...

#define _GNU_SOURCE

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#undef __x86_64__
#undef __aarch64__
#ifdef AS_aarch64
#define __aarch64__ 1
enum { MACHINE_OF_FILES = EM_AARCH64, JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOBAL = R_AARCH64_GLOB_DAT,
       ABSOLUTE = R_AARCH64_ABS64 };
#else
#define __x86_64__ 1
enum { MACHINE_OF_FILES = EM_X86_64, JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOBAL = R_X86_64_GLOB_DAT,
       ABSOLUTE = R_X86_64_64 };
#endif

static int only_object(int (*body)(struct dl_phdr_info *, size_t, void *), void *data);
#define dl_iterate_phdr only_object
#include "../../Sources/CGRunFoundation/slots.c"
#undef dl_iterate_phdr

static struct dl_phdr_info loaded;
static int failures;

static int only_object(int (*body)(struct dl_phdr_info *, size_t, void *), void *data)
{
    return body(&loaded, sizeof loaded, data);
}

static void check(bool holds, const char *what, const char *file)
{
    printf("%s slots: %s: %s\n", holds ? "  ok    " : "  FAILED", file, what);
    failures += !holds;
}

// MARK: A file, by its sections

typedef struct {
    uint32_t kind;
    uintptr_t place;
    const char *name;
} Relocation;

static Relocation relocations[64];
static unsigned relocation_count;

static void read_relocations(const char *file)
{
    const Elf64_Ehdr *header = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
    relocation_count = 0;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_RELA)
            continue;
        const Elf64_Shdr *symbols = &sections[sections[i].sh_link];
        const Elf64_Sym *symbol = (const void *)(file + symbols->sh_offset);
        const char *names = file + sections[symbols->sh_link].sh_offset;
        const Elf64_Rela *entry = (const void *)(file + sections[i].sh_offset);
        for (size_t k = 0; k < sections[i].sh_size / sizeof *entry && relocation_count < 64; k++)
            relocations[relocation_count++] = (Relocation){(uint32_t)ELF64_R_TYPE(entry[k].r_info), entry[k].r_offset,
                                                           names + symbol[ELF64_R_SYM(entry[k].r_info)].st_name};
    }
}

/// Whether slots.c must set this slot.
static bool is_slot_of(const Relocation *relocation, const char *name)
{
    return (relocation->kind == JUMP_SLOT || relocation->kind == GLOBAL) && strcmp(relocation->name, name) == 0;
}

// MARK: Loading the object

static char *image;
static size_t image_size;
static Elf64_Phdr headers[32];

static void wake_up(void) {}
static void stop(void) {}
static void replacement(void) {}

/// Loads the object like the dynamic linker. `lazily` leaves function slots unresolved until the first call. With
/// `ends_within` the protected part ends within a page, and that page is not protected.
static void load(const char *file, bool lazily, bool ends_within)
{
    const Elf64_Ehdr *header = (const void *)file;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    memcpy(headers, file + header->e_phoff, header->e_phnum * sizeof *headers);
    image_size = 0;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_vaddr + headers[i].p_memsz > image_size)
            image_size = headers[i].p_vaddr + headers[i].p_memsz;
    image_size = (image_size + page - 1) & ~(page - 1);
    image = mmap(NULL, image_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (headers[i].p_type == PT_LOAD)
            memcpy(image + headers[i].p_vaddr, file + headers[i].p_offset, headers[i].p_filesz);
    for (unsigned i = 0; i < relocation_count; i++) {
        uintptr_t *place = (uintptr_t *)(image + relocations[i].place);
        if (lazily && relocations[i].kind == JUMP_SLOT)
            *place += (uintptr_t)image;
        else if (strcmp(relocations[i].name, "CFRunLoopWakeUp") == 0)
            *place = (uintptr_t)wake_up;
        else if (strcmp(relocations[i].name, "CFRunLoopStop") == 0)
            *place = (uintptr_t)stop;
    }
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (headers[i].p_type != PT_GNU_RELRO)
            continue;
        if (ends_within)
            headers[i].p_memsz = headers[i].p_filesz;
        uintptr_t from = headers[i].p_vaddr & ~(page - 1);
        uintptr_t to = (headers[i].p_vaddr + headers[i].p_memsz) & ~(page - 1);
        if (to > from)
            mprotect(image + from, to - from, PROT_READ);
    }
    loaded = (struct dl_phdr_info){.dlpi_addr = (uintptr_t)image, .dlpi_name = "object", .dlpi_phdr = headers,
                                   .dlpi_phnum = header->e_phnum, .dlpi_adds = 1};
}

/// Finds out which pages are writable, without a fault: asks the kernel to read each page's own content into it.
static void read_protection(bool *writable)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int ends[2];
    if (pipe(ends) != 0)
        exit(2);
    for (size_t i = 0; i < image_size / page; i++) {
        if (write(ends[1], image + i * page, 1) != 1)
            exit(2);
        writable[i] = read(ends[0], image + i * page, 1) == 1;
        char rest;
        if (!writable[i] && read(ends[0], &rest, 1) != 1)
            exit(2);
    }
    close(ends[0]);
    close(ends[1]);
}

// MARK: The checks

static void check_kinds(void)
{
    const cgrun_slot_kinds *arm = cgrun_slot_kinds_of(EM_AARCH64), *intel = cgrun_slot_kinds_of(EM_X86_64);
    check(arm != NULL && arm->jump_slot == R_AARCH64_JUMP_SLOT && arm->global_data == R_AARCH64_GLOB_DAT
              && intel != NULL && intel->jump_slot == R_X86_64_JUMP_SLOT && intel->global_data == R_X86_64_GLOB_DAT
              && cgrun_slot_kinds_of(EM_RISCV) == NULL && cgrun_slot_kinds_of(EM_NONE) == NULL,
          "as <elf.h> has them", "kinds");
}

static void check_file(const char *path, const char *file, bool lazily, bool ends_within)
{
    load(file, lazily, ends_within);
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char name[256];
    snprintf(name, sizeof name, "%s%s%s", base, lazily ? ", lazily" : "", ends_within ? ", protected in part" : "");
    char *before = malloc(image_size);
    bool *writable = calloc(image_size, 1), *writable_after = calloc(image_size, 1);
    memcpy(before, image, image_size);
    read_protection(writable);

    const cgrun_slot_function function = {"CFRunLoopWakeUp", (void *)wake_up, (void *)replacement};
    unsigned in_original = 0, wanted = 0, unexpected = 0, missing = 0, kinds = 0;
    cgrun_slots_result result = {.in_original = &in_original};
    cgrun_slots_set(&function, 1, false, &result);
    bool is_once_more = result.is_incomplete;
    result.is_incomplete = false;
    cgrun_slots_set(&function, 1, false, &result);
    for (size_t place = 0; place < image_size; place += sizeof(uintptr_t)) {
        bool is_wanted = false;
        for (unsigned i = 0; i < relocation_count; i++)
            if (relocations[i].place == place && is_slot_of(&relocations[i], function.name)) {
                is_wanted = true;
                kinds |= relocations[i].kind == JUMP_SLOT ? 1 : 2;
            }
        wanted += is_wanted;
        if (!is_wanted)
            unexpected += memcmp(image + place, before + place, sizeof(uintptr_t)) != 0;
        else
            missing += *(uintptr_t *)(image + place) != (uintptr_t)replacement;
    }
    char text[128];
    snprintf(text, sizeof text, "%u of %u slots wanted, %u missing, %u other words changed", wanted,
             relocation_count, missing, unexpected);
    bool is_told = is_once_more && !result.is_incomplete;
    check(kinds == 3 && wanted > 0 && missing == 0 && unexpected == 0 && in_original == 0 && is_told,
          text, name);
    read_protection(writable_after);
    check(memcmp(writable, writable_after, image_size) == 0, "each page is as writable as before", name);

    cgrun_slots_set(&function, 1, true, NULL);
    unsigned differing = 0;
    for (size_t place = 0; place < image_size; place += sizeof(uintptr_t))
        differing += memcmp(image + place, before + place, sizeof(uintptr_t)) != 0
                     && *(uintptr_t *)(image + place) != (uintptr_t)wake_up;
    read_protection(writable_after);
    check(differing == 0 && memcmp(writable, writable_after, image_size) == 0, "and put back", name);

    // The object that defines the function. Its own calls count as well.
    const cgrun_slot_function own = {"CFRunLoopWakeUp", image + 8, (void *)replacement};
    for (unsigned i = 0; i < relocation_count && !ends_within && !lazily; i++)
        if (is_slot_of(&relocations[i], own.name)) {
            uintptr_t *place = (uintptr_t *)(image + relocations[i].place);
            size_t page = (size_t)sysconf(_SC_PAGESIZE);
            void *start = (void *)((uintptr_t)place & ~(page - 1));
            bool was_writable = writable[relocations[i].place / page];
            mprotect(start, page, PROT_READ | PROT_WRITE);
            *place = (uintptr_t)own.original;
            if (!was_writable)
                mprotect(start, page, PROT_READ);
        }
    if (!ends_within && !lazily) {
        in_original = 0;
        cgrun_slots_set(&own, 1, false, &result);
        check(in_original == wanted, "its own calls are told from others'", name);
    }
    munmap(image, image_size);
    free(before);
    free(writable);
    free(writable_after);
}

/// Another thread is loading the object: the object is listed, and the linker has not yet relocated its slots.
static void check_loading(const char *path, const char *file)
{
    load(file, false, true);
    mprotect(image, image_size, PROT_READ | PROT_WRITE);
    const Elf64_Ehdr *header = (const void *)file;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (headers[i].p_type == PT_LOAD)
            memcpy(image + headers[i].p_vaddr, file + headers[i].p_offset, headers[i].p_filesz);
    char *before = malloc(image_size);
    memcpy(before, image, image_size);
    const cgrun_slot_function function = {"CFRunLoopWakeUp", (void *)wake_up, (void *)replacement};
    cgrun_slots_result result = {0};
    cgrun_slots_set(&function, 1, false, &result);
    check(result.is_incomplete && memcmp(before, image, image_size) == 0, "left alone while it is being loaded", path);
    munmap(image, image_size);
    free(before);
}

int main(int count, char **arguments)
{
    check_kinds();
    for (int i = 1; i < count; i++) {
        int descriptor = open(arguments[i], O_RDONLY);
        struct stat status;
        if (descriptor < 0 || fstat(descriptor, &status) != 0) {
            perror(arguments[i]);
            return 2;
        }
        const char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (((const Elf64_Ehdr *)file)->e_machine != MACHINE_OF_FILES) {
            fprintf(stderr, "%s: is of another machine\n", arguments[i]);
            return 2;
        }
        read_relocations(file);
        check_file(arguments[i], file, false, false);
        check_file(arguments[i], file, true, false);
        check_file(arguments[i], file, false, true);
        check_loading(strrchr(arguments[i], '/') ? strrchr(arguments[i], '/') + 1 : arguments[i], file);
    }
    return failures > 0;
}
