/* checksum.c - words of eight bytes, each mixed in by a map that can be undone: what differs once
 * differs to the end. */
#include "base/checksum.h"

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* odd: a bijection */
    return h ^ (h >> 29);
}

uint64_t wmi_checksum(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = mix(UINT64_C(0x5761796d61726b31), n);

    while (n > 0) {
        const size_t some = n < 8 ? n : 8;
        uint64_t word = 0;

        for (size_t i = 0; i < some; i++) /* little-endian; one load where the machine is that */
            word |= (uint64_t)p[i] << (8 * i);
        h = mix(h, word);
        p += some;
        n -= some;
    }
    return mix(h, 0);
}
