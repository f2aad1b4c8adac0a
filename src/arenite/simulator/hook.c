/* Counts executed blocks for the emulator: the fast twin of the Python hook in profile.py.
 *
 * The emulator calls `arenite_hook_block` at the start of every block. A block that lies in a root function
 * makes that root the current one; every other block is charged to the current root.
 */

#include <stddef.h>
#include <stdint.h>

enum { STATUS_OK = 0, STATUS_OUTSIDE = 1, STATUS_LIMIT = 2, STATUS_FULL = 3 };

/* Mirrored field by field in profile.py. */
typedef struct {
    uint64_t address;
    uint32_t nbytes;
    uint32_t root; /* 1 + the root that the block lies in, 0 for none */
    uint32_t next; /* 1 + another block that starts at the same address, 0 for none */
    uint32_t unused;
} arenite_block_t;

typedef struct {
    uint64_t code_begin;
    uint64_t code_nhalf;
    uint32_t *block_at; /* per halfword of code: 1 + a block that starts there, 0 for none */
    const uint32_t *root_at;
    arenite_block_t *blocks;
    uint64_t *counts; /* [block][root]: how often executed */
    uint64_t *taken;  /* [block][root]: how often what followed was not the next block in memory */
    uint64_t n_roots;
    uint64_t capacity;
    uint64_t n_blocks;
    uint64_t current_root;
    uint64_t previous; /* 1 + index into `taken`, 0 for none */
    uint64_t previous_end;
    uint64_t n_halfwords;
    uint64_t limit_nhalf;
    uint64_t status;
    uint64_t fault_address;
    int (*stop)(void *emulator);
} arenite_profile_t;

void arenite_hook_block(void *emulator, uint64_t address, uint32_t nbytes, void *user);

static void fail(arenite_profile_t *profile, void *emulator, uint64_t status, uint64_t address) {
    if (profile->status == STATUS_OK) {
        profile->status = status;
        profile->fault_address = address;
    }
    (void)profile->stop(emulator);
}

static uint32_t find_block(arenite_profile_t *profile, uint64_t slot, uint64_t address, uint32_t nbytes) {
    uint32_t *link = &profile->block_at[slot];
    while (*link != 0u) {
        arenite_block_t *const block = &profile->blocks[*link - 1u];
        if (block->nbytes == nbytes) {
            return *link;
        }
        link = &block->next;
    }
    if (profile->n_blocks == profile->capacity) {
        return 0u;
    }
    arenite_block_t *const made = &profile->blocks[profile->n_blocks++];
    made->address = address;
    made->nbytes = nbytes;
    made->root = profile->root_at[slot];
    made->next = 0u;
    *link = (uint32_t)profile->n_blocks;
    return *link;
}

void arenite_hook_block(void *emulator, uint64_t address, uint32_t nbytes, void *user) {
    arenite_profile_t *const profile = user;
    const uint64_t slot = (address - profile->code_begin) >> 1;
    if (address < profile->code_begin || slot >= profile->code_nhalf) {
        fail(profile, emulator, STATUS_OUTSIDE, address);
        return;
    }
    const uint32_t found = find_block(profile, slot, address, nbytes);
    if (found == 0u) {
        fail(profile, emulator, STATUS_FULL, address);
        return;
    }
    if (profile->previous != 0u && address != profile->previous_end) {
        profile->taken[profile->previous - 1u] += 1u;
    }
    const arenite_block_t *const block = &profile->blocks[found - 1u];
    if (block->root != 0u) {
        profile->current_root = block->root - 1u;
    }
    const uint64_t index = (found - 1u) * profile->n_roots + profile->current_root;
    profile->counts[index] += 1u;
    profile->previous = index + 1u;
    profile->previous_end = address + nbytes;
    profile->n_halfwords += nbytes >> 1;
    if (profile->n_halfwords > profile->limit_nhalf) {
        fail(profile, emulator, STATUS_LIMIT, address);
    }
}
