/* element.h - the types of numbers that array files hold, and how each becomes a double. */
#ifndef WMI_DATA_ELEMENT_H
#define WMI_DATA_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum wmi_element {
    WMI_ELEMENT_F16,
    WMI_ELEMENT_BF16,
    WMI_ELEMENT_F32,
    WMI_ELEMENT_F64,
    WMI_ELEMENT_I8,
    WMI_ELEMENT_I16,
    WMI_ELEMENT_I32,
    WMI_ELEMENT_I64,
    WMI_ELEMENT_U8,
    WMI_ELEMENT_U16,
    WMI_ELEMENT_U32,
    WMI_ELEMENT_U64,
    WMI_ELEMENT_BOOL,
} wmi_element;

int64_t wmi_element_width(wmi_element type);    /* bytes: 1, 2, 4 or 8 */
bool wmi_element_integer(wmi_element type);     /* bool too */
const char *wmi_element_name(wmi_element type); /* "float64" */
bool wmi_machine_is_big(void);

/* n elements, without gaps and on any address, to to[0], to[stride], ... swap: their bytes stand in
 * the other order than this machine's. Returns n, or the place of the first value that has no exact
 * double (a large 64-bit integer) or is no bool; elements from there on are not written. */
int64_t wmi_elements_decode(wmi_element type, bool swap, const unsigned char *from, int64_t n,
                            double *to, int64_t stride);
/* An element as it stands, for messages about those that decode refuses. */
const char *wmi_element_text(wmi_element type, bool swap, const unsigned char *from, char *buf,
                             size_t size);

#endif
