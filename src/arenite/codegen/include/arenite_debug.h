#ifndef ARENITE_DEBUG_H
#define ARENITE_DEBUG_H

#include "arenite_port.h"

/* The log of a debug build: one line of ASCII per piece, each with its own checksum, so that a reader can
 * tell what is missing or damaged. Lines are `$ARN <fields>*<CRC-32 of what lies between $ and *>`. */

#define ARENITE_DEBUG_PER_LINE 32

typedef struct {
    void (*put)(char character);
    uint32_t build; /* which network, and which version of it */
    uint32_t crc;
    uint32_t run; /* invocations since the start, or since reset */
} arenite_debug_log;

/* One more byte into a CRC-32 (IEEE 802.3, reflected) that starts at 0xFFFFFFFF and is inverted at the end.
 */
ARENITE_SHARED uint32_t arenite_debug_crc(uint32_t crc, uint8_t byte) {
    crc ^= byte;
    for (int32_t bit = 0; bit < 8; ++bit) {
        crc = (crc >> 1) ^ ((crc & 1u) != 0u ? 0xEDB88320u : 0u);
    }
    return crc;
}

ARENITE_SHARED void arenite_debug_put(arenite_debug_log *log, char character) {
    log->crc = arenite_debug_crc(log->crc, (uint8_t)character);
    log->put(character);
}

ARENITE_SHARED void arenite_debug_text(arenite_debug_log *log, const char *text) {
    for (; *text != '\0'; ++text) {
        arenite_debug_put(log, *text);
    }
}

/* The low `digits` hexadecimal digits of a number. */
ARENITE_SHARED void arenite_debug_hex(arenite_debug_log *log, uint32_t value, int32_t digits) {
    for (int32_t shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
        arenite_debug_put(log, "0123456789abcdef"[(value >> shift) & 15u]);
    }
}

ARENITE_SHARED void arenite_debug_field(arenite_debug_log *log, uint32_t value) {
    arenite_debug_put(log, ' ');
    arenite_debug_hex(log, value, 8);
}

ARENITE_SHARED void arenite_debug_open(arenite_debug_log *log, char kind) {
    log->put('$');
    log->crc = 0xFFFFFFFFu;
    arenite_debug_text(log, "ARN ");
    arenite_debug_put(log, kind);
    arenite_debug_field(log, log->build);
    arenite_debug_field(log, log->run);
}

ARENITE_SHARED void arenite_debug_close(arenite_debug_log *log) {
    const uint32_t crc = log->crc ^ 0xFFFFFFFFu;
    log->put('*');
    arenite_debug_hex(log, crc, 8);
    log->put('\n');
}

/* An invocation begins. `words` say how the network was compiled: they hold neither `$` nor `*`. */
ARENITE_SHARED void arenite_debug_begin(arenite_debug_log *log, const char *words) {
    arenite_debug_open(log, 'B');
    arenite_debug_put(log, ' ');
    arenite_debug_text(log, words);
    arenite_debug_close(log);
}

/* Bytes that an invocation was given or has computed: their number and checksum, then themselves. */
ARENITE_SHARED void arenite_debug_bytes(arenite_debug_log *log, uint32_t record, const uint8_t *bytes,
                                        uint32_t nbytes, int32_t with_data) {
    uint32_t crc = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < nbytes; ++i) {
        crc = arenite_debug_crc(crc, bytes[i]);
    }
    arenite_debug_open(log, 'S');
    arenite_debug_field(log, record);
    arenite_debug_field(log, nbytes);
    arenite_debug_field(log, crc ^ 0xFFFFFFFFu);
    arenite_debug_close(log);
    for (uint32_t start = 0; with_data != 0 && start < nbytes; start += ARENITE_DEBUG_PER_LINE) {
        arenite_debug_open(log, 'D');
        arenite_debug_field(log, record);
        arenite_debug_field(log, start);
        arenite_debug_put(log, ' ');
        for (uint32_t i = start; i < nbytes && i < start + ARENITE_DEBUG_PER_LINE; ++i) {
            arenite_debug_hex(log, bytes[i], 2);
        }
        arenite_debug_close(log);
    }
}

/* An invocation has ended, after that many records. */
ARENITE_SHARED void arenite_debug_end(arenite_debug_log *log, uint32_t records) {
    arenite_debug_open(log, 'E');
    arenite_debug_field(log, records);
    arenite_debug_close(log);
    ++log->run;
}

#endif
