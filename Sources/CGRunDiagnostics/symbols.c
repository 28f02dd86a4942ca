// SPDX-License-Identifier: Apache-2.0
// Finds the function and the file at an address. With glibc 2.35 or later, this code calls no functions that take the
// dynamic linker's lock. A thread that stalls inside dlopen() holds this lock.

#define _GNU_SOURCE

#include "cgrun-inspect.h"

#include "cgrun-ring.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// MARK: Loaded files

/// Returns the loaded file at an address, and its start in memory; NULL if there is no file. With glibc 2.35 or later,
/// this function takes no lock. With an older glibc, the function must take the loader's lock, so it looks for the file
/// only if `may_wait` is true.
static const struct link_map *loaded_at(uintptr_t address, bool may_wait, const void **start)
{
#if __GLIBC_PREREQ(2, 35)
    (void)may_wait;
    struct dl_find_object found;
    if (_dl_find_object((void *)address, &found) != 0)
        return NULL;
    *start = found.dlfo_map_start;
    return found.dlfo_link_map;
#else
    Dl_info info;
    struct link_map *map = NULL;
    if (!may_wait || dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
        return NULL;
    *start = info.dli_fbase;
    return map;
#endif
}

static bool is_program(const struct link_map *map) { return map->l_name[0] == '\0'; }

static const char *name_of(const struct link_map *map)
{
    const char *slash = strrchr(map->l_name, '/');
    return is_program(map) ? cgrun_program() : slash != NULL ? slash + 1 : map->l_name;
}

bool cgrun_loaded_file(uintptr_t address, const char **name, uintptr_t *offset)
{
    const void *start;
    const struct link_map *map = loaded_at(address, false, &start);
    if (map == NULL)
        return false;
    *name = name_of(map);
    *offset = address - map->l_addr;
    return true;
}

// MARK: Symbols of a file

typedef struct {
    const char *bytes;
    size_t size;
} Image;

static bool image_open(Image *image, const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *bytes = MAP_FAILED;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > (off_t)sizeof(ElfW(Ehdr))) {
        image->size = (size_t)status.st_size;
        bytes = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    if (descriptor >= 0)
        close(descriptor);
    image->bytes = bytes;
    return bytes != MAP_FAILED;
}

/// Returns the address of `count` entries of `size` bytes at an offset of the file. Returns NULL if the file is too
/// short, or if the offset is not a multiple of 8.
static const void *image_at(const Image *image, uint64_t offset, uint64_t count, size_t size)
{
    if (offset > image->size || count > (image->size - offset) / size || offset % 8 != 0)
        return NULL;
    return image->bytes + offset;
}

/// Returns true if a symbol is a function that contains an offset.
static bool is_function_at(const ElfW(Sym) *symbol, uint64_t offset)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && offset >= symbol->st_value
        && offset - symbol->st_value < symbol->st_size;
}

/// Returns a copy of the name of the function that contains an offset, from one table of symbols; NULL if no function
/// in this table contains the offset.
static char *name_in(const Image *image, const ElfW(Shdr) *table, const ElfW(Shdr) *texts, uint64_t offset)
{
    uint64_t count = table->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbols = image_at(image, table->sh_offset, count, sizeof *symbols);
    if (symbols == NULL || texts->sh_offset > image->size || texts->sh_size > image->size - texts->sh_offset)
        return NULL;
    for (uint64_t index = 0; index < count; index++) {
        const ElfW(Sym) *symbol = &symbols[index];
        if (is_function_at(symbol, offset) && symbol->st_name < texts->sh_size)
            return g_strndup(image->bytes + texts->sh_offset + symbol->st_name, texts->sh_size - symbol->st_name);
    }
    return NULL;
}

/// Returns true if a file on disk is the file that was loaded, and not a later version of the library. Compares the
/// first 4,096 bytes, which have the headers and usually the build ID. Device and inode are not compared, because on an
/// overlay file system the kernel reports the device and inode of a layer.
static bool is_loaded(const Image *image, const void *start)
{
    enum { PAGE = 4096 };
    return memcmp(image->bytes, start, MIN(image->size, PAGE)) == 0;
}

