/* checksum.h - a number by which damage to bytes is found, not forgery. */
#ifndef WMI_BASE_CHECKSUM_H
#define WMI_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of n bytes, the same on every machine. Any change within eight bytes that stand together, at a
 * multiple of eight, changes it for certain; any other but once in 2^64. */
uint64_t wmi_checksum(const void *bytes, size_t n);

#endif
