/* Catches the log of a debug build in memory. */

#include <stdint.h>

void digits_debug_putc(char character);

uint8_t caught[200000];
uint32_t caught_nbytes;

void digits_debug_putc(char character) {
    if (caught_nbytes < sizeof caught) {
        caught[caught_nbytes++] = (uint8_t)character;
    }
}