/// Returns the name of the function at an offset of a loaded file, from the file's whole table of symbols. The table of
/// symbols in memory lacks the functions that are not exported. Returns NULL if the path now leads to another file, or
/// if no function contains the offset.
static char *name_in_file(const char *path, const void *start, uint64_t offset)
{
    Image image;
    if (!image_open(&image, path))
        return NULL;
    char *name = NULL;
    const ElfW(Ehdr) *header = (const void *)image.bytes;
    const ElfW(Shdr) *sections = NULL;
    if (is_loaded(&image, start) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0
        && header->e_shentsize == sizeof *sections)
        sections = image_at(&image, header->e_shoff, header->e_shnum, sizeof *sections);
    for (unsigned index = 0; sections != NULL && name == NULL && index < header->e_shnum; index++) {
        const ElfW(Shdr) *table = &sections[index];
        if ((table->sh_type == SHT_SYMTAB || table->sh_type == SHT_DYNSYM) && table->sh_link < header->e_shnum)
            name = name_in(&image, table, &sections[table->sh_link], offset);
    }
    munmap((void *)image.bytes, image.size);
    return name;
}

// MARK: Symbols in memory

/// Returns an entry of a loaded file's dynamic section as a pointer; NULL if there is no such entry. The loader has
/// usually added the file's base address to the entry. In a read-only section, as in the kernel's own file
/// linux-vdso.so, the entry does not contain the base address.
static const void *dynamic_entry(const struct link_map *map, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = map->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr;
        if (entry->d_tag == tag)
            return (const void *)(value < map->l_addr ? value + map->l_addr : value);
    }
    return NULL;
}

/// Computes the number of symbols from a hash table in GNU's format. The chain of the highest bucket ends with the last
/// symbol.
static uint32_t count_of_hashed(const uint32_t *table)
{
    uint32_t bucket_count = table[0], first = table[1], bloom_size = table[2];
    const uint32_t *buckets = table + 4 + bloom_size * (sizeof(ElfW(Addr)) / sizeof *table);
    const uint32_t *chains = buckets + bucket_count;
    uint32_t last = 0;
    for (uint32_t index = 0; index < bucket_count; index++)
        last = MAX(last, buckets[index]);
    if (last < first)
        return 0;
    while ((chains[last - first] & 1) == 0)
        last++;
    return last + 1;
}

/// Returns the name of the exported function at an address of a loaded file. This function reads only memory, because
/// the file on disk may be deleted or replaced.
static char *name_in_memory(const struct link_map *map, uintptr_t address)
{
    const ElfW(Sym) *symbols = dynamic_entry(map, DT_SYMTAB);
    const char *texts = dynamic_entry(map, DT_STRTAB);
    const uint32_t *gnu = dynamic_entry(map, DT_GNU_HASH), *old = dynamic_entry(map, DT_HASH);
    if (symbols == NULL || texts == NULL)
        return NULL;
    uint32_t count = old != NULL ? old[1] : gnu != NULL ? count_of_hashed(gnu) : 0;
    for (uint32_t index = 0; index < count; index++) {
        if (symbols[index].st_shndx != SHN_UNDEF && is_function_at(&symbols[index], address - map->l_addr))
            return g_strdup(texts + symbols[index].st_name);
    }
    return NULL;
}

// MARK: The function at an address

extern char *swift_demangle(
    const char *mangled, size_t length, char *buffer, size_t *size, uint32_t flags) __attribute__((weak));

void cgrun_symbol(uintptr_t address, char **function, char **file)
{
    const void *start;
    const struct link_map *map = loaded_at(address, true, &start);
    *function = NULL;
    *file = NULL;
    if (map == NULL)
        return;
    *file = g_strdup(name_of(map));
    const char *path = is_program(map) ? "/proc/self/exe" : map->l_name;
    char *name = path[0] == '/' ? name_in_file(path, start, address - map->l_addr) : NULL;
    if (name == NULL)
        name = name_in_memory(map, address);
    char *plain = name != NULL && &swift_demangle != NULL ? swift_demangle(name, strlen(name), NULL, NULL, 0) : NULL;
    *function = plain != NULL ? g_strdup(plain) : g_steal_pointer(&name);
    free(plain);
    g_free(name);
}
